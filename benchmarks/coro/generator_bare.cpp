// SPDX-License-Identifier: Apache-2.0
// The least that a coroutine can be: resume, a stored value, no frame pool, no exceptions, no iterators.
#include "bench.hpp"

#include <coroutine>
#include <exception>

struct bare {
    struct promise_type {
        std::size_t value = 0;
        bare get_return_object()
        {
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_always initial_suspend() noexcept
        {
            return {};
        }
        std::suspend_always final_suspend() noexcept
        {
            return {};
        }
        std::suspend_always yield_value(std::size_t now) noexcept
        {
            value = now;
            return {};
        }
        void return_void()
        {
        }
        void unhandled_exception()
        {
            std::terminate();
        }
    };
    std::coroutine_handle<promise_type> handle;
};

[[gnu::noinline]] static bare count()
{
    for (std::size_t i = 0;; i++)
        co_yield i;
}

int main()
{
    bare counting = count();
    std::size_t expected = 0;
    return bench::report([&](std::size_t n) {
        auto &values = *bench::opaque(&counting);
        std::size_t sum = 0, right = 0;
        for (std::size_t i = 0; i < n; i++) {
            values.handle.resume();
            if (values.handle.done())
                break;
            sum += values.handle.promise().value;
            right += expected++;
        }
        bench::must(sum == right, "a value was lost");
    });
}
