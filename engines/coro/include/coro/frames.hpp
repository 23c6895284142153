// SPDX-License-Identifier: Apache-2.0
// Where the frames of coroutines live. A policy has allocate(size) and release(frame, size); coroutines take one as a
// template argument, pooled_frames unless told otherwise.
#pragma once

#include <coro/detail/magazine.hpp>
#include <coro/detail/sanitizer.hpp>

#include <array>
#include <cstddef>
#include <new>
#include <sys/mman.h>

namespace coro
{
namespace detail
{

// Size classes of 16 bytes. A block has no header: whoever releases a frame knows its size.
class frame_pool
{
  public:
    static constexpr std::size_t granularity = 16;
    static constexpr std::size_t largest = 2048;
    static constexpr std::size_t region_size = std::size_t(1) << 20; // lazily committed
    static constexpr std::size_t exchanged = 64;                     // blocks that threads exchange at once

    // Calls, both of them: inlined into a fiber's function, the address of one thread's part could be kept over a
    // suspension that ends on another thread.
    [[gnu::noinline]] static void *allocate(std::size_t size)
    {
        const std::size_t index = class_of(size);
        if (index >= classes) [[unlikely]]
            return ::operator new(size);
        free_block *block = local_.magazines[index].pop();
        if (block == nullptr) [[unlikely]]
            return refill(index);
        open_memory(block, (index + 1) * granularity);
        return block;
    }

    [[gnu::noinline]] static void release(void *frame, std::size_t size) noexcept
    {
        const std::size_t index = class_of(size);
        if (index >= classes) [[unlikely]]
            return ::operator delete(frame);
        if (local_.magazines[index].push(static_cast<free_block *>(frame), exchanged)) [[unlikely]]
            unload(index);
        // The links stay open: the lists walk over them.
        close_memory(static_cast<std::byte *>(frame) + sizeof(free_block),
                     (index + 1) * granularity - sizeof(free_block));
    }

  private:
    static constexpr std::size_t classes = largest / granularity;
    static_assert(sizeof(free_block) <= granularity);

    struct thread_part {
        std::array<magazine, classes> magazines;
        std::byte *region, *region_end; // not yet handed out
        bool leaves_at_exit;
    };

    static constexpr std::size_t class_of(std::size_t size) noexcept
    {
        return (size - 1) / granularity;
    }

    [[gnu::noinline]] static void *refill(std::size_t index)
    {
        thread_part &part = local_;
        leave_at_exit(part);
        const std::size_t size = (index + 1) * granularity;
        if (free_block *batch = depots_[index].take()) {
            part.magazines[index].load(batch);
            free_block *block = part.magazines[index].pop();
            open_memory(block, size);
            return block;
        }
        if (static_cast<std::size_t>(part.region_end - part.region) < size) {
            void *fresh = ::mmap(nullptr, region_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (fresh == MAP_FAILED)
                throw std::bad_alloc();
            part.region = static_cast<std::byte *>(fresh);
            part.region_end = part.region + region_size;
        }
        void *block = part.region;
        part.region += size;
        return block;
    }

    [[gnu::noinline]] static void unload(std::size_t index) noexcept
    {
        leave_at_exit(local_);
        depots_[index].put(local_.magazines[index].unload(exchanged));
    }

    // Registered by the first slow path: the fast paths must not ask whether it has been.
    static void leave_at_exit(thread_part &part) noexcept
    {
        struct leaver {
            ~leaver()
            {
                for (std::size_t i = 0; i < classes; i++)
                    if (free_block *all = local_.magazines[i].unload_all())
                        depots_[i].put(all);
            }
        };
        if (!part.leaves_at_exit) {
            part.leaves_at_exit = true;
            static thread_local leaver at_exit;
            (void)at_exit;
        }
    }

    static inline thread_local constinit thread_part local_{};
    static inline constinit std::array<depot, classes> depots_{};
};

} // namespace detail

// From a pool of the calling thread; kept for later frames until the process ends.
struct pooled_frames {
    static void *allocate(std::size_t size)
    {
        return detail::frame_pool::allocate(size);
    }
    static void release(void *frame, std::size_t size) noexcept
    {
        detail::frame_pool::release(frame, size);
    }
};

// From the heap, as coroutines do by themselves.
struct heap_frames {
    static void *allocate(std::size_t size)
    {
        return ::operator new(size);
    }
    static void release(void *frame, std::size_t) noexcept
    {
        ::operator delete(frame);
    }
};

} // namespace coro
