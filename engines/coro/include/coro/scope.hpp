// SPDX-License-Identifier: Apache-2.0
// A nursery: `co_await with_scope([&](scope &tasks) -> lazy<> { tasks.spawn(a()); co_await b(); })` returns when all that
// was spawned in it has ended.
#pragma once

#include <coro/detail/frame.hpp>
#include <coro/lazy.hpp>
#include <coro/spawn.hpp>

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <functional>
#include <optional>
#include <stop_token>
#include <utility>

namespace coro
{

class scope
{
  public:
    scope(const scope &) = delete;
    scope &operator=(const scope &) = delete;

    // Runs the lazy on the executor of whoever opened the scope, which there must be. From inside the scope, on any
    // thread. An exception of one stops all others, and the scope throws the first.
    void spawn(lazy<> body)
    {
        left_.fetch_add(1, std::memory_order_relaxed); // the caller is one of those who are left
        auto *const made = new child(*this, std::move(body));
        around_.executor->schedule(made->start);
    }

    // What is inside has this token.
    [[nodiscard]] std::stop_token stop_token() const noexcept
    {
        return around_.stop;
    }
    void request_stop() noexcept
    {
        stop_.request_stop();
    }

    template <class Body> friend lazy<> with_scope(Body body);

  private:
    struct child : detail::frame {
        scope &in;
        lazy<> body;
        work start;

        child(scope &of, lazy<> &&from) noexcept : frame(on_end), in(of), body(std::move(from))
        {
            start.handle = body.prepare(this->handle(), of.around_);
        }
        static void on_end(detail::frame *self) noexcept
        {
            auto *const ended = static_cast<child *>(self);
            scope &of = ended->in;
            if (ended->body.result().failed())
                of.fail(ended->body.result().failure());
            delete ended;
            of.leave();
        }
        static void *operator new(std::size_t size)
        {
            return pooled_frames::allocate(size);
        }
        static void operator delete(void *gone, std::size_t size) noexcept
        {
            pooled_frames::release(gone, size);
        }
    };

    struct pass_on {
        std::stop_source *to;
        void operator()() const noexcept
        {
            to->request_stop();
        }
    };

    // Until all have left. A stop does not end this: nothing may outlive the scope.
    struct everybody {
        scope &of;
        [[nodiscard]] bool await_ready() const noexcept
        {
            return false;
        }
        bool await_suspend(std::coroutine_handle<> waiting) noexcept
        {
            of.last_.handle = waiting;
            return of.left_.fetch_sub(1, std::memory_order_acq_rel) != 1;
        }
        void await_resume() const noexcept
        {
        }
    };

    explicit scope(const environment &outside) : around_(outside), outside_(outside.stop)
    {
        around_.stop = stop_.get_token();
        if (outside_.stop_possible())
            passes_on_.emplace(outside_, pass_on{&stop_});
    }

    void fail(std::exception_ptr failure) noexcept
    {
        try {
            std::rethrow_exception(failure);
        } catch (const cancelled &) {
            // As asked, by whoever has another failure or from outside.
            if (!outside_.stop_requested())
                return;
        } catch (...) {
        }
        if (!failed_.exchange(true, std::memory_order_acq_rel))
            failure_ = std::move(failure); // left_ releases it
        stop_.request_stop();
    }

    void leave() noexcept
    {
        if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1)
            detail::wake(last_, around_.executor);
    }

    environment around_;
    std::stop_token outside_;
    std::stop_source stop_;
    std::optional<std::stop_callback<pass_on>> passes_on_;
    std::atomic<std::size_t> left_{1};
    work last_; // whoever waits for all
    std::atomic<bool> failed_{false};
    std::exception_ptr failure_;
};

// Runs body(scope &), a lazy, and waits until it and all that was spawned in the scope have ended; then throws the first
// exception. A stop from outside reaches all.
template <class Body> lazy<> with_scope(Body body)
{
    const environment outside = co_await detail::environment_reader([](const environment &of) { return of; });
    scope tasks(outside);
    try {
        co_await with_stop(tasks.stop_token(), std::invoke(body, tasks));
    } catch (...) {
        tasks.fail(std::current_exception());
    }
    co_await scope::everybody{tasks};
    if (tasks.failure_ != nullptr)
        std::rethrow_exception(tasks.failure_);
}

} // namespace coro
