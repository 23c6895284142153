// SPDX-License-Identifier: Apache-2.0
// Queues of work that allocate nothing: the items carry the links.
#pragma once

#include <coro/executor.hpp>

#include <atomic>

namespace coro::detail
{

// First in, first out; one thread, or under a lock.
template <class Item> class fifo
{
  public:
    [[nodiscard]] bool empty() const noexcept
    {
        return first_ == nullptr;
    }

    void push(Item &item) noexcept
    {
        item.next = nullptr;
        (first_ == nullptr ? first_ : last_->next) = &item;
        last_ = &item;
    }

    // Null when empty.
    [[nodiscard]] Item *pop() noexcept
    {
        Item *item = first_;
        if (item != nullptr)
            first_ = item->next;
        return item;
    }

    template <class Visit> void each(Visit visit) const
    {
        for (const Item *item = first_; item != nullptr; item = item->next)
            visit(*item);
    }

    bool remove(Item &item) noexcept
    {
        Item *before = nullptr;
        for (Item *each = first_; each != nullptr; before = each, each = each->next)
            if (each == &item) {
                (before == nullptr ? first_ : before->next) = item.next;
                if (last_ == &item)
                    last_ = before;
                return true;
            }
        return false;
    }

  private:
    Item *first_ = nullptr;
    Item *last_ = nullptr; // only when not empty
};

// Many threads push, one takes all.
template <class Item> class inbox
{
  public:
    [[nodiscard]] bool empty() const noexcept
    {
        // seq_cst: the reader has just said that it sleeps, and either sees the item or is seen asleep.
        return newest_.load(std::memory_order_seq_cst) == nullptr;
    }

    void push(Item &item) noexcept
    {
        Item *newest = newest_.load(std::memory_order_relaxed);
        do
            item.next = newest;
        while (!newest_.compare_exchange_weak(newest, &item, std::memory_order_seq_cst, std::memory_order_relaxed));
    }

    // Calls take(item) for each, oldest first.
    template <class Take> void drain(Take take)
    {
        if (newest_.load(std::memory_order_relaxed) == nullptr)
            return;
        // acquire: sees the items as push() released them.
        Item *item = newest_.exchange(nullptr, std::memory_order_acquire), *oldest = nullptr;
        while (item != nullptr) {
            Item *const older = item->next;
            item->next = oldest;
            oldest = item;
            item = older;
        }
        while (oldest != nullptr) {
            Item *const newer = oldest->next;
            take(*oldest);
            oldest = newer;
        }
    }

  private:
    std::atomic<Item *> newest_{nullptr};
};

} // namespace coro::detail
