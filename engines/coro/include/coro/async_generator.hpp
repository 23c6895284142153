// SPDX-License-Identifier: Apache-2.0
// A sequence whose values are waited for: its coroutine may co_await between two co_yields.
//   while (const int *value = co_await sequence.next())
#pragma once

#include <coro/executor.hpp>
#include <coro/frames.hpp>

#include <coroutine>
#include <cstddef>
#include <exception>
#include <memory>
#include <utility>

namespace coro
{

// Begins at the first next(), and runs on whoever asks for a value, with that one's executor and stop token. Destroy it
// at rest: not while a next() is awaited.
template <class T, class Frames = pooled_frames> class [[nodiscard]] async_generator
{
  public:
    class promise_type : public detail::inheriting
    {
      public:
        struct to_reader {
            [[nodiscard]] bool await_ready() const noexcept
            {
                return false;
            }
            std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> of) const noexcept
            {
                return of.promise().reader_;
            }
            void await_resume() const noexcept
            {
            }
        };

        async_generator get_return_object() noexcept
        {
            return async_generator(std::coroutine_handle<promise_type>::from_promise(*this));
        }
        [[nodiscard]] std::suspend_always initial_suspend() const noexcept
        {
            return {};
        }
        [[nodiscard]] to_reader final_suspend() noexcept
        {
            value_ = nullptr;
            return {};
        }
        // It lives in the generator's frame until the reader asks again.
        [[nodiscard]] to_reader yield_value(const T &value) noexcept
        {
            value_ = std::addressof(value);
            return {};
        }
        void return_void() const noexcept
        {
        }
        void unhandled_exception() noexcept
        {
            failure_ = std::current_exception();
        }

        static void *operator new(std::size_t size)
        {
            return Frames::allocate(size);
        }
        static void operator delete(void *frame, std::size_t size) noexcept
        {
            Frames::release(frame, size);
        }

      private:
        friend async_generator;
        std::coroutine_handle<> reader_;
        const T *value_ = nullptr;
        std::exception_ptr failure_;
    };

    async_generator(async_generator &&other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr))
    {
    }
    async_generator &operator=(async_generator &&other) noexcept
    {
        std::swap(coroutine_, other.coroutine_);
        return *this;
    }
    ~async_generator()
    {
        if (coroutine_)
            coroutine_.destroy();
    }

    class [[nodiscard]] next_awaiter
    {
      public:
        [[nodiscard]] bool await_ready() const noexcept
        {
            return coroutine_.done();
        }
        template <class Promise>
        std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> reader) const noexcept
        {
            coroutine_.promise().reader_ = reader;
            coroutine_.promise().environment = &detail::environment_of(reader);
            return coroutine_;
        }
        const T *await_resume() const
        {
            promise_type &promise = coroutine_.promise();
            if (promise.failure_ != nullptr) [[unlikely]]
                std::rethrow_exception(std::exchange(promise.failure_, nullptr));
            return promise.value_;
        }

      private:
        friend async_generator;
        explicit next_awaiter(std::coroutine_handle<promise_type> of) noexcept : coroutine_(of)
        {
        }
        std::coroutine_handle<promise_type> coroutine_;
    };

    // The next value, valid until the next call; null at the end. Throws what the generator threw, which is its end.
    next_awaiter next() noexcept
    {
        return next_awaiter(coroutine_);
    }

  private:
    explicit async_generator(std::coroutine_handle<promise_type> coroutine) noexcept : coroutine_(coroutine)
    {
    }
    std::coroutine_handle<promise_type> coroutine_;
};

} // namespace coro
