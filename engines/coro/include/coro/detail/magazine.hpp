// SPDX-License-Identifier: Apache-2.0
// Free blocks of one size: a list for each thread, and a depot that they exchange whole batches with, so that a thread
// which only allocates lives from a thread which only frees. After Bonwick & Adams, "Magazines and Vmem" (2001).
#pragma once

#include <coro/detail/spinlock.hpp>

#include <cstddef>
#include <mutex>

namespace coro::detail
{

// A free block is its own list node.
struct free_block {
    free_block *next;
    free_block *next_batch; // of the first block of a batch in the depot
};

// Batches that no thread owns.
class depot
{
  public:
    void put(free_block *batch) noexcept
    {
        std::lock_guard hold(lock_);
        batch->next_batch = batches_;
        batches_ = batch;
    }

    [[nodiscard]] free_block *take() noexcept
    {
        std::lock_guard hold(lock_);
        free_block *batch = batches_;
        if (batch != nullptr)
            batches_ = batch->next_batch;
        return batch;
    }

  private:
    spinlock lock_;
    free_block *batches_ = nullptr;
};

// One thread's free blocks: at most two batches.
class magazine
{
  public:
    // Null when there is none.
    [[nodiscard]] free_block *pop() noexcept
    {
        free_block *block = first_;
        if (block != nullptr) {
            first_ = block->next;
            count_--;
        }
        return block;
    }

    // True when a batch is due: unload() then.
    [[nodiscard]] bool push(free_block *block, std::size_t batch) noexcept
    {
        block->next = first_;
        first_ = block;
        return ++count_ >= 2 * batch;
    }

    // Gives the newest `batch` blocks away. pre: there are as many.
    [[nodiscard]] free_block *unload(std::size_t batch) noexcept
    {
        free_block *head = first_, *last = first_;
        for (std::size_t i = 1; i < batch; i++)
            last = last->next;
        first_ = last->next;
        last->next = nullptr;
        count_ -= batch;
        return head;
    }

    // pre: empty.
    void load(free_block *batch) noexcept
    {
        first_ = batch;
        for (; batch != nullptr; batch = batch->next)
            count_++;
    }

    [[nodiscard]] free_block *unload_all() noexcept
    {
        free_block *all = first_;
        first_ = nullptr;
        count_ = 0;
        return all;
    }

  private:
    free_block *first_ = nullptr;
    std::size_t count_ = 0;
};

} // namespace coro::detail
