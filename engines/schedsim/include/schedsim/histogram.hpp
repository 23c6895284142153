// SPDX-License-Identifier: Apache-2.0
// Times counted in buckets that are narrower than 1 % of what they hold: quantiles of any number of them.
// The buckets are log-linear: each octave is cut into 128 equal parts. Source: G. Tene, HdrHistogram.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "schedsim/time.hpp"

namespace schedsim
{

class Histogram
{
  public:
    // A time below 0 counts as 0.
    void add(Nanoseconds time)
    {
        const auto number = static_cast<std::uint64_t>(std::max<Nanoseconds>(0, time));
        const int shift = std::max(0, static_cast<int>(std::bit_width(number)) - part_bits - 1);
        const std::size_t bucket = (static_cast<std::size_t>(shift) << part_bits) + (number >> shift);
        if (bucket >= buckets_.size())
            buckets_.resize(bucket + 1);
        buckets_[bucket]++;
        count_++;
        total_ += static_cast<double>(number);
        longest_ = std::max(longest_, time);
    }

    void merge(const Histogram &other)
    {
        if (other.buckets_.size() > buckets_.size())
            buckets_.resize(other.buckets_.size());
        for (std::size_t bucket = 0; bucket < other.buckets_.size(); bucket++)
            buckets_[bucket] += other.buckets_[bucket];
        count_ += other.count_;
        total_ += other.total_;
        longest_ = std::max(longest_, other.longest_);
    }

    std::uint64_t count() const
    {
        return count_;
    }
    Nanoseconds longest() const
    {
        return longest_;
    }
    double mean() const
    {
        return count_ > 0 ? total_ / static_cast<double>(count_) : 0.0;
    }

    // The least time that this share of all do not exceed, as the middle of its bucket; 0 if there is none.
    Nanoseconds quantile(double share) const
    {
        std::uint64_t seen = 0;
        for (std::size_t bucket = 0; bucket < buckets_.size(); bucket++) {
            seen += buckets_[bucket];
            if (seen > 0 && static_cast<double>(seen) >= share * static_cast<double>(count_))
                return std::min(middle(bucket), longest_);
        }
        return 0;
    }

  private:
    static constexpr int part_bits = 7;
    static constexpr std::size_t parts = std::size_t{1} << part_bits;

    static Nanoseconds middle(std::size_t bucket)
    {
        const std::size_t shift = bucket < 2 * parts ? 0 : (bucket >> part_bits) - 1;
        const std::size_t least = (bucket - (shift << part_bits)) << shift;
        return static_cast<Nanoseconds>(least + ((std::size_t{1} << shift) - 1) / 2);
    }

    std::vector<std::uint64_t> buckets_;
    std::uint64_t count_ = 0;
    double total_ = 0;
    Nanoseconds longest_ = 0;
};

} // namespace schedsim
