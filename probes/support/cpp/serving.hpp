// SPDX-License-Identifier: Apache-2.0
// serving.hpp - what the models of serve/ that are coroutines of engines/coro share.
#pragma once

#include "serve.h"

#include <coro/fiber.hpp>
#include <coro/io.hpp>
#include <coro/lazy.hpp>
#include <coro/loop.hpp>
#include <coro/mutex.hpp>
#include <coro/sleep.hpp>
#include <coro/spawn.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

// A connection's buffers; closes it in the end.
class served {
public:
    explicit served(int socket) noexcept : socket_(socket)
    {
    }
    served(const served &) = delete;
    served &operator=(const served &) = delete;
    ~served()
    {
        ::close(socket_);
        if (asked_ >= 0)
            ::close(asked_);
    }

    int socket() const noexcept
    {
        return socket_;
    }

    // The connection to the service that requests wait for.
    int asked()
    {
        if (asked_ < 0 && (asked_ = serve_dial_asked(0)) < 0)
            throw std::system_error(errno, std::generic_category(), "the service that requests wait for");
        return asked_;
    }

    // The first request that has come whole: its size, 0, or -1 if it is none.
    long parse(request &into) const
    {
        return serve_parse(data_.data(), have_, &into);
    }

    void forget(const request &answered)
    {
        data_.erase(data_.begin(), data_.begin() + static_cast<std::ptrdiff_t>(answered.size));
        have_ -= answered.size;
    }

    // Where further bytes go.
    std::span<std::byte> room()
    {
        data_.resize(have_ + 2048);
        return std::as_writable_bytes(std::span(data_)).subspan(have_);
    }
    void came(int bytes) noexcept
    {
        have_ += static_cast<std::size_t>(bytes);
    }

    std::span<const std::byte> answer(const request &asked, std::uint32_t steps, std::uint32_t state)
    {
        answer_.resize(SERVE_ANSWER_HEAD + asked.answer);
        return std::as_bytes(std::span(answer_)).first(serve_answer(answer_.data(), &asked, steps, state));
    }

private:
    int socket_, asked_ = -1;
    std::size_t have_ = 0;
    std::vector<char> data_, answer_;
};

inline std::span<const std::byte> refusal()
{
    return std::as_bytes(std::span(serve_refusal, std::char_traits<char>::length(serve_refusal)));
}

inline coro::mutex the_lock;

inline coro::lazy<> send_all(int socket, std::span<const std::byte> rest)
{
    while (!rest.empty())
        rest = rest.subspan(static_cast<std::size_t>(co_await coro::send(socket, rest)));
}

// Asks the other service and waits for its answer.
inline coro::lazy<> ask(served &peer, const request &asked)
{
    std::array<char, SERVE_QUESTION + 1> text;
    serve_question(text.data(), &asked);
    const auto bytes = std::as_writable_bytes(std::span(text)).first<SERVE_QUESTION>();
    co_await send_all(peer.asked(), bytes);
    for (std::size_t have = 0; have < bytes.size();) {
        const int came = co_await coro::receive(peer.asked(), bytes.subspan(have));
        if (came == 0)
            throw std::system_error(std::make_error_code(std::errc::connection_reset));
        have += static_cast<std::size_t>(came);
    }
}

// The work of a request on a stack of its own, so many calls deep: each call keeps its frame, as something of it is used
// after the next one.
[[gnu::noinline]] inline std::uint32_t deep_on_a_stack(served &peer, const request &asked, std::uint32_t steps,
                                                       std::uint32_t depth)
{
    volatile std::uint32_t level = depth;
    if (depth > 1) {
        const std::uint32_t result = deep_on_a_stack(peer, asked, steps, depth - 1);
        return level == depth ? result : 0;
    }
    const std::uint32_t state = serve_work(asked.crc, steps / 2);
    if (asked.wait_us && serve_asks())
        coro::fiber::await(ask(peer, asked));
    else if (asked.wait_us)
        coro::fiber::await(coro::sleep(std::chrono::microseconds(asked.wait_us)));
    if (asked.lock) {
        const auto held = coro::fiber::await(the_lock.lock());
        return serve_work(state, steps - steps / 2);
    }
    return serve_work(state, steps - steps / 2);
}

// A connection as a stackless coroutine; `work(peer, request, steps)` is awaited for the state after the work.
template <class Work> coro::lazy<> connection_of(int socket, Work work)
{
    served peer(socket);
    try {
        for (;;) {
            request asked;
            const long used = peer.parse(asked);
            if (used < 0) {
                co_await send_all(socket, refusal());
                co_return;
            }
            if (used > 0) {
                const std::uint32_t steps = serve_steps(&asked), state = co_await work(peer, asked, steps);
                co_await send_all(socket, peer.answer(asked, steps, state));
                peer.forget(asked);
                continue;
            }
            const int came = co_await coro::receive(socket, peer.room());
            if (came == 0)
                co_return;
            peer.came(came);
        }
    } catch (const std::system_error &) {
        // The client is gone.
    }
}

// Takes connections for ever, each a stackless coroutine.
template <class Work> coro::lazy<> accept_all(int listener, coro::executor &on, Work work)
{
    for (;;) {
        bool full = false;
        try {
            coro::spawn(on, connection_of(co_await coro::accept(listener), work));
        } catch (const std::system_error &) {
            full = true; // no more descriptors: others have to close theirs
        }
        if (full)
            co_await coro::sleep(std::chrono::milliseconds(10));
    }
}

// The work of each request on a stack that it has for as long as it takes.
inline auto on_a_stack(coro::executor &on)
{
    return [&on](served &peer, const request &asked, std::uint32_t steps) {
        return coro::fiber::async(on, [&peer, &asked, steps] { return deep_on_a_stack(peer, asked, steps, asked.depth); });
    };
}

// A connection on which nothing comes is an operation of its own: there are as many as connections.
inline constexpr coro::reactor_options for_connections{.io_depth = 12000};
