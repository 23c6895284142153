/* SPDX-License-Identifier: Apache-2.0
 * tasks - a coroutine for each read, all of them at once, on a pool of threads: each opens its file, allocates a buffer,
 * reads the whole file, and closes it.
 *
 * A round begins `tasks` of them from outside the pool and waits until the last has ended. file/many reads with a few
 * coroutines that go on, from files that stay open: the difference is what a task costs and what it does beside reading.
 * `levels` calls lie between a task and its read: awaits of stackless coroutines, calls on the stack of a fiber, or, with
 * way=hybrid, calls on a stack and a stackless coroutine for the read alone.
 *
 * With `same` the pool has one thread, with `free` one for each CPU.
 *
 * Known answer: each task has the size of its file, and a word of each page is the right one; a file's contents are made
 * from its number and the place in it.
 * Overhead: looking at a word of each page.  Limits: the kernel is given 128 reads of a worker at once, the others wait
 * in user space; cached, a read is a copy, and libaio makes it within the call that hands it over. Stacks of 512 KiB
 * come from a pool; depth/fiber_made has the price of one that does not.
 * Assembly: run_tasks contains (call|jmp|blr?|br).*(\*|x[0-9])
 * Source: Lazy_read_diff_size, Lazy_same_read and their Uthread forms, alibaba/async_simple's benchmarks at 2db1337d:
 * 1000 tasks of one file, or as many for each CPU, on a pool of as many threads. There the queue was asked for 8 places,
 * and what found none came back unread. */
#include "files.hpp"

#include <atomic>
#include <coro/fiber.hpp>
#include <coro/io.hpp>
#include <coro/pool.hpp>
#include <coro/spawn.hpp>
#include <cstdlib>
#include <memory>

#define STACK_BYTES (std::size_t(512) * 1024)
#define LEVELS_MAX 2000

/* What one task holds between its begin and its end. */
class opened
{
public:
    opened(const file_set &files, std::uint64_t i, bool direct)
        : fd_(open(files.name(i), O_RDONLY | O_CLOEXEC | (direct ? O_DIRECT : 0))), size_(size_of(fd_)),
          buffer_(static_cast<std::byte *>(std::aligned_alloc(page, size_)))
    {
        if (buffer_ == nullptr)
            probe_fail("no memory for a buffer of %zu bytes", size_);
    }
    opened(const opened &) = delete;
    opened &operator=(const opened &) = delete;
    ~opened()
    {
        std::free(buffer_);
        close(fd_);
    }
    [[nodiscard]] int fd() const noexcept
    {
        return fd_;
    }
    [[nodiscard]] std::span<std::byte> buffer() const noexcept
    {
        return {buffer_, size_};
    }

private:
    static std::size_t size_of(int fd)
    {
        const off_t end = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
        if (end < 0)
            probe_fail("a file cannot be opened again: %s", strerror(errno));
        return static_cast<std::size_t>(end);
    }

    int fd_;
    std::size_t size_;
    std::byte *buffer_;
};

struct state {
    file_set files;
    coro::pool pool;
    std::uint64_t tasks, levels;
    bool direct;
    void (*begin)(state &of, std::uint64_t i);
    std::atomic<std::uint64_t> left{0}, right{0};

    state(const probe_run *run, std::size_t count, std::size_t size, const coro::reactor_options &options)
        : files(count, size, probe_is(run, "cache", "direct"), true),
          pool(static_cast<std::size_t>(run->cpus), options),
          tasks(static_cast<std::uint64_t>(probe_integer(run, "tasks"))),
          levels(static_cast<std::uint64_t>(probe_integer(run, "levels"))), direct(probe_is(run, "cache", "direct"))
    {
    }

    /* Task number i has read `got` bytes, or -errno. The last one wakes who waits for the round. */
    void ended(std::uint64_t i, const opened &file, long got)
    {
        if (got == -ENOSYS || got == -EPERM)
            probe_skip("the kernel does not allow this way of reading here (kernel.io_uring_disabled, fs.aio-max-nr)");
        if (got < 0)
            probe_fail("a read failed: %s", strerror(static_cast<int>(-got)));
        auto *words = reinterpret_cast<std::uint64_t *>(file.buffer().data());
        if (got == static_cast<long>(files.size()) && files.brought(words, i))
            right.fetch_add(1, std::memory_order_relaxed);
    }
    void gone() noexcept
    {
        if (left.fetch_sub(1, std::memory_order_acq_rel) == 1)
            left.notify_one();
    }
};

/* --- stackless ------------------------------------------------------------------------------------------------- */

[[gnu::noinline]] static coro::lazy<long> read_file(const opened &file)
{
    try {
        co_return co_await coro::read_at(file.fd(), file.buffer(), 0);
    } catch (const std::system_error &problem) {
        co_return -problem.code().value();
    }
}

[[gnu::noinline]] static coro::lazy<long> read_below(const opened &file, std::uint64_t levels)
{
    if (levels == 0)
        co_return co_await read_file(file);
    co_return co_await read_below(file, levels - 1);
}

static coro::lazy<> task_of(state &of, std::uint64_t i)
{
    {
        const opened file(of.files, i, of.direct);
        of.ended(i, file, co_await read_below(file, of.levels));
    }
    of.gone();
}

static void begin_lazy(state &of, std::uint64_t i)
{
    coro::spawn(of.pool, task_of(of, i));
}

/* --- on a stack ------------------------------------------------------------------------------------------------ */

static long await_read(const opened &file)
{
    try {
        return coro::fiber::await(coro::read_at(file.fd(), file.buffer(), 0));
    } catch (const std::system_error &problem) {
        return -problem.code().value();
    }
}

static long await_lazy(const opened &file)
{
    return coro::fiber::await(read_file(file));
}

/* Not a loop: something is done after the call returns. */
template <long (*Await)(const opened &)> [[gnu::noinline]] static long call_below(const opened &file, std::uint64_t levels)
{
    if (levels == 0)
        return Await(file);
    long got = call_below<Await>(file, levels - 1);
    asm volatile("" : "+r"(got));
    return got;
}

template <long (*Await)(const opened &)> static void begin_fiber(state &of, std::uint64_t i)
{
    coro::fiber::spawn(
        of.pool,
        [&of, i] {
            {
                const opened file(of.files, i, of.direct);
                of.ended(i, file, call_below<Await>(file, of.levels));
            }
            of.gone();
        },
        {.stack = {.size = STACK_BYTES}})
        .detach();
}

/* --- the probe ------------------------------------------------------------------------------------------------- */

extern "C" [[gnu::noinline]] void run_tasks(state &of)
{
    of.left.store(of.tasks, std::memory_order_relaxed);
    for (std::uint64_t i = 0; i < of.tasks; i++)
        of.begin(of, i);
    for (std::uint64_t left = of.tasks; left != 0; left = of.left.load(std::memory_order_acquire))
        of.left.wait(left, std::memory_order_acquire);
}

static void setup(probe_run *run)
{
    const auto size = static_cast<std::size_t>(probe_integer(run, "size"));
    const auto tasks = static_cast<std::size_t>(probe_integer(run, "tasks"));
    const bool libaio = probe_is(run, "io", "libaio");
    const std::size_t files = probe_is(run, "files", "one") ? 1 : tasks;
    if (size % page != 0)
        probe_skip("size=%zu is not a multiple of %zu, which reads past the page cache and the check of the bytes want",
                   size, page);
    if (libaio && probe_is(run, "cache", "cached"))
        probe_caveat("libaio reads what is cached within the call that hands it over: nothing overlaps");
    descriptors_allow(files + tasks);
    const auto memory = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    if (tasks * size > memory / 4)
        probe_skip("the buffers of so many tasks are %zu MiB, more than a quarter of the memory", tasks * size >> 20);
    const coro::reactor_options options{.io_depth = 128,
                                        .io = libaio ? coro::io_interface::libaio : coro::io_interface::io_uring};
    try {
        auto *of = new state(run, files, size, options);
        run->state = of;
        of->begin = probe_is(run, "way", "lazy")    ? begin_lazy
                    : probe_is(run, "way", "fiber") ? begin_fiber<await_read>
                                                    : begin_fiber<await_lazy>;
        run_tasks(*of); /* what the kernel refuses shows before the first value */
    } catch (const std::system_error &problem) {
        probe_skip("%s", problem.what());
    }
}

/* In whole rounds. */
static void batch(probe_run *run, std::uint64_t operations, probe_value *value)
{
    auto &of = *static_cast<state *>(run->state);
    const std::uint64_t rounds = (operations + of.tasks - 1) / of.tasks;
    value->operations = rounds * of.tasks;
    of.right = 0;
    probe_guarded([&] {
        probe_start(value);
        for (std::uint64_t i = 0; i < rounds; i++)
            run_tasks(of);
        probe_stop(value);
    });
    probe_count(value, "bytes", of.right * of.files.size());
    probe_count(value, "checked", of.right);
}

static void teardown(probe_run *run)
{
    delete static_cast<state *>(run->state);
}

static constexpr probe_metric metrics[] = {
    {"task", "s", "lower", "wall", "operations", "time of one task, while others are under way"},
    {"bandwidth", "B/s", "higher", "bytes", "wall", "bytes read"},
    {"task_cpu", "s", "lower", "cpu", "operations", "CPU time of one task"},
    {}};

static constexpr probe_param parameters[] = {
    {.name = "way",
     .doc = "what a task is: a stackless coroutine (lazy), a stackful one (fiber), or a fiber that awaits a lazy (hybrid)",
     .choices = "lazy,fiber,hybrid",
     .sweep = "lazy,fiber,hybrid"},
    {.name = "tasks",
     .doc = "tasks that are under way at once",
     .unit = "1",
     .sweep = "1000",
     .min = 1,
     .max = 65536},
    {.name = "size",
     .doc = "size of a file, whole pages",
     .unit = "B",
     .sweep = "4096",
     .min = 4096,
     .max = 16777216},
    {.name = "files",
     .doc = "one file for all tasks, or as many as tasks",
     .choices = "one,many",
     .sweep = "many,one",
     .brief = "many"},
    {.name = "levels",
     .doc = "calls that lie between a task and its read",
     .unit = "1",
     .sweep = "0,1000",
     .brief = "0",
     .min = 0,
     .max = LEVELS_MAX},
    {.name = "cache",
     .doc = "read from the page cache, or past it from the disk (O_DIRECT)",
     .choices = "cached,direct",
     .sweep = "cached"},
    {.name = "io", .doc = "the kernel's interface", .choices = "io_uring,libaio", .sweep = "io_uring"},
    {}};

static constexpr probe tasks_probe = {
    .title = "coroutine for each read",
    .question = "What does it cost to read files by a coroutine for each read, on a pool?",
    .operation = "one task: a coroutine made on the pool, its file opened, read whole into a new buffer and closed",
    .source = "alibaba/async_simple at 2db1337d (2022), read_diff_size and same_read",
    .statistic = "median",
    .placements = "free,same",
    .uses = "cpu,disk",
    .metrics = metrics,
    .params = parameters,
    .setup = setup,
    .batch = batch,
    .teardown = teardown,
};

int main(int argc, char **argv)
{
    return probe_main(&tasks_probe, argc, argv);
}
