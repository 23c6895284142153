/* SPDX-License-Identifier: Apache-2.0
 * pipe - two contexts hand a number to and fro through two pipes.
 *
 * Known answer: two switches a round trip on one CPU. `perf bench sched pipe`, pinned to one CPU, makes the same system
 * calls and must come to the same time.
 * Overhead: two clock reads a batch, checking the number about 1 ns a round trip.
 * Limits: 4 bytes at a time, so it says nothing about bandwidth.
 * Assembly: round_trips contains (call|bl).*<(read|write)
 * Source: lmbench lat_pipe (McVoy & Staelin, USENIX 1996), 1 byte; perf bench sched pipe (tools/perf/bench/sched-pipe.c
 * of Linux), 4 bytes, as here. */
#include "handoff.h"

#include <errno.h>
#include <string.h>

struct line {
    int read_end, write_end;
};

static struct line *line_new(bool processes)
{
    struct line *line = probe_share(sizeof *line);
    int ends[2];
    (void)processes;
    if (pipe(ends) != 0)
        probe_skip("no pipe: %s", strerror(errno));
    *line = (struct line){ends[0], ends[1]};
    return line;
}

static inline void line_send(struct line *line, uint32_t number)
{
    if (write(line->write_end, &number, sizeof number) != sizeof number)
        probe_fail("cannot write to the pipe: %s", strerror(errno));
}

static inline uint32_t line_receive(struct line *line)
{
    uint32_t number;
    if (read(line->read_end, &number, sizeof number) != sizeof number)
        probe_fail("cannot read from the pipe: %s", strerror(errno));
    return number;
}

HANDOFF(line_new, line_send, line_receive)

static const struct probe pipe_probe = {
    .title = "pipe",
    .question = "What does a handoff between two contexts by pipe cost?",
    .source = "lmbench lat_pipe (McVoy & Staelin 1996); perf bench sched pipe (Linux, tools/perf)",
    HANDOFF_DESCRIPTION,
};

int main(int argc, char **argv)
{
    return probe_main(&pipe_probe, argc, argv);
}
