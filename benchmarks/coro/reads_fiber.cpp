// SPDX-License-Identifier: Apache-2.0
// 1000 scattered reads of 4 KiB, each in a fiber; at most 128 in flight.
#include "files.hpp"

#include <coro/fiber.hpp>
#include <coro/io.hpp>
#include <coro/loop.hpp>

int main()
{
    const bench::scattered files;
    coro::loop loop({.io_depth = bench::depth});
    return bench::report_reads(files, [&] {
        for (std::size_t i = 0; i < bench::files; i++)
            coro::fiber::spawn(loop, [&files, i] {
                const int got = coro::fiber::await(coro::read_at(files.fd(i), {files.buffer(i), bench::block}, 0));
                bench::must(got == static_cast<int>(bench::block), "a read was short");
            }).detach();
        loop.run();
    });
}
