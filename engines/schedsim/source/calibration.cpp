// SPDX-License-Identifier: Apache-2.0
#include "schedsim/calibration.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "schedsim/loads.hpp"

namespace schedsim
{
namespace
{

constexpr std::size_t unknowns = 4; // entry, search, recalculation, change
constexpr int rounds = 4;           // costs decide how many ticks fall into a yield, and ticks what is done in it
constexpr std::uint64_t yields_a_point = 40'000;

using Row = std::array<double, unknowns>;

// Solves the square system of the chosen unknowns by elimination with pivots; false if it is singular.
bool solve(std::array<Row, unknowns> matrix, Row right, unsigned chosen, Row &solution)
{
    std::vector<std::size_t> active;
    for (std::size_t i = 0; i < unknowns; i++)
        if (chosen >> i & 1)
            active.push_back(i);
    for (std::size_t step = 0; step < active.size(); step++) {
        std::size_t pivot = step;
        for (std::size_t row = step; row < active.size(); row++)
            if (std::fabs(matrix[active[row]][active[step]]) > std::fabs(matrix[active[pivot]][active[step]]))
                pivot = row;
        std::swap(matrix[active[step]], matrix[active[pivot]]);
        std::swap(right[active[step]], right[active[pivot]]);
        const double on_diagonal = matrix[active[step]][active[step]];
        if (std::fabs(on_diagonal) < 1e-12)
            return false;
        for (std::size_t row = step + 1; row < active.size(); row++) {
            const double factor = matrix[active[row]][active[step]] / on_diagonal;
            for (const std::size_t column : active)
                matrix[active[row]][column] -= factor * matrix[active[step]][column];
            right[active[row]] -= factor * right[active[step]];
        }
    }
    solution = {};
    for (std::size_t step = active.size(); step-- > 0;) {
        double sum = right[active[step]];
        for (std::size_t later = step + 1; later < active.size(); later++)
            sum -= matrix[active[step]][active[later]] * solution[active[later]];
        solution[active[step]] = sum / matrix[active[step]][active[step]];
    }
    return true;
}

// Least squares without negative unknowns: of all choices of which unknowns are 0 the best one that is allowed.
Row fit(const std::vector<Row> &rows, const std::vector<double> &targets)
{
    std::array<Row, unknowns> matrix{};
    Row right{};
    for (std::size_t i = 0; i < rows.size(); i++)
        for (std::size_t a = 0; a < unknowns; a++) {
            right[a] += rows[i][a] * targets[i];
            for (std::size_t b = 0; b < unknowns; b++)
                matrix[a][b] += rows[i][a] * rows[i][b];
        }
    Row best{};
    double smallest = INFINITY;
    for (unsigned chosen = 1; chosen < 1u << unknowns; chosen++) {
        Row solution;
        if (!solve(matrix, right, chosen, solution) ||
            std::any_of(solution.begin(), solution.end(), [](double cost) { return cost < 0; }))
            continue;
        double squares = 0;
        for (std::size_t i = 0; i < rows.size(); i++) {
            double sum = -targets[i];
            for (std::size_t a = 0; a < unknowns; a++)
                sum += rows[i][a] * solution[a];
            squares += sum * sum;
        }
        // A choice of more unknowns must be better by more than rounding to be preferred.
        if (squares < smallest * (1 - 1e-9)) {
            smallest = squares;
            best = solution;
        }
    }
    return best;
}

} // namespace

YieldCost yield_cost(const PolicyKind &policy, std::uint32_t contexts, std::uint32_t others, std::uint64_t yields,
                     const Costs &costs, CpuId cpus)
{
    Yielders load({contexts, others, yields, 0});
    Simulation simulation(policy, {cpus, 0}, costs);
    simulation.run(load, never);
    const Statistics &seen = simulation.statistics();
    const auto each = [&](auto count) { return static_cast<double>(count) / static_cast<double>(seen.yields); };
    return {each(seen.overhead), each(seen.calls),          each(seen.searched),        each(seen.recalculated),
            each(seen.switches), each(seen.recalculations), each(seen.switching_yields)};
}

Calibration calibrate(std::vector<Point> points, std::uint32_t others)
{
    Calibration result;
    for (int round = 0; round < rounds; round++) {
        std::vector<Row> rows;
        std::vector<double> targets;
        for (const Point &point : points) {
            if (!point.fitted)
                continue;
            const YieldCost done = yield_cost(*point.policy, point.contexts, others, yields_a_point, result.costs);
            Row row = {done.calls, done.searched, done.recalculated, done.switches};
            for (double &steps : row)
                steps /= point.measured_ns;
            rows.push_back(row);
            targets.push_back(1.0);
        }
        const Row solved = fit(rows, targets);
        result.costs = {std::llround(solved[0]), std::llround(solved[1]), std::llround(solved[2]),
                        std::llround(solved[3])};
    }
    for (Point &point : points) {
        point.simulated_ns = yield_cost(*point.policy, point.contexts, others, yields_a_point, result.costs).ns;
        const double deviation = std::fabs(point.simulated_ns / point.measured_ns - 1);
        double &worst = point.fitted ? result.worst_fitted : result.worst_predicted;
        worst = std::max(worst, deviation);
    }
    result.points = std::move(points);
    return result;
}

} // namespace schedsim
