// SPDX-License-Identifier: Apache-2.0
// `co_await sleep(duration)`, `fiber::await(sleep(duration))`
#pragma once

#include <coro/executor.hpp>
#include <coro/reactor.hpp>

#include <atomic>
#include <chrono>
#include <coroutine>
#include <optional>
#include <stop_token>

namespace coro
{

// Waits until the deadline at least. Resumes on the executor of whoever waits. Throws cancelled when stop is requested
// first, std::logic_error on a thread without a reactor.
class sleep_until
{
  public:
    explicit sleep_until(reactor::clock::time_point deadline) noexcept
    {
        timer_.deadline = deadline;
    }
    sleep_until(const sleep_until &) = delete;
    sleep_until &operator=(const sleep_until &) = delete;

    [[nodiscard]] bool await_ready() const noexcept
    {
        return false;
    }

    template <class Promise> bool await_suspend(std::coroutine_handle<Promise> waiting)
    {
        const environment &around = detail::environment_of(waiting);
        timer_.wait.handle = waiting;
        timer_.home = around.executor;
        timer_.at = &reactor::current();
        if (around.stop.stop_possible())
            on_stop_.emplace(around.stop, stopper{&timer_});
        // Fails when the stopper came first. After this it may ask for the timer's removal; the reactor is this
        // thread's, so that cannot happen before the timer is in.
        stage expected = stage::fresh;
        if (!timer_.now.compare_exchange_strong(expected, stage::armed, std::memory_order_acq_rel))
            return false;
        timer_.at->add(timer_);
        return true;
    }

    void await_resume()
    {
        on_stop_.reset(); // waits for a stopper that is at work on another thread
        if (timer_.now.load(std::memory_order_acquire) == stage::stopped)
            throw cancelled();
    }

  private:
    // armed -> fired by the reactor, armed -> stopped by the stopper: whoever makes the step sees to the resumption.
    enum class stage : unsigned char { fresh, armed, fired, stopped };

    struct waiting_timer : detail::timer, detail::reactor_request {
        work wait;
        executor *home = nullptr;
        reactor *at = nullptr;
        bool in_heap = true; // of the reactor's thread
        std::atomic<stage> now{stage::fresh};

        waiting_timer() noexcept
        {
            fire = [](detail::timer &due) { static_cast<waiting_timer &>(due).on_fire(); };
            run = [](detail::reactor_request &asked, reactor &) { static_cast<waiting_timer &>(asked).on_removal(); };
        }
        void on_fire()
        {
            in_heap = false;
            stage expected = stage::armed;
            if (now.compare_exchange_strong(expected, stage::fired, std::memory_order_acq_rel))
                detail::wake(wait, home);
        }
        void on_removal()
        {
            if (in_heap)
                at->remove(*this);
            detail::wake(wait, home);
        }
    };

    struct stopper {
        waiting_timer *of;
        void operator()() const noexcept
        {
            stage seen = of->now.load(std::memory_order_acquire);
            while (seen != stage::fired)
                if (of->now.compare_exchange_weak(seen, stage::stopped, std::memory_order_acq_rel)) {
                    if (seen == stage::armed)
                        ask();
                    return;
                }
        }
        void ask() const noexcept
        {
            if (detail::this_thread().reactor == of->at)
                of->on_removal();
            else
                of->at->request(*of);
        }
    };

    waiting_timer timer_;
    std::optional<std::stop_callback<stopper>> on_stop_;
};

// Waits for the duration at least; as sleep_until.
[[nodiscard]] inline sleep_until sleep(reactor::clock::duration duration) noexcept
{
    return sleep_until(reactor::clock::now() + duration);
}

} // namespace coro
