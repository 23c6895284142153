// SPDX-License-Identifier: Apache-2.0
#include <coro/detail/sleepers.hpp>

#include "model.hpp"
#include "test.hpp"

#include <vector>

namespace
{

// Some make an item each, or two; workers sleep until they have one, and whoever has one keeps it until all are taken:
// if an item is left and somebody sleeps, everybody waits for ever.
template <bool Barriers, std::size_t Makers, std::size_t Each, std::size_t Workers> struct makers_and_workers {
    using memory = model::machine<Barriers>;
    static constexpr std::size_t items = Makers * Each;

    coro::detail::sleepers<memory> sleepers;
    std::array<coro::detail::sleeper<memory>, Workers> beds;
    // As in a deque, the owner's store is the release, and somebody else's read may be old.
    std::array<model::atomic<std::uint32_t>, Makers> made;
    std::array<model::atomic<std::uint32_t>, Makers> taken;
    std::size_t all_taken = 0;

    static void open(coro::detail::sleeper<memory> *sleeping)
    {
        if (sleeping != nullptr && sleeping->word.exchange(coro::detail::gate::open) == coro::detail::gate::futex)
            memory::wake(sleeping->word);
    }

    bool take()
    {
        for (std::size_t i = 0; i < Makers; i++) {
            std::uint32_t next = taken[i].load(std::memory_order_acquire);
            if (next < made[i].load(std::memory_order_acquire) &&
                taken[i].compare_exchange_strong(next, next + 1, std::memory_order_seq_cst, std::memory_order_relaxed))
                return true;
        }
        return false;
    }

    bool left()
    {
        for (std::size_t i = 0; i < Makers; i++)
            if (taken[i].load(std::memory_order_acquire) < made[i].load(std::memory_order_acquire))
                return true;
        return false;
    }

    void work(coro::detail::sleeper<memory> &self)
    {
        sleepers.search();
        while (!take()) {
            if (!sleepers.lie_down(self, coro::detail::gate::futex, [this] { return left(); }))
                continue;
            while (self.word.load(std::memory_order_acquire) == coro::detail::gate::futex)
                memory::wait(self.word, coro::detail::gate::futex);
            sleepers.get_up(self);
        }
        open(sleepers.found([this] { return left(); }));
        all_taken++;
        model::world::now()->wait_until([this] { return all_taken == items; });
    }

    std::vector<std::function<void()>> threads()
    {
        std::vector<std::function<void()>> all;
        for (std::size_t i = 0; i < Workers; i++)
            all.emplace_back([this, i] { work(beds[i]); });
        for (std::size_t i = 0; i < Makers; i++)
            all.emplace_back([this, i] {
                for (std::uint32_t n = 1; n <= Each; n++) {
                    made[i].store(n, std::memory_order_release);
                    if (sleepers.wants_waking())
                        open(sleepers.wake_one());
                }
            });
        return all;
    }

    bool right()
    {
        return all_taken == items;
    }
};

void holds(const model::exploration &explored, std::size_t least)
{
    std::printf("  %zu executions\n", explored.executions);
    if (!explored.failure.empty())
        test::fail(explored.failure.c_str(), __FILE__, __LINE__);
    CHECK(explored.executions >= least);
}

} // namespace

TEST("in every order of operations a worker that goes to sleep is woken for the item that comes meanwhile")
{
    holds(model::exploration::of<makers_and_workers<true, 1, 1, 1>>(test::many(4, 2)), 50);
}

TEST("two items reach two workers, whoever sleeps, looks or has just found one")
{
    holds(model::exploration::of<makers_and_workers<true, 1, 2, 2>>(test::many(2, 1)), 50);
    holds(model::exploration::of<makers_and_workers<true, 2, 1, 2>>(test::many(2, 1)), 50);
}

TEST("without the sleeper's barrier the model finds the lost wake-up")
{
    CHECK(model::exploration::of<makers_and_workers<false, 1, 1, 1>>(2).failure == "everybody waits");
}
