// SPDX-License-Identifier: Apache-2.0
// Needs: TBB TBB::tbb, libtbb-dev in Debian.
#include "programs.hpp"

#include <array>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

using programs::run;
using timed = std::function<void(const run &)>;

static std::uint64_t fib(std::uint64_t n)
{
    if (n < 2)
        return n;
    std::uint64_t a = 0, b = 0;
    tbb::task_group group;
    group.run([&] { a = fib(n - 1); });
    b = fib(n - 2);
    group.wait();
    return a + b;
}

static std::uint64_t skynet(std::uint64_t number, std::uint64_t size)
{
    if (size == 1)
        return number;
    std::array<std::uint64_t, 10> values;
    tbb::task_group group;
    for (std::uint64_t i = 0; i < 10; i++)
        group.run([&values, number, size, i] { values[i] = skynet(number + i * (size / 10), size / 10); });
    group.wait();
    std::uint64_t sum = 0;
    for (const std::uint64_t each : values)
        sum += each;
    return sum;
}

static std::uint64_t queens(const std::array<std::int8_t, 16> &placed, int row, int n)
{
    if (row == n)
        return 1;
    std::array<std::uint64_t, 16> values{};
    tbb::task_group group;
    for (int column = 0; column < n; column++)
        if (programs::queen_fits(placed.data(), row, column))
            group.run([&placed, &values, row, n, column] {
                auto next = placed;
                next[static_cast<std::size_t>(row)] = static_cast<std::int8_t>(column);
                values[static_cast<std::size_t>(column)] = queens(next, row + 1, n);
            });
    group.wait();
    std::uint64_t sum = 0;
    for (const std::uint64_t each : values)
        sum += each;
    return sum;
}

static void multiply(programs::matrices &of, std::size_t i, std::size_t j, std::size_t k, std::size_t size)
{
    if (size <= programs::matmul_leaf)
        return of.multiply(i, j, k, size);
    const std::size_t half = size / 2;
    for (const std::size_t part : {k, k + half}) {
        tbb::task_group group;
        group.run([&, part] { multiply(of, i, j, part, half); });
        group.run([&, part] { multiply(of, i, j + half, part, half); });
        group.run([&, part] { multiply(of, i + half, j, part, half); });
        multiply(of, i + half, j + half, part, half);
        group.wait();
    }
}

template <class Make> static void in_arena(unsigned threads, const timed &time, Make make)
{
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
    tbb::task_arena arena(static_cast<int>(threads));
    time([&] { return arena.execute(make); });
}

int main(int count, char **arguments)
{
    constexpr std::array all{
        programs::program{"fib", [](unsigned t, std::uint64_t n, const timed &time) { in_arena(t, time, [=] { return fib(n); }); }},
        programs::program{"skynet", [](unsigned t, std::uint64_t n, const timed &time) { in_arena(t, time, [=] { return skynet(0, n); }); }},
        programs::program{"nqueens",
                          [](unsigned t, std::uint64_t n, const timed &time) {
                              in_arena(t, time, [=] { return queens({}, 0, static_cast<int>(n)); });
                          }},
        programs::program{"matmul",
                          [](unsigned t, std::uint64_t n, const timed &time) {
                              programs::matrices of(n);
                              in_arena(t, time, [&] {
                                  of.clear();
                                  multiply(of, 0, 0, 0, of.n);
                                  return of.sum();
                              });
                          }},
    };
    return programs::main(all, count, arguments);
}
