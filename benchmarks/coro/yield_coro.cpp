// SPDX-License-Identifier: Apache-2.0
// Two fibers on a coro::loop yield to each other: one way, through the scheduler.
#include "bench.hpp"

#include <coro/fiber.hpp>
#include <coro/loop.hpp>

int main()
{
    return bench::report([&](std::size_t n) {
        coro::loop loop;
        std::size_t count = 0;
        for (int i = 0; i < 2; i++)
            coro::fiber::spawn(loop, [&, n] {
                for (std::size_t k = 0; k < n / 2; k++) {
                    count++;
                    coro::fiber::yield();
                }
            }).detach();
        loop.run();
        bench::must(count == n / 2 * 2, "a yield did not happen");
    });
}
