// SPDX-License-Identifier: Apache-2.0
// 1000 scattered reads of 4 KiB by the shortest loop over io_uring that keeps 128 in flight.
#include "files.hpp"

#include <atomic>
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>

int main()
{
    const bench::scattered files;
    io_uring_params parameters{};
    parameters.flags = IORING_SETUP_COOP_TASKRUN;
    const int ring = static_cast<int>(::syscall(__NR_io_uring_setup, bench::depth, &parameters));
    bench::must(ring >= 0, "no io_uring here");
    const auto map = [&](std::size_t size, off_t what) {
        void *mapped = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, what);
        bench::must(mapped != MAP_FAILED, "cannot map the ring");
        return static_cast<std::byte *>(mapped);
    };
    std::byte *rings = map(std::max<std::size_t>(parameters.sq_off.array + parameters.sq_entries * 4,
                                                 parameters.cq_off.cqes + parameters.cq_entries * sizeof(io_uring_cqe)),
                           IORING_OFF_SQ_RING);
    auto *entries =
        reinterpret_cast<io_uring_sqe *>(map(parameters.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES));
    const auto word = [&](unsigned offset) { return reinterpret_cast<unsigned *>(rings + offset); };
    unsigned *sq_tail = word(parameters.sq_off.tail), *array = word(parameters.sq_off.array);
    unsigned *cq_head = word(parameters.cq_off.head), *cq_tail = word(parameters.cq_off.tail);
    const unsigned sq_mask = *word(parameters.sq_off.ring_mask), cq_mask = *word(parameters.cq_off.ring_mask);
    auto *completions = reinterpret_cast<io_uring_cqe *>(rings + parameters.cq_off.cqes);

    return bench::report_reads(files, [&] {
        std::size_t begun = 0, ended = 0;
        while (ended < bench::files) {
            unsigned added = 0;
            for (; begun < bench::files && begun - ended < bench::depth; begun++, added++) {
                const unsigned slot = (*sq_tail + added) & sq_mask;
                io_uring_sqe &entry = entries[slot];
                std::memset(&entry, 0, sizeof entry);
                entry.opcode = IORING_OP_READ;
                entry.fd = files.fd(begun);
                entry.addr = reinterpret_cast<std::uintptr_t>(files.buffer(begun));
                entry.len = bench::block;
                array[slot] = slot;
            }
            std::atomic_ref(*sq_tail).store(*sq_tail + added, std::memory_order_release);
            bench::must(::syscall(__NR_io_uring_enter, ring, added, 1, IORING_ENTER_GETEVENTS, nullptr, 0) ==
                            static_cast<long>(added),
                        "the kernel did not take all");
            unsigned head = *cq_head;
            for (; head != std::atomic_ref(*cq_tail).load(std::memory_order_acquire); head++, ended++)
                bench::must(completions[head & cq_mask].res == static_cast<int>(bench::block), "a read was short");
            std::atomic_ref(*cq_head).store(head, std::memory_order_release);
        }
    });
}
