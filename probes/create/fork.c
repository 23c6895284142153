/* SPDX-License-Identifier: Apache-2.0
 * fork - a process that is copied, ends at once and is waited for, one at a time, beside a given amount of memory.
 *
 * Known answer: every child is waited for by its PID and must have ended by itself with the exit code it was given.
 * Overhead: the loop, nanoseconds against tens of microseconds.
 * Limits: the resident memory is shared copy-on-write and nobody writes to it, so this is copying the page tables and
 * not the pages; after the first fork they are already write-protected. The rest of the process is as small as a probe.
 * Assembly: fork_all contains (call|bl)\s.*<fork
 * Source: lat_proc fork of lmbench; s_fork.c of shell909090/context, 2014, which had many outstanding: fork_burst. */
#define _GNU_SOURCE
#include "child.h"
#include "pages.h"

#define MEBIBYTE (UINT64_C(1) << 20)

static __attribute__((noinline)) uint64_t fork_all(uint64_t times)
{
    uint64_t ended = 0;
    for (uint64_t i = 0; i < times; i++) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(child_code(i)); /* exit() would run the parent's handlers and write its buffers again */
        if (pid < 0)
            child_refused("fork()", errno);
        ended += child_ended(pid, child_code(i));
    }
    return ended;
}

/* One fault a page is the proof that they are the smallest: a huge page would come with one fault for 512 of them, and
 * fork would copy one entry for it. */
static void touch(volatile char *memory, uint64_t bytes)
{
    uint64_t page = page_bytes(), before = minor_faults();
    for (uint64_t offset = 0; offset < bytes; offset += page)
        memory[offset] = 1;
    if (minor_faults() - before < bytes / page)
        probe_skip("%" PRIu64 " pages became resident with %" PRIu64 " faults: the kernel maps memory in larger pages "
                   "though asked not to", bytes / page, minor_faults() - before);
}

static void setup(struct probe_run *run)
{
    uint64_t mebibytes = (uint64_t)probe_integer(run, "resident_mib"), bytes = mebibytes * MEBIBYTE;
    if (mebibytes == 0)
        return;
    if (mebibytes > available_mebibytes())
        probe_skip("%" PRIu64 " MiB are to be resident and %" PRIu64 " MiB are available", mebibytes,
                   available_mebibytes());
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        probe_skip("%" PRIu64 " MiB can't be had: %s", mebibytes, strerror(errno));
    small_pages(memory, bytes);
    touch(memory, bytes);
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    (void)run;
    probe_start(value);
    uint64_t ended = fork_all(operations);
    probe_stop(value);
    probe_count(value, "checked", ended);
}

static const struct probe fork_probe = {
    .title = "process, by fork",
    .question = "What does a process cost, and how does that grow with the memory of the one that creates it?",
    .operation = "one fork(), _exit() in the child and waitpid() in the parent",
    .source = "L. McVoy, C. Staelin: lmbench: Portable Tools for Performance Analysis, USENIX 1996, process creation "
              "(lat_proc fork); shell909090/context, s_fork.c, 2014",
    .statistic = "median",
    .placements = "same,free",
    .uses = "cpu,sched",
    .metrics = (const struct probe_metric[]){
        {"fork", "s", "lower", "wall", "operations", "time from the fork to the known end of the child"},
        {"fork_cpu", "s", "lower", "cpu", "operations", "CPU time of parent and child for it"},
        {0}},
    .params = (const struct probe_param[]){
        {.name = "resident_mib", .doc = "touched memory of the parent, in pages of the smallest size", .unit = "MiB",
         .sweep = "0,64,256", .min = 0, .max = 65536},
        {0}},
    .setup = setup,
    .batch = batch,
};

int main(int argc, char **argv)
{
    return probe_main(&fork_probe, argc, argv);
}
