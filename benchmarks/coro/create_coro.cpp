// SPDX-License-Identifier: Apache-2.0
// A coro::context is made on a pooled stack, run to its end and destroyed.
#include "bench.hpp"

#include <coro/context.hpp>

int main()
{
    std::size_t count = 0;
    return bench::report([&](std::size_t n) {
        const std::size_t before = count;
        for (std::size_t i = 0; i < n; i++) {
            coro::context inside([&](coro::context::self) { count++; });
            inside.resume();
        }
        bench::must(count == before + n, "a context did not run");
    });
}
