/* SPDX-License-Identifier: Apache-2.0
 * quantiles.h - quantiles of a histogram of nanoseconds or ticks, as figures of a value.
 *
 * A quantile exists once 10 of the numbers are expected beyond it: the median from 20 on, p99 from 1000, p99.9 from
 * 10,000, p99.99 from 100,000. It is a reading over a count that is 1 if it exists and else 0, so that the metric made of
 * both has no figure where there is none. */
#ifndef STEELYARD_QUANTILES_H
#define STEELYARD_QUANTILES_H

#include "histogram.h"
#include "probe.h"

#define QUANTILE_BEYOND 10

static inline bool quantile_exists(const struct histogram *histogram, double share)
{
    return (double)histogram->count * (1 - share) >= QUANTILE_BEYOND - 1e-6;
}

/* `name` and `enough` are string literals: the reading, and the count that says whether it exists. `unit_s`: seconds that
 * one of the histogram's numbers is. */
static inline void quantile_report(struct probe_value *value, const char *name, const char *enough,
                                   const struct histogram *histogram, double share, double unit_s)
{
    probe_reading(value, name, histogram_quantile(histogram, share) * unit_s);
    probe_count(value, enough, quantile_exists(histogram, share));
}

#endif
