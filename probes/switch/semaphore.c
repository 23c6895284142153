/* SPDX-License-Identifier: Apache-2.0
 * semaphore - two contexts hand a number to and fro by a POSIX semaphore in each direction, in shared memory.
 *
 * Known answer: two switches a round trip on one CPU.
 * Overhead: two clock reads a batch, checking the number about 1 ns a round trip.
 * Limits: unnamed semaphores; a named one is the same object in a file's memory.
 * Assembly: round_trips contains (call|bl).*<sem_(wait|post)
 * Source: Stevens, UNIX Network Programming vol. 2 (2nd ed., 1999), 10.14 and 10.15; lmbench lat_sem does the same
 * with System V semaphores. */
#include "handoff.h"

#include <errno.h>
#include <semaphore.h>
#include <string.h>

struct line {
    sem_t filled;
    uint32_t number;
};

static struct line *line_new(bool processes)
{
    struct line *line = probe_share(sizeof *line);
    if (sem_init(&line->filled, processes, 0) != 0)
        probe_skip("no semaphore: %s", strerror(errno));
    return line;
}

static inline void line_send(struct line *line, uint32_t number)
{
    line->number = number;
    sem_post(&line->filled);
}

static inline uint32_t line_receive(struct line *line)
{
    while (sem_wait(&line->filled) != 0)
        if (errno != EINTR)
            probe_fail("cannot wait for the semaphore: %s", strerror(errno));
    return line->number;
}

HANDOFF(line_new, line_send, line_receive)

static const struct probe semaphore_probe = {
    .title = "semaphore",
    .question = "What does a handoff between two contexts by POSIX semaphore cost?",
    .source = "Stevens, UNIX Network Programming vol. 2 (1999), 10.14 and 10.15; lmbench lat_sem",
    HANDOFF_DESCRIPTION,
};

int main(int argc, char **argv)
{
    return probe_main(&semaphore_probe, argc, argv);
}
