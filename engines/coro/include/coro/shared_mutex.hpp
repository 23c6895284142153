// SPDX-License-Identifier: Apache-2.0
// One writer or several readers, over suspensions and on any threads.
#pragma once

#include <coro/detail/waiter.hpp>

#include <coroutine>
#include <cstddef>
#include <mutex>
#include <shared_mutex>

namespace coro
{

// Fair: in the order of arrival, and readers that stand together go together. So a reader that holds it must not ask
// for it once more: a writer may stand between.
class shared_mutex
{
    enum class way : bool { alone, shared };

  public:
    shared_mutex() = default;
    shared_mutex(const shared_mutex &) = delete;
    shared_mutex &operator=(const shared_mutex &) = delete;

    template <way Way, class Lock> class [[nodiscard]] lock_awaiter : detail::line_waiter
    {
      public:
        explicit lock_awaiter(shared_mutex &of) noexcept : mutex_(of)
        {
            mark = Way == way::shared;
        }
        [[nodiscard]] bool await_ready() const noexcept
        {
            return false;
        }
        template <class Promise> bool await_suspend(std::coroutine_handle<Promise> waiting)
        {
            return wait_in(mutex_.line_, mutex_.lock_, waiting,
                           [this] { return mutex_.line_.empty() && mutex_.admit(Way); });
        }
        // Held until the result goes.
        Lock await_resume()
        {
            finish();
            return Lock(mutex_, std::adopt_lock);
        }

      private:
        shared_mutex &mutex_;
    };

    // `auto hold = co_await m.lock()`. Throws cancelled when stop is requested before its turn.
    auto lock() noexcept
    {
        return lock_awaiter<way::alone, std::unique_lock<shared_mutex>>(*this);
    }
    // `auto hold = co_await m.lock_shared()`; as lock().
    auto lock_shared() noexcept
    {
        return lock_awaiter<way::shared, std::shared_lock<shared_mutex>>(*this);
    }

    // pre: held by the caller.
    void unlock()
    {
        leave([this] { writing_ = false; });
    }
    void unlock_shared()
    {
        leave([this] { readers_--; });
    }

  private:
    // Under the lock.
    bool admit(way how) noexcept
    {
        if (writing_ || (how == way::alone && readers_ != 0))
            return false;
        if (how == way::alone)
            writing_ = true;
        else
            readers_++;
        return true;
    }

    template <class Change> void leave(Change change)
    {
        detail::waiter *first = nullptr, *last = nullptr;
        {
            std::lock_guard hold(lock_);
            change();
            while (line_.first() != nullptr && admit(line_.first()->mark ? way::shared : way::alone)) {
                detail::waiter *const next = line_.serve();
                next->next = nullptr;
                if (last == nullptr)
                    first = next;
                else
                    last->next = next;
                last = next;
            }
        }
        detail::wake_all(first);
    }

    detail::spinlock lock_;
    detail::line line_;
    std::size_t readers_ = 0;
    bool writing_ = false;
};

} // namespace coro
