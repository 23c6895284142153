/* SPDX-License-Identifier: Apache-2.0
 * suspended.hpp - coroutines that all wait, and are all resumed once a batch, for fiber.cpp and lazy.cpp. */
#ifndef STEELYARD_MEMORY_SUSPENDED_HPP
#define STEELYARD_MEMORY_SUSPENDED_HPP

#include "probe.hpp"
extern "C" {
#include "memory.h"
}

#include <coroutine>
#include <coro/loop.hpp>
#include <memory>
#include <vector>

/* Where each waits: who it is, and how often all of them were resumed. */
struct suspended {
    coro::loop loop;
    std::vector<std::coroutine_handle<>> waiting;
    std::uint64_t arrivals = 0;
    memory before{};

    struct awaiter {
        suspended &all;
        std::size_t self;

        static bool await_ready() noexcept
        {
            return false;
        }
        void await_suspend(std::coroutine_handle<> who) const noexcept
        {
            all.waiting[self] = who;
        }
        static void await_resume() noexcept
        {
        }
    };
    [[nodiscard]] awaiter wait(std::size_t self)
    {
        return {*this, self};
    }
};

extern "C" [[gnu::noinline]] inline void resume_all(const std::coroutine_handle<> *waiting, std::uint64_t count)
{
    for (std::uint64_t i = 0; i < count; i++)
        waiting[i].resume();
}

/* Memory is read before begin(all, i) makes the first of them; it makes number i, which then runs to its wait. */
template <class Begin> void suspended_setup(probe_run *run, Begin begin)
{
    probe_guarded([&] {
        auto *all = new suspended;
        const auto count = static_cast<std::size_t>(probe_integer(run, "contexts"));
        /* Touched before: the handles are the probe's, not the contexts'. */
        all->waiting.assign(count, std::noop_coroutine());
        all->before = memory_now();
        for (std::size_t i = 0; i < count; i++)
            begin(*all, i);
        all->loop.run();
        if (all->arrivals != count)
            probe_fail("%" PRIu64 " of %zu contexts have begun", all->arrivals, count);
        run->state = all;
    });
}

inline void suspended_batch(probe_run *run, std::uint64_t operations, probe_value *value)
{
    (void)operations; /* all of them, however few were asked for */
    auto &all = *static_cast<suspended *>(run->state);
    const std::uint64_t arrivals = all.arrivals;
    probe_start(value);
    resume_all(all.waiting.data(), all.waiting.size());
    probe_stop(value);
    const memory now = memory_now();
    value->operations = all.waiting.size();
    probe_count(value, "checked", all.arrivals - arrivals);
    memory_count(value, &all.before, &now);
}

inline constexpr probe_metric suspended_metrics[] = {MEMORY_RESIDENT, MEMORY_PAGE_TABLES, MEMORY_RESUME, {}};
inline constexpr probe_param suspended_parameters[] = {{.name = "contexts",
                                                        .doc = "contexts that are suspended",
                                                        .unit = "1",
                                                        .sweep = "10000,100000",
                                                        .brief = "10000",
                                                        .min = 23,
                                                        .max = 10000000},
                                                       {}};

#endif
