// SPDX-License-Identifier: Apache-2.0
/* coro_fiber - a coroutine with a stack for each connection, on one loop of engines/coro.
 *
 * Known answer: checksum and result of each request.  Limits: one CPU.
 * Assembly: serve_work contains (imul|madd|mul )
 * Source: engines/coro; async_simple's study compares the same. */
#include "../support/cpp/serving.hpp"

#include <coro/fiber.hpp>
#include <coro/sleep.hpp>
#include <coro/spawn.hpp>

#include <chrono>
#include <system_error>

using coro::fiber;

// Each call keeps its frame: something of it is used after the next one.
[[gnu::noinline]] static std::uint32_t deep(const request &asked, std::uint32_t steps, std::uint32_t depth)
{
    volatile std::uint32_t level = depth;
    if (depth > 1) {
        const std::uint32_t result = deep(asked, steps, depth - 1);
        return level == depth ? result : 0;
    }
    const std::uint32_t state = serve_work(asked.crc, steps / 2);
    if (asked.wait_us)
        fiber::await(coro::sleep(std::chrono::microseconds(asked.wait_us)));
    if (asked.lock) {
        const auto held = fiber::await(the_lock.lock());
        return serve_work(state, steps - steps / 2);
    }
    return serve_work(state, steps - steps / 2);
}

static void send_all(int socket, std::span<const std::byte> rest)
{
    while (!rest.empty())
        rest = rest.subspan(static_cast<std::size_t>(fiber::await(coro::send(socket, rest))));
}

static void connection(int socket)
{
    served peer(socket);
    try {
        for (;;) {
            request asked;
            const long used = peer.parse(asked);
            if (used < 0) {
                send_all(socket, refusal());
                return;
            }
            if (used > 0) {
                const std::uint32_t steps = serve_steps(&asked), state = deep(asked, steps, asked.depth);
                send_all(socket, peer.answer(asked, steps, state));
                peer.forget(asked);
                continue;
            }
            const int came = fiber::await(coro::receive(socket, peer.room()));
            if (came == 0)
                return;
            peer.came(came);
        }
    } catch (const std::system_error &) {
        // The client is gone.
    }
}

static void serve(int listener, int)
{
    coro::loop loop(for_connections);
    fiber::spawn(loop, [&] {
        for (;;) {
            bool full = false;
            try {
                const int peer = fiber::await(coro::accept(listener));
                fiber::spawn(loop, [peer] { connection(peer); }).detach();
            } catch (const std::system_error &) {
                full = true; // no more descriptors: others have to close theirs
            }
            if (full)
                fiber::await(coro::sleep(std::chrono::milliseconds(10)));
        }
    }).detach();
    loop.run();
}

int main(int argc, char **argv)
{
    const serve_model model = {.title = "C++ coroutine, with a stack", .source = "engines/coro", .serve = serve};
    return serve_main(argc, argv, &model);
}
