// SPDX-License-Identifier: Apache-2.0
#include <coro/detail/steal_queue.hpp>

#include "test.hpp"

#include <array>

using coro::detail::steal_queue;

namespace
{

constexpr std::int64_t soon = steal_queue::patience_ns - 1, late = steal_queue::patience_ns;

} // namespace

TEST("a thief takes half of several items at once, the oldest first")
{
    steal_queue victim, own;
    steal_queue::sighting seen;
    std::array<coro::work, 5> items;
    for (coro::work &each : items)
        CHECK(victim.push(each));
    CHECK(victim.steal(own, seen, 0) == &items[0]);
    CHECK(own.pop() == &items[1] && own.pop() == &items[2] && own.pop() == nullptr);
    CHECK(victim.pop() == &items[3] && victim.pop() == &items[4] && victim.pop() == nullptr);
}

TEST("one item alone is left to its owner for a while, and then taken")
{
    steal_queue victim, own;
    steal_queue::sighting seen;
    std::array<coro::work, 2> items;
    CHECK(victim.steal(own, seen, 0) == nullptr);
    CHECK(victim.push(items[0]));
    CHECK(victim.steal(own, seen, 100) == nullptr && victim.steal(own, seen, 100 + soon) == nullptr);
    CHECK(victim.steal(own, seen, 100 + late) == &items[0] && victim.pop() == nullptr);

    // Another item than the one that was seen is new, however long somebody has looked.
    CHECK(victim.push(items[0]) && victim.steal(own, seen, 10'000'000) == nullptr);
    CHECK(victim.pop() == &items[0] && victim.push(items[1]));
    CHECK(victim.steal(own, seen, 20'000'000) == nullptr && victim.steal(own, seen, 20'000'000 + late) == &items[1]);
}
