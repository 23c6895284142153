// SPDX-License-Identifier: Apache-2.0
// Random numbers that are the same on every machine: whole numbers, and doubles only by operations that IEEE 754 rounds
// exactly (the build forbids contraction to fused multiply-add). The C library's log() and the distributions of
// <random> may differ from one machine to the next.
#pragma once

#include <array>
#include <cstdint>

#include "schedsim/time.hpp"

namespace schedsim
{

// xoshiro256** 1.0 seeded by splitmix64. Source: D. Blackman, S. Vigna, Scrambled Linear Pseudorandom Number
// Generators, ACM TOMS 47(4), 2021.
class Random
{
  public:
    explicit Random(std::uint64_t seed);

    std::uint64_t bits()
    {
        const std::uint64_t result = rotate(state_[1] * 5, 7) * 9;
        const std::uint64_t shifted = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= shifted;
        state_[3] = rotate(state_[3], 45);
        return result;
    }

    // Evenly from 0 to bound - 1. The bias of the multiplication is below bound / 2^64.
    std::uint64_t below(std::uint64_t bound)
    {
        return static_cast<std::uint64_t>((static_cast<unsigned __int128>(bits()) * bound) >> 64);
    }

    // Evenly in [0, 1).
    double unit()
    {
        return static_cast<double>(bits() >> 11) * 0x1.0p-53;
    }

    bool chance(double probability)
    {
        return unit() < probability;
    }

    // An exponentially distributed time of this mean.
    Nanoseconds exponential(Nanoseconds mean)
    {
        return static_cast<Nanoseconds>(standard_exponential() * static_cast<double>(mean));
    }

    // A Poisson distributed number of this mean, which should be below a few hundred: it is counted out.
    std::uint32_t poisson(double mean);

    // Exponentially distributed with mean 1, by a table of the quantiles: beyond its last one the distribution goes on
    // as it began, because it has no memory.
    double standard_exponential();

  private:
    static std::uint64_t rotate(std::uint64_t value, int by)
    {
        return (value << by) | (value >> (64 - by));
    }

    std::array<std::uint64_t, 4> state_;
};

// The natural logarithm of x > 0 by the four basic operations alone, to about 1e-15.
double exact_order_log(double x);

} // namespace schedsim
