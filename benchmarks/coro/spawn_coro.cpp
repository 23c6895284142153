// SPDX-License-Identifier: Apache-2.0
// A fiber spawns another one on its coro::loop and joins it.
#include "bench.hpp"

#include <coro/fiber.hpp>
#include <coro/loop.hpp>

int main()
{
    return bench::report([&](std::size_t n) {
        coro::loop loop;
        std::size_t count = 0;
        coro::fiber::spawn(loop, [&, n] {
            for (std::size_t i = 0; i < n; i++)
                coro::fiber::spawn(loop, [&] { count++; }).join();
        }).detach();
        loop.run();
        bench::must(count == n, "a fiber did not run");
    });
}
