// SPDX-License-Identifier: Apache-2.0
// What lock-free code of this library asks of the machine: atomics, a barrier that costs only one of its two sides, and
// sleep. A parameter of that code, so that a test can put a model in its place and try every interleaving.
#pragma once

#include <coro/detail/sanitizer.hpp>
#include <coro/detail/spinlock.hpp>

#include <atomic>
#include <cstdint>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace coro::detail
{

// Set before the first thread that needs a barrier is made, and never again.
inline constinit bool kernel_makes_barriers = false;

// Some containers forbid the system call: then both sides pay a fence.
inline void ask_kernel_for_barriers() noexcept
{
    static const bool asked = [] {
        kernel_makes_barriers = ::syscall(__NR_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
        return true;
    }();
    static_cast<void>(asked);
}

struct machine {
    template <class T> using atomic = std::atomic<T>;
    using lock = spinlock;

    // Between a store and a load of one thread, and between those of another: at least one thread sees the other's
    // store. light() is for the frequent side and orders only the compiler; heavy() makes every other thread of the
    // process pass a full fence, microseconds (membarrier(2)).
    [[gnu::always_inline]] static void light() noexcept
    {
        if (kernel_makes_barriers) [[likely]] {
            asm volatile("" : : : "memory");
        } else {
            fence();
        }
    }
    static void heavy() noexcept
    {
        if (kernel_makes_barriers)
            ::syscall(__NR_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
        else
            fence();
    }

    // Sleeps while the word has this value, but may return early.
    static void wait(std::atomic<std::uint32_t> &word, std::uint32_t value) noexcept
    {
        ::syscall(__NR_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
    }
    static void wake(std::atomic<std::uint32_t> &word) noexcept
    {
        ::syscall(__NR_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    }

  private:
    static void fence() noexcept
    {
#ifdef CORO_TSAN // which knows no fences, and orders more than they do
        static std::atomic<int> ordered{0};
        ordered.fetch_add(1, std::memory_order_seq_cst);
#else
        std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
    }
};

} // namespace coro::detail
