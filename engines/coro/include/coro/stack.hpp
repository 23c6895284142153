// SPDX-License-Identifier: Apache-2.0
// Stacks for fibers: cut from large lazily committed mappings, kept for reuse, guarded.
#pragma once

#include <coro/detail/magazine.hpp>
#include <coro/detail/sanitizer.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace coro
{

// What stands below a stack to catch an overflow.
enum class guard : std::uint8_t {
    region,  // a guard region (MADV_GUARD_INSTALL, Linux 6.13): faults, costs no mapping
    mapping, // a page without access: faults, costs two mappings of vm.max_map_count
    canary,  // nothing: the lowest words are checked when the fiber suspends or ends, which then ends the process
};

struct stack {
    std::byte *base = nullptr; // lowest usable byte
    std::size_t size = 0;      // usable bytes, a power of two
    guard guarded = guard::canary;

    [[nodiscard]] std::byte *top() const noexcept
    {
        return base + size;
    }
};

struct stack_statistics {
    std::size_t mapped_bytes = 0; // address space, committed or not
    std::size_t region = 0;       // stacks made so far with each kind of guard
    std::size_t mapping = 0;
    std::size_t canary = 0;
};

// Any thread may call any member. Stacks are never unmapped before the pool is destroyed.
class stack_pool
{
  public:
    static constexpr std::size_t smallest = 4096;
    static constexpr std::size_t largest = std::size_t(1) << 30;
    static constexpr std::size_t default_size = std::size_t(1) << 16;

    // best: the kind of guard to begin with; the next cheaper one follows when the kernel refuses.
    explicit stack_pool(guard best = guard::region) : kind_(best), mappings_left_(mapping_budget())
    {
    }
    stack_pool(const stack_pool &) = delete;
    stack_pool &operator=(const stack_pool &) = delete;
    ~stack_pool()
    {
        while (slab *gone = slabs_) {
            slabs_ = gone->next;
            ::munmap(gone->base, gone->size);
            delete gone;
        }
    }

    // The process's pool, never destroyed: fibers may end after main.
    static stack_pool &shared()
    {
        static stack_pool &pool = *new stack_pool;
        return pool;
    }

    // A stack of at least `size` bytes. Throws std::invalid_argument above `largest`, std::bad_alloc without memory.
    [[nodiscard]] stack take(std::size_t size)
    {
        const std::size_t index = class_of(size);
        {
            std::lock_guard hold(lock_);
            if (shelf &of = shelves_[index]; of.free != nullptr) {
                free_stack *found = of.free;
                of.free = found->next;
                return found->self;
            }
        }
        return make(index);
    }

    // pre: of this pool, nothing on it is used any more.
    void give(const stack &done) noexcept
    {
        auto *node = new (done.top() - sizeof(free_stack)) free_stack{nullptr, done};
        std::lock_guard hold(lock_);
        shelf &of = shelves_[class_of(done.size)];
        node->next = of.free;
        of.free = node;
    }

    // Gives the memory of the unused stacks back to the system, but for the page that their list needs.
    void trim() noexcept
    {
        std::lock_guard hold(lock_);
        for (shelf &of : shelves_)
            for (free_stack *each = of.free; each != nullptr; each = each->next)
                if (const std::size_t size = each->self.size - page_size(); size != 0)
                    ::madvise(each->self.base, size, MADV_DONTNEED);
    }

    [[nodiscard]] stack_statistics statistics() const noexcept
    {
        std::lock_guard hold(lock_);
        return statistics_;
    }

    static std::size_t page_size() noexcept
    {
        static const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
        return size;
    }

    // Bytes at the top of the stack that somebody has written since its pages were fresh: the largest use by any fiber
    // that has had it. Reads only pages that are in memory.
    [[nodiscard]] static std::size_t used(const stack &of) noexcept
    {
        const std::size_t pages = of.size / page_size();
        const auto resident = std::make_unique<unsigned char[]>(pages);
        if (::mincore(of.base, of.size, resident.get()) != 0)
            return of.size;
        for (std::size_t page = 0; page < pages; page++)
            if ((resident[page] & 1) != 0)
                if (const std::byte *low = first_written(of.base + page * page_size()))
                    return static_cast<std::size_t>(of.top() - low);
        return 0;
    }

    // pre: guarded by a canary. Fresh pages are zero and reading one commits nothing, so zero is the canary.
    [[nodiscard]] static bool canary_lives(const stack &of) noexcept
    {
        const auto *words = reinterpret_cast<const std::uintptr_t *>(of.base);
        return std::all_of(words, words + canary_words, [](std::uintptr_t word) { return word == 0; });
    }

  private:
    // From 4 KiB on in powers of two.
    static constexpr std::size_t classes = 19;
    static constexpr std::size_t canary_words = 8;
    static constexpr int install_guard = 102, populate_read = 22; // MADV_…, which older headers lack

    struct free_stack {
        free_stack *next;
        stack self;
    };
    struct slab {
        slab *next;
        void *base;
        std::size_t size;
    };
    struct shelf {
        free_stack *free = nullptr;
        std::byte *fresh = nullptr, *fresh_end = nullptr; // slots never handed out
    };

    static std::size_t class_of(std::size_t size)
    {
        if (size > largest)
            throw std::invalid_argument("a fiber's stack of " + std::to_string(size) + " bytes: at most 1 GiB");
        return static_cast<std::size_t>(std::bit_width((std::max(size, page_size()) - 1) / smallest));
    }

    // Half of what the kernel allows the process: its other half needs mappings too.
    static std::size_t mapping_budget()
    {
        std::size_t limit = 65530;
        std::ifstream("/proc/sys/vm/max_map_count") >> limit;
        return limit / 2;
    }

    // Null when all is zero. pre: page is in memory. Sanitizers' colours and what a running fiber writes are no
    // concern.
    __attribute__((no_sanitize("address", "thread"))) static const std::byte *
    first_written(const std::byte *page) noexcept
    {
        const auto *words = reinterpret_cast<const volatile std::uintptr_t *>(page);
        for (std::size_t i = 0; i < page_size() / sizeof(std::uintptr_t); i++)
            if (words[i] != 0)
                return page + i * sizeof(std::uintptr_t);
        return nullptr;
    }

    [[gnu::noinline]] stack make(std::size_t index)
    {
        const std::size_t size = smallest << index, slot = size + page_size();
        std::lock_guard hold(lock_);
        shelf &of = shelves_[index];
        if (of.fresh == of.fresh_end)
            map_slab(of, slot);
        stack made{of.fresh + page_size(), size, guard::canary};
        of.fresh += slot;
        made.guarded = protect(made.base - page_size());
        return made;
    }

    // Many stacks in one mapping: mappings are counted by the kernel, and neighbours share their page tables.
    void map_slab(shelf &of, std::size_t slot)
    {
        const std::size_t bytes = slot * std::clamp<std::size_t>((std::size_t(64) << 20) / slot, 1, 1024);
        void *fresh = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
        if (fresh == MAP_FAILED)
            throw std::bad_alloc();
        // A huge page would commit 2 MiB of stacks for the first one that is touched.
        ::madvise(fresh, bytes, MADV_NOHUGEPAGE);
        slabs_ = new slab{slabs_, fresh, bytes};
        statistics_.mapped_bytes += bytes;
        of.fresh = static_cast<std::byte *>(fresh);
        of.fresh_end = of.fresh + bytes;
    }

    // Whether the kernel has done what it was asked for: an emulator may take the request and ignore it.
    bool region_guards(void *page) noexcept
    {
        if (!region_proven_)
            region_proven_ = ::madvise(page, page_size(), populate_read) != 0 && errno == EFAULT;
        return region_proven_;
    }

    guard protect(void *page) noexcept
    {
        if (kind_ == guard::region) {
            if (::madvise(page, page_size(), install_guard) == 0 && region_guards(page)) {
                statistics_.region++;
                return guard::region;
            }
            kind_ = guard::mapping;
        }
        if (kind_ == guard::mapping) {
            if (mappings_left_ >= 2 && ::mprotect(page, page_size(), PROT_NONE) == 0) {
                mappings_left_ -= 2;
                statistics_.mapping++;
                return guard::mapping;
            }
            kind_ = guard::canary;
        }
        statistics_.canary++;
        return guard::canary;
    }

    mutable detail::spinlock lock_;
    guard kind_;
    bool region_proven_ = false;
    std::size_t mappings_left_;
    std::array<shelf, classes> shelves_{};
    slab *slabs_ = nullptr;
    stack_statistics statistics_;
};

namespace detail
{

// A thread's unused stacks of the shared pool, by size class of the pool: taking and giving needs no lock.
class stack_cache
{
  public:
    // Calls, both of them, as those of frame_pool.
    [[gnu::noinline]] static stack take(std::size_t size)
    {
        thread_part &part = local_;
        size = std::max(size, stack_pool::smallest);
        if (part.count != 0 && fits(part.stacks[part.count - 1], size)) [[likely]]
            return part.stacks[--part.count];
        return take_slowly(size);
    }

    [[gnu::noinline]] static void give(const stack &done) noexcept
    {
        open_memory(done.base, done.size); // frames that never returned left their colours
        thread_part &part = local_;
        if (part.count != kept && part.life == stage::registered) [[likely]]
            part.stacks[part.count++] = done;
        else
            give_slowly(done);
    }

  private:
    static constexpr std::size_t kept = 64;

    // fresh: nothing empties the cache at the thread's end yet. left: that has happened, and nothing is kept any more.
    enum class stage : std::uint8_t { fresh, registered, left };

    struct thread_part {
        std::size_t count;
        stage life;
        std::array<stack, kept> stacks;
    };

    static bool fits(const stack &kept_stack, std::size_t size) noexcept
    {
        return kept_stack.size >= size && kept_stack.size < 2 * size;
    }

    [[gnu::noinline]] static stack take_slowly(std::size_t size)
    {
        thread_part &part = local_;
        for (std::size_t i = part.count; i-- > 0;)
            if (fits(part.stacks[i], size)) {
                const stack found = part.stacks[i];
                part.stacks[i] = part.stacks[--part.count];
                return found;
            }
        return stack_pool::shared().take(size);
    }

    [[gnu::noinline]] static void give_slowly(const stack &done) noexcept
    {
        struct leaver {
            ~leaver()
            {
                empty_down_to(0);
                local_.life = stage::left;
            }
        };
        if (local_.life == stage::fresh) {
            static thread_local leaver at_exit;
            (void)at_exit;
            local_.life = stage::registered;
        }
        empty_down_to(kept / 2); // so that the next ones are quick again
        stack_pool::shared().give(done);
    }

    static void empty_down_to(std::size_t count) noexcept
    {
        while (local_.count > count)
            stack_pool::shared().give(local_.stacks[--local_.count]);
    }

    static inline thread_local constinit thread_part local_{};
};

} // namespace detail
} // namespace coro
