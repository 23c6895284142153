/* SPDX-License-Identifier: Apache-2.0
 * pool - files of 4 KiB that differ, and lie apart, are read by coroutines on a pool of 1 to 1024 threads.
 *
 * file/many on several threads: `depth` coroutines or fibers read one file after another, on whatever thread they are
 * resumed. Each thread has an io_uring of its own. Where the kernel may not keep so much memory (RLIMIT_MEMLOCK),
 * buffers=registered is skipped.
 *
 * Known answer: a word of each page, and every byte of the last read; contents are made from a file's number and the
 * place in it.
 * Overhead: looking at a word of each.  Limits: cached, it is the price of a copy, and no thread has anything to wait
 * for; direct, of the disk, or of whatever the machine says is one.
 * Assembly: read_on_pool contains (call|bl)
 * Source: Lazy_same_read and Uthread_same_read of alibaba/async_simple's benchmarks, which ran their reads on a pool. */
#include "pooled.hpp"
#include "reads.hpp"

#include <coro/pool.hpp>

struct state {
    file_set files;
    reading batch;
    coro::pool pool;
    coro::lazy<> (*begin)(state &of, coro::latch &left, std::size_t slot);

    state(const probe_run *run, std::size_t count, std::size_t depth)
        : files(count, page, probe_is(run, "cache", "direct")), batch(files, depth),
          pool(threads_of(run), {.io_depth = static_cast<unsigned>(depth),
                                 .io = coro::io_interface::io_uring,
                                 .registered = probe_is(run, "buffers", "registered") ? batch.memory()
                                                                                      : std::span<std::byte>()})
    {
    }
};

static coro::lazy<> read_as_lazy(state &of, coro::latch &left, std::size_t slot)
{
    for (std::uint64_t i = 0; of.batch.take(i);)
        co_await read_by_lazy(of.batch, slot, i);
    left.count_down();
}

template <class Read> static coro::lazy<> read_as_fiber(state &of, coro::latch &left, std::size_t slot, Read read)
{
    co_await coro::fiber::spawn(of.pool, [&of, slot, read] {
        for (std::uint64_t i = 0; of.batch.take(i);)
            read(of.batch, slot, i);
    });
    left.count_down();
}

static coro::lazy<> (*begin_of(const probe_run *run))(state &, coro::latch &, std::size_t)
{
    if (probe_is(run, "way", "lazy"))
        return read_as_lazy;
    if (probe_is(run, "way", "fiber"))
        return [](state &of, coro::latch &left, std::size_t slot) { return read_as_fiber(of, left, slot, read_by_fiber); };
    return [](state &of, coro::latch &left, std::size_t slot) {
        return read_as_fiber(of, left, slot, [](reading &batch, std::size_t at, std::uint64_t i) {
            coro::fiber::await(read_by_lazy(batch, at, i));
        });
    };
}

extern "C" [[gnu::noinline]] void read_on_pool(state &of)
{
    coro::latch left(of.batch.slots());
    for (std::size_t slot = 0; slot < of.batch.slots(); slot++)
        coro::spawn(of.pool, of.begin(of, left, slot));
    wait_for(left);
}

static coro::lazy<std::size_t> in_registered(int fd, std::span<std::byte> into)
{
    co_await coro::read_at(fd, into, 0);
    co_return coro::reactor::current().statistics().registered;
}

static void must_register(state &of)
{
    if (coro::sync_wait(in_registered(of.files.fd(0), of.batch.buffer(0)), &of.pool) == 0)
        probe_skip("the kernel keeps no %zu bytes of buffers: raise RLIMIT_MEMLOCK (ulimit -l)", of.batch.memory().size());
}

static void setup(probe_run *run)
{
    const auto files = static_cast<std::size_t>(probe_integer(run, "files"));
    try {
        auto *of = new state(run, files, static_cast<std::size_t>(probe_integer(run, "depth")));
        run->state = of;
        of->begin = begin_of(run);
        if (probe_is(run, "buffers", "registered"))
            must_register(*of);
        /* Each file once: what the kernel refuses shows before the first value. */
        of->batch.begin(files);
        read_on_pool(*of);
        if (of->batch.right() != files)
            probe_fail("%zu files were made, and %llu could be read right", files,
                       static_cast<unsigned long long>(of->batch.right()));
    } catch (const std::system_error &problem) {
        probe_skip("%s", problem.what());
    }
}

static void batch(probe_run *run, std::uint64_t operations, probe_value *value)
{
    auto &of = *static_cast<state *>(run->state);
    of.batch.begin(operations);
    probe_guarded([&] {
        probe_start(value);
        read_on_pool(of);
        probe_stop(value);
    });
    probe_count(value, "bytes", of.batch.right() * of.files.size());
    probe_count(value, "checked", of.batch.right());
}

static void teardown(probe_run *run)
{
    delete static_cast<state *>(run->state);
}

static constexpr probe_param parameters[] = {
    {.name = "way",
     .doc = "who waits for a read: a stackless coroutine (lazy), a stackful one (fiber), or a fiber that awaits a lazy "
            "(hybrid)",
     .choices = "lazy,fiber,hybrid",
     .sweep = "lazy,fiber,hybrid"},
    {.name = "files",
     .doc = "files of 4 KiB, read in turn",
     .unit = "1",
     .sweep = "64",
     .min = 1,
     .max = 65536},
    {.name = "buffers",
     .doc = "registered: the kernel keeps the pages of the buffers at hand, and need not look them up for each read",
     .choices = "plain,registered",
     .sweep = "plain,registered",
     .brief = "plain"},
    reads_cache, reads_depth, pool_threads, {}};

static constexpr probe pool_probe = {
    .title = "many small files, on a pool",
    .question = "What does it cost to read many small files by coroutines that several threads run?",
    .operation = "one read of a whole file of 4 KiB, which is open, into memory; up to `depth` under way at once",
    .source = "alibaba/async_simple at 2db1337d (2022), same_read",
    .statistic = "median",
    .placements = "free",
    .uses = "cpu,disk",
    .metrics = reads_metrics,
    .params = parameters,
    .setup = setup,
    .batch = batch,
    .teardown = teardown,
};

int main(int argc, char **argv)
{
    return probe_main(&pool_probe, argc, argv);
}
