/* SPDX-License-Identifier: Apache-2.0
 * generated.h - a loop of a given number of instructions, written into memory: straight-line code of any size, at any
 * place. All instructions have four bytes and nothing to do, but for those that count the turns. */
#ifndef STEELYARD_CODE_GENERATED_H
#define STEELYARD_CODE_GENERATED_H

#include "probe.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* Bytes before the first instruction of the loop, and behind the last one. */
#define GENERATED_ROOM 4096
#define INSTRUCTION_BYTES 4
#define COUNTING 2 /* instructions of a turn that count it */

typedef uint64_t turn_loop(uint64_t turns); /* returns the turns that are left: 0 */

#if defined(__x86_64__)

static inline unsigned char *put(unsigned char *at, const void *bytes, size_t size)
{
    memcpy(at, bytes, size);
    return at + size;
}

static inline unsigned char *put_idle(unsigned char *at)
{
    return put(at, "\x0f\x1f\x40\x00", 4); /* nopl 0(%rax) */
}

/* Count a turn of the loop that begins at `first`, and return after the last: rax counts. */
static inline unsigned char *put_end(unsigned char *at, const unsigned char *first)
{
    at = put(at, "\x48\x83\xe8\x01", 4); /* sub $1,%rax */
    int32_t back = (int32_t)(first - (at + 6));
    at = put(at, "\x0f\x85", 2); /* jne first */
    at = put(at, &back, sizeof back);
    return put(at, "\xc3", 1); /* ret */
}

static inline unsigned char *put_entry(unsigned char *at)
{
    return put(at, "\x48\x89\xf8", 3); /* mov %rdi,%rax */
}

static inline unsigned char *put_jump(unsigned char *at, const unsigned char *first)
{
    int32_t forward = (int32_t)(first - (at + 5));
    at = put(at, "\xe9", 1); /* jmp first */
    return put(at, &forward, sizeof forward);
}

#elif defined(__aarch64__)

static inline unsigned char *put(unsigned char *at, uint32_t instruction)
{
    memcpy(at, &instruction, sizeof instruction);
    return at + sizeof instruction;
}

static inline unsigned char *put_idle(unsigned char *at)
{
    return put(at, 0xd503201f); /* nop */
}

static inline unsigned char *put_end(unsigned char *at, const unsigned char *first)
{
    at = put(at, 0xf1000400); /* subs x0, x0, #1 */
    at = put(at, 0x54000001 | ((uint32_t)((first - at) / 4) & 0x7ffff) << 5); /* b.ne first */
    return put(at, 0xd65f03c0); /* ret */
}

static inline unsigned char *put_entry(unsigned char *at)
{
    return at;
}

static inline unsigned char *put_jump(unsigned char *at, const unsigned char *first)
{
    return put(at, 0x14000000 | ((uint32_t)((first - at) / 4) & 0x3ffffff)); /* b first */
}

#else
#define GENERATED_UNKNOWN
#endif

/* A loop of `instructions` a turn whose first one stands `offset` bytes behind the start of a cache line. Freed with the
 * process. pre: instructions > COUNTING. */
static inline turn_loop *generate_loop(uint64_t instructions, uint64_t offset)
{
#if defined(GENERATED_UNKNOWN)
    (void)instructions, (void)offset;
    probe_skip("this probe writes machine code for x86-64 and aarch64 alone");
#else
    size_t size = 2 * GENERATED_ROOM + instructions * INSTRUCTION_BYTES;
    unsigned char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        probe_skip("%zu KiB of memory are not available", size >> 10);
    unsigned char *first = memory + GENERATED_ROOM + offset, *at = first;
    put_jump(put_entry(memory), first);
    for (uint64_t i = 0; i < instructions - COUNTING; i++)
        at = put_idle(at);
    unsigned char *end = put_end(at, first);
    if (mprotect(memory, size, PROT_READ | PROT_EXEC) != 0)
        probe_skip("memory that was written may not be run here: %s", strerror(errno));
    __builtin___clear_cache((char *)memory, (char *)end);
    turn_loop *loop;
    memcpy(&loop, &memory, sizeof loop);
    return loop;
#endif
}

#endif
