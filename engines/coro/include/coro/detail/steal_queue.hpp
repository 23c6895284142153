// SPDX-License-Identifier: Apache-2.0
// A worker's queue: the owner pushes and pops in order, others take half of it from the front.
// After the run queue of the Go scheduler (runtime/proc.go, runqput, runqgrab).
#pragma once

#include <coro/executor.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace coro::detail
{

class steal_queue
{
  public:
    static constexpr std::uint64_t capacity = 256;
    static constexpr std::int64_t patience_ns = 5'000;

    // Owner. False when full.
    bool push(work &item) noexcept
    {
        const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
        // acquire: pairs with the taker's step of head_: the slot has been read before it is written again.
        if (tail - head_.load(std::memory_order_acquire) == capacity)
            return false;
        slots_[tail % capacity].store(&item, std::memory_order_relaxed);
        // seq_cst, not just release: the pusher then looks for sleepers, who have said so before they looked here.
        tail_.store(tail + 1, std::memory_order_seq_cst);
        return true;
    }

    // Owner. Null when empty.
    [[nodiscard]] work *pop() noexcept
    {
        std::uint64_t head = head_.load(std::memory_order_acquire);
        while (head != tail_.load(std::memory_order_relaxed)) {
            work *item = slots_[head % capacity].load(std::memory_order_relaxed);
            if (head_.compare_exchange_weak(head, head + 1, std::memory_order_acq_rel, std::memory_order_acquire))
                return item;
        }
        return nullptr;
    }

    // What a thief remembers of a queue with one item.
    struct sighting {
        std::uint64_t head = ~std::uint64_t{0};
        std::int64_t since_ns = 0;
    };

    // Another thread: moves half of this queue, at least one, to `into`, which is empty and the caller's own, but for
    // one item, which is returned. Null when there was nothing, or another thief was quicker. One item alone is taken
    // only when it has lain here since a sighting patience_ns ago: its owner, who has just been woken by what it did,
    // mostly comes to it sooner, and what both of them use is in the caches there.
    [[nodiscard]] work *steal(steal_queue &into, sighting &seen, std::int64_t now_ns) noexcept
    {
        std::uint64_t head = head_.load(std::memory_order_acquire);
        const std::uint64_t tail = tail_.load(std::memory_order_seq_cst);
        const std::uint64_t there = tail - head;
        if (there == 0 || there > capacity)
            return nullptr;
        if (there == 1 && seen.head != head) {
            seen = {head, now_ns};
            return nullptr;
        }
        if (there == 1 && now_ns - seen.since_ns < patience_ns)
            return nullptr;
        const std::uint64_t taken = there - there / 2;
        std::array<work *, capacity / 2> items;
        for (std::uint64_t i = 0; i < taken; i++)
            items[i] = slots_[(head + i) % capacity].load(std::memory_order_relaxed);
        // Whoever moved the head has had some of them, and the owner may have used their slots again.
        if (!head_.compare_exchange_strong(head, head + taken, std::memory_order_acq_rel, std::memory_order_relaxed))
            return nullptr;
        for (std::uint64_t i = 1; i < taken; i++)
            into.push(*items[i]);
        return items[0];
    }

    [[nodiscard]] bool empty() const noexcept
    {
        return head_.load(std::memory_order_seq_cst) == tail_.load(std::memory_order_seq_cst);
    }

  private:
    // Apart: thieves write the one, the owner the other.
    alignas(64) std::atomic<std::uint64_t> head_{0};
    alignas(64) std::atomic<std::uint64_t> tail_{0};
    std::array<std::atomic<work *>, capacity> slots_{};
};

} // namespace coro::detail
