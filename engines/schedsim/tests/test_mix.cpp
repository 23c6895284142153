// SPDX-License-Identifier: Apache-2.0
// Loads of classes of tasks: what queueing theory says of them, that the plan is the same under every policy, and that
// quantiles are those of the times that were counted.
#include "check.hpp"
#include "schedsim/loads.hpp"

using namespace schedsim;
using test::check;
using test::near;

namespace
{

Times exponential(Nanoseconds mean)
{
    return {Times::Shape::exponential, mean, 0, 0};
}

Times constant(Nanoseconds time)
{
    return {Times::Shape::constant, time, 0, 0};
}

Mix::Class of(const char *name, std::uint32_t count, Times run, Mix::Then then, Times pause = {})
{
    Mix::Class found;
    found.name = name;
    found.count = count;
    found.run = run;
    found.then = then;
    found.pause = pause;
    return found;
}

Mix::Class requests(const char *name, std::uint32_t servers, Times run, Nanoseconds apart)
{
    return of(name, servers, run, Mix::Then::request, exponential(apart));
}

Statistics statistics_of(const char *policy, const std::vector<Mix::Class> &classes, Nanoseconds length, CpuId cpus = 1)
{
    Mix load({classes, 1});
    Simulation simulation(*find_policy(policy), {cpus}, {});
    simulation.run(load, length);
    return simulation.statistics();
}

} // namespace

TEST(one_server_is_the_queue_m_m_1)
{
    // Half busy: the time from a request to its end is exponential with mean 1 / (1000 - 500) s = 2 ms, and Poisson
    // arrivals find as many as there are on average: 1.
    const Statistics seen =
        statistics_of("round_robin", {requests("server", 1, exponential(millisecond), 2 * millisecond)}, 4000 * second);
    const Histogram &response = seen.classes[0].response;
    near(static_cast<double>(response.count()), 2e6, 0.005, "requests");
    near(response.mean(), 2e6, 0.02, "mean of the response");
    near(static_cast<double>(response.quantile(0.99)), 2e6 * std::log(100.0), 0.03, "p99 of the response");
    near(static_cast<double>(seen.busy) / static_cast<double>(seen.time), 0.5, 0.01, "share of the CPU");
    // Who sleeps is alone when it is woken: it runs at once.
    check(seen.classes[0].wake_up.longest() == 0, "no wake-up waits");
}

TEST(two_servers_on_two_cpus_are_the_queue_m_m_2)
{
    // Erlang C with 2 servers, each half busy: a request waits with probability 1/3, and the mean response is 4/3 ms.
    const Statistics seen =
        statistics_of("round_robin", {requests("servers", 2, exponential(millisecond), millisecond)}, 2000 * second, 2);
    near(seen.classes[0].response.mean(), 4e6 / 3, 0.02, "mean of the response");
}

TEST(a_task_that_wakes_beside_a_hog_waits_for_what_its_policy_lets_the_hog_have)
{
    const Times run = constant(100 * microsecond), pause = constant(20 * millisecond);
    const std::vector<Mix::Class> classes = {of("hog", 1, {}, Mix::Then::forever),
                                             of("sleeper", 1, run, Mix::Then::pause, pause)};
    // Round robin never preempts: the sleeper waits until the hog's 100 ms are over, so on average for half of them.
    const Histogram slow = statistics_of("round_robin", classes, 200 * second).classes[1].wake_up;
    near(slow.mean(), 80e6, 0.02, "round robin: 100 ms of a turn, less the 20 of the pause");
    // CFS lets a sleeper in at once that is more than a millisecond behind.
    const Histogram quick = statistics_of("cfs", classes, 200 * second).classes[1].wake_up;
    check(quick.quantile(0.99) == 0, "cfs: at once");
}

TEST(what_tasks_do_is_the_same_under_every_policy)
{
    const Times pause = {Times::Shape::uniform, 5 * millisecond, 9 * millisecond, 0};
    const std::vector<Mix::Class> classes = {
        of("interactive", 3, exponential(2 * millisecond), Mix::Then::pause, pause),
        requests("requests", 4, {Times::Shape::mixture, millisecond, 20 * millisecond, 0.02}, 4 * millisecond)};
    // The same requests come, and nearly all are done: the same work, whoever schedules it.
    std::uint64_t least = ~std::uint64_t{0}, most = 0;
    for (const PolicyKind *policy : policies()) {
        const Statistics seen = statistics_of(policy->name, classes, 60 * second);
        least = std::min(least, seen.classes[1].response.count());
        most = std::max(most, seen.classes[1].response.count());
        check(seen.classes[0].wake_up.count() > 5000, policy->name);
    }
    check(most - least <= 10 && least > 14000, std::to_string(least) + " to " + std::to_string(most));
}

TEST(quantiles_are_those_of_the_times_that_were_added)
{
    Histogram histogram;
    for (Nanoseconds time = 1; time <= 100'000; time++)
        histogram.add(time);
    for (const double share : {0.5, 0.9, 0.99, 0.999})
        near(static_cast<double>(histogram.quantile(share)), share * 1e5, 0.005, std::to_string(share));
    check(histogram.longest() == 100'000 && histogram.quantile(1.0) <= 100'000, "none is beyond the longest");
    near(histogram.mean(), 50'000.5, 1e-9, "the mean is exact");
    Histogram twice;
    twice.merge(histogram);
    twice.merge(histogram);
    check(twice.count() == 200'000 && twice.quantile(0.9) == histogram.quantile(0.9), "merged");
    check(Histogram().quantile(0.5) == 0, "of none");
}

MAIN
