/* SPDX-License-Identifier: Apache-2.0
 * tree.hpp - a binary tree of forks, as the ways of parallel/ in C++ share it: n forks have n + 1 leaves, and each leaf
 * brings its number.
 *
 * One operation is one fork: a node whose halves may run at the same time, and the wait for both. */
#ifndef STEELYARD_PARALLEL_TREE_HPP
#define STEELYARD_PARALLEL_TREE_HPP

#include "pooled.hpp"

inline constexpr probe_metric tree_metrics[] = {
    {"fork", "s", "lower", "wall", "operations", "time of one fork and its join, all threads together"},
    {"fork_cpu", "s", "lower", "cpu", "operations", "CPU time of the process for it"},
    {}};

inline constexpr probe_param tree_parameters[] = {pool_threads, {}};

/* Leaves from `first` on, so many. */
struct leaves {
    std::uint64_t first, count;

    leaves lower() const
    {
        return {first, count / 2};
    }
    leaves upper() const
    {
        return {first + count / 2, count - count / 2};
    }
};

/* What came of them: whoever runs a leaf twice, or not, has another sum. */
struct harvest {
    std::uint64_t sum, forks;

    static harvest of_leaf(leaves one)
    {
        return {one.first, 0};
    }
    harvest operator+(const harvest &other) const
    {
        return {sum + other.sum, forks + other.forks + 1};
    }
    std::uint64_t proven(std::uint64_t operations) const
    {
        return sum == operations * (operations + 1) / 2 ? forks : 0;
    }
};

#endif
