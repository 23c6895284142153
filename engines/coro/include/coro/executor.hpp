// SPDX-License-Identifier: Apache-2.0
// Who resumes what: the contract of loop.hpp and pool.hpp, and what a coroutine inherits from its caller.
#pragma once

#include <coro/detail/thread.hpp>

#include <concepts>
#include <coroutine>
#include <exception>
#include <stop_token>

namespace coro
{

// One resumption that is due. Belongs to whoever waits, usually inside its frame: scheduling allocates nothing.
struct work {
    work *next = nullptr;
    std::coroutine_handle<> handle;
};

class executor
{
  public:
    // Resumes the work's handle once, later, on a thread of this executor; what one thread schedules on a loop, in its
    // order.
    // Any thread may call it. pre: the item stays alive until then and is scheduled nowhere else.
    virtual void schedule(work &item) noexcept = 0;

  protected:
    executor() = default;
    executor(const executor &) = delete;
    executor &operator=(const executor &) = delete;
    ~executor() = default;
};

namespace detail
{
struct local_value;
}

// What a chain of calls shares. The root owns it, all below point to it.
struct environment {
    coro::executor *executor = nullptr; // null: whoever wakes a coroutine runs it
    std::stop_token stop{};
    const detail::local_value *locals = nullptr; // see local.hpp
};

// Thrown by a wait that ended because stop was requested.
class cancelled : public std::exception
{
  public:
    [[nodiscard]] const char *what() const noexcept override
    {
        return "the operation was cancelled";
    }
};

namespace detail
{

inline const environment no_environment{};

// Base of every promise that passes its environment on.
struct inheriting {
    const coro::environment *environment = &no_environment;
};

template <class Promise> const environment &environment_of(std::coroutine_handle<Promise> waiting) noexcept
{
    if constexpr (std::is_base_of_v<inheriting, Promise>)
        return *waiting.promise().environment;
    else
        return no_environment;
}

inline void wake(work &item, executor *home)
{
    if (home != nullptr)
        home->schedule(item);
    else
        item.handle.resume();
}

// Reads the environment of whoever awaits it; does not suspend.
template <class Read> class environment_reader
{
  public:
    explicit environment_reader(Read read) : read_(read)
    {
    }
    [[nodiscard]] bool await_ready() const noexcept
    {
        return false;
    }
    template <class Promise> bool await_suspend(std::coroutine_handle<Promise> waiting) noexcept
    {
        environment_ = &environment_of(waiting);
        return false;
    }
    auto await_resume() const
    {
        return read_(*environment_);
    }

  private:
    Read read_;
    const environment *environment_ = nullptr;
};

} // namespace detail

// `co_await current_executor()`: null when there is none.
[[nodiscard]] inline auto current_executor()
{
    return detail::environment_reader([](const environment &of) { return of.executor; });
}

// `co_await current_stop_token()`
[[nodiscard]] inline auto current_stop_token()
{
    return detail::environment_reader([](const environment &of) { return of.stop; });
}

// `co_await throw_if_stopped()`: for loops that do not wait.
[[nodiscard]] inline auto throw_if_stopped()
{
    return detail::environment_reader([](const environment &of) {
        if (of.stop.stop_requested())
            throw cancelled();
    });
}

// `co_await resume_on(executor)`: goes on there, until the coroutine next waits for something.
class resume_on : work
{
  public:
    explicit resume_on(executor &target) noexcept : target_(target)
    {
    }
    [[nodiscard]] bool await_ready() const noexcept
    {
        return false;
    }
    void await_suspend(std::coroutine_handle<> waiting) noexcept
    {
        handle = waiting;
        target_.schedule(*this);
    }
    void await_resume() const noexcept
    {
    }

  private:
    executor &target_;
};

// `co_await yield()`: lets what is ready on the same executor go first. Goes on at once without an executor.
class yield : work
{
  public:
    [[nodiscard]] bool await_ready() const noexcept
    {
        return false;
    }
    template <class Promise> bool await_suspend(std::coroutine_handle<Promise> waiting) noexcept
    {
        executor *home = detail::environment_of(waiting).executor;
        if (home == nullptr)
            return false;
        handle = waiting;
        home->schedule(*this);
        return true;
    }
    void await_resume() const noexcept
    {
    }
};

} // namespace coro
