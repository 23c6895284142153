/* SPDX-License-Identifier: Apache-2.0
 * process - what a suspended process takes of memory that was forked from a small one: its own pages and its share of the
 * common ones, page tables, kernel stack.
 *
 * Known answer: all are counted in each batch; each has pages of its own.
 * Overhead: none in the figure: it is read from the processes themselves.
 * Limits: of more than 200 processes as many, evenly chosen, are read, which supposes that all are alike. A program that
 * does more than sleep copies more of its parent's pages. The kernel's own descriptors are in no figure here.
 * Assembly: wake_all contains (call|bl).*<syscall
 * Source: proc_pid_smaps(5) for Pss, by which shared pages are divided among those who share them. */
#include "parked.h"

#define MOST_READ 200u

static void setup(struct probe_run *run)
{
    park_all(run, true);
}

/* What all take together, from those that are read. */
static struct memory of_all(const struct parked *parked)
{
    uint32_t read = parked->count < MOST_READ ? parked->count : MOST_READ;
    struct memory sum = {0};
    for (uint32_t i = 0; i < read; i++) {
        struct memory one = memory_of(parked->pid[(uint64_t)i * parked->count / read], "Pss");
        sum.resident += one.resident;
        sum.page_tables += one.page_tables;
    }
    return (struct memory){sum.resident * parked->count / read, sum.page_tables * parked->count / read,
                           memory_field("/proc/meminfo", "KernelStack")};
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    struct parked *parked = run->state;
    (void)operations; /* all of them, however few were asked for */
    probe_start(value);
    uint32_t arrived = wake_all(parked);
    probe_stop(value);
    struct memory none = {.kernel_stacks = parked->before.kernel_stacks}, now = of_all(parked);
    value->operations = parked->count;
    probe_count(value, "checked", arrived);
    memory_count(value, &none, &now);
}

static const struct probe process_probe = {
    .title = "process",
    .question = "What does a suspended process take of memory?",
    .operation = "one process among many that sleep, resumed and suspended again; memory is read while all sleep",
    .source = "proc_pid_smaps(5): Pss; proc_meminfo(5): KernelStack",
    .statistic = "median",
    .placements = "free",
    .uses = "cpu,sched",
    .metrics = (const struct probe_metric[]){
        MEMORY_RESIDENT, MEMORY_PAGE_TABLES, MEMORY_KERNEL_STACK, MEMORY_RESUME, {0}},
    .params = (const struct probe_param[]){
        {.name = "contexts", .doc = "processes that sleep", .unit = "1", .sweep = "100,1000,10000", .brief = "100",
         .min = 23, .max = 100000},
        {0}},
    .setup = setup,
    .batch = batch,
    .teardown = parked_teardown,
};

int main(int argc, char **argv)
{
    return probe_main(&process_probe, argc, argv);
}
