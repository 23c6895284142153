// SPDX-License-Identifier: Apache-2.0
// Threads that are inside a function of an object which what they do there may end: the work that a thread has just
// scheduled on a loop can be the last one, and the loop be gone while the thread still wakes it.
#pragma once

#include <atomic>
#include <sched.h>

namespace coro::detail
{

class visitors
{
  public:
    class visit
    {
      public:
        explicit visit(visitors &of) noexcept : of_(of)
        {
            of_.inside_.fetch_add(1, std::memory_order_relaxed);
        }
        visit(const visit &) = delete;
        visit &operator=(const visit &) = delete;
        // release: all that was done inside comes before the end of wait().
        ~visit()
        {
            of_.inside_.fetch_sub(1, std::memory_order_release);
        }

      private:
        visitors &of_;
    };

    // For the destructor: until all have left. Who comes after that comes too late in any case.
    void wait() const noexcept
    {
        while (inside_.load(std::memory_order_acquire) != 0)
            ::sched_yield();
    }

  private:
    std::atomic<unsigned> inside_{0};
};

} // namespace coro::detail
