/* SPDX-License-Identifier: Apache-2.0
 * allocate - 1 to N contexts allocate memory and free it again, by the C library or by another allocator.
 *
 * Another allocator is loaded as its users load it, by LD_PRELOAD: the probe starts itself anew with it.
 *
 * Known answer: the memory holds what was written at its end, and the allocator that was asked for is mapped.
 * Overhead: the loop, a count and two accesses to memory, under 1 ns.
 * Limits: what was freed is allocated again at once, which each allocator does from a thread's own store; who frees what
 * another allocated pays more. Large sizes (134217728) are mmap() and munmap() with a first touch.
 * Assembly: go_on contains (call|bl)\s.*<malloc
 * Source: malloc1 and malloc2 of will-it-scale (Blanchard 2010). */
#define _GNU_SOURCE
#include "scale.h"

#include <fcntl.h>
#include <stdio.h>

#define MARK "STEELYARD_ALLOCATOR" /* in the environment: which one is loaded */
#define COMMAND_BYTES 65536
#define COMMAND_WORDS 64

struct work {
    uint64_t size;
};

static const struct { const char *name, *library, *package; } allocators[] = {
    {"libc", NULL, NULL},
    {"jemalloc", "libjemalloc.so.2", "libjemalloc2"},
    {"tcmalloc", "libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"},
    {"mimalloc", "libmimalloc.so.2", "libmimalloc2.0"},
};

/* The same command line once more, under another allocator. */
static _Noreturn void start_anew(const char *name, const char *library)
{
    static char command[COMMAND_BYTES];
    char *word[COMMAND_WORDS + 1] = {0};
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC), words = 0;
    ssize_t bytes = fd < 0 ? -1 : read(fd, command, sizeof command - 1);
    for (char *at = command; at < command + bytes && words < COMMAND_WORDS; at += strlen(at) + 1)
        word[words++] = at;
    if (bytes <= 0 || setenv("LD_PRELOAD", library, 1) != 0 || setenv(MARK, name, 1) != 0)
        probe_fail("the command line cannot be read: %s", strerror(errno));
    fflush(stdout);
    execv("/proc/self/exe", word);
    probe_fail("the probe cannot start itself anew: %s", strerror(errno));
}

/* Whether a library of that name is mapped; loaded before the C library, its malloc() is the one that is found. */
static bool is_loaded(const char *name)
{
    char line[512];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && !found && fgets(line, sizeof line, maps))
        found = strstr(line, name) && strstr(line, ".so");
    if (maps)
        fclose(maps);
    return found;
}

static void begin(struct probe_run *run, int contexts)
{
    const char *wanted = probe_choice(run, "by"), *loaded = getenv(MARK);
    unsigned which = 0;
    (void)contexts;
    while (strcmp(allocators[which].name, wanted) != 0)
        which++;
    if (!allocators[which].library)
        return;
    if (!loaded || strcmp(loaded, wanted) != 0)
        start_anew(wanted, allocators[which].library);
    if (!is_loaded(wanted))
        probe_skip("%s cannot be loaded: install %s", allocators[which].library, allocators[which].package);
}

static void make(struct probe_run *run, struct work *work, int index)
{
    (void)index;
    work->size = (uint64_t)probe_integer(run, "size");
}

static inline bool step(const struct work *work)
{
    volatile unsigned char *memory = malloc(work->size);
    if (!memory)
        return false;
    memory[work->size - 1] = 1;
    bool kept = memory[work->size - 1] == 1;
    free((void *)memory);
    return kept;
}

SCALE_LOOP(step)

int main(int argc, char **argv)
{
    return scale_main(&(const struct way){
        .title = "malloc and free, by many",
        .question = "Do several CPUs allocate several times as much as one, and by which allocator?",
        .operation = "one malloc(), its last byte written and read, and free()",
        .source = "will-it-scale malloc1 and malloc2 (Blanchard 2010)",
        .params = (const struct probe_param[]){
            {.name = "by", .doc = "whose malloc()", .choices = "libc,jemalloc,tcmalloc,mimalloc",
             .sweep = "libc,jemalloc,tcmalloc,mimalloc", .brief = "libc,jemalloc"},
            {.name = "size", .doc = "bytes that are allocated", .unit = "B", .sweep = "1024", .min = 1,
             .max = INT64_C(1) << 32},
            {0}},
        .work_bytes = sizeof(struct work), .begin = begin, .make = make, .go_on = go_on,
    }, argc, argv);
}
