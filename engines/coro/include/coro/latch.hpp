// SPDX-License-Identifier: Apache-2.0
// Lets any number of coroutines and fibers wait until something has happened a number of times.
#pragma once

#include <coro/detail/waiter.hpp>

#include <coroutine>
#include <cstddef>
#include <mutex>

namespace coro
{

class latch
{
  public:
    explicit latch(std::size_t count) noexcept : count_(count)
    {
    }
    latch(const latch &) = delete;
    latch &operator=(const latch &) = delete;

    class [[nodiscard]] wait_awaiter : detail::line_waiter
    {
      public:
        explicit wait_awaiter(latch &of) noexcept : latch_(of)
        {
        }
        [[nodiscard]] bool await_ready() const noexcept
        {
            return false;
        }
        template <class Promise> bool await_suspend(std::coroutine_handle<Promise> waiting)
        {
            return wait_in(latch_.line_, latch_.line_lock_, waiting, [this] { return latch_.count_ == 0; });
        }
        void await_resume()
        {
            finish();
        }

      private:
        latch &latch_;
    };

    // `co_await l.wait()`. Throws cancelled when stop is requested before the count is zero.
    wait_awaiter wait() noexcept
    {
        return wait_awaiter(*this);
    }

    // The call that reaches zero resumes everybody, in their order, each on its executor; those may destroy the latch.
    // pre: by <= what is left.
    void count_down(std::size_t by = 1)
    {
        detail::waiter *served = nullptr;
        {
            std::lock_guard hold(line_lock_);
            count_ -= by;
            if (count_ == 0)
                served = line_.serve_all();
        }
        detail::wake_all(served);
    }

    [[nodiscard]] bool done() noexcept
    {
        std::lock_guard hold(line_lock_);
        return count_ == 0;
    }

  private:
    detail::spinlock line_lock_;
    detail::line line_;
    std::size_t count_;
};

} // namespace coro
