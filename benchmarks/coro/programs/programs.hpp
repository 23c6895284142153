// SPDX-License-Identifier: Apache-2.0
// What the programs in C++ share: their sizes, which are those of all languages, and main().
//   PROGRAM list                  the names of what this runtime has
//   PROGRAM NAME THREADS SIZE     runs it twice and prints of the second run: seconds, CPU seconds; the peak of memory
//                                 in KiB; the result. For io_socket THREADS is the number of connections.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
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
struct program {
    const char *name;
    void (*measure)(unsigned threads, std::uint64_t size, const std::function<void(const run &)> &timed);
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

inline int main(std::span<const program> all, int count, char **arguments)
{
    if (count == 2 && std::strcmp(arguments[1], "list") == 0) {
        for (const program &each : all)
            std::printf("%s ", each.name);
        return 0;
    }
    for (const program &each : all)
        if (count == 4 && std::strcmp(arguments[1], each.name) == 0) {
            each.measure(static_cast<unsigned>(std::atoi(arguments[2])), std::strtoull(arguments[3], nullptr, 10),
                         time_and_print);
            return 0;
        }
    std::fprintf(stderr, "usage: %s list | NAME THREADS SIZE\n", arguments[0]);
    return 2;
}

// Whether a queen may stand in this column of the row after those.
inline bool queen_fits(const std::int8_t *rows, int row, int column) noexcept
{
    for (int i = 0; i < row; i++) {
        const int apart = rows[i] - column;
        if (apart == 0 || apart == row - i || apart == i - row)
            return false;
    }
    return true;
}

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

} // namespace programs
