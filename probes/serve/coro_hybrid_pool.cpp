// SPDX-License-Identifier: Apache-2.0
/* coro_hybrid_pool - the same two kinds of coroutine on threads that steal work from each other, one for each CPU.
 *
 * What waits for a client has a frame and no stack; what goes deep needs no coroutine for each call.
 *
 * Known answer: checksum and result of each request.  Limits: what others may steal costs atomic operations also where nobody does.
 * Assembly: serve_work contains (imul|madd|mul )
 * Source: engines/coro, both kinds in one call chain. */
#include "../support/cpp/serving.hpp"

#include <coro/pool.hpp>

static void serve(int listener, int threads)
{
    coro::pool pool(static_cast<std::size_t>(threads), for_connections);
    coro::spawn(pool, accept_all(listener, pool, on_a_stack(pool)));
    for (;;)
        pause();
}

int main(int argc, char **argv)
{
    const serve_model model = {.title = "C++ coroutine, both kinds, pool",
                               .source = "engines/coro",
                               .threads = 1,
                               .each = "CPU",
                               .serve = serve};
    return serve_main(argc, argv, &model);
}
