// SPDX-License-Identifier: Apache-2.0
// An executor of one thread: a run loop with timers and I/O.
#pragma once

#include <coro/detail/frame.hpp>
#include <coro/detail/queue.hpp>
#include <coro/detail/visitors.hpp>
#include <coro/executor.hpp>
#include <coro/lazy.hpp>
#include <coro/reactor.hpp>

#include <stop_token>
#include <utility>

namespace coro
{

using loop_options = reactor_options;

// Runs what is scheduled on it, in order, inside run(). One thread at a time calls run(); any thread may schedule.
class loop final : public executor
{
  public:
    explicit loop(const loop_options &options = {}) : reactor_(options)
    {
    }
    ~loop()
    {
        visitors_.wait();
    }

    void schedule(work &item) noexcept override
    {
        if (detail::this_thread().executor == this) [[likely]] {
            ready_.push(item);
        } else {
            const detail::visitors::visit here(visitors_);
            arrived_.push(item);
            reactor_.wake();
        }
    }

    // Runs until nothing is left to run and no timer or I/O is under way. What waits for another thread does not count.
    void run()
    {
        run_while([this] { return !ready_.empty() || !arrived_.empty() || !reactor_.nothing_due(); });
    }

    // Runs until the lazy has ended, and returns its value or throws its exception. Its executor is this loop.
    template <class T, class Frames> T run(lazy<T, Frames> body, std::stop_token stop = {})
    {
        struct finish : detail::frame {
            bool reached = false;
            finish() noexcept : frame([](frame *self) { static_cast<finish *>(self)->reached = true; })
            {
            }
        } end;
        const environment inherited{this, std::move(stop)};
        work start;
        start.handle = body.prepare(end.handle(), inherited);
        arrived_.push(start);
        run_while([&end] { return !end.reached; });
        return body.result().take();
    }

    [[nodiscard]] io_statistics io() const noexcept
    {
        return reactor_.statistics();
    }

  private:
    // Items between two looks at timers and I/O: these cost a clock read and perhaps a system call.
    static constexpr int batch = 64;

    template <class Goes> void run_while(Goes goes)
    {
        // A nested run, from inside a fiber or another loop, must not see that one as its own.
        struct entered {
            detail::thread_state outer;
            ~entered()
            {
                detail::this_thread() = outer;
            }
        } scope{std::exchange(detail::this_thread(), {this, &reactor_})};

        while (goes()) {
            for (int i = 0; i < batch; i++) {
                work *item = ready_.pop();
                if (item == nullptr)
                    break;
                item->handle.resume();
            }
            arrived_.drain([this](work &item) { ready_.push(item); });
            if (ready_.empty() && goes())
                reactor_.wait([this] { return arrived_.empty(); });
            else
                reactor_.poll();
        }
    }

    detail::visitors visitors_;
    reactor reactor_;
    detail::fifo<work> ready_;
    detail::inbox<work> arrived_;
};

} // namespace coro
