/* SPDX-License-Identifier: Apache-2.0
 * eventfd - two contexts hand a number to and fro through two event counters.
 *
 * A write adds to the counter and a read takes all of it: as each number is taken before the next is sent, the
 * counter's value is the number, and two sends that ran together would show as a wrong one.
 *
 * Known answer: two switches a round trip on one CPU.
 * Overhead: two clock reads a batch, checking the number about 1 ns a round trip.
 * Limits: the blocking, non-semaphore mode only.
 * Assembly: round_trips contains (call|bl).*<(read|write)
 * Source: eventfd(2), which offers itself in place of a pipe that only signals. */
#include "handoff.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>

struct line {
    int counter;
};

static struct line *line_new(bool processes)
{
    struct line *line = probe_share(sizeof *line);
    (void)processes;
    line->counter = eventfd(0, 0);
    if (line->counter < 0)
        probe_skip("no eventfd: %s", strerror(errno));
    return line;
}

static inline void line_send(struct line *line, uint32_t number)
{
    uint64_t add = number;
    if (write(line->counter, &add, sizeof add) != sizeof add)
        probe_fail("cannot write to the eventfd: %s", strerror(errno));
}

static inline uint32_t line_receive(struct line *line)
{
    uint64_t all;
    if (read(line->counter, &all, sizeof all) != sizeof all)
        probe_fail("cannot read from the eventfd: %s", strerror(errno));
    return all > UINT32_MAX ? 0 : (uint32_t)all;
}

HANDOFF(line_new, line_send, line_receive)

static const struct probe eventfd_probe = {
    .title = "eventfd",
    .question = "What does a handoff between two contexts by eventfd cost?",
    .source = "eventfd(2)",
    HANDOFF_DESCRIPTION,
};

int main(int argc, char **argv)
{
    return probe_main(&eventfd_probe, argc, argv);
}
