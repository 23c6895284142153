/* SPDX-License-Identifier: Apache-2.0
 * longjmp - back to the beginning of the function that one is in. Not a switch: there is one stack.
 *
 * One _setjmp, then a longjmp for each operation, as the seed did, which set the figure beside swapcontext's. It
 * restores the registers of the frame that it is called from; switch/setjmp_stacks changes the stack.
 *
 * Known answer: each jump lands once, and landing counts in memory (a register would be set back by the jump).
 * Overhead: the count, about 1 ns.  Limits: the signal mask is not touched (_setjmp); the target is always the same, so
 * the branch predictor knows it.
 * Assembly: jump_back contains (call|bl).*<_*longjmp
 * Source: s_jmp.c of shell909090/context (2014). */
#undef _FORTIFY_SOURCE /* its longjmp compares stack addresses first */
#include "probe.h"

#include <setjmp.h>

static __attribute__((noinline)) uint64_t jump_back(uint64_t times)
{
    volatile uint64_t landed = 0;
    jmp_buf here;
    if (_setjmp(here) != 0)
        landed = landed + 1;
    if (landed < times)
        longjmp(here, 1);
    return landed;
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    (void)run;
    probe_start(value);
    uint64_t landed = jump_back(operations);
    probe_stop(value);
    probe_count(value, "checked", landed);
}

static const struct probe longjmp_probe = {
    .title = "longjmp on one stack",
    .question = "What does a longjmp within one function cost?",
    .operation = "one longjmp to a _setjmp made once in the same frame; no change of stack",
    .source = "shell909090/context s_jmp.c (2014)",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .metrics = (const struct probe_metric[]){
        {"jump", "s", "lower", "wall", "operations", "time of one longjmp"}, {0}},
    .batch = batch,
};

int main(int argc, char **argv)
{
    return probe_main(&longjmp_probe, argc, argv);
}
