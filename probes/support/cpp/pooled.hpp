/* SPDX-License-Identifier: Apache-2.0
 * pooled.hpp - what probes share whose work is spread over 1 to 1024 threads, as a pool's. */
#ifndef STEELYARD_POOLED_HPP
#define STEELYARD_POOLED_HPP

#include "probe.hpp"

#include <coro/latch.hpp>
#include <coro/pool.hpp>
#include <coro/spawn.hpp>

inline constexpr probe_param pool_threads = {.name = "threads",
                                             .doc = "threads that share the work",
                                             .unit = "1",
                                             .sweep = "1,2",
                                             .brief = "1,2",
                                             .min = 1,
                                             .max = 1024};

/* The threads that this run is to have. */
inline unsigned threads_of(const probe_run *run)
{
    const std::int64_t threads = probe_integer(run, "threads");
    if (threads > run->cpus)
        probe_skip("threads=%lld needs as many CPUs, and this process may use %d", (long long)threads, run->cpus);
    return static_cast<unsigned>(threads);
}

/* setup and teardown of a probe whose state is a coro::pool of these threads. */
inline void make_pool(probe_run *run)
{
    probe_guarded([run] { run->state = new coro::pool(threads_of(run)); });
}

inline coro::pool &pool_of(const probe_run *run)
{
    return *static_cast<coro::pool *>(run->state);
}

inline void end_pool(probe_run *run)
{
    delete static_cast<coro::pool *>(run->state);
}

inline coro::lazy<> all_ended(coro::latch &left)
{
    co_await left.wait();
}

/* Blocks the calling thread, which is none of a pool, until all have counted down. */
inline void wait_for(coro::latch &left)
{
    coro::sync_wait(all_ended(left));
}

/* Names the calling thread. Not inlined: a coroutine may go on on another thread, and the address of what belongs to
 * the one before would have been kept. */
[[gnu::noinline]] inline const void *this_thread()
{
    static thread_local char here;
    asm volatile("");
    return &here;
}

#endif
