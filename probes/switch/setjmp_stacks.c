/* SPDX-License-Identifier: Apache-2.0
 * setjmp_stacks - two stacks of one thread switch by _setjmp and _longjmp: the cheapest switch that the C library has.
 *
 * The second stack is entered once by swapcontext; from then on each side notes where it is and jumps to where the
 * other one was. No system call, no signal mask. The C standard does not promise that a jump may go to another stack;
 * glibc allows it, except as below.
 *
 * Known answer: both sides arrive equally often.
 * Overhead: counting, under 1 ns.  Limits: refuses where the processor keeps a shadow stack, which a jump between
 * stacks would leave behind; two stacks that stay in the cache, and two targets that the branch predictor knows.
 * Assembly: switch_pairs contains (call|bl).*<_*longjmp
 * Source: Engelschall, Portable Multithreading (USENIX 2000), for the technique. */
#undef _FORTIFY_SOURCE /* its longjmp aborts when the target is not further up the same stack */
#include "two_stacks.h"

#include <setjmp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static jmp_buf first, second;

static void second_body(void)
{
    if (_setjmp(second) == 0)
        swapcontext(&stacks.second, &stacks.first);
    for (;;) {
        stacks.arrived_second++;
        if (_setjmp(second) == 0)
            _longjmp(first, 1);
    }
}

static __attribute__((noinline)) void switch_pairs(uint64_t pairs)
{
    for (volatile uint64_t i = 0; i < pairs; i = i + 1) { /* in memory: a jump sets registers back */
        if (_setjmp(first) == 0)
            _longjmp(second, 1);
        stacks.arrived_first++;
    }
}

/* The numbers are those of the kernel's headers of 6.6 (x86-64) and 6.13 (AArch64); older ones refuse the call. */
static bool has_shadow_stack(void)
{
    unsigned long features = 0;
#if defined(__x86_64__)
    const int arch_shstk_status = 0x5005;
    return syscall(SYS_arch_prctl, arch_shstk_status, &features) == 0 && (features & 1);
#else
    const int pr_get_shadow_stack_status = 74;
    return prctl(pr_get_shadow_stack_status, &features, 0, 0, 0) == 0 && (features & 1);
#endif
}

static void setup(struct probe_run *run)
{
    (void)run;
    if (has_shadow_stack())
        probe_skip("a shadow stack is in use, and jumps between stacks do not keep it right");
    second_stack_start(second_body);
    swapcontext(&stacks.first, &stacks.second);
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    (void)run;
    two_stacks_batch(operations, value, switch_pairs);
}

static const struct probe setjmp_stacks_probe = {
    .title = "setjmp and longjmp on two stacks",
    .question = "What does a switch between two stacks by setjmp and longjmp cost?",
    .operation = "one _setjmp and _longjmp to another stack, one way",
    .source = "Engelschall, Portable Multithreading, USENIX 2000",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .metrics = (const struct probe_metric[]){
        {"switch", "s", "lower", "wall", "operations", "time of one switch, one way"}, {0}},
    .setup = setup,
    .batch = batch,
};

int main(int argc, char **argv)
{
    return probe_main(&setjmp_stacks_probe, argc, argv);
}
