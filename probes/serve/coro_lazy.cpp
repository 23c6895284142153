// SPDX-License-Identifier: Apache-2.0
/* coro_lazy - a stackless coroutine of C++ for each connection, on one loop of engines/coro.
 *
 * Known answer: checksum and result of each request.  Limits: one CPU; each call below which a request waits is a coroutine.
 * Assembly: serve_work contains (imul|madd|mul )
 * Source: engines/coro; async_simple's study compares the same. */
#include "../support/cpp/serving.hpp"

#include <coro/lazy.hpp>
#include <coro/sleep.hpp>
#include <coro/spawn.hpp>

#include <chrono>
#include <system_error>

static coro::lazy<std::uint32_t> deep(const request &asked, std::uint32_t steps, std::uint32_t depth)
{
    if (depth > 1)
        co_return co_await deep(asked, steps, depth - 1);
    const std::uint32_t state = serve_work(asked.crc, steps / 2);
    if (asked.wait_us)
        co_await coro::sleep(std::chrono::microseconds(asked.wait_us));
    if (asked.lock) {
        const auto held = co_await the_lock.lock();
        co_return serve_work(state, steps - steps / 2);
    }
    co_return serve_work(state, steps - steps / 2);
}

static coro::lazy<> send_all(int socket, std::span<const std::byte> rest)
{
    while (!rest.empty())
        rest = rest.subspan(static_cast<std::size_t>(co_await coro::send(socket, rest)));
}

static coro::lazy<> connection(int socket)
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
                const std::uint32_t steps = serve_steps(&asked), state = co_await deep(asked, steps, asked.depth);
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

static coro::lazy<> accept_all(int listener, coro::loop &loop)
{
    for (;;) {
        bool full = false;
        try {
            coro::spawn(loop, connection(co_await coro::accept(listener)));
        } catch (const std::system_error &) {
            full = true; // no more descriptors: others have to close theirs
        }
        if (full)
            co_await coro::sleep(std::chrono::milliseconds(10));
    }
}

static void serve(int listener, int)
{
    coro::loop loop(for_connections);
    coro::spawn(loop, accept_all(listener, loop));
    loop.run();
}

int main(int argc, char **argv)
{
    const serve_model model = {.title = "C++ coroutine, stackless", .source = "engines/coro", .serve = serve};
    return serve_main(argc, argv, &model);
}
