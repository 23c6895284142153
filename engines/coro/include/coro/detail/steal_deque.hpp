// SPDX-License-Identifier: Apache-2.0
// A worker's forks: the owner pushes and pops the newest, others steal the oldest.
// After Chase & Lev, "Dynamic Circular Work-Stealing Deque" (2005), in the orders of Lê et al. (PPoPP 2013), but for the
// owner's fence, which the thief pays.
#pragma once

#include <coro/detail/memory.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace coro::detail
{

template <class Item, class Memory = machine> class steal_deque
{
    template <class T> using atomic = typename Memory::template atomic<T>;

  public:
    explicit steal_deque(std::size_t capacity = 256) : ring_(new ring(capacity, nullptr))
    {
    }
    steal_deque(const steal_deque &) = delete;
    steal_deque &operator=(const steal_deque &) = delete;
    ~steal_deque()
    {
        delete ring_.load(std::memory_order_relaxed);
    }

    // Owner. Throws std::bad_alloc when it has to grow and cannot.
    void push(Item &item)
    {
        const std::int64_t bottom = bottom_.load(std::memory_order_relaxed);
        ring *slots = ring_.load(std::memory_order_relaxed);
        if (bottom - top_seen_ >= slots->size) [[unlikely]]
            slots = make_room(slots, bottom);
        slots->at(bottom).store(&item, std::memory_order_relaxed);
        // release: a thief that sees the new bottom sees the slot. So do all stores of bottom_: one that came later
        // would not pass on what an earlier one released (C++20, [intro.races]).
        bottom_.store(bottom + 1, std::memory_order_release);
    }

    // Owner. The newest, null when there is none.
    [[nodiscard]] Item *pop() noexcept
    {
        const std::int64_t bottom = bottom_.load(std::memory_order_relaxed) - 1;
        ring *const slots = ring_.load(std::memory_order_relaxed);
        bottom_.store(bottom, std::memory_order_release);
        // Pairs with steal(): either the thief sees that this one is taken, or we see what has been stolen.
        Memory::light();
        std::int64_t top = top_.load(std::memory_order_relaxed);
        Item *item = nullptr;
        if (top <= bottom) [[likely]] {
            item = slots->at(bottom).load(std::memory_order_relaxed);
            if (top < bottom) [[likely]]
                return item;
            // The last one: whoever moves top_ has it. seq_cst: against the thieves, who do the same.
            if (!top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst, std::memory_order_relaxed))
                item = nullptr;
        }
        bottom_.store(bottom + 1, std::memory_order_release);
        return item;
    }

    // Any other thread. The oldest; null when there is none, or when somebody else was quicker.
    [[nodiscard]] Item *steal() noexcept
    {
        // acquire: whoever moved top_ there has read its slot before.
        std::int64_t top = top_.load(std::memory_order_acquire);
        // Looking is free: the barrier is for those who see something.
        if (top >= bottom_.load(std::memory_order_acquire))
            return nullptr;
        Memory::heavy();
        if (top >= bottom_.load(std::memory_order_acquire))
            return nullptr;
        // acquire: sees what make_room() has copied.
        Item *const item = ring_.load(std::memory_order_acquire)->at(top).load(std::memory_order_relaxed);
        if (!top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst, std::memory_order_relaxed))
            return nullptr;
        return item;
    }

    // Any thread; what is true only if nobody changes anything.
    [[nodiscard]] bool empty() const noexcept
    {
        return top_.load(std::memory_order_acquire) >= bottom_.load(std::memory_order_acquire);
    }

  private:
    struct ring {
        ring(std::size_t capacity, ring *before)
            : size(static_cast<std::int64_t>(capacity)), slots(std::make_unique<atomic<Item *>[]>(capacity)),
              outgrown(before)
        {
        }
        atomic<Item *> &at(std::int64_t index) const noexcept
        {
            return slots[static_cast<std::size_t>(index & (size - 1))];
        }

        const std::int64_t size; // a power of two
        const std::unique_ptr<atomic<Item *>[]> slots;
        const std::unique_ptr<ring> outgrown; // a thief may still read there
    };

    ring *make_room(ring *slots, std::int64_t bottom)
    {
        // acquire: as in steal(): the slots before are not read any more.
        top_seen_ = top_.load(std::memory_order_acquire);
        if (bottom - top_seen_ < slots->size)
            return slots;
        auto *const larger = new ring(2 * static_cast<std::size_t>(slots->size), slots);
        for (std::int64_t i = top_seen_; i < bottom; i++)
            larger->at(i).store(slots->at(i).load(std::memory_order_relaxed), std::memory_order_relaxed);
        ring_.store(larger, std::memory_order_release);
        return larger;
    }

    // Apart: thieves write the one, the owner the others.
    alignas(64) atomic<std::int64_t> top_{0};
    alignas(64) atomic<std::int64_t> bottom_{0};
    atomic<ring *> ring_;
    std::int64_t top_seen_ = 0; // the owner's: top_ was this at least
};

} // namespace coro::detail
