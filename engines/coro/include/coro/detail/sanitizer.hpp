// SPDX-License-Identifier: Apache-2.0
// What AddressSanitizer and ThreadSanitizer must be told: which stack runs, which pooled memory is in use.
// Without a sanitizer all of it is empty.
#pragma once

#include <cstddef>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CORO_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define CORO_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define CORO_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define CORO_TSAN 1
#endif

#ifdef CORO_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef CORO_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace coro::detail
{

// Nobody may touch the memory until it is opened.
inline void close_memory([[maybe_unused]] void *memory, [[maybe_unused]] std::size_t size) noexcept
{
#ifdef CORO_ASAN
    ASAN_POISON_MEMORY_REGION(memory, size);
#endif
}

inline void open_memory([[maybe_unused]] void *memory, [[maybe_unused]] std::size_t size) noexcept
{
#ifdef CORO_ASAN
    ASAN_UNPOISON_MEMORY_REGION(memory, size);
#endif
}

// The sanitizers' view of one context and its resumer. What surrounds a switch is inlined: ThreadSanitizer counts the
// calls of each stack, and a function that switches it would begin on one and end on another.
class stack_watch
{
  public:
    void created([[maybe_unused]] const void *base, [[maybe_unused]] std::size_t size) noexcept
    {
#ifdef CORO_ASAN
        inner_base_ = base;
        inner_size_ = size;
#endif
#ifdef CORO_TSAN
        inner_ = __tsan_create_fiber(0);
#endif
    }

    void destroyed() noexcept
    {
#ifdef CORO_TSAN
        __tsan_destroy_fiber(inner_);
#endif
    }

    // The resumer, before and after the switch.
    [[gnu::always_inline]] void entering() noexcept
    {
#ifdef CORO_ASAN
        __sanitizer_start_switch_fiber(&outer_fake_, inner_base_, inner_size_);
#endif
#ifdef CORO_TSAN
        outer_ = __tsan_get_current_fiber();
        __tsan_switch_to_fiber(inner_, 0);
#endif
    }

    [[gnu::always_inline]] void left() noexcept
    {
#ifdef CORO_ASAN
        __sanitizer_finish_switch_fiber(outer_fake_, nullptr, nullptr);
#endif
    }

    // The context, on its own stack: at its first instruction, and around each suspension.
    [[gnu::always_inline]] void entered_first() noexcept
    {
#ifdef CORO_ASAN
        __sanitizer_finish_switch_fiber(nullptr, &outer_base_, &outer_size_);
#endif
    }

    [[gnu::always_inline]] void leaving() noexcept
    {
#ifdef CORO_ASAN
        __sanitizer_start_switch_fiber(&inner_fake_, outer_base_, outer_size_);
#endif
#ifdef CORO_TSAN
        __tsan_switch_to_fiber(outer_, 0);
#endif
    }

    [[gnu::always_inline]] void entered() noexcept
    {
#ifdef CORO_ASAN
        __sanitizer_finish_switch_fiber(inner_fake_, &outer_base_, &outer_size_);
#endif
    }

    // As leaving, but for good: the fake stack goes away.
    [[gnu::always_inline]] void leaving_last() noexcept
    {
#ifdef CORO_ASAN
        __sanitizer_start_switch_fiber(nullptr, outer_base_, outer_size_);
#endif
#ifdef CORO_TSAN
        __tsan_switch_to_fiber(outer_, 0);
#endif
    }

  private:
#ifdef CORO_ASAN
    const void *inner_base_ = nullptr, *outer_base_ = nullptr;
    std::size_t inner_size_ = 0, outer_size_ = 0;
    void *inner_fake_ = nullptr, *outer_fake_ = nullptr;
#endif
#ifdef CORO_TSAN
    void *inner_ = nullptr, *outer_ = nullptr;
#endif
};

} // namespace coro::detail
