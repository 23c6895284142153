// SPDX-License-Identifier: Apache-2.0
// Connections of a listening socket, one after the other: `const int peer = co_await acceptor.next()`.
// The kernel is asked once for all of them where it can (a multishot accept of io_uring, Linux 5.19), and once for each
// elsewhere.
#pragma once

#include <coro/detail/multishot.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unistd.h>

namespace coro
{

class acceptor
{
  public:
    // pre: the socket listens, and stays open as long as this lives; with O_NONBLOCK where io_uring may be forbidden.
    // At the end connections that nobody has fetched are closed.
    explicit acceptor(int listening) : asked_(new asked(listening))
    {
    }

    // A connection's descriptor, closed on exec. Connections that come meanwhile wait here, not in the kernel's queue.
    // Throws std::system_error, after which the next call asks anew, and cancelled. Several may wait at once.
    [[nodiscard]] lazy<int> next()
    {
        return asked_->next();
    }

  private:
    struct asked final : detail::multishot<int> {
        explicit asked(int listening) : multishot(listening, SIZE_MAX, "coro: accept")
        {
            kind = detail::io_kind::accept_all;
        }
        void prepare(reactor &) override
        {
        }
        bool keeps(int got) override
        {
            if (got != -EINVAL || kind == detail::io_kind::accept)
                return true;
            kind = detail::io_kind::accept; // an older kernel, or an error that the second attempt meets again
            return false;
        }
        int fetched(arrival &&got) override
        {
            return got.result;
        }
        void discard(const arrival &got) override
        {
            if (got.result >= 0)
                ::close(got.result);
        }
    };

    std::unique_ptr<asked, detail::multishot<int>::abandon> asked_;
};

} // namespace coro
