// SPDX-License-Identifier: Apache-2.0
// A stackless coroutine that begins when it is awaited and hands its result, or its exception, to whoever awaits it.
#pragma once

#include <coro/executor.hpp>
#include <coro/frames.hpp>

#include <coroutine>
#include <exception>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace coro
{

template <class T, class Frames> class lazy;

namespace detail
{

// A value, an exception, or nothing yet.
template <class T> class outcome
{
  public:
    outcome() noexcept
    {
    }
    outcome(const outcome &) = delete;
    outcome &operator=(const outcome &) = delete;
    ~outcome()
    {
        if (holds_ == content::value)
            std::destroy_at(&value_);
        else if (holds_ == content::failure)
            std::destroy_at(&failure_);
    }

    template <class From> void set_value(From &&from) noexcept(std::is_nothrow_constructible_v<stored, From>)
    {
        new (std::addressof(value_)) stored(static_cast<stored>(std::forward<From>(from)));
        holds_ = content::value;
    }
    void set_failure(std::exception_ptr failure) noexcept
    {
        new (&failure_) std::exception_ptr(std::move(failure));
        holds_ = content::failure;
    }
    [[nodiscard]] bool failed() const noexcept
    {
        return holds_ == content::failure;
    }
    // pre: set. Throws the failure.
    T take()
    {
        if (holds_ == content::failure) [[unlikely]]
            std::rethrow_exception(failure_);
        if constexpr (std::is_reference_v<T>)
            return static_cast<T>(*value_);
        else
            return std::move(value_);
    }
    [[nodiscard]] const std::exception_ptr &failure() const noexcept
    {
        return failure_;
    }

  private:
    struct pointer {
        std::remove_reference_t<T> *to;
        pointer(T from) noexcept : to(std::addressof(from))
        {
        }
        auto &operator*() const noexcept
        {
            return *to;
        }
    };
    using stored = std::conditional_t<std::is_reference_v<T>, pointer, T>;
    enum class content : unsigned char { nothing, value, failure };

    union {
        stored value_;
        std::exception_ptr failure_;
    };
    content holds_ = content::nothing;
};

template <> class outcome<void>
{
  public:
    void set_failure(std::exception_ptr failure) noexcept
    {
        failure_ = std::move(failure);
    }
    [[nodiscard]] bool failed() const noexcept
    {
        return failure_ != nullptr;
    }
    void take()
    {
        if (failure_ != nullptr) [[unlikely]]
            std::rethrow_exception(failure_);
    }
    [[nodiscard]] const std::exception_ptr &failure() const noexcept
    {
        return failure_;
    }

  private:
    std::exception_ptr failure_;
};

struct lazy_promise_base : inheriting {
    std::coroutine_handle<> continuation;

    struct final_awaiter {
        [[nodiscard]] bool await_ready() const noexcept
        {
            return false;
        }
        template <class Promise>
        std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> ended) const noexcept
        {
            return ended.promise().continuation;
        }
        void await_resume() const noexcept
        {
        }
    };

    [[nodiscard]] std::suspend_always initial_suspend() const noexcept
    {
        return {};
    }
    [[nodiscard]] final_awaiter final_suspend() const noexcept
    {
        return {};
    }
};

template <class T, class Frames> struct lazy_promise_in : lazy_promise_base {
    outcome<T> result;

    void unhandled_exception() noexcept
    {
        result.set_failure(std::current_exception());
    }
    static void *operator new(std::size_t size)
    {
        return Frames::allocate(size);
    }
    static void operator delete(void *frame, std::size_t size) noexcept
    {
        Frames::release(frame, size);
    }
};

template <class T, class Frames> struct lazy_promise final : lazy_promise_in<T, Frames> {
    lazy<T, Frames> get_return_object() noexcept;

    template <class From = T>
    requires std::is_constructible_v<T, From &&>
    void return_value(From &&from) noexcept(std::is_nothrow_constructible_v<T, From &&>)
    {
        this->result.set_value(std::forward<From>(from));
    }
};

template <class Frames> struct lazy_promise<void, Frames> final : lazy_promise_in<void, Frames> {
    lazy<void, Frames> get_return_object() noexcept;

    void return_void() const noexcept
    {
    }
};

} // namespace detail

// Frames: where its frame lives, see frames.hpp. Await it once, as an rvalue; it runs on the awaiter's thread until it
// waits for something itself, and whatever ends that wait resumes it on its executor.
template <class T = void, class Frames = pooled_frames> class [[nodiscard]] lazy
{
  public:
    using value_type = T;
    using promise_type = detail::lazy_promise<T, Frames>;

    lazy(lazy &&other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr))
    {
    }
    lazy &operator=(lazy &&other) noexcept
    {
        std::swap(coroutine_, other.coroutine_);
        return *this;
    }
    ~lazy()
    {
        if (coroutine_)
            coroutine_.destroy();
    }

    class awaiter
    {
      public:
        [[nodiscard]] bool await_ready() const noexcept
        {
            return false;
        }
        template <class Promise>
        std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> caller) const noexcept
        {
            coroutine_.promise().continuation = caller;
            coroutine_.promise().environment = &detail::environment_of(caller);
            return coroutine_;
        }
        T await_resume() const
        {
            return coroutine_.promise().result.take();
        }

      private:
        friend lazy;
        explicit awaiter(std::coroutine_handle<promise_type> coroutine) noexcept : coroutine_(coroutine)
        {
        }
        std::coroutine_handle<promise_type> coroutine_;
    };

    [[nodiscard]] awaiter operator co_await() &&noexcept
    {
        return awaiter(coroutine_);
    }

    // For those who build on lazies: what resume() of the result begins; `then` is resumed at its end, and after that
    // result() holds what it has brought. pre: all three outlive the lazy's run.
    [[nodiscard]] std::coroutine_handle<> prepare(std::coroutine_handle<> then, const environment &inherited) noexcept
    {
        coroutine_.promise().continuation = then;
        coroutine_.promise().environment = &inherited;
        return coroutine_;
    }
    [[nodiscard]] detail::outcome<T> &result() noexcept
    {
        return coroutine_.promise().result;
    }

  private:
    friend promise_type;
    explicit lazy(std::coroutine_handle<promise_type> coroutine) noexcept : coroutine_(coroutine)
    {
    }
    std::coroutine_handle<promise_type> coroutine_;
};

template <class T, class Frames> lazy<T, Frames> detail::lazy_promise<T, Frames>::get_return_object() noexcept
{
    return lazy<T, Frames>(std::coroutine_handle<lazy_promise>::from_promise(*this));
}

template <class Frames> lazy<void, Frames> detail::lazy_promise<void, Frames>::get_return_object() noexcept
{
    return lazy<void, Frames>(std::coroutine_handle<lazy_promise>::from_promise(*this));
}

} // namespace coro
