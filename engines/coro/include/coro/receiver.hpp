// SPDX-License-Identifier: Apache-2.0
// All that a peer sends, piece by piece: `const std::span bytes = co_await receiver.next()`.
// The kernel is asked once for all pieces where it can (a multishot receive of io_uring, Linux 6.0), and takes memory
// of the thread's for each that has come: a connection that waits holds none. Elsewhere it is asked once for each
// piece, and each receiver has memory of its own.
#pragma once

#include <coro/detail/multishot.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <poll.h>
#include <span>
#include <sys/utsname.h>
#include <utility>

namespace coro
{

class receiver
{
  public:
    // pre: the socket stays open as long as this lives, and nobody else receives from it.
    explicit receiver(int socket) : asked_(new asked(socket))
    {
    }

    // Bytes that have come, at most reactor_options::receive_size; none when the peer has closed. They are there until
    // next() is called again or this ends. A peer that sends faster is held back after 16 pieces, and a thread whose
    // memory is all taken goes on as if the kernel could not choose. A wait that was stopped has lost nothing.
    // Throws std::system_error and cancelled. pre: nobody else waits.
    [[nodiscard]] lazy<std::span<const std::byte>> next()
    {
        asked_->held.reset();
        return asked_->next();
    }

  private:
    struct asked final : detail::multishot<std::span<const std::byte>> {
        explicit asked(int socket) : multishot(socket, 16, "coro: receive")
        {
        }
        void prepare(reactor &on) override
        {
            const bool all = goes_for_all && !none_left && on.provided() != nullptr;
            none_left = false;
            kind = all ? detail::io_kind::receive_all : detail::io_kind::receive;
            if (all)
                own.reset(); // what was fetched from it has been seen
            else if (own == nullptr)
                own = std::make_unique<std::byte[]>(own_size = on.receive_size());
            buffer = all ? nullptr : own.get();
            size = all ? 0 : own_size;
        }
        bool keeps(int got) override
        {
            if (kind == detail::io_kind::receive_all && got == -EINVAL)
                goes_for_all = false; // an older kernel, or an error that the second attempt meets again
            else if (kind == detail::io_kind::receive_all && got == -ENOBUFS)
                none_left = true;
            else
                return got != -ECANCELED; // which was asked for here
            return false;
        }
        // A kernel before 7.0 may not tell the end that came right behind the last bytes.
        bool stalls() override
        {
            static const bool may_stall = [] {
                utsname system{};
                return ::uname(&system) != 0 || std::atoi(system.release) < 7;
            }();
            pollfd end{fd, POLLRDHUP, 0};
            return may_stall && kind == detail::io_kind::receive_all && ::poll(&end, 1, 0) > 0;
        }
        std::span<const std::byte> fetched(arrival &&got) override
        {
            held = std::move(got.buffer);
            return {held != nullptr ? held.get() : own.get(), static_cast<std::size_t>(got.result)};
        }

        detail::provided_buffer held;     // what was fetched last, unless it is in `own`
        std::unique_ptr<std::byte[]> own; // which is written only while somebody waits
        std::size_t own_size = 0;
        bool goes_for_all = true, none_left = false;
    };

    std::unique_ptr<asked, detail::multishot<std::span<const std::byte>>::abandon> asked_;
};

} // namespace coro
