// SPDX-License-Identifier: Apache-2.0
// A model of the machine for lock-free code: explore() runs a program of few threads in every order of their atomic
// operations, up to a number of preemptions, and every load with every value that the memory model allows.
//
// Why one of our own: relacy is no package, GenMC and CDSChecker want compilers of their own, and none of the three
// knows the barrier that one thread makes all others pass (machine::heavy()), which is the heart of what is checked.
// Threads are contexts, one switch for each operation. The memory is that of C++20 as views (Kang et al., "A Promising
// Semantics", POPL 2017) but for two things: a load never sees a store that has not been executed yet, and stores to one
// place are ordered as they were executed. x86-64 and AArch64 do nothing else to the code that is checked: its places
// with several writers are changed by read-modify-write alone.
#pragma once

#include <coro/context.hpp>

#include "test.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace model
{

// The newest message of each place that a thread, or whoever reads a message, is bound to see.
struct view {
    static constexpr std::size_t places = 40;
    std::array<std::uint16_t, places> at{};

    void join(const view &other) noexcept
    {
        for (std::size_t i = 0; i < places; i++)
            at[i] = std::max(at[i], other.at[i]);
    }
};

struct message {
    std::uint64_t value;
    view seen;
};

struct mutual;

class world
{
  public:
    struct thread {
        std::unique_ptr<coro::context> context;
        coro::context::self *self = nullptr;
        std::function<void()> body;
        std::function<bool()> waits_for; // empty: it can run
        view seen;
        bool ended = true;
    };

    static world *&now()
    {
        static world *current = nullptr;
        return current;
    }

    // Before each operation: anybody else may come first.
    void step()
    {
        if (running_ != nullptr)
            running_->self->suspend();
    }

    void wait_until(std::function<bool()> ready)
    {
        running_->waits_for = std::move(ready);
        running_->self->suspend();
    }

    // One of so many ways to go on.
    std::size_t pick(std::size_t ways)
    {
        if (ways == 1)
            return 0;
        if (depth_ == path_.size())
            path_.push_back({0, ways});
        return path_[depth_++].taken;
    }

    void fail(const char *what)
    {
        if (failure_.empty())
            failure_ = what;
    }

    std::size_t add_place(std::uint64_t value)
    {
        CHECK(history_.size() < view::places);
        history_.push_back({{value, view{}}});
        return history_.size() - 1;
    }
    std::vector<message> &history(std::size_t place)
    {
        return history_[place];
    }
    view &seen()
    {
        return running_ != nullptr ? running_->seen : outside_;
    }
    view &in_total_order()
    {
        return total_order_;
    }

    // Every thread passes a fence where it is now.
    void fence_all()
    {
        view &mine = seen();
        const view before = mine;
        for (auto &each : threads_)
            if (each.get() != running_) {
                mine.join(each->seen);
                each->seen.join(before);
            }
    }

    friend struct exploration;

  private:
    struct choice {
        std::size_t taken, ways;
    };

    void ready_threads(std::size_t count)
    {
        while (threads_.size() < count) {
            auto &made = threads_.emplace_back(std::make_unique<thread>());
            made->context = std::make_unique<coro::context>([of = made.get()](coro::context::self self) {
                of->self = &self;
                for (;;) {
                    self.suspend();
                    of->body();
                    of->ended = true;
                }
            });
            made->context->resume();
        }
    }

    void run(std::vector<std::function<void()>> bodies, std::size_t preemptions)
    {
        ready_threads(bodies.size());
        for (std::size_t i = 0; i < bodies.size(); i++) {
            threads_[i]->body = std::move(bodies[i]);
            threads_[i]->waits_for = nullptr;
            threads_[i]->seen = outside_;
            threads_[i]->ended = false;
        }
        thread *last = nullptr;
        for (std::size_t steps = 0; failure_.empty(); steps++) {
            std::vector<thread *> able;
            for (auto &each : threads_)
                if (!each->ended && (!each->waits_for || each->waits_for()))
                    (each.get() == last ? able.insert(able.begin(), last) : able.insert(able.end(), each.get()));
            if (able.empty())
                break;
            const bool goes_on = able.front() == last;
            const std::size_t chosen = goes_on && preemptions == 0 ? 0 : pick(able.size());
            preemptions -= goes_on && chosen != 0 ? 1 : 0;
            last = running_ = able[chosen];
            last->waits_for = nullptr;
            last->context->resume();
            running_ = nullptr;
            if (steps > 2000)
                fail("it goes on for ever");
        }
        for (auto &each : threads_) {
            if (!each->ended)
                fail("everybody waits");
            outside_.join(each->seen);
        }
    }

    std::vector<std::unique_ptr<thread>> threads_;
    std::vector<std::vector<message>> history_;
    std::vector<choice> path_;
    std::size_t depth_ = 0;
    thread *running_ = nullptr;
    view outside_, total_order_;
    std::string failure_;
};

template <class T> class atomic
{
  public:
    atomic(T value = {}) : place_(world::now()->add_place(pack(value)))
    {
    }
    atomic(const atomic &) = delete;
    atomic &operator=(const atomic &) = delete;

    T load(std::memory_order order = std::memory_order_seq_cst) const
    {
        world &in = *world::now();
        in.step();
        auto &history = in.history(place_);
        std::uint16_t &least = in.seen().at[place_];
        if (order == std::memory_order_seq_cst)
            least = std::max(least, in.in_total_order().at[place_]);
        // The newest first.
        const std::size_t at = history.size() - 1 - in.pick(history.size() - least);
        least = static_cast<std::uint16_t>(at);
        if (order != std::memory_order_relaxed)
            in.seen().join(history[at].seen);
        return unpack(history[at].value);
    }

    void store(T value, std::memory_order order = std::memory_order_seq_cst)
    {
        world::now()->step();
        append(pack(value), order, view{});
    }

    T exchange(T value, std::memory_order order = std::memory_order_seq_cst)
    {
        return change([&](T) { return value; }, order);
    }
    T fetch_add(T by, std::memory_order order = std::memory_order_seq_cst)
    {
        return change([&](T before) { return static_cast<T>(before + by); }, order);
    }
    T fetch_sub(T by, std::memory_order order = std::memory_order_seq_cst)
    {
        return change([&](T before) { return static_cast<T>(before - by); }, order);
    }
    bool compare_exchange_strong(T &expected, T value, std::memory_order order, std::memory_order)
    {
        world &in = *world::now();
        in.step();
        const T before = unpack(in.history(place_).back().value);
        if (before != expected) {
            expected = before;
            newest(); // and no later load sees an older one
            return false;
        }
        modify(value, order);
        return true;
    }

    // What the kernel sees, and whoever has called it sees afterwards.
    T newest() const
    {
        world &in = *world::now();
        in.seen().at[place_] = static_cast<std::uint16_t>(in.history(place_).size() - 1);
        return unpack(in.history(place_).back().value);
    }

  private:
    static std::uint64_t pack(T value)
    {
        std::uint64_t bits = 0;
        std::memcpy(&bits, &value, sizeof value);
        return bits;
    }
    static T unpack(std::uint64_t bits)
    {
        T value;
        std::memcpy(&value, &bits, sizeof value);
        return value;
    }
    static bool releases(std::memory_order order)
    {
        return order == std::memory_order_release || order == std::memory_order_acq_rel ||
               order == std::memory_order_seq_cst;
    }

    template <class Change> T change(Change to, std::memory_order order)
    {
        world::now()->step();
        const T before = unpack(world::now()->history(place_).back().value);
        modify(to(before), order);
        return before;
    }
    // Reads the newest message; the new one passes on what it released.
    void modify(T value, std::memory_order order)
    {
        world &in = *world::now();
        const view released = in.history(place_).back().seen;
        if (order != std::memory_order_relaxed && order != std::memory_order_release)
            in.seen().join(released);
        append(pack(value), order, released);
    }
    void append(std::uint64_t bits, std::memory_order order, view passes_on)
    {
        world &in = *world::now();
        auto &history = in.history(place_);
        const auto at = static_cast<std::uint16_t>(history.size());
        in.seen().at[place_] = at;
        if (releases(order))
            passes_on.join(in.seen());
        passes_on.at[place_] = at;
        if (order == std::memory_order_seq_cst)
            in.in_total_order().at[place_] = at;
        history.push_back({bits, passes_on});
    }

    std::size_t place_;
};

// A mutex, which blocks rather than spins.
struct mutual {
    bool held = false;
    view released;

    void lock()
    {
        world &in = *world::now();
        in.wait_until([this] { return !held; });
        held = true;
        in.seen().join(released);
    }
    void unlock()
    {
        world &in = *world::now();
        in.step();
        released.join(in.seen());
        held = false;
    }
};

// Barriers: whether heavy() does anything, to see that it is needed.
template <bool Barriers> struct machine {
    template <class T> using atomic = model::atomic<T>;
    using lock = mutual;

    static void light() noexcept
    {
    }
    static void heavy()
    {
        world::now()->step();
        if constexpr (Barriers)
            world::now()->fence_all();
    }
    static void wait(atomic<std::uint32_t> &word, std::uint32_t value)
    {
        world::now()->step();
        if (word.newest() == value) { // the kernel compares under the lock that wake() takes
            world::now()->wait_until([&word, times = woken(word)] { return woken(word) != times; });
            word.newest();
        }
    }
    static void wake(atomic<std::uint32_t> &word)
    {
        world::now()->step();
        woken(word)++;
    }

  private:
    static std::size_t &woken(const atomic<std::uint32_t> &word)
    {
        static std::vector<std::pair<const void *, std::size_t>> all;
        for (auto &[of, times] : all)
            if (of == &word)
                return times;
        return all.emplace_back(&word, 0).second;
    }
};

// A program of Program's threads(), and after they have ended its right(): what must be true then.
struct exploration {
    std::size_t executions = 0;
    std::string failure; // empty: none in any order

    template <class Program> static exploration of(std::size_t preemptions)
    {
        exploration result;
        auto in = std::make_unique<world>();
        world::now() = in.get();
        do {
            in->history_.clear();
            in->depth_ = 0;
            in->outside_ = in->total_order_ = view{};
            auto program = std::make_unique<Program>();
            in->run(program->threads(), preemptions);
            result.executions++;
            if (in->failure_.empty() && !program->right())
                in->fail("not right at the end");
            if (!in->failure_.empty()) {
                // Its threads stand in the middle of functions that throw nothing: they stay where they are.
                result.failure = in->failure_;
                static auto &kept = *new std::vector<std::pair<world *, Program *>>;
                kept.emplace_back(in.release(), program.release());
                break;
            }
        } while (next(*in));
        world::now() = nullptr;
        return result;
    }

  private:
    static bool next(world &in)
    {
        while (!in.path_.empty() && in.path_.back().taken + 1 == in.path_.back().ways)
            in.path_.pop_back();
        if (in.path_.empty())
            return false;
        in.path_.back().taken++;
        return true;
    }
};

} // namespace model
