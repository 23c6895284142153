// SPDX-License-Identifier: Apache-2.0
// Waiting, with a mutex held, until somebody says that something has changed.
#pragma once

#include <coro/detail/waiter.hpp>
#include <coro/lazy.hpp>
#include <coro/mutex.hpp>
#include <coro/spawn.hpp>

#include <coroutine>
#include <mutex>
#include <stop_token>
#include <utility>

namespace coro
{

class condition_variable
{
  public:
    condition_variable() = default;
    condition_variable(const condition_variable &) = delete;
    condition_variable &operator=(const condition_variable &) = delete;

    // Releases the mutex, waits for a notification, and holds the mutex again, also when it throws cancelled because
    // stop was requested first. pre: `hold` owns a mutex, and outlives the wait.
    lazy<> wait(std::unique_lock<mutex> &hold)
    {
        mutex &of = *hold.mutex();
        bool stopped = false, released = false;
        try {
            co_await notification(*this, of, released);
        } catch (const cancelled &) {
            stopped = true;
        }
        if (released) {
            hold.release();
            // Whatever has been asked for: the caller counts on the mutex.
            hold = co_await with_stop(std::stop_token(), locked(of));
        }
        if (stopped)
            throw cancelled();
    }

    // Waits until what() is true, which is asked with the mutex held.
    template <class What> lazy<> wait(std::unique_lock<mutex> &hold, What what)
    {
        while (!what())
            co_await wait(hold);
    }

    // Whoever has waited longest goes on, on its executor.
    void notify_one()
    {
        detail::waiter *next = nullptr;
        {
            std::lock_guard guard(line_lock_);
            next = line_.serve();
        }
        detail::wake(next);
    }

    void notify_all()
    {
        detail::waiter *all = nullptr;
        {
            std::lock_guard guard(line_lock_);
            all = line_.serve_all();
        }
        detail::wake_all(all);
    }

  private:
    class notification : detail::line_waiter
    {
      public:
        notification(condition_variable &of, mutex &held, bool &released) noexcept
            : of_(of), held_(held), released_(released)
        {
        }
        [[nodiscard]] bool await_ready() const noexcept
        {
            return false;
        }
        template <class Promise> bool await_suspend(std::coroutine_handle<Promise> waiting)
        {
            mutex &held = held_;
            released_ = true;
            if (!wait_in(of_.line_, of_.line_lock_, waiting, [] { return false; })) {
                released_ = false;
                return false;
            }
            // Nothing of this object is touched any more: whoever waits may have gone on. But it needs the mutex.
            held.unlock();
            return true;
        }
        void await_resume()
        {
            finish();
        }

      private:
        condition_variable &of_;
        mutex &held_;
        bool &released_;
    };

    static lazy<std::unique_lock<mutex>> locked(mutex &of)
    {
        co_return co_await of.lock();
    }

    detail::spinlock line_lock_;
    detail::line line_;
};

} // namespace coro
