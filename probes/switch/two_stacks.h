/* SPDX-License-Identifier: Apache-2.0
 * two_stacks.h - two stacks of one thread that switch to each other, for setjmp_stacks.c and swapcontext.c.
 *
 * One operation is one switch, one way. They come in pairs, so an odd number asked for is rounded up. Each side counts
 * where it arrives, and the two counts are the proof that both stacks ran. */
#ifndef STEELYARD_SWITCH_TWO_STACKS_H
#define STEELYARD_SWITCH_TWO_STACKS_H

#include "probe.h"

#include <stddef.h>
#include <ucontext.h>

#define SECOND_STACK_BYTES (64 * 1024) /* room for a signal frame with the widest vector registers */

static struct two_stacks {
    ucontext_t first, second;
    volatile uint64_t arrived_first, arrived_second;
} stacks;

/* Prepares the second stack. Its endless `body` must switch back, and stays ready to go on. */
static void second_stack_start(void (*body)(void))
{
    _Alignas(64) static char stack[SECOND_STACK_BYTES];
    if (getcontext(&stacks.second) != 0)
        probe_fail("no context");
    stacks.second.uc_stack.ss_sp = stack;
    stacks.second.uc_stack.ss_size = sizeof stack;
    stacks.second.uc_link = NULL;
    makecontext(&stacks.second, body, 0);
}

/* `switch_pairs` is the timed part: that many times there and back. */
static void two_stacks_batch(uint64_t operations, struct probe_value *value, void (*switch_pairs)(uint64_t pairs))
{
    uint64_t pairs = (operations + 1) / 2, first = stacks.arrived_first, second = stacks.arrived_second;
    value->operations = 2 * pairs;
    probe_start(value);
    switch_pairs(pairs);
    probe_stop(value);
    first = stacks.arrived_first - first;
    second = stacks.arrived_second - second;
    probe_count(value, "checked", first == second ? first + second : 0);
}

#endif
