/* SPDX-License-Identifier: Apache-2.0
 * false_sharing - threads that each count a number of their own, which lie in one cache line, in neighbour lines,
 * apart, in a section of their own, or in each thread's own memory.
 *
 * The threads have nothing to do with each other but the line. Whoever writes it takes it from the others, and the line
 * travels as if they shared the number.
 *
 * Known answer: each number comes out as its thread's part; none is lost, for none is shared.
 * Overhead: none that shows; one thread alone (threads=1) is what an addition in memory costs.
 * Limits: a processor whose stores wait in a queue makes many additions for each time that it has the line. section=own
 * is what the advice says, variables of one thread in a section; two of them are neighbours there as anywhere else.
 * Assembly: count_up contains add[ql]?\s+\$0x1,|\bstr
 * Source: Drepper, What Every Programmer Should Know About Memory (2007), section 6.4.1; Torrellas, Lam & Hennessy,
 * False Sharing and Spatial Locality in Multiprocessor Caches (IEEE TC 43(6), 1994). */
#include "numbers_of_own.h"

static __attribute__((noinline)) void count_up(volatile uint64_t *number, uint64_t operations)
{
    for (uint64_t i = 0; i < operations; i++)
        (*number)++;
}

static const struct probe false_sharing_probe = FALSE_SHARING(
    "false sharing",
    "What does it cost that threads write to numbers of their own in one cache line?",
    "one addition to a number in memory by any of the threads; CPU time of all that work",
    "Drepper, What Every Programmer Should Know About Memory (2007), section 6.4.1; Torrellas, Lam & Hennessy (IEEE TC "
    "1994)");

int main(int argc, char **argv)
{
    return probe_main(&false_sharing_probe, argc, argv);
}
