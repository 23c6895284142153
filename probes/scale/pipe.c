/* SPDX-License-Identifier: Apache-2.0
 * pipe - 1 to N contexts write a byte into a pipe and read it again, each its own pipe.
 *
 * Known answer: each byte read is the one that was written, and another than the one before.
 * Overhead: the loop and a count, under 1 ns.  Limits: nobody sleeps and nobody is woken: that is switch/pipe. Threads
 * share the table of descriptors.
 * Assembly: go_on contains (call|bl)\s.*<read
 * Source: pipe1 of will-it-scale (Blanchard 2010). */
#define _GNU_SOURCE
#include "scale.h"

#include <fcntl.h>

struct work {
    int end[2];
    unsigned char number;
};

static void make(struct probe_run *run, struct work *work, int index)
{
    (void)run;
    if (pipe2(work->end, O_CLOEXEC) != 0)
        probe_skip("only %d pipes could be had: %s; see ulimit -n and fs.pipe-user-pages-soft", index, strerror(errno));
}

static inline bool step(struct work *work)
{
    unsigned char got = work->number, sent = ++work->number;
    return write(work->end[1], &sent, 1) == 1 && read(work->end[0], &got, 1) == 1 && got == sent;
}

SCALE_LOOP(step)

static void unmake(struct work *work)
{
    close(work->end[0]);
    close(work->end[1]);
}

int main(int argc, char **argv)
{
    return scale_main(&(const struct way){
        .title = "pipe, by many",
        .question = "Do several CPUs pass several times as many bytes through pipes of their own as one?",
        .operation = "one write() of a byte and the read() of it, by the same context",
        .source = "will-it-scale pipe1 (Blanchard 2010)",
        .work_bytes = sizeof(struct work), .make = make, .go_on = go_on, .unmake = unmake,
    }, argc, argv);
}
