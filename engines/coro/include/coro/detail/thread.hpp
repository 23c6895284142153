// SPDX-License-Identifier: Apache-2.0
// What the library knows about the calling thread.
#pragma once

namespace coro
{

class executor;
class reactor;

namespace detail
{

class fiber_block;
class trampoline;
class worker;

struct thread_state {
    coro::executor *executor = nullptr;       // whose work the thread runs
    coro::reactor *reactor = nullptr;         // that watches timers and I/O for it
    fiber_block *fiber = nullptr;             // that runs on it
    detail::trampoline *trampoline = nullptr; // that resumes fibers on it
    detail::worker *worker = nullptr;         // of the pool that the thread belongs to
};

inline thread_local constinit thread_state state_of_this_thread{};

// A call, so that no compiler keeps the address of one thread's state across a suspension that ends on another thread.
[[gnu::noinline]] inline thread_state &this_thread() noexcept
{
    asm volatile("");
    return state_of_this_thread;
}

} // namespace detail
} // namespace coro
