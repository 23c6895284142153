// SPDX-License-Identifier: Apache-2.0
// Objects that can be resumed through a std::coroutine_handle although they are no coroutines: a fiber, the end of a
// when_all, a waiting thread. All that waits is then written once, against coroutine_handle.
//
// A handle is the address of a frame, and a frame begins with the addresses of its resume and destroy functions,
// followed by the promise: gcc, clang and MSVC agree on it, and debuggers rely on it (LLVM, "Coroutines in LLVM", Frame
// layout).
#pragma once

#include <coroutine>
#include <cstddef>

namespace coro::detail
{

struct frame {
    void (*resume)(frame *);
    void (*destroy)(frame *);

    explicit frame(void (*on_resume)(frame *)) noexcept : resume(on_resume), destroy(never)
    {
    }

    [[nodiscard]] std::coroutine_handle<> handle() noexcept
    {
        return std::coroutine_handle<>::from_address(this);
    }

  private:
    // Whoever made the frame destroys it.
    static void never(frame *) noexcept
    {
    }
};

// pre: Promise is not aligned above two pointers.
template <class Promise> struct frame_with_promise : frame {
    Promise promise;

    explicit frame_with_promise(void (*on_resume)(frame *)) noexcept : frame(on_resume)
    {
        static_assert(alignof(Promise) <= 2 * sizeof(void *));
    }

    [[nodiscard]] std::coroutine_handle<Promise> handle() noexcept
    {
        return std::coroutine_handle<Promise>::from_address(this);
    }
};

} // namespace coro::detail
