// SPDX-License-Identifier: Apache-2.0
// Which workers of a pool look for work and which sleep: nobody sleeps while there is work that nobody looks for, and
// one is woken at a time. After the scheduler of Go (runtime/proc.go, "Worker thread parking/unparking"), with the
// barrier on the side of those who go to sleep: whoever makes work only looks at a number.
#pragma once

#include <coro/detail/memory.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>

namespace coro::detail
{

// How a worker waits to be woken.
struct gate {
    enum kind : std::uint32_t { open, futex, poll }; // poll: for I/O as well
};

template <class Memory> struct sleeper {
    typename Memory::template atomic<std::uint32_t> word{gate::open};
    sleeper *next = nullptr; // under the lock of the sleepers
    bool asleep = false;     // as well
};

template <class Memory = machine> class sleepers
{
  public:
    // Whoever has made work, and it is where work_left() looks. True: call wake_one().
    [[nodiscard, gnu::always_inline]] bool wants_waking() const noexcept
    {
        // Pairs with the heavy() of those who stop looking: they see the work, or we see that nobody looks.
        Memory::light();
        const std::uint32_t now = state_.load(std::memory_order_relaxed);
        return now != 0 && searching(now) == 0;
    }

    // Lets one more look, unless one does. Null, or whose gate is to be opened.
    [[nodiscard]] sleeper<Memory> *wake_one() noexcept
    {
        std::lock_guard hold(lock_);
        sleeper<Memory> *const last = list_;
        if (last == nullptr || searching(state_.load(std::memory_order_relaxed)) != 0)
            return nullptr;
        leave(*last);
        return last;
    }

    // One that sleeps, whoever looks. Null when there is none.
    [[nodiscard]] sleeper<Memory> *wake_any() noexcept
    {
        std::lock_guard hold(lock_);
        sleeper<Memory> *const last = list_;
        if (last != nullptr)
            leave(*last);
        return last;
    }

    // A worker begins to look.
    void search() noexcept
    {
        state_.fetch_add(one_searching, std::memory_order_seq_cst);
    }

    // A worker that looks has found something. work_left(): whether there is more; then the result is as wake_one()'s,
    // for those who made work while this one looked have left it to him.
    template <class WorkLeft> [[nodiscard]] sleeper<Memory> *found(WorkLeft work_left) noexcept
    {
        const std::uint32_t now = state_.fetch_sub(one_searching, std::memory_order_seq_cst) - one_searching;
        if (now == 0 || searching(now) != 0)
            return nullptr;
        Memory::heavy();
        return work_left() ? wake_one() : nullptr;
    }

    // A worker that looks has found nothing. False: there is work now, and it goes on looking. True: it sleeps until
    // its gate is open or as long as it likes, and then calls get_up().
    template <class WorkLeft> [[nodiscard]] bool lie_down(sleeper<Memory> &self, gate::kind how, WorkLeft work_left) noexcept
    {
        self.word.store(how, std::memory_order_relaxed);
        {
            std::lock_guard hold(lock_);
            self.asleep = true;
            self.next = list_;
            list_ = &self;
            state_.fetch_add(one_asleep - one_searching, std::memory_order_seq_cst);
        }
        Memory::heavy();
        if (!work_left())
            return true;
        get_up(self);
        return false;
    }

    // It looks again, whether it was woken or not.
    void get_up(sleeper<Memory> &self) noexcept
    {
        std::lock_guard hold(lock_);
        if (self.asleep)
            leave(self);
    }

  private:
    static constexpr std::uint32_t one_searching = 1, one_asleep = 1 << 16;

    static constexpr std::uint32_t searching(std::uint32_t state) noexcept
    {
        return state % one_asleep;
    }

    void leave(sleeper<Memory> &gone) noexcept
    {
        sleeper<Memory> **link = &list_;
        while (*link != &gone)
            link = &(*link)->next;
        *link = gone.next;
        gone.asleep = false;
        state_.fetch_add(one_searching - one_asleep, std::memory_order_seq_cst);
    }

    // Apart: every fork reads it.
    alignas(64) typename Memory::template atomic<std::uint32_t> state_{0};
    alignas(64) typename Memory::lock lock_;
    sleeper<Memory> *list_ = nullptr; // the last one to lie down first: its caches are the warmest
};

} // namespace coro::detail
