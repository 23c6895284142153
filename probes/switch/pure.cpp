/* SPDX-License-Identifier: Apache-2.0
 * pure - so many switches in and out, one after the other: the total, as a study draws it.
 *
 * A total that is a straight line says that nothing but the switches is in it. way=removed is what was drawn there as the
 * stackless switch: the loop that is left where the compiler takes the generator away (switch/generator_elided); way=full
 * is the kind of stackful switch that was drawn there (switch/full_switch).
 *
 * Known answer: the sum of the values; the stack that is entered counts how often it was.
 * Overhead: adding or counting, under 1 ns a round trip.  Limits: as of switch/generator_opaque and switch/fiber.
 * Assembly: take_from_generator contains (call|blr).*(\*|x[0-9])
 * Assembly: take_from_loop contains add
 * Assembly: take_from_loop lacks (call|bl)
 * Assembly: enter_and_leave contains (jmp +\*|br )
 * Assembly: enter_and_leave_fully contains (call|bl).*<steelyard_switch_stacks
 * Source: Generator_pure_switch and Uthread_pure_switch of alibaba/async_simple's benchmarks, 1e5 to 1e8 times. */
#include "full_switch.hpp"
#include "take_values.hpp"

#include <coro/context.hpp>
#include <coro/generator.hpp>

using numbers = coro::generator<std::uint64_t>;

[[gnu::noinline]] static numbers count_up()
{
    for (std::uint64_t i = 0;; i++)
        co_yield i;
}

extern "C" [[gnu::noinline]] std::uint64_t take_from_generator(numbers &from, std::uint64_t count)
{
    return sum_of(from, count);
}

extern "C" [[gnu::noinline]] std::uint64_t take_from_loop(std::uint64_t count)
{
    state_machine from;
    return sum_of(from, count);
}

extern "C" [[gnu::noinline]] void enter_and_leave(coro::context &inside, std::uint64_t round_trips)
{
    for (std::uint64_t i = 0; i < round_trips; i++)
        inside.resume();
}

/* The two sides of the full switch. */
static void *outside, *inside;
static std::uint64_t entered_fully;

extern "C" [[gnu::noinline]] void enter_and_leave_fully(std::uint64_t round_trips)
{
    for (std::uint64_t i = 0; i < round_trips; i++)
        steelyard_switch_stacks(&outside, inside, nullptr);
}

static void stay_inside(void *)
{
    for (;;) {
        entered_fully++;
        steelyard_switch_stacks(&inside, outside, nullptr);
    }
}

struct sides {
    numbers from = count_up();
    std::uint64_t taken = 0, entered = 0;
    coro::context inside{[this](coro::context::self self) {
        for (;;) {
            entered++;
            self.suspend();
        }
    }};
};

static void setup(probe_run *run)
{
    alignas(64) static std::byte stack[64 * 1024];
    inside = switch_begin_at(stack + sizeof stack, stay_inside);
    probe_guarded([run] { run->state = new sides; });
}

/* Round trips that took place, of as many as were asked for. */
static std::uint64_t by_generator(sides &of, std::uint64_t round_trips)
{
    const std::uint64_t first = of.taken;
    of.taken += round_trips;
    return proven_by(take_from_generator(of.from, round_trips), round_trips, first);
}

static std::uint64_t by_loop(sides &, std::uint64_t round_trips)
{
    return proven_by(take_from_loop(round_trips), round_trips);
}

static std::uint64_t by_fiber(sides &of, std::uint64_t round_trips)
{
    const std::uint64_t before = of.entered;
    enter_and_leave(of.inside, round_trips);
    return of.entered - before;
}

static std::uint64_t by_full_switch(sides &, std::uint64_t round_trips)
{
    const std::uint64_t before = entered_fully;
    enter_and_leave_fully(round_trips);
    return entered_fully - before;
}

using way = std::uint64_t (*)(sides &of, std::uint64_t round_trips);

static way way_of(const probe_run *run)
{
    if (probe_is(run, "way", "generator"))
        return by_generator;
    if (probe_is(run, "way", "fiber"))
        return by_fiber;
    return probe_is(run, "way", "full") ? by_full_switch : by_loop;
}

static void batch(probe_run *run, std::uint64_t operations, probe_value *value)
{
    auto &both = *static_cast<sides *>(run->state);
    const auto round_trips = static_cast<std::uint64_t>(probe_integer(run, "round_trips"));
    const way how = way_of(run);
    std::uint64_t whole = 0;
    probe_start(value);
    for (std::uint64_t i = 0; i < operations; i++)
        whole += how(both, round_trips) == round_trips;
    probe_stop(value);
    probe_count(value, "round_trips", whole * round_trips);
    probe_count(value, "checked", whole);
}

static void teardown(probe_run *run)
{
    delete static_cast<sides *>(run->state);
}

static constexpr probe_metric metrics[] = {
    {"total", "s", "lower", "wall", "operations", "time of all switches together"},
    {"in_out", "s", "lower", "wall", "round_trips", "time of a switch in and the one back out"},
    {}};

static constexpr probe_param parameters[] = {
    {.name = "way",
     .doc = "generator: stackless, which the compiler cannot see into; fiber: stackful; full: stackful by a function that "
            "keeps every register; removed: the loop that is left where there is no coroutine",
     .choices = "generator,fiber,removed,full",
     .sweep = "generator,fiber,removed,full"},
    {.name = "round_trips",
     .doc = "switches in, each with the one back out, which the study counts as one",
     .unit = "1",
     .sweep = "100000,1000000,10000000,100000000",
     .brief = "100000,1000000",
     .min = 1,
     .max = 1000000000},
    {}};

static constexpr probe pure_probe = {
    .title = "C++ switches in a row",
    .question = "What do so many switches between coroutines take together, and is it so many times one?",
    .operation = "`round_trips` switches into a coroutine or a fiber, each with the one back out; no creation",
    .source = "alibaba/async_simple at 2db1337d (2022), Generator_pure_switch and Uthread_pure_switch",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .metrics = metrics,
    .params = parameters,
    .setup = setup,
    .batch = batch,
    .teardown = teardown,
};

int main(int argc, char **argv)
{
    return probe_main(&pure_probe, argc, argv);
}
