// SPDX-License-Identifier: Apache-2.0
// An executor of several threads that steal work from each other; each has its own timers and I/O.
#pragma once

#include <coro/detail/queue.hpp>
#include <coro/detail/spinlock.hpp>
#include <coro/detail/steal_queue.hpp>
#include <coro/executor.hpp>
#include <coro/reactor.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace coro
{

struct pool_statistics {
    std::size_t stolen = 0; // times that a worker took work from another
};

// What is scheduled from inside stays on that worker unless another one is idle. A coroutine or fiber may go on on any
// thread of the pool: do not hold the address of a thread_local over a suspension.
class pool final : public executor
{
  public:
    explicit pool(std::size_t threads = std::max(1u, std::thread::hardware_concurrency()),
                  const reactor_options &options = {})
    {
        for (std::size_t i = 0; i < threads; i++)
            workers_.push_back(std::make_unique<worker>(options));
        for (const auto &each : workers_)
            each->thread = std::thread([this, &self = *each] { run(self); });
    }

    // Runs what is ready, but waits for no timer and no I/O: whoever has work under way there waits for it first.
    ~pool()
    {
        stopping_.store(true, std::memory_order_seq_cst);
        for (const auto &each : workers_)
            each->reactor.wake();
        for (const auto &each : workers_)
            each->thread.join();
    }

    void schedule(work &item) noexcept override
    {
        const detail::thread_state &here = detail::this_thread();
        if (here.executor != this || !static_cast<worker *>(here.worker)->ready.push(item)) {
            std::lock_guard hold(lock_);
            shared_.push(item);
            shared_count_.fetch_add(1, std::memory_order_seq_cst);
        }
        // seq_cst: pairs with rest(): the sleeper sees the item, or is counted here.
        if (resting_.load(std::memory_order_seq_cst) != 0)
            wake_one();
    }

    [[nodiscard]] std::size_t size() const noexcept
    {
        return workers_.size();
    }

    [[nodiscard]] pool_statistics statistics() const noexcept
    {
        pool_statistics sum;
        for (const auto &each : workers_)
            sum.stolen += each->stolen.load(std::memory_order_relaxed);
        return sum;
    }

  private:
    // Items between two looks at timers and I/O, and a prime, so that it beats with no pattern of the work, between two
    // looks at the shared queue, which a busy worker would otherwise forget.
    static constexpr unsigned poll_every = 64, share_every = 61;

    struct worker {
        explicit worker(const reactor_options &options) : reactor(options)
        {
        }
        coro::reactor reactor;
        detail::steal_queue ready;
        std::atomic<std::size_t> stolen{0};
        std::thread thread;
    };

    void run(worker &self)
    {
        detail::this_thread() = {this, &self.reactor, nullptr, nullptr, &self};
        for (unsigned tick = 1;; tick++) {
            if (tick % poll_every == 0)
                self.reactor.poll();
            if (work *item = next(self, tick)) {
                item->handle.resume();
            } else if (stopping_.load(std::memory_order_seq_cst)) {
                return;
            } else {
                rest(self);
            }
        }
    }

    work *next(worker &self, unsigned tick) noexcept
    {
        if (tick % share_every == 0)
            if (work *item = take_shared())
                return item;
        if (work *item = self.ready.pop())
            return item;
        if (work *item = take_shared())
            return item;
        return steal(self);
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

    work *steal(worker &self) noexcept
    {
        for (const auto &victim : workers_)
            if (victim.get() != &self)
                if (work *item = victim->ready.steal(self.ready)) {
                    self.stolen.fetch_add(1, std::memory_order_relaxed);
                    return item;
                }
        return nullptr;
    }

    void rest(worker &self)
    {
        resting_.fetch_add(1, std::memory_order_seq_cst);
        self.reactor.wait([this] {
            return shared_count_.load(std::memory_order_seq_cst) == 0 && !stopping_.load(std::memory_order_seq_cst) &&
                   std::all_of(workers_.begin(), workers_.end(), [](const auto &each) { return each->ready.empty(); });
        });
        resting_.fetch_sub(1, std::memory_order_seq_cst);
    }

    void wake_one() noexcept
    {
        for (const auto &each : workers_)
            if (each->reactor.wake())
                return;
    }

    std::vector<std::unique_ptr<worker>> workers_;
    detail::spinlock lock_;
    detail::fifo<work> shared_; // from outside, and what does not fit elsewhere
    std::atomic<std::size_t> shared_count_{0};
    std::atomic<unsigned> resting_{0};
    std::atomic<bool> stopping_{false};
};

} // namespace coro
