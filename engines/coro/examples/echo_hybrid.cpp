// SPDX-License-Identifier: Apache-2.0
// echo_hybrid [PORT]: every connection is a fiber on a pool, for the deep part of its work, and its I/O is lazies,
// which need no stack while they wait: a limit of time on each read is a lazy beside another.
#include "listening.hpp"

#include <coro/fiber.hpp>
#include <coro/pool.hpp>
#include <coro/semaphore.hpp>
#include <coro/sleep.hpp>
#include <coro/spawn.hpp>
#include <coro/when_any.hpp>

#include <optional>

using coro::fiber;
using coro::lazy;
using namespace std::chrono_literals;

static lazy<int> read_some(int peer, std::span<std::byte> into)
{
    co_return co_await coro::receive(peer, into);
}

static lazy<> time_limit()
{
    co_await coro::sleep(30s);
}

// Bytes read; nothing when the peer was silent for too long.
static lazy<std::optional<int>> read_in_time(int peer, std::span<std::byte> into)
{
    const auto first = co_await coro::when_any(read_some(peer, into), time_limit());
    co_return first.index() == 0 ? std::optional(std::get<0>(first)) : std::nullopt;
}

static lazy<> send_all(int peer, std::span<const std::byte> rest)
{
    while (!rest.empty())
        rest = rest.subspan(static_cast<std::size_t>(co_await coro::send(peer, rest)));
}

// As deep as a parser or an interpreter may be; any level of it may wait.
static void echo_below(int levels, int peer, std::span<const std::byte> bytes)
{
    if (levels == 0)
        fiber::await(send_all(peer, bytes));
    else
        echo_below(levels - 1, peer, bytes);
}

static void serve(int accepted)
{
    const descriptor peer(accepted);
    std::array<std::byte, 4096> bytes;
    try {
        for (;;) {
            const std::optional<int> got = fiber::await(read_in_time(peer.get(), bytes));
            if (got.value_or(0) == 0)
                return;
            echo_below(50, peer.get(), std::span(bytes).first(static_cast<std::size_t>(*got)));
        }
    } catch (const coro::cancelled &) {
        // The server ends.
    } catch (const std::system_error &broken) {
        std::fprintf(stderr, "connection: %s\n", broken.what());
    }
}

int main(int count, char **arguments)
{
    block_signals();
    const descriptor listening(listen_on(count, arguments));
    std::stop_source source;
    const coro::fiber_options options{.stop = source.get_token()};
    coro::pool pool;
    coro::semaphore ended(0);
    coro::spawn(pool, stop_at_signal(source));
    auto accepting = fiber::async(
        pool,
        [&] {
            std::size_t begun = 0;
            try {
                for (;; begun++) {
                    const int peer = fiber::await(coro::accept(listening.get()));
                    fiber::spawn(
                        pool,
                        [peer, &ended] {
                            serve(peer);
                            ended.release();
                        },
                        options)
                        .detach();
                }
            } catch (const coro::cancelled &) {
                // The end, as asked for.
            }
            return begun;
        },
        options);
    // A pool does not wait for I/O that is under way, so this does.
    const std::size_t connections = accepting.join();
    coro::sync_wait([](coro::semaphore &each, std::size_t connected) -> lazy<> {
        for (std::size_t i = 0; i < connected; i++)
            co_await each.acquire();
    }(ended, connections));
    std::printf("%zu connections\n", connections);
}
