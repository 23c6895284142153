/* SPDX-License-Identifier: Apache-2.0
 * futex - 1 to N contexts wake whoever waits for a word of their own, which is nobody.
 *
 * Known answer: the kernel says that it woke nobody.
 * Overhead: the loop and a count, under 1 ns.  Limits: the kernel's table of waiters is looked up and its place found
 * empty; a sleeper that wakes is wake/futex. Unlike the C library's locks these words may be shared between processes,
 * which costs the kernel a look at the page.
 * Assembly: go_on contains (call|bl)\s.*<syscall
 * Source: futex1 of will-it-scale (Blanchard 2010). */
#define _GNU_SOURCE
#include "scale.h"

struct work {
    _Alignas(PROBE_CACHE_LINE) uint32_t word;
};

/* The word is on the stack, as theirs: memory of one page each, private to a process. */
static __attribute__((noinline)) void go_on(struct work *work, struct tally *mine, const volatile bool *over)
{
    uint32_t word = work->word;
    while (!*over && syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0) == 0)
        mine->operations++;
}

int main(int argc, char **argv)
{
    return scale_main(&(const struct way){
        .title = "futex wake, by many",
        .question = "Do several CPUs do several times as many wakes of a futex as one?",
        .operation = "one FUTEX_WAKE of a word that nobody waits for",
        .source = "will-it-scale futex1 (Blanchard 2010)",
        .work_bytes = sizeof(struct work), .go_on = go_on,
    }, argc, argv);
}
