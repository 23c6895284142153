// SPDX-License-Identifier: Apache-2.0
// Reading, writing and the rest, awaited: `co_await read_at(fd, bytes, offset)`.
// Each resumes on the executor of whoever waits and gives what the system call of the same name would;
// std::system_error for its errors, cancelled when stop was requested and the kernel could still end it.
#pragma once

#include <coro/executor.hpp>
#include <coro/reactor.hpp>

#include <atomic>
#include <cerrno>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <optional>
#include <span>
#include <stop_token>
#include <sys/socket.h>
#include <system_error>

namespace coro
{

class [[nodiscard]] io_awaiter
{
  public:
    io_awaiter(detail::io_kind kind, int fd, void *buffer, std::size_t size, std::int64_t offset,
               std::uint32_t events = 0) noexcept
    {
        wait_.kind = kind;
        wait_.fd = fd;
        wait_.buffer = buffer;
        wait_.size = size;
        wait_.offset = offset;
        wait_.events = events;
    }
    io_awaiter(const io_awaiter &) = delete;
    io_awaiter &operator=(const io_awaiter &) = delete;

    [[nodiscard]] bool await_ready() const noexcept
    {
        return false;
    }

    template <class Promise> bool await_suspend(std::coroutine_handle<Promise> waiting)
    {
        const environment &around = detail::environment_of(waiting);
        wait_.wait.handle = waiting;
        wait_.home = around.executor;
        wait_.at = &reactor::current();
        if (around.stop.stop_possible())
            on_stop_.emplace(around.stop, stopper{&wait_});
        stage expected = stage::fresh;
        if (!wait_.now.compare_exchange_strong(expected, stage::started, std::memory_order_acq_rel))
            return false;
        wait_.at->start(wait_);
        return true;
    }

    int await_resume()
    {
        on_stop_.reset(); // waits for a stopper that is at work on another thread
        const bool stopped = wait_.now.load(std::memory_order_acquire) == stage::stopping;
        if (stopped && (!wait_.complete_seen || wait_.result == -ECANCELED || wait_.result == -EINTR))
            throw cancelled();
        if (wait_.result < 0)
            throw std::system_error(-wait_.result, std::generic_category(), "coro: I/O");
        return wait_.result;
    }

  private:
    // started -> complete by the reactor, started -> stopping by the stopper. After the latter the resumption needs
    // both the completion and the stopper's request, which the kernel and the other thread still hold pointers for.
    enum class stage : unsigned char { fresh, started, complete, stopping };

    struct waiting_operation : detail::io_wait, detail::reactor_request {
        work wait;
        executor *home = nullptr;
        reactor *at = nullptr;
        bool complete_seen = false, request_seen = false; // of the reactor's thread
        std::atomic<stage> now{stage::fresh};

        waiting_operation() noexcept
        {
            io_wait::complete = [](detail::io_wait &done) { static_cast<waiting_operation &>(done).on_completion(); };
            run = [](detail::reactor_request &asked, reactor &) {
                static_cast<waiting_operation &>(asked).on_request();
            };
        }
        void on_completion()
        {
            complete_seen = true;
            stage expected = stage::started;
            if (now.compare_exchange_strong(expected, stage::complete, std::memory_order_acq_rel) || request_seen)
                detail::wake(wait, home);
        }
        void on_request()
        {
            request_seen = true;
            if (complete_seen)
                detail::wake(wait, home);
            else
                at->cancel(*this);
        }
    };

    struct stopper {
        waiting_operation *of;
        void operator()() const noexcept
        {
            stage seen = of->now.load(std::memory_order_acquire);
            while (seen != stage::complete)
                if (of->now.compare_exchange_weak(seen, stage::stopping, std::memory_order_acq_rel)) {
                    if (seen == stage::started)
                        of->at->request(*of);
                    return;
                }
        }
    };

    waiting_operation wait_;
    std::optional<std::stop_callback<stopper>> on_stop_;
};

// Bytes read from the file at the offset; fewer than asked for near its end, 0 at it.
inline io_awaiter read_at(int fd, std::span<std::byte> into, std::int64_t offset) noexcept
{
    return {detail::io_kind::read, fd, into.data(), into.size(), offset};
}

inline io_awaiter write_at(int fd, std::span<const std::byte> from, std::int64_t offset) noexcept
{
    return {detail::io_kind::write, fd, const_cast<std::byte *>(from.data()), from.size(), offset};
}

// Returns when what was written, or with `data_only` what is needed to read it, is on the disk.
inline io_awaiter sync(int fd, bool data_only = false) noexcept
{
    return {detail::io_kind::sync, fd, nullptr, 0, 0, data_only ? 1u : 0u};
}

// A file's descriptor, closed on exec. flags and mode are those of open(2). pre: the path lives until then.
inline io_awaiter open(const char *path, int flags, ::mode_t mode = 0) noexcept
{
    return {detail::io_kind::open, -1, const_cast<char *>(path), mode, 0, static_cast<std::uint32_t>(flags | O_CLOEXEC)};
}

// Bytes received, 0 when the peer has closed.
inline io_awaiter receive(int socket, std::span<std::byte> into) noexcept
{
    return {detail::io_kind::receive, socket, into.data(), into.size(), 0};
}

// Bytes sent, perhaps fewer than asked for. No SIGPIPE.
inline io_awaiter send(int socket, std::span<const std::byte> from) noexcept
{
    return {detail::io_kind::send, socket, const_cast<std::byte *>(from.data()), from.size(), 0};
}

// A connection's descriptor, closed on exec.
inline io_awaiter accept(int listening) noexcept
{
    return {detail::io_kind::accept, listening, nullptr, 0, 0};
}

// pre: the address lives until then.
inline io_awaiter connect(int socket, const ::sockaddr *address, ::socklen_t size) noexcept
{
    return {detail::io_kind::connect, socket, const_cast<::sockaddr *>(address), size, 0};
}

// Events of poll(2) that have come, of those asked for.
inline io_awaiter poll(int fd, std::uint32_t events) noexcept
{
    return {detail::io_kind::poll, fd, nullptr, 0, 0, events};
}

} // namespace coro
