/* SPDX-License-Identifier: Apache-2.0
 * reads.hpp - files read in six ways, for one.cpp and many.cpp.
 *
 * With a queue depth d, d contexts (threads, coroutines, fibers, or plain requests) each read one file after another into
 * a buffer of their own. A read counts once all of its bytes have come and a word of each page was the right one; the
 * last read of a batch is compared whole. Files are open before and stay so: opening is not in the time. */
#ifndef STEELYARD_FILE_READS_HPP
#define STEELYARD_FILE_READS_HPP

#include "files.hpp"

#include <condition_variable>
#include <coro/fiber.hpp>
#include <coro/io.hpp>
#include <coro/loop.hpp>
#include <coro/spawn.hpp>
#include <memory>
#include <mutex>
#include <thread>

/* The reads of a batch, and where they go. */
class reading
{
public:
    reading(const file_set &files, std::size_t slots) : files_(files), slots_(slots)
    {
        void *mapped = mmap(nullptr, slots * files.size(), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        if (mapped == MAP_FAILED)
            probe_skip("no memory for %zu buffers of %zu bytes", slots, files.size());
        memory_ = static_cast<std::byte *>(mapped);
    }
    reading(const reading &) = delete;
    reading &operator=(const reading &) = delete;
    ~reading()
    {
        munmap(memory_, slots_ * files_.size());
    }

    void begin(std::uint64_t wanted) noexcept
    {
        next_ = right_ = 0;
        wanted_ = wanted;
    }
    /* The number of the next read; false when there is none left. */
    [[nodiscard]] bool take(std::uint64_t &i) noexcept
    {
        i = next_.fetch_add(1, std::memory_order_relaxed);
        return i < wanted_;
    }
    [[nodiscard]] int fd(std::uint64_t i) const noexcept
    {
        return files_.fd(i);
    }
    /* All buffers. */
    [[nodiscard]] std::span<std::byte> memory() const noexcept
    {
        return {memory_, slots_ * files_.size()};
    }
    [[nodiscard]] std::span<std::byte> buffer(std::size_t slot) const noexcept
    {
        return {memory_ + slot * files_.size(), files_.size()};
    }
    /* Read number i has ended with `got` bytes, or -errno. */
    void ended(std::size_t slot, std::uint64_t i, long got)
    {
        if (got == -ENOSYS || got == -EPERM)
            probe_skip("the kernel does not allow this way of reading here (kernel.io_uring_disabled, fs.aio-max-nr)");
        if (got < 0)
            probe_fail("a read failed: %s", strerror(static_cast<int>(-got)));
        if (got != static_cast<long>(files_.size()) || !files_.brought(words(slot), i))
            return;
        right_.fetch_add(1, std::memory_order_relaxed);
        if (i == wanted_ - 1)
            last_slot_ = slot;
    }
    /* Reads that were right; fails if the last has brought anything wrong. */
    [[nodiscard]] std::uint64_t right() const
    {
        if (right_ == wanted_ && !files_.brought_all(words(last_slot_), wanted_ - 1))
            probe_fail("a read has brought wrong bytes");
        return right_;
    }
    [[nodiscard]] std::size_t slots() const noexcept
    {
        return slots_;
    }

private:
    [[nodiscard]] std::uint64_t *words(std::size_t slot) const noexcept
    {
        return reinterpret_cast<std::uint64_t *>(memory_ + slot * files_.size());
    }

    const file_set &files_;
    std::size_t slots_, last_slot_ = 0;
    std::byte *memory_;
    std::uint64_t wanted_ = 0;
    std::atomic<std::uint64_t> next_{0}, right_{0};
};

/* A way of reading: run() does all reads of the batch. */
class way
{
public:
    virtual ~way() = default;
    virtual void run(reading &of) = 0;
};

extern "C" [[gnu::noinline]] inline void read_by_pread(reading &of, std::size_t slot)
{
    for (std::uint64_t i = 0; of.take(i);) {
        const std::span<std::byte> into = of.buffer(slot);
        const ssize_t got = pread(of.fd(i), into.data(), into.size(), 0);
        of.ended(slot, i, got < 0 ? -errno : got);
    }
}

class by_pread final : public way
{
public:
    void run(reading &of) override
    {
        read_by_pread(of, 0);
    }
};

/* Threads sleep between batches: waking them is in the time, once a batch. */
class by_threads final : public way
{
public:
    explicit by_threads(std::size_t count)
    {
        for (std::size_t slot = 0; slot < count; slot++)
            threads_.emplace_back([this, slot] { work(slot); });
    }
    ~by_threads() override
    {
        start(nullptr);
        for (std::thread &each : threads_)
            each.join();
    }
    void run(reading &of) override
    {
        start(&of);
        std::unique_lock hold(lock_);
        changed_.wait(hold, [this] { return working_ == 0; });
    }

private:
    void start(reading *of)
    {
        std::lock_guard hold(lock_);
        of_ = of;
        working_ = threads_.size();
        round_++;
        changed_.notify_all();
    }
    void work(std::size_t slot)
    {
        for (std::uint64_t seen = 0;;) {
            reading *of = nullptr;
            {
                std::unique_lock hold(lock_);
                changed_.wait(hold, [&] { return round_ != seen; });
                seen = round_;
                of = of_;
            }
            if (of == nullptr)
                return;
            read_by_pread(*of, slot);
            std::lock_guard hold(lock_);
            if (--working_ == 0)
                changed_.notify_all();
        }
    }

    std::mutex lock_;
    std::condition_variable changed_;
    reading *of_ = nullptr;
    std::uint64_t round_ = 0;
    std::size_t working_ = 0;
    std::vector<std::thread> threads_;
};

/* Requests to the kernel and nothing else: what the coroutines of the other ways come on top of. */
class by_callback final : public way
{
public:
    explicit by_callback(const coro::reactor_options &options) : reactor_(options), requests_(options.io_depth)
    {
    }
    void run(reading &of) override
    {
        of_ = &of;
        std::size_t active = 0;
        for (std::size_t slot = 0; slot < requests_.size(); slot++) {
            requests_[slot].owner = this;
            requests_[slot].slot = slot;
            active += start(requests_[slot]);
        }
        while (active != 0) {
            reactor_.wait([] { return true; });
            for (request *done : std::exchange(complete_, {}))
                active -= !start(*done);
        }
    }

private:
    struct request : coro::detail::io_wait {
        by_callback *owner;
        std::size_t slot;
        std::uint64_t i;
    };

    bool start(request &one)
    {
        if (!of_->take(one.i))
            return false;
        const std::span<std::byte> into = of_->buffer(one.slot);
        one.kind = coro::detail::io_kind::read;
        one.fd = of_->fd(one.i);
        one.buffer = into.data();
        one.size = into.size();
        one.offset = 0;
        one.complete = [](coro::detail::io_wait &ended) {
            auto &self = static_cast<request &>(ended);
            self.owner->of_->ended(self.slot, self.i, self.result);
            self.owner->complete_.push_back(&self);
        };
        reactor_.start(one);
        return true;
    }

    reading *of_ = nullptr;
    coro::reactor reactor_;
    std::vector<request> requests_;
    std::vector<request *> complete_;
};

inline coro::lazy<> read_by_lazy(reading &of, std::size_t slot, std::uint64_t i)
{
    long got = 0;
    try {
        got = co_await coro::read_at(of.fd(i), of.buffer(slot), 0);
    } catch (const std::system_error &problem) {
        got = -problem.code().value();
    }
    of.ended(slot, i, got);
}

class by_lazy final : public way
{
public:
    explicit by_lazy(const coro::loop_options &options) : loop_(options)
    {
    }
    void run(reading &of) override
    {
        for (std::size_t slot = 0; slot < of.slots(); slot++)
            coro::spawn(loop_, read_all(of, slot));
        loop_.run();
    }

private:
    static coro::lazy<> read_all(reading &of, std::size_t slot)
    {
        for (std::uint64_t i = 0; of.take(i);)
            co_await read_by_lazy(of, slot, i);
    }

    coro::loop loop_;
};

inline void read_by_fiber(reading &of, std::size_t slot, std::uint64_t i)
{
    long got = 0;
    try {
        got = coro::fiber::await(coro::read_at(of.fd(i), of.buffer(slot), 0));
    } catch (const std::system_error &problem) {
        got = -problem.code().value();
    }
    of.ended(slot, i, got);
}

class by_fiber final : public way
{
public:
    explicit by_fiber(const coro::loop_options &options) : loop_(options)
    {
    }
    void run(reading &of) override
    {
        for (std::size_t slot = 0; slot < of.slots(); slot++)
            coro::fiber::spawn(loop_, [&of, slot] {
                for (std::uint64_t i = 0; of.take(i);)
                    read_by_fiber(of, slot, i);
            }).detach();
        loop_.run();
    }

private:
    coro::loop loop_;
};

/* Calls on a stack, and the wait at their end in a stackless coroutine. */
class by_hybrid final : public way
{
public:
    explicit by_hybrid(const coro::loop_options &options) : loop_(options)
    {
    }
    void run(reading &of) override
    {
        for (std::size_t slot = 0; slot < of.slots(); slot++)
            coro::fiber::spawn(loop_, [&of, slot] {
                for (std::uint64_t i = 0; of.take(i);)
                    coro::fiber::await(read_by_lazy(of, slot, i));
            }).detach();
        loop_.run();
    }

private:
    coro::loop loop_;
};

inline std::unique_ptr<way> way_of(const probe_run *run, std::size_t depth)
{
    const bool libaio = probe_is(run, "io", "libaio");
    const bool synchronous = probe_is(run, "way", "pread") || probe_is(run, "way", "threads");
    if (synchronous && libaio)
        probe_skip("pread asks no asynchronous interface: io= says nothing here");
    if (libaio && probe_is(run, "cache", "cached"))
        probe_caveat("libaio reads what is cached within the call that hands it over: nothing overlaps");
    const coro::reactor_options options{.io_depth = static_cast<unsigned>(depth),
                                        .io = libaio ? coro::io_interface::libaio : coro::io_interface::io_uring};
    if (probe_is(run, "way", "pread"))
        return std::make_unique<by_pread>();
    if (probe_is(run, "way", "threads"))
        return std::make_unique<by_threads>(depth);
    if (probe_is(run, "way", "callback"))
        return std::make_unique<by_callback>(options);
    if (probe_is(run, "way", "lazy"))
        return std::make_unique<by_lazy>(options);
    if (probe_is(run, "way", "fiber"))
        return std::make_unique<by_fiber>(options);
    return std::make_unique<by_hybrid>(options);
}

struct reads {
    file_set files;
    reading batch;
    std::unique_ptr<way> how;

    reads(const probe_run *run, std::size_t count, std::size_t size, std::size_t depth)
        : files(count, size, probe_is(run, "cache", "direct")), batch(files, depth), how(way_of(run, depth))
    {
    }
};

inline void reads_setup(probe_run *run, std::size_t count, std::size_t size)
{
    const auto depth = static_cast<std::size_t>(probe_integer(run, "depth"));
    try {
        auto *made = new reads(run, count, size, depth);
        run->state = made;
        /* Each file once: what the kernel refuses shows before the first value. */
        made->batch.begin(count);
        made->how->run(made->batch);
        if (made->batch.right() != count)
            probe_fail("%zu files were made, and %llu could be read right", count,
                       static_cast<unsigned long long>(made->batch.right()));
    } catch (const std::system_error &problem) {
        probe_skip("%s", problem.what());
    }
}

extern "C" [[gnu::noinline]] inline void read_by_way(way &how, reading &of)
{
    how.run(of);
}

inline void reads_batch(probe_run *run, std::uint64_t operations, probe_value *value)
{
    auto &of = *static_cast<reads *>(run->state);
    of.batch.begin(operations);
    probe_guarded([&] {
        probe_start(value);
        read_by_way(*of.how, of.batch);
        probe_stop(value);
    });
    probe_count(value, "bytes", of.batch.right() * of.files.size());
    probe_count(value, "checked", of.batch.right());
}

inline void reads_teardown(probe_run *run)
{
    delete static_cast<reads *>(run->state);
}

inline constexpr probe_metric reads_metrics[] = {
    {"read", "s", "lower", "wall", "operations", "time of one read, while others may be under way"},
    {"bandwidth", "B/s", "higher", "bytes", "wall", "bytes read"},
    {"read_cpu", "s", "lower", "cpu", "operations", "CPU time of one read"},
    {}};

inline constexpr probe_param reads_way = {
    .name = "way",
    .doc = "who waits for a read: the thread (pread), one of `depth` threads, a callback, a stackless coroutine (lazy), a "
           "stackful one (fiber), or a fiber that awaits a lazy (hybrid)",
    .choices = "pread,threads,callback,lazy,fiber,hybrid",
    .sweep = "pread,threads,callback,lazy,fiber,hybrid"};
inline constexpr probe_param reads_io = {.name = "io",
                                         .doc = "the kernel's interface; pread and threads need none",
                                         .choices = "io_uring,libaio",
                                         .sweep = "io_uring"};
inline constexpr probe_param reads_cache = {.name = "cache",
                                            .doc = "read from the page cache, or past it from the disk (O_DIRECT)",
                                            .choices = "cached,direct",
                                            .sweep = "cached,direct",
                                            .brief = "cached"};
inline constexpr probe_param reads_depth = {.name = "depth",
                                            .doc = "reads that may be under way at once; of pread it is one",
                                            .unit = "1",
                                            .sweep = "32",
                                            .min = 1,
                                            .max = 1024};

#endif
