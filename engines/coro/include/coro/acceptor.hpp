// SPDX-License-Identifier: Apache-2.0
// Connections of a listening socket, one after the other: `const int peer = co_await acceptor.next()`.
// The kernel is asked once for all of them where it can (a multishot accept of io_uring, Linux 5.19), and once for each
// elsewhere.
#pragma once

#include <coro/io.hpp>
#include <coro/lazy.hpp>
#include <coro/reactor.hpp>
#include <coro/semaphore.hpp>

#include <cerrno>
#include <cstddef>
#include <deque>
#include <mutex>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace coro
{

class acceptor
{
  public:
    // pre: the socket listens, and stays open as long as this lives; with O_NONBLOCK where io_uring may be forbidden.
    explicit acceptor(int listening) : inside_(new asked(listening))
    {
    }
    acceptor(acceptor &&other) noexcept : inside_(std::exchange(other.inside_, nullptr))
    {
    }
    acceptor &operator=(acceptor &&other) noexcept
    {
        std::swap(inside_, other.inside_);
        return *this;
    }
    // Closes the connections that nobody has fetched.
    ~acceptor()
    {
        if (inside_ != nullptr)
            inside_->abandon();
    }

    // A connection's descriptor, closed on exec. Connections that come meanwhile wait here, not in the kernel's queue.
    // Throws std::system_error, after which the next call asks anew, and cancelled. Several may wait at once.
    [[nodiscard]] lazy<int> next()
    {
        if (inside_->arrived.try_acquire())
            co_return inside_->take();
        const waiting here(*inside_); // until the result is taken
        co_await inside_->arrived.acquire();
        co_return inside_->take();
    }

  private:
    // What the kernel and the reactor hold pointers to: it lives until all have let go.
    struct asked : detail::io_wait, detail::reactor_request {
        explicit asked(int listening)
        {
            kind = detail::io_kind::accept_all;
            fd = listening;
            complete = [](detail::io_wait &done) { static_cast<asked &>(done).on_completion(); };
            run = [](detail::reactor_request &self, reactor &) { static_cast<asked &>(self).on_request(); };
        }

        int take()
        {
            const std::lock_guard hold(lock);
            const int got = results.front();
            results.pop_front();
            if (got < 0)
                throw std::system_error(-got, std::generic_category(), "coro: accept");
            return got;
        }

        void abandon()
        {
            bool cancels = false, last = false;
            {
                const std::lock_guard hold(lock);
                for (const int each : results)
                    if (each >= 0)
                        ::close(each);
                abandoned = true;
                cancels = started;
                holders += cancels ? 1 : 0;
                last = holders == 0;
                if (!last)
                    at->abandon();
            }
            if (cancels)
                at->request(*this);
            else if (last)
                delete this;
        }

        // Under the lock, on the reactor's thread.
        void start()
        {
            at->start(*this);
            started = true;
            holders++;
        }

        void on_completion()
        {
            bool heard = false;
            {
                const std::lock_guard hold(lock);
                started = goes_on;
                holders += goes_on ? 1 : 0; // this call; at the last completion it has the operation's
                if (abandoned) {
                    if (result >= 0)
                        ::close(result);
                } else if (result == -EINVAL && kind == detail::io_kind::accept_all) {
                    kind = detail::io_kind::accept; // an older kernel, or an error that the second attempt meets again
                } else {
                    results.push_back(result);
                    heard = true;
                }
                if (!started && !abandoned && waiters > results.size())
                    start();
            }
            if (heard)
                arrived.release();
            let_go();
        }

        void on_request()
        {
            if (started)
                at->cancel(*this);
            let_go();
        }

        void let_go()
        {
            {
                const std::lock_guard hold(lock);
                if (--holders != 0 || !abandoned)
                    return;
            }
            reactor &was = *at;
            delete this;
            was.forget_abandoned();
        }

        semaphore arrived{0}; // as many as there are results that nobody is about to take
        std::mutex lock;
        std::deque<int> results;
        reactor *at = nullptr;
        std::size_t waiters = 0; // with those that have been given a result and have not taken it
        int holders = 0;         // an operation that is under way, a request, a completion that is being told
        bool started = false, abandoned = false;
    };

    // Somebody waits: the kernel has been asked, and is asked again as long as that brings fewer than wait.
    class waiting
    {
      public:
        explicit waiting(asked &of) : of_(of)
        {
            const std::lock_guard hold(of_.lock);
            if (!of_.started) {
                of_.at = &reactor::current();
                of_.start();
            }
            of_.waiters++;
        }
        waiting(const waiting &) = delete;
        waiting &operator=(const waiting &) = delete;
        ~waiting()
        {
            const std::lock_guard hold(of_.lock);
            of_.waiters--;
        }

      private:
        asked &of_;
    };

    asked *inside_;
};

} // namespace coro
