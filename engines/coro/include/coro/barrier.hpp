// SPDX-License-Identifier: Apache-2.0
// Lets a number of coroutines and fibers go on together, again and again.
#pragma once

#include <coro/detail/waiter.hpp>

#include <coroutine>
#include <cstddef>
#include <mutex>

namespace coro
{

class barrier
{
  public:
    // pre: parties > 0.
    explicit barrier(std::size_t parties) noexcept : parties_(parties), missing_(parties)
    {
    }
    barrier(const barrier &) = delete;
    barrier &operator=(const barrier &) = delete;

    class [[nodiscard]] arrival : detail::line_waiter
    {
      public:
        explicit arrival(barrier &at) noexcept : barrier_(at)
        {
        }
        [[nodiscard]] bool await_ready() const noexcept
        {
            return false;
        }
        template <class Promise> bool await_suspend(std::coroutine_handle<Promise> waiting)
        {
            detail::waiter *others = nullptr;
            const bool suspends = wait_in(barrier_.line_, barrier_.line_lock_, waiting, [&] {
                if (--barrier_.missing_ != 0)
                    return false;
                barrier_.missing_ = barrier_.parties_;
                others = barrier_.line_.serve_all();
                return true;
            });
            detail::wake_all(others); // there are none when this suspends
            return suspends;
        }
        void await_resume()
        {
            finish();
        }

      private:
        barrier &barrier_;
    };

    // `co_await b.arrive_and_wait()`: until all parties have. Throws cancelled when stop is requested meanwhile; the
    // others still count on this arrival, if it came before the stop.
    arrival arrive_and_wait() noexcept
    {
        return arrival(*this);
    }

  private:
    const std::size_t parties_;
    std::size_t missing_; // in this round
    detail::spinlock line_lock_;
    detail::line line_;
};

} // namespace coro
