// SPDX-License-Identifier: Apache-2.0
// Events come in the order of their moments, and those of one moment as they were asked for, however many wait.
#include <queue>

#include "check.hpp"
#include "schedsim/events.hpp"
#include "schedsim/random.hpp"

using namespace schedsim;
using test::check;

TEST(events_come_in_order_however_they_are_asked_for)
{
    for (const Nanoseconds apart : {Nanoseconds{3}, 100 * microsecond, 10 * second})
        for (const std::size_t most : {1u, 20u, 32u, 33u, 34u, 500u}) {
            Random random(most);
            Events events;
            std::priority_queue<Event, std::vector<Event>, std::greater<>> wanted;
            std::uint64_t order = 0;
            Nanoseconds now = 0;
            for (int step = 0; step < 20'000; step++) {
                if (wanted.size() < most && (wanted.empty() || random.chance(0.6))) {
                    // Most come soon, some late; several may come at one moment.
                    const Nanoseconds moment = now + random.exponential(random.chance(0.8) ? apart / 50 : apart);
                    events.push(moment, no_task, static_cast<std::uint32_t>(order));
                    wanted.push({moment, order, no_task, static_cast<std::uint32_t>(order)});
                    order++;
                    continue;
                }
                check(events.first().order == wanted.top().order, "the first one is seen before it is taken");
                const Event event = events.take();
                check(event.moment == wanted.top().moment && event.order == wanted.top().order &&
                          event.token == wanted.top().token,
                      "event " + std::to_string(event.order) + " came before " + std::to_string(wanted.top().order));
                now = event.moment;
                wanted.pop();
            }
            check(events.empty() == wanted.empty(), "as many are left");
        }
}

MAIN
