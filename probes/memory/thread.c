/* SPDX-License-Identifier: Apache-2.0
 * thread - what a suspended thread takes of memory: its stack as far as touched, page tables, kernel stack.
 *
 * Known answer: each thread touches at least a page of its stack; all are counted in each batch.
 * Overhead: about 60 bytes a thread of bookkeeping are in the figure.
 * Limits: stacks of 64 KiB, side by side; with the usual 8 MiB each stack has a page table of its own, 4 KiB more. The
 * kernel's own descriptors, some 7 KiB a thread, are in no figure here.
 * Assembly: wake_all contains (call|bl).*<syscall
 * Source: proc_pid_smaps(5), proc_meminfo(5); what is said of threads against goroutines is about this. */
#include "parked.h"

static void setup(struct probe_run *run)
{
    park_all(run, false);
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    struct parked *parked = run->state;
    (void)operations; /* all of them, however few were asked for */
    probe_start(value);
    uint32_t arrived = wake_all(parked);
    probe_stop(value);
    struct memory now = memory_now();
    value->operations = parked->count;
    probe_count(value, "checked", arrived);
    memory_count(value, &parked->before, &now);
}

static const struct probe thread_probe = {
    .title = "thread",
    .question = "What does a suspended thread take of memory?",
    .operation = "one thread among many that sleep, resumed and suspended again; memory is read while all sleep",
    .source = "proc_pid_smaps(5): Rss; proc_meminfo(5): KernelStack",
    .statistic = "median",
    .placements = "free",
    .uses = "cpu,sched",
    .metrics = (const struct probe_metric[]){
        MEMORY_RESIDENT, MEMORY_PAGE_TABLES, MEMORY_KERNEL_STACK, MEMORY_RESUME, {0}},
    .params = (const struct probe_param[]){
        {.name = "contexts", .doc = "threads that sleep", .unit = "1", .sweep = "1000,10000", .brief = "1000",
         .min = 23, .max = 200000},
        {0}},
    .setup = setup,
    .batch = batch,
    .teardown = parked_teardown,
};

int main(int argc, char **argv)
{
    return probe_main(&thread_probe, argc, argv);
}
