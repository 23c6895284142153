// SPDX-License-Identifier: Apache-2.0
/* coro_hybrid - a stackless coroutine for each connection, and a stack for each request while it takes.
 *
 * What waits for a client has a frame and no stack; what goes deep needs no coroutine for each call.
 *
 * Known answer: checksum and result of each request.  Limits: one CPU.
 * Assembly: serve_work contains (imul|madd|mul )
 * Source: engines/coro, both kinds in one call chain. */
#include "../support/cpp/serving.hpp"

static void serve(int listener, int)
{
    coro::loop loop(for_connections);
    coro::spawn(loop, accept_all(listener, loop, on_a_stack(loop)));
    loop.run();
}

int main(int argc, char **argv)
{
    const serve_model model = {.title = "C++ coroutine, both kinds", .source = "engines/coro", .serve = serve};
    return serve_main(argc, argv, &model);
}
