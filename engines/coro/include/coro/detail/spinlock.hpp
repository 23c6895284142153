// SPDX-License-Identifier: Apache-2.0
// A lock for the few instructions in which a list of waiters is changed. Never held over a resumption.
#pragma once

#include <atomic>
#include <sched.h>

namespace coro::detail
{

class spinlock
{
  public:
    void lock() noexcept
    {
        // acquire: sees what the holder before wrote, which unlock() released.
        while (held_.exchange(true, std::memory_order_acquire)) {
            for (int spins = 0; held_.load(std::memory_order_relaxed); spins++) {
                // The holder may have been preempted, which no pause can end.
                if (spins >= 100)
                    ::sched_yield();
                pause();
            }
        }
    }

    void unlock() noexcept
    {
        held_.store(false, std::memory_order_release);
    }

    static void pause() noexcept
    {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#else
        asm volatile("yield");
#endif
    }

  private:
    std::atomic<bool> held_{false};
};

} // namespace coro::detail
