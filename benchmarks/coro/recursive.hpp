// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench.hpp"

#include <coro/recursive_generator.hpp>

[[gnu::noinline]] inline coro::recursive_generator<std::size_t> count_below(int depth)
{
    if (depth > 0)
        co_yield count_below(depth - 1);
    else
        for (std::size_t i = 0;; i++)
            co_yield i;
}

inline int recursive_report(int depth)
{
    coro::recursive_generator<std::size_t> counting = count_below(depth);
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
