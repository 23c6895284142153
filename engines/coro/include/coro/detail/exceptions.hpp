// SPDX-License-Identifier: Apache-2.0
// The C++ runtime keeps a list of the exceptions being handled for each thread (Itanium C++ ABI, 2.2.2). A stack that
// is left inside a catch block or during unwinding must take its part of that list along, or another stack ends its
// exception.
#pragma once

#include <coro/detail/sanitizer.hpp>

#include <cstdint>
#include <cxxabi.h>

#if defined(_LIBCPP_VERSION)
// libc++abi has it, and declares it in none of its public headers.
namespace __cxxabiv1
{
struct __cxa_eh_globals;
extern "C" __cxa_eh_globals *__cxa_get_globals();
} // namespace __cxxabiv1
#endif

namespace coro::detail
{

struct exception_state {
    void *caught = nullptr;
    unsigned uncaught = 0;

    // Zero when there is none and no flag. Asked together, the three take one branch and one instruction each.
    [[nodiscard]] std::uintptr_t any_or(unsigned flags) const noexcept
    {
        return reinterpret_cast<std::uintptr_t>(caught) | (uncaught | flags);
    }
};

// Stands for the state of a thread that has not been asked for its own: it claims an exception, so that who sees it
// takes the slow path, which asks. That spares the fast path a question.
inline exception_state unknown_exceptions{&unknown_exceptions, 0};

// In an executable its place in the thread's block is a constant, in a shared library it is read from a table.
#if defined(__PIC__) && !defined(__PIE__)
#define CORO_TLS "initial-exec"
#else
#define CORO_TLS "local-exec"
#endif
[[gnu::tls_model(CORO_TLS)]] inline thread_local constinit exception_state *exceptions_found =
    &unknown_exceptions;
#undef CORO_TLS

[[gnu::noinline]] inline exception_state &find_exceptions_of_this_thread() noexcept
{
    asm volatile(""); // the address is this thread's: no compiler may keep it over a suspension
    if (exceptions_found == &unknown_exceptions)
        exceptions_found = reinterpret_cast<exception_state *>(abi::__cxa_get_globals());
    return *exceptions_found;
}

// Perhaps unknown_exceptions.
[[gnu::always_inline]] inline exception_state &exceptions_of_this_thread() noexcept
{
#if defined(__x86_64__) && !defined(CORO_ASAN) && !defined(CORO_TSAN)
    // One load relative to %fs, which no compiler can share with one before a switch: the switch clobbers memory.
    return *exceptions_found;
#else
    return find_exceptions_of_this_thread();
#endif
}

} // namespace coro::detail
