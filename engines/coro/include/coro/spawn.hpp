// SPDX-License-Identifier: Apache-2.0
// Roots of chains: spawn() lets a lazy run by itself, on() runs one on another executor, sync_wait() blocks a thread.
#pragma once

#include <coro/detail/frame.hpp>
#include <coro/lazy.hpp>

#include <condition_variable>
#include <coroutine>
#include <exception>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

namespace coro
{
namespace detail
{

class detached : frame
{
  public:
    static void begin(executor &on, lazy<> &&body, std::stop_token &&stop)
    {
        auto *root = new detached(on, std::move(body), std::move(stop));
        root->start_.handle = root->body_.prepare(root->handle(), root->inherited_);
        on.schedule(root->start_);
    }

    static void *operator new(std::size_t size)
    {
        return pooled_frames::allocate(size);
    }
    static void operator delete(void *root, std::size_t size) noexcept
    {
        pooled_frames::release(root, size);
    }

  private:
    detached(executor &on, lazy<> &&body, std::stop_token &&stop) noexcept
        : frame(on_end), body_(std::move(body)), inherited_{&on, std::move(stop)}
    {
    }

    static void on_end(frame *self) noexcept
    {
        auto *root = static_cast<detached *>(self);
        try {
            root->body_.result().take();
        } catch (const cancelled &) {
            // As asked.
        }
        delete root;
    }

    lazy<> body_;
    environment inherited_;
    work start_;
};

} // namespace detail

// Runs the lazy on the executor, which must outlive it. Nobody waits for it: an exception other than cancelled ends the
// process, as it does in a thread. To wait for several use a latch.
inline void spawn(executor &on, lazy<> body, std::stop_token stop = {})
{
    detail::detached::begin(on, std::move(body), std::move(stop));
}

namespace detail
{

template <class T, class Frames> class [[nodiscard]] elsewhere : frame
{
  public:
    elsewhere(executor &there, lazy<T, Frames> &&body) noexcept : frame(on_end), there_(there), body_(std::move(body))
    {
    }
    elsewhere(const elsewhere &) = delete;
    elsewhere &operator=(const elsewhere &) = delete;

    [[nodiscard]] bool await_ready() const noexcept
    {
        return false;
    }
    template <class Promise> void await_suspend(std::coroutine_handle<Promise> waiting)
    {
        const environment &around = environment_of(waiting);
        home_ = around.executor;
        waiting_ = waiting;
        inherited_ = around;
        inherited_.executor = &there_;
        step_.handle = body_.prepare(this->handle(), inherited_);
        there_.schedule(step_);
    }
    T await_resume()
    {
        return body_.result().take();
    }

  private:
    static void on_end(frame *self)
    {
        auto &ended = *static_cast<elsewhere *>(self);
        ended.step_.handle = ended.waiting_;
        wake(ended.step_, ended.home_);
    }

    executor &there_;
    executor *home_ = nullptr;
    lazy<T, Frames> body_;
    environment inherited_;
    std::coroutine_handle<> waiting_;
    work step_;
};

} // namespace detail

// `co_await on(executor, lazy)`: the lazy and all that it calls run there; whoever waits goes on where it was.
template <class T, class Frames> auto on(executor &there, lazy<T, Frames> body)
{
    return detail::elsewhere<T, Frames>(there, std::move(body));
}

// `co_await with_stop(token, lazy)`: the lazy and all that it calls stop when the token says so, not with whoever
// waits.
template <class T, class Frames> class [[nodiscard]] with_stop
{
  public:
    with_stop(std::stop_token stop, lazy<T, Frames> body) noexcept : body_(std::move(body)), stop_(std::move(stop))
    {
    }
    with_stop(const with_stop &) = delete;
    with_stop &operator=(const with_stop &) = delete;

    [[nodiscard]] bool await_ready() const noexcept
    {
        return false;
    }
    template <class Promise> std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> waiting)
    {
        inherited_ = detail::environment_of(waiting);
        inherited_.stop = std::move(stop_);
        return body_.prepare(waiting, inherited_);
    }
    T await_resume()
    {
        return body_.result().take();
    }

  private:
    lazy<T, Frames> body_;
    std::stop_token stop_;
    environment inherited_;
};

// Runs the lazy and blocks the calling thread until it has ended; returns its value or throws its exception. Without an
// executor it begins on this thread, which is no good for what sleeps or does I/O: loop::run() is.
template <class T, class Frames> T sync_wait(lazy<T, Frames> body, executor *on = nullptr, std::stop_token stop = {})
{
    struct finish : detail::frame {
        std::mutex lock;
        std::condition_variable changed;
        bool reached = false;

        finish() noexcept : frame(on_end)
        {
        }
        static void on_end(frame *self)
        {
            auto &end = *static_cast<finish *>(self);
            // Under the lock to the last: the waiting thread destroys it afterwards.
            std::lock_guard hold(end.lock);
            end.reached = true;
            end.changed.notify_one();
        }
    } end;
    const environment inherited{on, std::move(stop)};
    work start;
    start.handle = body.prepare(end.handle(), inherited);
    detail::wake(start, on);
    {
        std::unique_lock hold(end.lock);
        end.changed.wait(hold, [&end] { return end.reached; });
    }
    return body.result().take();
}

} // namespace coro
