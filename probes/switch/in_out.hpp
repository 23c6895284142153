/* SPDX-License-Identifier: Apache-2.0
 * in_out.hpp - one side enters another that comes back at once: fibers, coroutines, generators.
 *
 * One operation is one switch, one way. They come in pairs, in and out, so an odd number asked for is rounded up.
 * Many studies call the pair one switch; both figures are reported. A batch is as many as its length of time needs,
 * 1e5 to 1e8 of the cheap ones: how many they are changes nothing but the precision. */
#ifndef STEELYARD_SWITCH_IN_OUT_HPP
#define STEELYARD_SWITCH_IN_OUT_HPP

#include "probe.hpp"

/* Two sides that yield to each other: the proof that they take turns. */
struct turns {
    int last = -1;
    std::uint64_t counted[2] = {};

    void note(int side)
    {
        counted[side] += last != side;
        last = side;
    }
    /* Times that each was there after the other. */
    [[nodiscard]] std::uint64_t of_each() const
    {
        return counted[0] == counted[1] ? counted[0] : 0;
    }
};

inline constexpr probe_metric in_out_metrics[] = {
    {"switch", "s", "lower", "wall", "operations", "time of one switch, one way"},
    {"in_out", "s", "lower", "wall", "pairs", "time of a switch in and the one back out"},
    {}};

/* pairs(n) switches n times in and out, and returns how often the other side was there. */
template <class Pairs> void in_out_batch(std::uint64_t operations, probe_value *value, Pairs &&pairs)
{
    const std::uint64_t wanted = (operations + 1) / 2;
    value->operations = 2 * wanted;
    std::uint64_t arrived = 0;
    probe_start(value);
    arrived = pairs(wanted);
    probe_stop(value);
    probe_count(value, "pairs", wanted);
    probe_count(value, "checked", 2 * arrived);
}

#endif
