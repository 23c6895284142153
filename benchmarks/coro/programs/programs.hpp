// SPDX-License-Identifier: Apache-2.0
// What the programs in C++ share: their sizes, which are those of all languages, and main().
//   PROGRAM list                  the names of what this runtime has
//   PROGRAM NAME THREADS SIZE     runs it twice and prints of the second run: seconds, CPU seconds; the peak of memory
//                                 in KiB; the result. For io_socket THREADS is the number of connections.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <sys/resource.h>
#include <vector>

namespace programs
{

constexpr std::size_t capacity = 128;    // of a channel
constexpr std::size_t message_size = 64; // of io_socket
constexpr int matmul_leaf = 32;          // below this edge blocks are multiplied in a loop

// One run: computes the result. Made outside what is timed.
using run = std::function<std::uint64_t()>;
using timed = std::function<void(const run &)>;
struct program {
    const char *name;
    void (*measure)(unsigned threads, std::uint64_t size, const timed &time);
};

inline double cpu_seconds()
{
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

inline std::string peak_kib()
{
    std::ifstream status("/proc/self/status");
    std::string word;
    while (status >> word)
        if (word == "VmHWM:" && status >> word)
            return word;
    return "0";
}

inline void time_and_print(const run &once)
{
    const std::uint64_t first = once();
    const double cpu_before = cpu_seconds();
    const auto before = std::chrono::steady_clock::now();
    const std::uint64_t result = once();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - before;
    const double cpu = cpu_seconds() - cpu_before;
    std::printf("%.6f %.6f %s %llu\n", took.count(), cpu, peak_kib().c_str(),
                static_cast<unsigned long long>(first == result ? result : 0));
}

inline int main(std::initializer_list<std::span<const program>> all, int count, char **arguments)
{
    const bool lists = count == 2 && std::strcmp(arguments[1], "list") == 0;
    for (const std::span<const program> some : all)
        for (const program &each : some) {
            if (lists)
                std::printf("%s ", each.name);
            if (count == 4 && std::strcmp(arguments[1], each.name) == 0) {
                each.measure(static_cast<unsigned>(std::atoi(arguments[2])), std::strtoull(arguments[3], nullptr, 10),
                             time_and_print);
                return 0;
            }
        }
    if (lists)
        return 0;
    std::fprintf(stderr, "usage: %s list | NAME THREADS SIZE\n", arguments[0]);
    return 2;
}

// The columns of the queens, by row.
struct board {
    std::array<std::int8_t, 16> columns;

    // Whether one may stand there, with those of the rows before.
    [[nodiscard]] bool fits(int row, int column) const noexcept
    {
        for (int i = 0; i < row; i++) {
            const int apart = columns[static_cast<std::size_t>(i)] - column;
            if (apart == 0 || apart == row - i || apart == i - row)
                return false;
        }
        return true;
    }
    [[nodiscard]] board with(int row, int column) const noexcept
    {
        board next = *this;
        next.columns[static_cast<std::size_t>(row)] = static_cast<std::int8_t>(column);
        return next;
    }
};

// Square matrices of size n: a[i][j] = i - j, b[i][j] = i + j, modulo 7.
struct matrices {
    explicit matrices(std::size_t edge) : n(edge), a(n * n), b(n * n), c(n * n)
    {
        for (std::size_t i = 0; i < n; i++)
            for (std::size_t j = 0; j < n; j++) {
                a[i * n + j] = static_cast<float>((i + 6 * j) % 7);
                b[i * n + j] = static_cast<float>((i + j) % 7);
            }
    }
    // c += a b for blocks of the edge `size` at these places.
    void multiply(std::size_t ci, std::size_t cj, std::size_t k0, std::size_t size)
    {
        for (std::size_t i = ci; i < ci + size; i++)
            for (std::size_t k = k0; k < k0 + size; k++) {
                const float factor = a[i * n + k];
                for (std::size_t j = cj; j < cj + size; j++)
                    c[i * n + j] += factor * b[k * n + j];
            }
    }
    void clear()
    {
        std::fill(c.begin(), c.end(), 0.0F);
    }
    [[nodiscard]] std::uint64_t sum() const
    {
        double all = 0;
        for (const float each : c)
            all += each;
        return static_cast<std::uint64_t>(all);
    }
    std::size_t n;
    std::vector<float> a, b, c;
};

// The four that fork and join. A Runtime is made with a number of threads; enter(make) runs on them what make() begins
// and returns what comes of it; fib, skynet, queens and multiply are its own, or those of `forks`.
template <class Runtime>
inline constexpr std::array fork_join{
    program{"fib",
            [](unsigned threads, std::uint64_t n, const timed &time) {
                Runtime on(threads);
                time([&] { return on.enter([&] { return Runtime::fib(n); }); });
            }},
    program{"skynet",
            [](unsigned threads, std::uint64_t n, const timed &time) {
                Runtime on(threads);
                time([&] { return on.enter([&] { return Runtime::skynet(0, n); }); });
            }},
    program{"nqueens",
            [](unsigned threads, std::uint64_t n, const timed &time) {
                Runtime on(threads);
                time([&] { return on.enter([&] { return Runtime::queens({}, 0, static_cast<int>(n)); }); });
            }},
    program{"matmul",
            [](unsigned threads, std::uint64_t n, const timed &time) {
                Runtime on(threads);
                matrices of(n);
                time([&] {
                    of.clear();
                    on.enter([&] { return Runtime::multiply(of, 0, 0, 0, of.n); });
                    return of.sum();
                });
            }},
};

// By plain functions. A Group takes calls, which may run at the same time from run(call) on and have ended after wait().
// Each fork is a call of its own and none is held back: what is measured is the runtime and not a cut-off.
template <class Group> struct forks {
    static std::uint64_t fib(std::uint64_t n)
    {
        if (n < 2)
            return n;
        std::uint64_t a = 0, b = 0;
        Group group;
        group.run([&a, n] { a = fib(n - 1); });
        b = fib(n - 2);
        group.wait();
        return a + b;
    }

    static std::uint64_t skynet(std::uint64_t number, std::uint64_t size)
    {
        if (size == 1)
            return number;
        std::array<std::uint64_t, 10> values;
        Group group;
        for (std::uint64_t i = 0; i < values.size(); i++)
            group.run([&values, number, size, i] { values[i] = skynet(number + i * (size / 10), size / 10); });
        group.wait();
        std::uint64_t sum = 0;
        for (const std::uint64_t each : values)
            sum += each;
        return sum;
    }

    static std::uint64_t queens(const board &placed, int row, int n)
    {
        if (row == n)
            return 1;
        std::array<std::uint64_t, 16> values{};
        Group group;
        for (int column = 0; column < n; column++)
            if (placed.fits(row, column))
                group.run([&placed, &values, row, n, column] {
                    values[static_cast<std::size_t>(column)] = queens(placed.with(row, column), row + 1, n);
                });
        group.wait();
        std::uint64_t sum = 0;
        for (const std::uint64_t each : values)
            sum += each;
        return sum;
    }

    static void multiply(matrices &of, std::size_t i, std::size_t j, std::size_t k, std::size_t size)
    {
        if (size <= matmul_leaf)
            return of.multiply(i, j, k, size);
        const std::size_t half = size / 2;
        for (const std::size_t part : {k, k + half}) {
            Group group;
            group.run([&of, i, j, part, half] { multiply(of, i, j, part, half); });
            group.run([&of, i, j, part, half] { multiply(of, i, j + half, part, half); });
            group.run([&of, i, j, part, half] { multiply(of, i + half, j, part, half); });
            multiply(of, i + half, j + half, part, half);
            group.wait();
        }
    }
};

} // namespace programs
