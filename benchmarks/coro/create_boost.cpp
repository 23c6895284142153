// SPDX-License-Identifier: Apache-2.0
// A boost::context::fiber is made on a stack of pooled_fixedsize_stack, run to its end and destroyed.
#include "bench.hpp"

#include <boost/context/fiber.hpp>
#include <boost/context/pooled_fixedsize_stack.hpp>

int main()
{
    boost::context::pooled_fixedsize_stack stacks(65536);
    std::size_t count = 0;
    return bench::report([&](std::size_t n) {
        const std::size_t before = count;
        for (std::size_t i = 0; i < n; i++) {
            boost::context::fiber inside(std::allocator_arg, stacks, [&](boost::context::fiber &&outside) {
                count++;
                return std::move(outside);
            });
            inside = std::move(inside).resume();
        }
        bench::must(count == before + n, "a fiber did not run");
    });
}
