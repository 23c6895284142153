/* SPDX-License-Identifier: Apache-2.0
 * one - one file is read whole, again and again, by a plain call, by threads and by coroutines.
 *
 * Known answer: every byte of the file; its contents are made from its place in it.
 * Overhead: looking at a word of each page, some nanoseconds a page.  Limits: cached, it is the price of a copy, and no
 * way has anything to wait for; direct, of the disk, or of whatever the machine says is one.
 * Assembly: read_by_way contains (call|jmp|blr?|br).*(\*|x[0-9])
 * Assembly: read_by_pread contains (call|bl).*<pread
 * Source: Lazy_read_diff_size and Uthread_read_diff_size of alibaba/async_simple's benchmarks: 1000 reads, 8 KiB to 2 MiB. */
#include "reads.hpp"

static void setup(probe_run *run)
{
    const auto size = static_cast<std::size_t>(probe_integer(run, "size"));
    if (size % page != 0)
        probe_skip("%zu bytes are no whole number of pages of %zu, as O_DIRECT and the check of the bytes want it", size, page);
    reads_setup(run, 1, size);
}

static constexpr probe_param parameters[] = {
    reads_way,
    {.name = "size",
     .doc = "size of the file, whole pages",
     .unit = "B",
     .sweep = "8192,16384,32768,65536,131072,262144,524288,1048576,2097152",
     .brief = "8192,2097152",
     .min = 4096,
     .max = 16777216},
    reads_cache, reads_io, reads_depth, {}};

static constexpr probe one_probe = {
    .title = "one file, read whole",
    .question = "What does it cost to read a file whole, by plain calls, threads and coroutines?",
    .operation = "one read of the whole file, which is open, into memory; up to `depth` under way at once",
    .source = "alibaba/async_simple at 2db1337d (2022), read_diff_size",
    .statistic = "median",
    .placements = "same,free",
    .uses = "cpu,disk",
    .metrics = reads_metrics,
    .params = parameters,
    .setup = setup,
    .batch = reads_batch,
    .teardown = reads_teardown,
};

int main(int argc, char **argv)
{
    return probe_main(&one_probe, argc, argv);
}
