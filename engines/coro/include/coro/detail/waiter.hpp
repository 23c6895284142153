// SPDX-License-Identifier: Apache-2.0
// Waiting in a line: what mutex, semaphore, latch and channel have in common.
#pragma once

#include <coro/detail/spinlock.hpp>
#include <coro/executor.hpp>

#include <coroutine>
#include <mutex>
#include <optional>
#include <stop_token>

namespace coro::detail
{

// fresh: not in the line. in_line: may be taken out by whoever holds the line's lock. served: what it waited for is its
// own. stopped: stop was requested first.
enum class turn : unsigned char { fresh, in_line, served, stopped };

struct waiter : work {
    waiter *before = nullptr;
    executor *home = nullptr;
    turn state = turn::fresh; // under the line's lock
    bool mark = false;        // the owner of the line's own
};

// First come, first served. Everything under a lock of the owner's.
class line
{
  public:
    [[nodiscard]] bool empty() const noexcept
    {
        return first_ == nullptr;
    }

    void join(waiter &last) noexcept
    {
        last.state = turn::in_line;
        last.next = nullptr;
        last.before = last_;
        if (last_ == nullptr)
            first_ = &last;
        else
            last_->next = &last;
        last_ = &last;
    }

    // The first one, served; null when there is none. Wake it after unlocking.
    [[nodiscard]] waiter *serve() noexcept
    {
        waiter *first = first_;
        if (first != nullptr) {
            leave(*first);
            first->state = turn::served;
        }
        return first;
    }

    // Null when there is none.
    [[nodiscard]] waiter *first() const noexcept
    {
        return first_;
    }

    // Everybody, served, as a list for wake_all(); null when there is none.
    [[nodiscard]] waiter *serve_all() noexcept
    {
        waiter *const all = first_;
        for (waiter *each = all; each != nullptr; each = static_cast<waiter *>(each->next))
            each->state = turn::served;
        first_ = last_ = nullptr;
        return all;
    }

    void leave(waiter &gone) noexcept
    {
        waiter *const after = static_cast<waiter *>(gone.next);
        if (gone.before == nullptr)
            first_ = after;
        else
            gone.before->next = after;
        (after == nullptr ? last_ : after->before) = gone.before;
    }

  private:
    waiter *first_ = nullptr, *last_ = nullptr;
};

// The awaiter's half: joins the line unless it is served at once, and leaves it when stop is requested.
class line_waiter : public waiter
{
  public:
    line_waiter() = default;
    line_waiter(const line_waiter &) = delete;
    line_waiter &operator=(const line_waiter &) = delete;

  protected:
    // Of the line, under the lock. served_at_once() runs under it; false: wait. Returns whether the coroutine suspends.
    template <class Promise, class AtOnce>
    bool wait_in(line &where, spinlock &lock, std::coroutine_handle<Promise> waiting, AtOnce served_at_once)
    {
        const environment &around = environment_of(waiting);
        handle = waiting;
        home = around.executor;
        // Before joining: after it another thread may resume the coroutine at any moment.
        if (around.stop.stop_possible())
            on_stop_.emplace(around.stop, stopper{this, &where, &lock});
        std::lock_guard hold(lock);
        if (state == turn::stopped)
            return false;
        if (served_at_once()) {
            state = turn::served;
            return false;
        }
        where.join(*this);
        return true;
    }

    // Throws cancelled unless served.
    void finish()
    {
        on_stop_.reset(); // waits for a stopper that is at work on another thread
        if (state == turn::stopped)
            throw cancelled();
    }

  private:
    struct stopper {
        waiter *who;
        line *where;
        spinlock *lock;
        void operator()() const noexcept
        {
            std::unique_lock hold(*lock);
            const turn before = who->state;
            if (before == turn::served)
                return;
            who->state = turn::stopped;
            if (before == turn::in_line) {
                where->leave(*who);
                hold.unlock();
                wake(*who, who->home);
            }
        }
    };

    std::optional<std::stop_callback<stopper>> on_stop_;
};

inline void wake(waiter *served)
{
    if (served != nullptr)
        wake(*served, served->home);
}

// A list of those who have been served; one that goes on may destroy what they waited for.
inline void wake_all(waiter *served)
{
    while (served != nullptr) {
        auto *const next = static_cast<waiter *>(served->next);
        wake(*served, served->home);
        served = next;
    }
}

} // namespace coro::detail
