// SPDX-License-Identifier: Apache-2.0
// What the programs of this folder share: time batches, print the lower quartile of the cost of one operation in ns.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

// Where the linker places a loop can cost a fifth: two generators of the same instructions took 1.19 of each other on one
// processor. So each program is built in several layouts: functions and main(), whose section is its own, begin 0 to 48
// bytes after a multiple of 64, each in all four places in four layouts, and in all sixteen pairs of places in sixteen.
#define BENCH_TEXT_(layout) asm(".text\n.skip 16 * (1 + " #layout " % 4), 0x90")
#define BENCH_MAIN_(layout)                                                                                            \
    asm(".pushsection .text.startup, \"ax\", @progbits\n.skip 16 * (1 + (3 * " #layout " + (" #layout                    \
        " - 1) / 4) % 4), 0x90\n.popsection")
#define BENCH_PLACE(layout) BENCH_TEXT_(layout); BENCH_MAIN_(layout)
BENCH_PLACE(BENCH_LAYOUT);

namespace bench
{

constexpr std::size_t batches = 9;
constexpr double target_ns = 10e6;

// The operation must not be removed: what was counted is what was asked for, or the program fails.
inline void must(bool right, const char *what)
{
    if (!right) {
        std::fprintf(stderr, "benchmark: %s\n", what);
        std::exit(1);
    }
}

// run(n) does n operations of a kind. Inlined, so that its loop finds what it uses in the frame of main(), with every
// compiler: after a switch of stacks all of it is fetched again, and through references a switch by clang's code, which
// kept this function apart, took 1.41 of corosensei's where it takes 1.05.
template <class Run> [[gnu::always_inline]] inline double nanoseconds(Run &run, std::size_t n)
{
    const auto start = std::chrono::steady_clock::now();
    run(n);
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

// per: operations in one of run's, 2 where it is there and back.
template <class Run> int report(Run run, double per = 1, std::size_t least = 1000)
{
    std::size_t n = least;
    while (nanoseconds(run, n) < target_ns)
        n *= 2;
    std::array<double, batches> each;
    for (double &one : each)
        one = nanoseconds(run, n) / static_cast<double>(n) / per;
    std::sort(each.begin(), each.end());
    std::printf("%.4f\n", each[batches / 4]);
    return 0;
}

// An operation of a fixed size, such as a thousand reads.
template <class Run> int report_fixed(Run run, std::size_t n)
{
    run(n);
    std::array<double, batches> each;
    for (double &one : each)
        one = nanoseconds(run, n) / static_cast<double>(n);
    std::sort(each.begin(), each.end());
    std::printf("%.1f\n", each[batches / 4]);
    return 0;
}

// Hides where a pointer comes from.
template <class T> T *opaque(T *pointer)
{
    asm volatile("" : "+r"(pointer) : : "memory");
    return pointer;
}

} // namespace bench
