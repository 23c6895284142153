// SPDX-License-Identifier: Apache-2.0
// The switch of this architecture. A port is one more file with the same five names.
#pragma once

#if !defined(__linux__)
#error "coro runs on Linux"
#elif defined(__x86_64__) && defined(__LP64__)
#include <coro/detail/point_x86_64.hpp>
#elif defined(__aarch64__) && defined(__LP64__)
#include <coro/detail/point_aarch64.hpp>
#else
#error "coro has no switch for this architecture: add detail/point_<architecture>.hpp"
#endif
