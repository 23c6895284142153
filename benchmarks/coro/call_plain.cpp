// SPDX-License-Identifier: Apache-2.0
// A plain task, as a textbook has it: continuation, value or exception, symmetric transfer, frames from malloc.
#include "bench.hpp"

#include <coroutine>
#include <exception>
#include <utility>
#include <variant>

template <class T> struct task {
    struct promise_type {
        std::coroutine_handle<> continuation = std::noop_coroutine();
        std::variant<std::monostate, T, std::exception_ptr> result;

        task get_return_object()
        {
            return task(std::coroutine_handle<promise_type>::from_promise(*this));
        }
        std::suspend_always initial_suspend() noexcept
        {
            return {};
        }
        struct final_awaiter {
            bool await_ready() noexcept
            {
                return false;
            }
            std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> ended) noexcept
            {
                return ended.promise().continuation;
            }
            void await_resume() noexcept
            {
            }
        };
        final_awaiter final_suspend() noexcept
        {
            return {};
        }
        void return_value(T value)
        {
            result.template emplace<1>(std::move(value));
        }
        void unhandled_exception()
        {
            result.template emplace<2>(std::current_exception());
        }
    };

    explicit task(std::coroutine_handle<promise_type> of) : handle(of)
    {
    }
    task(task &&other) noexcept : handle(std::exchange(other.handle, nullptr))
    {
    }
    ~task()
    {
        if (handle)
            handle.destroy();
    }

    bool await_ready() noexcept
    {
        return false;
    }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) noexcept
    {
        handle.promise().continuation = caller;
        return handle;
    }
    T await_resume()
    {
        if (handle.promise().result.index() == 2)
            std::rethrow_exception(std::get<2>(handle.promise().result));
        return std::move(std::get<1>(handle.promise().result));
    }

    std::coroutine_handle<promise_type> handle;
};

[[gnu::noinline]] static task<std::size_t> called(std::size_t value)
{
    co_return value + 1;
}

static task<std::size_t> caller(std::size_t n)
{
    std::size_t sum = 0;
    for (std::size_t i = 0; i < n; i++)
        sum += co_await called(i);
    co_return sum;
}

int main()
{
    return bench::report([](std::size_t n) {
        task<std::size_t> all = caller(n);
        all.handle.resume();
        bench::must(all.await_resume() == n * (n + 1) / 2, "a call did not happen");
    });
}
