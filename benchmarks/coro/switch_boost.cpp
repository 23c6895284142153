// SPDX-License-Identifier: Apache-2.0
// boost::context::fiber is resumed and suspends: one way.
#include "bench.hpp"

#include <boost/context/fiber.hpp>

int main()
{
    std::size_t count = 0;
    boost::context::fiber inside([&](boost::context::fiber &&outside) {
        for (;;) {
            count++;
            outside = std::move(outside).resume();
        }
        return std::move(outside);
    });
    return bench::report(
        [&](std::size_t n) {
            const std::size_t before = count;
            for (std::size_t i = 0; i < n; i++)
                inside = std::move(inside).resume();
            bench::must(count == before + n, "a switch did not happen");
        },
        2);
}
