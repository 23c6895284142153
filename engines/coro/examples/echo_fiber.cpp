// SPDX-License-Identifier: Apache-2.0
// echo_fiber [PORT]: every connection is a fiber on one loop; the code reads as if it blocked.
#include "listening.hpp"

#include <coro/fiber.hpp>
#include <coro/loop.hpp>
#include <coro/spawn.hpp>

using coro::fiber;

// Plain functions: nothing in their types says that they wait.
static void send_all(int peer, std::span<const std::byte> rest)
{
    while (!rest.empty())
        rest = rest.subspan(static_cast<std::size_t>(fiber::await(coro::send(peer, rest))));
}

static void serve(int accepted)
{
    const descriptor peer(accepted);
    std::array<std::byte, 4096> bytes;
    try {
        while (const int got = fiber::await(coro::receive(peer.get(), bytes)))
            send_all(peer.get(), std::span(bytes).first(static_cast<std::size_t>(got)));
    } catch (const coro::cancelled &) {
        // The server ends.
    } catch (const std::system_error &broken) {
        std::fprintf(stderr, "connection: %s\n", broken.what());
    }
}

int main(int count, char **arguments)
{
    const descriptor listening(listen_on(count, arguments));
    std::stop_source source;
    const coro::fiber_options options{.stop = source.get_token()};
    coro::loop loop;
    coro::spawn(loop, stop_at_signal(source));
    fiber::spawn(
        loop,
        [&] {
            try {
                for (;;) {
                    const int peer = fiber::await(coro::accept(listening.get()));
                    fiber::spawn(
                        loop, [peer] { serve(peer); }, options)
                        .detach();
                }
            } catch (const coro::cancelled &) {
                // The end, as asked for.
            }
        },
        options)
        .detach();
    loop.run();
    std::printf("%zu operations\n", loop.io().completed);
}
