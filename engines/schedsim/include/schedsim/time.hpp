// SPDX-License-Identifier: Apache-2.0
// Time is a whole number of nanoseconds: sums of it are exact, and the same on every machine.
#pragma once

#include <cstdint>
#include <limits>

namespace schedsim
{

using Nanoseconds = std::int64_t; // a length of time, or a moment counted from the beginning of the simulation

inline constexpr Nanoseconds microsecond = 1'000;
inline constexpr Nanoseconds millisecond = 1'000'000;
inline constexpr Nanoseconds second = 1'000'000'000;
inline constexpr Nanoseconds hour = 3600 * second;
inline constexpr Nanoseconds never = std::numeric_limits<Nanoseconds>::max();

} // namespace schedsim
