/* SPDX-License-Identifier: Apache-2.0
 * probe.hpp - probe.h for probes written in C++. The members of `struct probe` are named in the order of its
 * declaration; what they point to are arrays with names.
 *
 * Exceptions must not leave a function that the support calls: probe_guarded() makes one the end of the probe. */
#ifndef STEELYARD_PROBE_HPP
#define STEELYARD_PROBE_HPP

#include <cstdint>
#include <exception>

#define _Noreturn [[noreturn]] /* of C alone */
extern "C" {
#include "probe.h"
}
#undef _Noreturn

/* work(); what it throws ends the probe with exit code 1. */
template <class Work> void probe_guarded(Work &&work)
{
    try {
        work();
    } catch (const std::exception &problem) {
        probe_fail("%s", problem.what());
    }
}

#endif
