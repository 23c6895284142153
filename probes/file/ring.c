/* SPDX-License-Identifier: Apache-2.0
 * ring - io_uring asked to do nothing, or to read a page of a cached file, one or several requests a system call.
 *
 *	nop              nothing: the way through the rings and back
 *	nop_registered   the same with the ring registered: the kernel need not look its descriptor up
 *	read             4096 bytes of a file that is in the page cache
 *	read_registered  the same with ring, file and memory registered
 *
 * Known answer: each completion carries the number of its request and the result that it must have; each page read ends
 * with the file's last byte, where another one stood before.
 * Overhead: filling and looking at an entry, some ns.  Limits: nothing waits for a disk, so that each request is done
 * within the call that submits it.
 * Assembly: submit contains (call|bl)\s.*<syscall
 * Source: io_uring_enter(2), io_uring_register(2); commit 6b06314c47e1 of Linux (Axboe 2019), which registers files. */
#define _GNU_SOURCE
#include "pages.h"
#include "ring.h"

#include <sys/uio.h>

#define READ_BYTES UINT64_C(4096)
#define MOST_AT_ONCE 1024

/* Headers before Linux 5.18 lack them; the kernel may be newer. */
#ifndef IORING_ENTER_REGISTERED_RING
#define IORING_ENTER_REGISTERED_RING (1u << 4)
#endif
#define REGISTER_RING_FDS 20
struct ring_update { uint32_t offset, reserved; uint64_t data; };

struct rings {
    struct ring ring;
    bool reads, registered;
    uint32_t at_once, enter_flags;
    int enter_fd, file_fd;
    unsigned char *memory, last; /* at_once pages; what each ends with when it was read */
    uint64_t requests;
};

static void require(long result, const char *what)
{
    if (result < 0)
        probe_skip("%s cannot be registered with io_uring: %s", what, strerror(errno));
}

static void register_all(struct rings *rings)
{
    struct ring_update own = {UINT32_MAX, 0, (uint64_t)rings->ring.fd};
    struct iovec memory = {rings->memory, rings->at_once * READ_BYTES};
    require(syscall(SYS_io_uring_register, rings->ring.fd, REGISTER_RING_FDS, &own, 1), "the ring itself");
    rings->enter_fd = (int)own.offset;
    rings->enter_flags |= IORING_ENTER_REGISTERED_RING;
    if (!rings->reads)
        return;
    require(syscall(SYS_io_uring_register, rings->ring.fd, IORING_REGISTER_FILES, &rings->file_fd, 1), "a file");
    require(syscall(SYS_io_uring_register, rings->ring.fd, IORING_REGISTER_BUFFERS, &memory, 1), "memory");
}

static void fill(const struct rings *rings, struct io_uring_sqe *entry, uint32_t number)
{
    unsigned char *page = rings->memory + number * READ_BYTES;
    *entry = (struct io_uring_sqe){.opcode = IORING_OP_NOP, .user_data = rings->requests + number};
    if (!rings->reads)
        return;
    page[READ_BYTES - 1] = 0;
    entry->opcode = rings->registered ? IORING_OP_READ_FIXED : IORING_OP_READ;
    entry->flags = rings->registered ? IOSQE_FIXED_FILE : 0;
    entry->fd = rings->registered ? 0 : rings->file_fd;
    entry->addr = (uint64_t)(uintptr_t)page;
    entry->len = READ_BYTES;
}

/* Returns how many of at_once completions are there and right; fewer completions end the probe. */
static uint32_t reap(struct rings *rings)
{
    struct ring *ring = &rings->ring;
    const int expected = rings->reads ? (int)READ_BYTES : 0;
    uint32_t reaped = *ring->reaped, right = 0;
    if (__atomic_load_n(ring->completed, __ATOMIC_ACQUIRE) - reaped != rings->at_once)
        probe_fail("io_uring completed %u of %u requests", *ring->completed - reaped, rings->at_once);
    for (uint32_t i = 0; i < rings->at_once; i++, reaped++) {
        const struct io_uring_cqe *completion = &ring->completion[reaped & ring->completion_mask];
        uint64_t number = completion->user_data - rings->requests;
        right += number < rings->at_once && completion->res == expected &&
                 (!rings->reads || rings->memory[(number + 1) * READ_BYTES - 1] == rings->last);
    }
    __atomic_store_n(ring->reaped, reaped, __ATOMIC_RELEASE);
    rings->requests += rings->at_once;
    return right;
}

/* The timed part. */
static __attribute__((noinline)) uint64_t submit(struct rings *rings, uint64_t groups)
{
    struct ring *ring = &rings->ring;
    uint64_t right = 0;
    for (uint64_t group = 0; group < groups; group++) {
        uint32_t tail = *ring->submitted;
        for (uint32_t i = 0; i < rings->at_once; i++)
            fill(rings, &ring->entry[(tail + i) & ring->submission_mask], i);
        __atomic_store_n(ring->submitted, tail + rings->at_once, __ATOMIC_RELEASE);
        long taken = syscall(SYS_io_uring_enter, rings->enter_fd, rings->at_once, rings->at_once, rings->enter_flags,
                             NULL, 0);
        if (taken != (long)rings->at_once)
            probe_fail("io_uring took %ld of %u requests: %s", taken, rings->at_once, strerror(errno));
        right += reap(rings);
    }
    return right;
}

static void setup(struct probe_run *run)
{
    struct rings *rings = calloc(1, sizeof *rings);
    if (!rings)
        probe_fail("out of memory");
    rings->at_once = (uint32_t)probe_integer(run, "at_once");
    rings->reads = probe_is(run, "request", "read") || probe_is(run, "request", "read_registered");
    rings->registered = probe_is(run, "request", "nop_registered") || probe_is(run, "request", "read_registered");
    const char *why = ring_open(&rings->ring, rings->at_once, 0);
    if (why)
        probe_skip("%s", why);
    rings->enter_fd = rings->ring.fd;
    rings->enter_flags = IORING_ENTER_GETEVENTS;
    if (rings->reads)
        rings->file_fd = file_of(READ_BYTES);
    rings->last = file_byte(READ_BYTES - 1, page_bytes());
    rings->memory = mmap(NULL, rings->at_once * READ_BYTES, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (rings->memory == MAP_FAILED)
        probe_skip("no memory to read into: %s", strerror(errno));
    if (rings->registered)
        register_all(rings);
    run->state = rings;
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    struct rings *rings = run->state;
    const uint64_t groups = (operations + rings->at_once - 1) / rings->at_once;
    probe_start(value);
    uint64_t right = submit(rings, groups);
    probe_stop(value);
    value->operations = groups * rings->at_once;
    probe_count(value, "checked", right);
}

static void teardown(struct probe_run *run)
{
    struct rings *rings = run->state;
    close(rings->ring.fd);
    if (rings->reads)
        close(rings->file_fd);
    free(rings);
}

static const struct probe ring_probe = {
    .title = "io_uring, nothing and a cached page",
    .question = "What does a request to io_uring cost that never waits, and what does registering save?",
    .operation = "one request from its entry to its completion, of so many that one system call submits",
    .source = "io_uring_register(2); Linux, commit 6b06314c47e1 (J. Axboe, 2019)",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .metrics = (const struct probe_metric[]){
        {"request", "s", "lower", "wall", "operations", "time of one request"}, {0}},
    .params = (const struct probe_param[]){
        {.name = "request", .doc = "what is asked for", .choices = "nop,nop_registered,read,read_registered",
         .sweep = "nop,nop_registered,read,read_registered"},
        {.name = "at_once", .doc = "requests that one system call submits", .unit = "1", .sweep = "1,32", .min = 1,
         .max = MOST_AT_ONCE},
        {0}},
    .setup = setup,
    .batch = batch,
    .teardown = teardown,
};

int main(int argc, char **argv)
{
    return probe_main(&ring_probe, argc, argv);
}
