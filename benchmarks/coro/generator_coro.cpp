// SPDX-License-Identifier: Apache-2.0
// The next value of a coro::generator that the compiler cannot see into.
#include "bench.hpp"

#include <coro/generator.hpp>

[[gnu::noinline]] static coro::generator<std::size_t> count()
{
    for (std::size_t i = 0;; i++)
        co_yield i;
}

int main()
{
    coro::generator<std::size_t> counting = count();
    std::size_t expected = 0;
    return bench::report([&](std::size_t n) {
        auto &values = *bench::opaque(&counting);
        std::size_t sum = 0, right = 0;
        for (std::size_t i = 0; i < n && values.next(); i++) {
            sum += values.value();
            right += expected++;
        }
        bench::must(sum == right, "a value was lost");
    });
}
