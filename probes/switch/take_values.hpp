/* SPDX-License-Identifier: Apache-2.0
 * take_values.hpp - the reader of a generator, for generator_opaque.cpp, generator_elided.cpp and pure.cpp.
 *
 * Each value is a switch in and one out, if there is a coroutine left to switch to. */
#ifndef STEELYARD_SWITCH_TAKE_VALUES_HPP
#define STEELYARD_SWITCH_TAKE_VALUES_HPP

#include "in_out.hpp"

/* Sums `count` values of a generator of 0, 1, 2 …; the sum passes through a register at each, so that the compiler can
 * replace neither the loop by a formula nor two turns by one. */
template <class Generator> [[gnu::always_inline]] inline std::uint64_t sum_of(Generator &numbers, std::uint64_t count)
{
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < count && numbers.next(); i++) {
        sum += numbers.value();
        asm volatile("" : "+r"(sum));
    }
    return sum;
}

/* What is left of a generator of 0, 1, 2 … without its frame: the variable that lives in it. */
struct state_machine {
    std::uint64_t i = ~UINT64_C(0);

    bool next()
    {
        i++;
        return true;
    }
    [[nodiscard]] std::uint64_t value() const
    {
        return i;
    }
};

/* How many values were there if `sum` is that of the first, second … of `count`, and 0 if it is not. */
inline std::uint64_t proven_by(std::uint64_t sum, std::uint64_t count, std::uint64_t first = 0)
{
    const std::uint64_t twice_mean = 2 * first + count - 1;
    const std::uint64_t right = count % 2 == 0 ? count / 2 * twice_mean : count * (twice_mean / 2);
    return sum == right ? count : 0;
}

#endif
