// SPDX-License-Identifier: Apache-2.0
// Two fibers of Boost.Fiber yield to each other: one way, through its scheduler.
#include "bench.hpp"

#include <boost/fiber/fiber.hpp>
#include <boost/fiber/operations.hpp>

int main()
{
    return bench::report([&](std::size_t n) {
        std::size_t count = 0;
        const auto body = [&, n] {
            for (std::size_t k = 0; k < n / 2; k++) {
                count++;
                boost::this_fiber::yield();
            }
        };
        boost::fibers::fiber a(body), b(body);
        a.join();
        b.join();
        bench::must(count == n / 2 * 2, "a yield did not happen");
    });
}
