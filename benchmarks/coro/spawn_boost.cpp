// SPDX-License-Identifier: Apache-2.0
// A fiber of Boost.Fiber spawns another one on a pooled stack and joins it.
#include "bench.hpp"

#include <boost/fiber/fiber.hpp>
#include <boost/fiber/pooled_fixedsize_stack.hpp>

int main()
{
    boost::fibers::pooled_fixedsize_stack stacks(65536);
    return bench::report([&](std::size_t n) {
        std::size_t count = 0;
        for (std::size_t i = 0; i < n; i++)
            boost::fibers::fiber(std::allocator_arg, stacks, [&] { count++; }).join();
        bench::must(count == n, "a fiber did not run");
    });
}
