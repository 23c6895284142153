// SPDX-License-Identifier: Apache-2.0
// Memory of which the kernel takes a block when it has something to put there (a ring of provided buffers of io_uring,
// Linux 5.19): who waits holds none.
#pragma once

#include <coro/detail/spinlock.hpp>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <linux/io_uring.h>
#include <memory>
#include <mutex>
#include <new>
#include <sys/mman.h>

namespace coro::detail
{

class provided_buffers
{
  public:
    // count: is rounded up to a power of two, 32768 at most.
    provided_buffers(unsigned count, std::size_t size)
        : count_(std::bit_ceil(std::clamp(count, 1u, 32768u))), size_(size),
          mapped_(count_ * (sizeof(io_uring_buf) + size))
    {
        void *memory = ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            throw std::bad_alloc();
        ring_ = static_cast<io_uring_buf *>(memory);
        blocks_ = reinterpret_cast<std::byte *>(ring_ + count_);
        for (unsigned id = 0; id < count_; id++)
            give_back(block(static_cast<std::uint16_t>(id)));
    }
    provided_buffers(const provided_buffers &) = delete;
    provided_buffers &operator=(const provided_buffers &) = delete;
    ~provided_buffers()
    {
        ::munmap(ring_, mapped_);
    }

    [[nodiscard]] io_uring_buf_reg registration() const noexcept
    {
        io_uring_buf_reg all{}; // as group 0
        all.ring_addr = reinterpret_cast<std::uintptr_t>(ring_);
        all.ring_entries = count_;
        return all;
    }

    [[nodiscard]] std::byte *block(std::uint16_t id) const noexcept
    {
        return blocks_ + id * size_;
    }

    // The kernel may take the block again. Any thread.
    void give_back(std::byte *block) noexcept
    {
        const std::lock_guard hold(lock_);
        io_uring_buf &entry = ring_[tail_ & (count_ - 1)];
        entry.addr = reinterpret_cast<std::uintptr_t>(block);
        entry.len = static_cast<std::uint32_t>(size_);
        entry.bid = static_cast<std::uint16_t>(static_cast<std::size_t>(block - blocks_) / size_);
        // The tail lies in the first entry, where the others have nothing. release: the kernel reads the entry after
        // it has seen the tail.
        std::atomic_ref(ring_[0].resv).store(++tail_, std::memory_order_release);
    }

  private:
    unsigned count_;
    std::size_t size_, mapped_;
    io_uring_buf *ring_ = nullptr;
    std::byte *blocks_ = nullptr;
    std::uint16_t tail_ = 0;
    spinlock lock_;
};

struct give_back {
    std::shared_ptr<provided_buffers> to;
    void operator()(std::byte *block) const noexcept
    {
        to->give_back(block);
    }
};
using provided_buffer = std::unique_ptr<std::byte, give_back>;

} // namespace coro::detail
