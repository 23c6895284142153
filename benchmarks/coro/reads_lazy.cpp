// SPDX-License-Identifier: Apache-2.0
// 1000 scattered reads of 4 KiB, each in a lazy; at most 128 in flight.
#include "files.hpp"

#include <coro/io.hpp>
#include <coro/loop.hpp>
#include <coro/when_all.hpp>

static coro::lazy<> read_one(const bench::scattered &files, std::size_t i)
{
    const int got = co_await coro::read_at(files.fd(i), {files.buffer(i), bench::block}, 0);
    bench::must(got == static_cast<int>(bench::block), "a read was short");
}

static coro::lazy<> read_all(const bench::scattered &files)
{
    std::vector<coro::lazy<>> all;
    all.reserve(bench::files);
    for (std::size_t i = 0; i < bench::files; i++)
        all.push_back(read_one(files, i));
    co_await coro::when_all(std::move(all));
}

int main()
{
    const bench::scattered files;
    coro::loop loop({.io_depth = bench::depth});
    return bench::report_reads(files, [&] { loop.run(read_all(files)); });
}
