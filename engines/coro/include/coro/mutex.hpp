// SPDX-License-Identifier: Apache-2.0
// Mutual exclusion between coroutines and fibers, over suspensions and on any threads.
#pragma once

#include <coro/detail/waiter.hpp>

#include <atomic>
#include <coroutine>
#include <mutex>
#include <utility>

namespace coro
{

// Fair: unlock() hands the mutex to whoever has waited longest, who is resumed on its own executor.
class mutex
{
  public:
    mutex() = default;
    mutex(const mutex &) = delete;
    mutex &operator=(const mutex &) = delete;

    class [[nodiscard]] lock_awaiter : detail::line_waiter
    {
      public:
        explicit lock_awaiter(mutex &of) noexcept : mutex_(of)
        {
        }
        [[nodiscard]] bool await_ready() noexcept
        {
            if (!mutex_.try_lock())
                return false;
            state = detail::turn::served;
            return true;
        }
        template <class Promise> bool await_suspend(std::coroutine_handle<Promise> waiting)
        {
            return wait_in(mutex_.line_, mutex_.line_lock_, waiting, [this] { return mutex_.lock_or_announce(); });
        }
        // The mutex is held until the result goes.
        std::unique_lock<mutex> await_resume()
        {
            finish();
            return {mutex_, std::adopt_lock};
        }

      private:
        mutex &mutex_;
    };

    // `auto hold = co_await m.lock()`. Throws cancelled when stop is requested before its turn.
    lock_awaiter lock() noexcept
    {
        return lock_awaiter(*this);
    }

    bool try_lock() noexcept
    {
        // acquire: sees what the holder before wrote, which unlock() released.
        holding expected = holding::nobody;
        return state_.compare_exchange_strong(expected, holding::somebody, std::memory_order_acquire,
                                              std::memory_order_relaxed);
    }

    // pre: held by the caller.
    void unlock()
    {
        holding expected = holding::somebody;
        if (state_.compare_exchange_strong(expected, holding::nobody, std::memory_order_release,
                                           std::memory_order_relaxed))
            return;
        detail::waiter *next = nullptr;
        {
            std::lock_guard hold(line_lock_);
            next = line_.serve();
            if (next == nullptr) // those who waited have been stopped
                state_.store(holding::nobody, std::memory_order_release);
            else if (line_.empty())
                state_.store(holding::somebody, std::memory_order_relaxed);
        }
        detail::wake(next);
    }

  private:
    enum class holding : unsigned char { nobody, somebody, with_line };

    // Under the line's lock. False: the holder knows now that it must look at the line.
    bool lock_or_announce() noexcept
    {
        holding seen = state_.load(std::memory_order_relaxed);
        for (;;) {
            if (seen == holding::with_line)
                return false;
            const holding wanted = seen == holding::nobody ? holding::somebody : holding::with_line;
            if (state_.compare_exchange_weak(seen, wanted, std::memory_order_acquire, std::memory_order_relaxed))
                return wanted == holding::somebody;
        }
    }

    std::atomic<holding> state_{holding::nobody};
    detail::spinlock line_lock_;
    detail::line line_;
};

} // namespace coro
