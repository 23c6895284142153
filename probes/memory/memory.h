/* SPDX-License-Identifier: Apache-2.0
 * memory.h - what many suspended contexts of one kind take of memory, for thread.c, process.c and swapcontext.c.
 *
 * All contexts are made once, before the first batch. In a batch each of them is resumed, counts, and is suspended
 * again: that is the proof that they are there, and its time is reported. Then the memory is read and compared with
 * what it was before the first was made. What a context would touch if it did anything is not in it.
 *
 * Counted are resident bytes of user space (Rss of smaps_rollup, Pss where processes share pages), page tables (VmPTE),
 * and, for what the kernel schedules, kernel stacks (KernelStack of meminfo, which is of the whole machine: other
 * programs that start or end threads meanwhile disturb it). The kernel's descriptors of threads and processes are not. */
#ifndef STEELYARD_MEMORY_MEMORY_H
#define STEELYARD_MEMORY_MEMORY_H

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "probe.h"

struct memory {
    uint64_t resident, page_tables, kernel_stacks; /* bytes */
};

/* The field of a file of lines `Name:  N kB`, in bytes; 0 if it is not there. */
static inline uint64_t memory_field(const char *path, const char *name)
{
    char line[256];
    uint64_t kilobytes = 0;
    size_t length = strlen(name);
    FILE *file = fopen(path, "re");
    if (!file)
        probe_skip("%s cannot be read: this kernel does not say what memory it uses", path);
    while (fgets(line, sizeof line, file))
        if (strncmp(line, name, length) == 0 && line[length] == ':') {
            sscanf(line + length + 1, "%" SCNu64, &kilobytes);
            break;
        }
    fclose(file);
    return kilobytes * 1024;
}

/* Memory of one process; pid 0 is the caller. */
static inline struct memory memory_of(int pid, const char *resident)
{
    char rollup[64] = "/proc/self/smaps_rollup", status[64] = "/proc/self/status";
    if (pid) {
        snprintf(rollup, sizeof rollup, "/proc/%d/smaps_rollup", pid);
        snprintf(status, sizeof status, "/proc/%d/status", pid);
    }
    return (struct memory){memory_field(rollup, resident), memory_field(status, "VmPTE"), 0};
}

static inline struct memory memory_now(void)
{
    struct memory now = memory_of(0, "Rss");
    now.kernel_stacks = memory_field("/proc/meminfo", "KernelStack");
    return now;
}

static inline uint64_t memory_grown(uint64_t before, uint64_t now)
{
    return now > before ? now - before : 0;
}

static inline void memory_count(struct probe_value *value, const struct memory *before, const struct memory *now)
{
    probe_count(value, "resident_bytes", memory_grown(before->resident, now->resident));
    probe_count(value, "page_table_bytes", memory_grown(before->page_tables, now->page_tables));
    probe_count(value, "kernel_stack_bytes", memory_grown(before->kernel_stacks, now->kernel_stacks));
}

#define MEMORY_RESIDENT \
    {"resident", "B", "lower", "resident_bytes", "operations", "resident bytes of user space a suspended context"}
#define MEMORY_PAGE_TABLES \
    {"page_tables", "B", "lower", "page_table_bytes", "operations", "page tables a suspended context"}
#define MEMORY_KERNEL_STACK \
    {"kernel_stack", "B", "lower", "kernel_stack_bytes", "operations", \
     "kernel stack a suspended context, by the count of the whole machine"}
#define MEMORY_RESUME {"resume", "s", "lower", "wall", "operations", "time to resume a context and suspend it again"}

#endif
