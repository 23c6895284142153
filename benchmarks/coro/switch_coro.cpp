// SPDX-License-Identifier: Apache-2.0
// coro::context is resumed and suspends: one way.
#include "bench.hpp"

#include <coro/context.hpp>

int main()
{
    std::size_t count = 0;
    coro::context inside([&](coro::context::self self) {
        for (;;) {
            count++;
            self.suspend();
        }
    });
    return bench::report(
        [&](std::size_t n) {
            const std::size_t before = count;
            for (std::size_t i = 0; i < n; i++)
                inside.resume();
            bench::must(count == before + n, "a switch did not happen");
        },
        2);
}
