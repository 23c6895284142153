// SPDX-License-Identifier: Apache-2.0
/* coro_fiber - a coroutine with a stack for each connection, on one loop of engines/coro.
 *
 * Known answer: checksum and result of each request.  Limits: one CPU.
 * Assembly: serve_work contains (imul|madd|mul )
 * Source: engines/coro; async_simple's study compares the same. */
#include "../support/cpp/serving.hpp"

using coro::fiber;

static void send_whole(int socket, std::span<const std::byte> rest)
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
                send_whole(socket, refusal());
                return;
            }
            if (used > 0) {
                const std::uint32_t steps = serve_steps(&asked), state = deep_on_a_stack(peer, asked, steps, asked.depth);
                send_whole(socket, peer.answer(asked, steps, state));
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
