// SPDX-License-Identifier: Apache-2.0
// `co_await blocking(function)`: for calls that block their thread. They run on threads of their own, and whoever awaits
// goes on on its executor.
#pragma once

#include <coro/detail/queue.hpp>
#include <coro/executor.hpp>
#include <coro/lazy.hpp>
#include <coro/spawn.hpp>

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace coro
{

// Makes a thread when all are busy, up to a limit; then calls wait for each other, in their order.
class blocking_threads final : public executor
{
  public:
    explicit blocking_threads(std::size_t limit = 64) : limit_(limit)
    {
    }
    // Waits for the calls.
    ~blocking_threads()
    {
        {
            std::lock_guard hold(lock_);
            stopping_ = true;
        }
        changed_.notify_all();
        for (std::thread &each : threads_)
            each.join();
    }

    // Those of the process.
    static blocking_threads &shared()
    {
        static blocking_threads all;
        return all;
    }

    void schedule(work &item) noexcept override
    {
        std::lock_guard hold(lock_);
        ready_.push(item);
        if (++waiting_ > idle_ && threads_.size() < limit_)
            make_thread();
        changed_.notify_one();
    }

    [[nodiscard]] std::size_t size() noexcept
    {
        std::lock_guard hold(lock_);
        return threads_.size();
    }

  private:
    void make_thread()
    {
        try {
            threads_.emplace_back([this] { run(); });
        } catch (const std::system_error &) {
            if (threads_.empty()) // else the others will do it
                throw;
        }
    }

    void run()
    {
        detail::this_thread().executor = this;
        std::unique_lock hold(lock_);
        for (;;) {
            idle_++;
            changed_.wait(hold, [this] { return stopping_ || waiting_ != 0; });
            idle_--;
            work *const item = ready_.pop();
            if (item == nullptr)
                return;
            waiting_--;
            hold.unlock();
            item->handle.resume();
            hold.lock();
        }
    }

    const std::size_t limit_;
    std::mutex lock_;
    std::condition_variable changed_;
    detail::fifo<work> ready_;
    std::size_t waiting_ = 0, idle_ = 0;
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};

// What function() returns or throws. A stop does not end it: the call itself would have to look.
template <class Function>
lazy<std::invoke_result_t<Function &>> blocking(Function function, blocking_threads &threads = blocking_threads::shared())
{
    using value = std::invoke_result_t<Function &>;
    co_return co_await on(threads, [](Function &call) -> lazy<value> { co_return call(); }(function));
}

} // namespace coro
