// SPDX-License-Identifier: Apache-2.0
#include <coro/detail/steal_deque.hpp>

#include "model.hpp"
#include "test.hpp"

#include <thread>
#include <vector>

namespace
{

struct item {
    model::atomic<int> content{0};
    int taken = 0;
};

// The owner pushes so many and pops as many; each thief steals once or more often.
template <bool Barriers, std::size_t Items, std::size_t Capacity, std::size_t Thieves, std::size_t Times = 1>
struct owner_and_thieves {
    std::array<item, Items> items;
    coro::detail::steal_deque<item, model::machine<Barriers>> deque{Capacity};

    static void take(item *found)
    {
        if (found == nullptr)
            return;
        if (++found->taken != 1)
            model::world::now()->fail("taken twice");
        if (found->content.load(std::memory_order_relaxed) != 1)
            model::world::now()->fail("taken before it was written");
    }

    std::vector<std::function<void()>> threads()
    {
        std::vector<std::function<void()>> all{[this] {
            for (item &each : items) {
                each.content.store(1, std::memory_order_relaxed);
                deque.push(each);
            }
            for (std::size_t i = 0; i < Items; i++)
                take(deque.pop());
        }};
        for (std::size_t i = 0; i < Thieves; i++)
            all.emplace_back([this] {
                for (std::size_t n = 0; n < Times; n++)
                    take(deque.steal());
            });
        return all;
    }

    bool right()
    {
        take(deque.pop());
        return std::all_of(items.begin(), items.end(), [](const item &each) { return each.taken == 1; });
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

TEST("in every order of operations each item is taken once: one thief that comes twice, and two")
{
    holds(model::exploration::of<owner_and_thieves<true, 2, 2, 1, 2>>(test::many(3, 2)), 100);
    holds(model::exploration::of<owner_and_thieves<true, 2, 2, 2>>(test::many(2, 1)), 100);
}

TEST("so it is while the ring grows")
{
    holds(model::exploration::of<owner_and_thieves<true, 3, 1, 1, 2>>(test::many(3, 1)), 100);
}

TEST("without the thief's barrier the model finds that one is taken twice")
{
    CHECK(model::exploration::of<owner_and_thieves<false, 2, 2, 2>>(3).failure == "taken twice");
}

TEST("real threads lose nothing and take nothing twice")
{
    struct numbered {
        std::atomic<int> taken{0};
    };
    std::vector<numbered> items(test::many(200'000, 20'000));
    coro::detail::ask_kernel_for_barriers();
    coro::detail::steal_deque<numbered> deque(2);
    std::atomic<bool> done{false};
    std::vector<std::thread> thieves;
    for (int i = 0; i < 2; i++)
        thieves.emplace_back([&] {
            while (!done.load())
                if (numbered *found = deque.steal())
                    found->taken.fetch_add(1);
        });
    for (std::size_t i = 0; i < items.size(); i++) {
        deque.push(items[i]);
        if (i % 3 != 0)
            if (numbered *found = deque.pop())
                found->taken.fetch_add(1);
    }
    while (numbered *found = deque.pop())
        found->taken.fetch_add(1);
    done.store(true);
    for (std::thread &each : thieves)
        each.join();
    for (const numbered &each : items)
        CHECK(each.taken.load() == 1);
}
