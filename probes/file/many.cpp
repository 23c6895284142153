/* SPDX-License-Identifier: Apache-2.0
 * many - files of 4 KiB that differ, and lie apart, are read by a plain call, by threads and by coroutines.
 *
 * They are read in another order than they were made in, and 64 KiB lie between two of them where the file system
 * reserves room.
 *
 * Known answer: every byte of every file; its contents are made from its number and the place in it.
 * Overhead: looking at a word of each.  Limits: cached, it is the price of a copy, and no way has anything to wait for;
 * direct, of the disk, or of whatever the machine says is one.
 * Assembly: read_by_way contains (call|jmp|blr?|br).*(\*|x[0-9])
 * Assembly: read_by_pread contains (call|bl).*<pread
 * Source: Lazy_same_read and Uthread_same_read of alibaba/async_simple's benchmarks, which read one file many times. */
#include "reads.hpp"

static void setup(probe_run *run)
{
    reads_setup(run, static_cast<std::size_t>(probe_integer(run, "files")), page);
}

static constexpr probe_param parameters[] = {
    reads_way,
    {.name = "files",
     .doc = "files of 4 KiB, read in turn",
     .unit = "1",
     .sweep = "4,8,16,32,64,128,256,512,1024,2048",
     .brief = "64",
     .min = 1,
     .max = 65536},
    reads_cache, reads_io, reads_depth, {}};

static constexpr probe many_probe = {
    .title = "many small files",
    .question = "What does it cost to read many small files, by plain calls, threads and coroutines?",
    .operation = "one read of a whole file of 4 KiB, which is open, into memory; up to `depth` under way at once",
    .source = "alibaba/async_simple at 2db1337d (2022), same_read",
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
    return probe_main(&many_probe, argc, argv);
}
