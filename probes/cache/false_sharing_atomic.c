/* SPDX-License-Identifier: Apache-2.0
 * false_sharing_atomic - threads that each count a number of their own by atomic additions, which lie in one cache line
 * or apart, as in cache/false_sharing.
 *
 * An atomic step waits until its CPU has the line. Plain stores wait in a queue of the CPU meanwhile, which makes many
 * of them at once when the line comes, and so hides most of what the sharing costs: cache/false_sharing. Counters and
 * locks that threads update are mostly atomic.
 *
 * Known answer: each number comes out as its thread's part; none is lost, for none is shared.
 * Overhead: none that shows; one thread alone (threads=1) is what an atomic addition costs.
 * Limits: section=own is what the advice says, variables of one thread in a section; two of them are neighbours there as
 * anywhere else. cache/atomic has threads that want the same number, whose line travels as much.
 * Assembly: count_up contains lock (xadd|add|inc)|ldadd|ldaxr|<__aarch64_ldadd
 * Source: Drepper, What Every Programmer Should Know About Memory (2007), section 6.4.1; Schweizer, Besta & Hoefler,
 * Evaluating the Cost of Atomic Operations on Modern Architectures (PACT 2015). */
#include "numbers_of_own.h"

static __attribute__((noinline)) void count_up(volatile uint64_t *number, uint64_t operations)
{
    for (uint64_t i = 0; i < operations; i++)
        __atomic_fetch_add(number, 1, __ATOMIC_RELAXED);
}

static const struct probe false_sharing_atomic_probe = FALSE_SHARING(
    "false sharing, atomic",
    "What does it cost that threads step numbers of their own atomically in one cache line?",
    "one atomic addition to a number of its own by any of the threads; CPU time of all that work",
    "Drepper, What Every Programmer Should Know About Memory (2007), section 6.4.1; Schweizer, Besta & Hoefler (PACT "
    "2015)");

int main(int argc, char **argv)
{
    return probe_main(&false_sharing_atomic_probe, argc, argv);
}
