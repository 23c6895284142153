// SPDX-License-Identifier: Apache-2.0
/* coro_lazy - a stackless coroutine of C++ for each connection, on one loop of engines/coro.
 *
 * Known answer: checksum and result of each request.  Limits: one CPU; each call below which a request waits is a coroutine.
 * Assembly: serve_work contains (imul|madd|mul )
 * Source: engines/coro; async_simple's study compares the same. */
#include "../support/cpp/serving.hpp"

static coro::lazy<std::uint32_t> deep(served &peer, const request &asked, std::uint32_t steps, std::uint32_t depth)
{
    if (depth > 1)
        co_return co_await deep(peer, asked, steps, depth - 1);
    const std::uint32_t state = serve_work(asked.crc, steps / 2);
    if (asked.wait_us && serve_asks())
        co_await ask(peer, asked);
    else if (asked.wait_us)
        co_await coro::sleep(std::chrono::microseconds(asked.wait_us));
    if (asked.lock) {
        const auto held = co_await the_lock.lock();
        co_return serve_work(state, steps - steps / 2);
    }
    co_return serve_work(state, steps - steps / 2);
}

static void serve(int listener, int)
{
    coro::loop loop(for_connections);
    coro::spawn(loop, accept_all(listener, loop, [](served &peer, const request &asked, std::uint32_t steps) {
                    return deep(peer, asked, steps, asked.depth);
                }));
    loop.run();
}

int main(int argc, char **argv)
{
    const serve_model model = {.title = "C++ coroutine, stackless", .source = "engines/coro", .serve = serve};
    return serve_main(argc, argv, &model);
}
