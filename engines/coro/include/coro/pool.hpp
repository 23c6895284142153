// SPDX-License-Identifier: Apache-2.0
// An executor of several threads that steal work from each other; each has its own timers and I/O.
#pragma once

#include <coro/detail/memory.hpp>
#include <coro/detail/queue.hpp>
#include <coro/detail/sleepers.hpp>
#include <coro/detail/spinlock.hpp>
#include <coro/detail/steal_deque.hpp>
#include <coro/detail/steal_queue.hpp>
#include <coro/detail/visitors.hpp>
#include <coro/executor.hpp>
#include <coro/reactor.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <sched.h>
#include <thread>
#include <vector>

namespace coro
{

class pool;

struct pool_statistics {
    std::size_t stolen = 0; // times that a worker took work from another
    std::size_t slept = 0;  // times that a worker went to sleep
};

namespace detail
{

// One thread of a pool.
class worker : sleeper<machine>
{
  public:
    worker(pool &home, const reactor_options &options) : home_(home), reactor_(options)
    {
    }

    // The rest of what this thread is doing: it is what this thread goes on with, unless another one takes it before.
    [[gnu::always_inline]] inline void fork(work &rest);

    // Takes it back, if it is the newest that this thread has forked and nobody has taken it.
    [[nodiscard, gnu::always_inline]] bool take_back(work &rest)
    {
        // However long it forks, now and then this thread looks at what else there is.
        if (--forks_until_look_ <= 0) [[unlikely]]
            return false;
        work *const newest = forks_.pop();
        if (newest == &rest) [[likely]]
            return true;
        if (newest != nullptr)
            forks_.push(*newest);
        return false;
    }

  private:
    friend coro::pool;
    static constexpr int look_every = 1024;

    pool &home_;
    steal_deque<work> forks_;
    int forks_until_look_ = look_every;
    steal_queue ready_;
    std::vector<steal_queue::sighting> seen_; // of the others' queues
    coro::reactor reactor_;
    std::uint32_t random_ = 0;
    std::atomic<std::int64_t> opened_ns_{0}; // when the gate was opened
    std::atomic<std::size_t> stolen_{0}, slept_{0};
    std::thread thread_;
};

} // namespace detail

// What is scheduled from inside stays on that worker unless another one is idle. A coroutine or fiber may go on on any
// thread of the pool: do not hold the address of a thread_local over a suspension.
//
// Fairness: what is scheduled on one worker begins in its order, what parallel() forks comes before it, the newest
// first, and others steal the oldest; one item alone they leave to its worker for 5 us. But for a coroutine that does not suspend nothing waits longer than 1024 forks,
// nor work from outside and I/O longer than 64 of the others' turns.
class pool final : public executor
{
  public:
    explicit pool(std::size_t threads = std::max(1u, std::thread::hardware_concurrency()),
                  const reactor_options &options = {})
        : may_spin_(threads > 1 && threads <= usable_cpus())
    {
        detail::ask_kernel_for_barriers();
        for (std::size_t i = 0; i < threads; i++) {
            workers_.push_back(std::make_unique<detail::worker>(*this, options));
            workers_.back()->random_ = static_cast<std::uint32_t>(i + 1);
            workers_.back()->seen_.resize(threads);
        }
        for (const auto &each : workers_)
            each->thread_ = std::thread([this, &self = *each] { run(self); });
    }

    // Runs what is ready, but waits for no timer and no I/O: whoever has work under way there waits for it first.
    ~pool()
    {
        stopping_.store(true, std::memory_order_seq_cst);
        detail::machine::heavy(); // pairs with lie_down(), as for work
        while (detail::sleeper<detail::machine> *sleeping = sleepers_.wake_any())
            open(*sleeping);
        for (const auto &each : workers_)
            each->thread_.join();
        visitors_.wait();
    }

    void schedule(work &item) noexcept override
    {
        const detail::thread_state &here = detail::this_thread();
        if (here.executor == this && here.worker->ready_.push(item))
            return announce();
        const detail::visitors::visit inside(visitors_);
        {
            std::lock_guard hold(lock_);
            shared_.push(item);
            shared_count_.fetch_add(1, std::memory_order_release);
        }
        announce();
    }

    [[nodiscard]] std::size_t size() const noexcept
    {
        return workers_.size();
    }

    [[nodiscard]] pool_statistics statistics() const noexcept
    {
        pool_statistics sum;
        for (const auto &each : workers_) {
            sum.stolen += each->stolen_.load(std::memory_order_relaxed);
            sum.slept += each->slept_.load(std::memory_order_relaxed);
        }
        return sum;
    }

  private:
    friend detail::worker;
    using clock = reactor::clock;

    // Items between two looks at timers and I/O, and a prime, so that it beats with no pattern of the work, between two
    // looks at the shared queue, which a busy worker would otherwise forget.
    static constexpr unsigned poll_every = 64, share_every = 61;

    static std::size_t usable_cpus() noexcept
    {
        cpu_set_t usable;
        CPU_ZERO(&usable);
        if (::sched_getaffinity(0, sizeof usable, &usable) != 0)
            return std::thread::hardware_concurrency(); // more of them than the set has room for
        return static_cast<std::size_t>(CPU_COUNT(&usable));
    }

    // There is work that another worker could do.
    [[gnu::always_inline]] void announce() noexcept
    {
        if (sleepers_.wants_waking()) [[unlikely]]
            wake(sleepers_.wake_one());
    }

    [[gnu::noinline]] void wake(detail::sleeper<detail::machine> *sleeping) noexcept
    {
        if (sleeping != nullptr)
            open(*sleeping);
    }

    static void open(detail::sleeper<detail::machine> &sleeping) noexcept
    {
        auto &of = static_cast<detail::worker &>(sleeping);
        of.opened_ns_.store(now_ns(), std::memory_order_relaxed);
        const std::uint32_t was = of.word.exchange(detail::gate::open, std::memory_order_seq_cst);
        if (was == detail::gate::futex)
            detail::machine::wake(of.word);
        else if (was == detail::gate::poll)
            of.reactor_.wake();
    }

    void run(detail::worker &self)
    {
        detail::this_thread() = {this, &self.reactor_, nullptr, nullptr, &self};
        for (unsigned tick = 1;; tick++) {
            if (tick % poll_every == 0)
                self.reactor_.poll();
            work *item = next(self, tick);
            if (item == nullptr && (item = search(self)) == nullptr)
                return;
            item->handle.resume();
        }
    }

    // What this worker need not look for.
    work *next(detail::worker &self, unsigned tick) noexcept
    {
        if (tick % share_every == 0)
            if (work *item = take_shared())
                return item;
        if (self.forks_until_look_ <= 0) {
            self.forks_until_look_ = detail::worker::look_every;
            self.reactor_.poll();
            if (work *item = self.ready_.pop())
                return item;
        }
        if (work *item = self.forks_.pop())
            return item;
        if (work *item = self.ready_.pop())
            return item;
        return take_shared();
    }

    work *take_shared() noexcept
    {
        if (shared_count_.load(std::memory_order_relaxed) == 0)
            return nullptr;
        std::lock_guard hold(lock_);
        work *item = shared_.pop();
        if (item != nullptr)
            shared_count_.fetch_sub(1, std::memory_order_relaxed);
        return item;
    }

    work *steal(detail::worker &self) noexcept
    {
        // Not always the same one first, or it would have all thieves (xorshift; Marsaglia 2003).
        self.random_ ^= self.random_ << 13;
        self.random_ ^= self.random_ >> 17;
        self.random_ ^= self.random_ << 5;
        for (std::size_t i = 0; i < workers_.size(); i++) {
            const std::size_t which = (self.random_ + i) % workers_.size();
            detail::worker &victim = *workers_[which];
            if (&victim == &self)
                continue;
            work *item = victim.forks_.steal();
            if (item == nullptr && !victim.ready_.empty())
                item = victim.ready_.steal(self.ready_, self.seen_[which], now_ns());
            if (item != nullptr) {
                self.stolen_.fetch_add(1, std::memory_order_relaxed);
                return item;
            }
        }
        return nullptr;
    }

    [[nodiscard]] bool work_left() const noexcept
    {
        return shared_count_.load(std::memory_order_acquire) != 0 ||
               std::any_of(workers_.begin(), workers_.end(),
                           [](const auto &each) { return !each->forks_.empty() || !each->ready_.empty(); });
    }

    // Null when the pool stops.
    [[gnu::noinline]] work *search(detail::worker &self)
    {
        sleepers_.search();
        for (;;) {
            if (work *item = look_around(self)) {
                wake(sleepers_.found([this] { return work_left(); }));
                return item;
            }
            if (stopping_.load(std::memory_order_seq_cst))
                return nullptr;
            sleep(self);
        }
    }

    work *look_around(detail::worker &self)
    {
        // Whoever waits for the kernel finds nothing here that would not wake it as well.
        const bool spins = may_spin_ && !self.reactor_.has_io();
        const std::int64_t until = spins ? now_ns() + spin_ns_.load(std::memory_order_relaxed) : 0;
        do {
            self.reactor_.poll();
            if (work *item = self.ready_.pop())
                return item;
            if (work *item = take_shared())
                return item;
            if (work *item = steal(self))
                return item;
            for (int i = 0; spins && i < 16; i++)
                detail::spinlock::pause();
        } while (spins && !stopping_.load(std::memory_order_relaxed) && now_ns() < until);
        return nullptr;
    }

    void sleep(detail::worker &self)
    {
        const auto due = [this] { return work_left() || stopping_.load(std::memory_order_seq_cst); };
        using detail::gate;
        // A stop that comes while a timer fires is a request that nobody would hear who sleeps on the futex.
        const gate::kind how = self.reactor_.used() ? gate::poll : gate::futex;
        self.opened_ns_.store(0, std::memory_order_relaxed);
        if (!sleepers_.lie_down(self, how, due))
            return;
        self.slept_.fetch_add(1, std::memory_order_relaxed);
        if (how == gate::poll)
            self.reactor_.wait([&self] { return self.word.load(std::memory_order_seq_cst) == gate::poll; });
        else
            while (self.word.load(std::memory_order_acquire) == gate::futex)
                detail::machine::wait(self.word, gate::futex);
        sleepers_.get_up(self);
        if (const std::int64_t opened = self.opened_ns_.load(std::memory_order_relaxed))
            learn(now_ns() - opened);
    }

    // Looking for work is worth as much time as it takes to be woken: it costs twice the best choice at most (Karlin et
    // al. 1991). That takes 3 us on bare metal and 40 us in a virtual machine whose CPU has halted, so it is measured.
    void learn(std::int64_t took_ns) noexcept
    {
        const std::int64_t before = spin_ns_.load(std::memory_order_relaxed);
        spin_ns_.store(std::clamp((7 * before + took_ns) / 8, least_spin_ns, most_spin_ns), std::memory_order_relaxed);
    }

    static std::int64_t now_ns() noexcept
    {
        return std::chrono::nanoseconds(clock::now().time_since_epoch()).count();
    }

    static constexpr std::int64_t least_spin_ns = 1'000, most_spin_ns = 100'000;

    detail::visitors visitors_;
    std::vector<std::unique_ptr<detail::worker>> workers_;
    detail::sleepers<> sleepers_;
    detail::spinlock lock_;
    detail::fifo<work> shared_; // from outside, and what does not fit elsewhere
    std::atomic<std::size_t> shared_count_{0};
    std::atomic<std::int64_t> spin_ns_{20'000};
    const bool may_spin_;
    std::atomic<bool> stopping_{false};
};

inline void detail::worker::fork(work &rest)
{
    forks_.push(rest);
    home_.announce();
}

} // namespace coro
