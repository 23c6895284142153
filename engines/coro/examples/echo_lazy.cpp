// SPDX-License-Identifier: Apache-2.0
// echo_lazy [PORT]: every connection is a stackless coroutine on one loop.
#include "listening.hpp"

#include <coro/loop.hpp>
#include <coro/spawn.hpp>
#include <coro/when_all.hpp>

static coro::lazy<> serve(int accepted)
{
    const descriptor peer(accepted);
    std::array<std::byte, 4096> bytes;
    while (const int got = co_await coro::receive(peer.get(), bytes)) {
        std::span rest = std::span(bytes).first(static_cast<std::size_t>(got));
        while (!rest.empty())
            rest = rest.subspan(static_cast<std::size_t>(co_await coro::send(peer.get(), rest)));
    }
}

// A connection that breaks ends alone.
static coro::lazy<> serve_safely(int accepted)
{
    try {
        co_await serve(accepted);
    } catch (const std::system_error &broken) {
        std::fprintf(stderr, "connection: %s\n", broken.what());
    }
}

static coro::lazy<> accept_all(int listening, coro::loop &loop, std::stop_token stop)
{
    try {
        for (;;)
            coro::spawn(loop, serve_safely(co_await coro::accept(listening)), stop);
    } catch (const coro::cancelled &) {
        // The end, as asked for.
    }
}

int main(int count, char **arguments)
{
    const descriptor listening(listen_on(count, arguments));
    std::stop_source source;
    coro::loop loop;
    coro::spawn(loop, stop_at_signal(source));
    coro::spawn(loop, accept_all(listening.get(), loop, source.get_token()), source.get_token());
    loop.run();
    std::printf("%zu operations\n", loop.io().completed);
}
