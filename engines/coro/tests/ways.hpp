// SPDX-License-Identifier: Apache-2.0
// The ways by which a loop may do its I/O: each test of I/O goes through all that the kernel allows.
#pragma once

#include <coro/io.hpp>
#include <coro/loop.hpp>

#include "test.hpp"

#include <cstdio>
#include <fcntl.h>
#include <initializer_list>
#include <system_error>
#include <unistd.h>

namespace test
{

// Calls test(loop) for each of these. What the kernel does not allow is skipped.
template <class Test> void with_each(std::initializer_list<coro::loop_options> ways, Test test)
{
    int tried = 0;
    for (const coro::loop_options &way : ways) {
        coro::loop loop(way);
        try {
            ::close(loop.run([]() -> coro::lazy<int> { co_return co_await coro::open("/dev/null", O_RDONLY); }()));
        } catch (const std::system_error &refused) {
            std::printf("    skipped: %s\n", refused.what());
            continue;
        }
        tried++;
        test(loop);
    }
    CHECK(tried > 0);
}

} // namespace test
