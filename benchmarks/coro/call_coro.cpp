// SPDX-License-Identifier: Apache-2.0
// A coro::lazy awaits another one that ends at once: frame made, run and destroyed.
#include "bench.hpp"

#include <coro/lazy.hpp>
#include <coro/spawn.hpp>

[[gnu::noinline]] static coro::lazy<std::size_t> called(std::size_t value)
{
    co_return value + 1;
}

static coro::lazy<std::size_t> caller(std::size_t n)
{
    std::size_t sum = 0;
    for (std::size_t i = 0; i < n; i++)
        sum += co_await called(i);
    co_return sum;
}

int main()
{
    return bench::report(
        [](std::size_t n) { bench::must(coro::sync_wait(caller(n)) == n * (n + 1) / 2, "a call did not happen"); });
}
