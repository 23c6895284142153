// SPDX-License-Identifier: Apache-2.0
// A counting semaphore for coroutines and fibers.
#pragma once

#include <coro/detail/waiter.hpp>

#include <coroutine>
#include <cstddef>
#include <mutex>

namespace coro
{

// Fair: a permit goes to whoever has waited longest, who is resumed on its own executor.
class semaphore
{
  public:
    explicit semaphore(std::size_t permits) noexcept : permits_(permits)
    {
    }
    semaphore(const semaphore &) = delete;
    semaphore &operator=(const semaphore &) = delete;

    class [[nodiscard]] acquire_awaiter : detail::line_waiter
    {
      public:
        explicit acquire_awaiter(semaphore &of) noexcept : semaphore_(of)
        {
        }
        [[nodiscard]] bool await_ready() const noexcept
        {
            return false;
        }
        template <class Promise> bool await_suspend(std::coroutine_handle<Promise> waiting)
        {
            return wait_in(semaphore_.line_, semaphore_.line_lock_, waiting, [this] { return semaphore_.take(); });
        }
        void await_resume()
        {
            finish();
        }

      private:
        semaphore &semaphore_;
    };

    // `co_await s.acquire()`. Throws cancelled when stop is requested before its turn.
    acquire_awaiter acquire() noexcept
    {
        return acquire_awaiter(*this);
    }

    bool try_acquire() noexcept
    {
        std::lock_guard hold(line_lock_);
        return take();
    }

    void release()
    {
        detail::waiter *next = nullptr;
        {
            std::lock_guard hold(line_lock_);
            next = line_.serve();
            if (next == nullptr)
                permits_++;
        }
        detail::wake(next);
    }

  private:
    bool take() noexcept
    {
        if (permits_ == 0)
            return false;
        permits_--;
        return true;
    }

    detail::spinlock line_lock_;
    detail::line line_;
    std::size_t permits_; // zero while anybody waits
};

} // namespace coro
