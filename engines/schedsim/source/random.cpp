// SPDX-License-Identifier: Apache-2.0
#include "schedsim/random.hpp"

namespace schedsim
{
namespace
{

constexpr int table_bits = 10;
constexpr std::size_t table_size = std::size_t{1} << table_bits;
constexpr double ln2 = 0.693147180559945309417;

// Quantile of the exponential distribution at i / table_size; the last entry is where the tail begins.
struct Quantiles {
    std::array<double, table_size> at;
    Quantiles()
    {
        for (std::size_t i = 0; i < table_size; i++)
            at[i] = -exact_order_log(1.0 - static_cast<double>(i) / static_cast<double>(table_size));
    }
};

const Quantiles quantiles;

} // namespace

double exact_order_log(double x)
{
    int halvings = 0;
    for (; x > 1.5; x *= 0.5)
        halvings++;
    for (; x < 0.75; x *= 2.0)
        halvings--;
    // ln x = 2 artanh((x - 1) / (x + 1)), whose series converges fast here: the argument is below 0.2.
    const double z = (x - 1.0) / (x + 1.0), square = z * z;
    double sum = 0.0, power = z;
    for (int n = 1; n <= 25; n += 2) {
        sum += power / n;
        power *= square;
    }
    return 2.0 * sum + ln2 * halvings;
}

Random::Random(std::uint64_t seed)
{
    for (std::uint64_t &word : state_) {
        seed += 0x9e3779b97f4a7c15;
        std::uint64_t mixed = seed;
        mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
        mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
        word = mixed ^ (mixed >> 31);
    }
}

double Random::standard_exponential()
{
    double sum = 0.0;
    for (;;) {
        const std::uint64_t drawn = bits();
        const std::size_t bin = drawn >> (64 - table_bits);
        if (bin + 1 < table_size) {
            const double within = static_cast<double>((drawn << table_bits) >> 11) * 0x1.0p-53;
            return sum + quantiles.at[bin] + within * (quantiles.at[bin + 1] - quantiles.at[bin]);
        }
        sum += quantiles.at[bin];
    }
}

std::uint32_t Random::poisson(double mean)
{
    std::uint32_t count = 0;
    for (double sum = standard_exponential(); sum < mean; sum += standard_exponential())
        count++;
    return count;
}

} // namespace schedsim
