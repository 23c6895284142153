/* SPDX-License-Identifier: Apache-2.0
 * swapcontext - what a suspended stack of the C library's swapcontext takes of memory: its page, and the saved registers.
 *
 * Known answer: each context touches at least a page of its stack; each counts how often it was resumed.
 * Overhead: none but the saved context of the C library, which is in the figure.
 * Limits: stacks of 64 KiB side by side, without guard pages, of which a context that does nothing touches one or two.
 * Assembly: resume_all contains (call|bl).*<swapcontext
 * Source: makecontext(3); proc_pid_smaps(5). */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "memory.h"

#define STACK_BYTES (64u * 1024)

static struct {
    uint64_t count, arrivals;
    ucontext_t caller, *context;
    uint64_t running; /* the context that is resumed */
    struct memory before;
} stacks;

static void body(void)
{
    for (;;) {
        stacks.arrivals++;
        swapcontext(&stacks.context[stacks.running], &stacks.caller);
    }
}

static __attribute__((noinline)) void resume_all(void)
{
    for (stacks.running = 0; stacks.running < stacks.count; stacks.running++)
        swapcontext(&stacks.caller, &stacks.context[stacks.running]);
}

static void setup(struct probe_run *run)
{
    stacks.count = (uint64_t)probe_integer(run, "contexts");
    stacks.before = memory_now();
    stacks.context = calloc(stacks.count, sizeof *stacks.context);
    char *memory = mmap(NULL, stacks.count * STACK_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!stacks.context || memory == MAP_FAILED)
        probe_skip("no room for %" PRIu64 " stacks of %u bytes: %s; see ulimit -v and vm.overcommit_memory", stacks.count,
                   STACK_BYTES, strerror(errno));
    /* A huge page would hold 32 stacks at once, touched or not. */
    madvise(memory, stacks.count * STACK_BYTES, MADV_NOHUGEPAGE);
    for (uint64_t i = 0; i < stacks.count; i++) {
        ucontext_t *context = &stacks.context[i];
        if (getcontext(context) != 0)
            probe_fail("no context");
        context->uc_stack.ss_sp = memory + i * STACK_BYTES;
        context->uc_stack.ss_size = STACK_BYTES;
        makecontext(context, body, 0);
    }
    resume_all(); /* each is suspended on its own stack now */
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    (void)run, (void)operations; /* all of them, however few were asked for */
    uint64_t arrivals = stacks.arrivals;
    probe_start(value);
    resume_all();
    probe_stop(value);
    struct memory now = memory_now();
    value->operations = stacks.count;
    probe_count(value, "checked", stacks.arrivals - arrivals);
    memory_count(value, &stacks.before, &now);
}

static const struct probe swapcontext_probe = {
    .title = "swapcontext",
    .question = "What does a suspended stack of swapcontext take of memory?",
    .operation = "one context among many, resumed and suspended again; memory is read while all are suspended",
    .source = "makecontext(3); proc_pid_smaps(5): Rss",
    .statistic = "median",
    .placements = "same",
    .uses = "cpu",
    .metrics = (const struct probe_metric[]){MEMORY_RESIDENT, MEMORY_PAGE_TABLES, MEMORY_RESUME, {0}},
    .params = (const struct probe_param[]){
        {.name = "contexts", .doc = "contexts that are suspended", .unit = "1", .sweep = "10000,100000",
         .brief = "10000", .min = 23, .max = 1000000},
        {0}},
    .setup = setup,
    .batch = batch,
};

int main(int argc, char **argv)
{
    return probe_main(&swapcontext_probe, argc, argv);
}
