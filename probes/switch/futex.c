/* SPDX-License-Identifier: Apache-2.0
 * futex - two contexts wake each other by the bare system call, which all locks of the C library end in.
 *
 * Known answer: two switches a round trip on one CPU.
 * Overhead: two clock reads a batch, checking the number about 1 ns a round trip.
 * Limits: every send wakes, also when the other is awake; across CPUs the time is mostly that of waking an idle CPU.
 * Assembly: round_trips contains (call|bl).*<syscall
 * Source: futex(2); Drepper, Futexes Are Tricky (2011), for the loop around the wait. */
#include "handoff.h"

struct line {
    _Alignas(PROBE_CACHE_LINE) uint32_t number; /* 0: taken */
    int scope;
};

static struct line *line_new(bool processes)
{
    struct line *line = probe_share(sizeof *line);
    line->scope = futex_scope(processes);
    return line;
}

static inline void line_send(struct line *line, uint32_t number)
{
    __atomic_store_n(&line->number, number, __ATOMIC_RELEASE); /* pairs with the load in line_receive */
    futex_wake(&line->number, 1, line->scope);
}

/* The sender sees the 0 before it sends again: the answer that it waits for is sent after it. */
static inline uint32_t line_receive(struct line *line)
{
    uint32_t number;
    while ((number = __atomic_load_n(&line->number, __ATOMIC_ACQUIRE)) == 0)
        futex_wait(&line->number, 0, line->scope);
    __atomic_store_n(&line->number, 0, __ATOMIC_RELAXED);
    return number;
}

HANDOFF(line_new, line_send, line_receive)

static const struct probe futex_probe = {
    .title = "futex",
    .question = "What does a handoff between two contexts by futex cost?",
    .source = "futex(2); Drepper, Futexes Are Tricky (2011)",
    HANDOFF_DESCRIPTION,
};

int main(int argc, char **argv)
{
    return probe_main(&futex_probe, argc, argv);
}
