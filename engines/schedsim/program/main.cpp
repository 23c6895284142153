// SPDX-License-Identifier: Apache-2.0
// schedsim: reads requests, a line of JSON each, and answers each with a line of JSON. README.md has the requests.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>

#include "schedsim/calibration.hpp"
#include "schedsim/json.hpp"
#include "schedsim/loads.hpp"
#include "schedsim/simulation.hpp"

#include "requests.hpp"

namespace
{

using namespace schedsim;
using json::Value;

Value as_object(const Costs &costs)
{
    return {{"entry_ns", costs.entry},
            {"search_ns", costs.search},
            {"recalculation_ns", costs.recalculation},
            {"change_ns", costs.change}};
}

template <typename Number> std::size_t last_filled(const std::array<Number, longest_counted + 1> &histogram)
{
    std::size_t last = histogram.size() - 1;
    while (last > 0 && histogram[last] == 0)
        last--;
    return last;
}

template <typename Number> Value up_to_last(const std::array<Number, longest_counted + 1> &histogram)
{
    Value values = Value::array();
    for (std::size_t length = 0; length <= last_filled(histogram); length++)
        values.push_back(histogram[length]);
    return values;
}

double ratio(double over, double per)
{
    return per > 0 ? over / per : 0.0;
}

// Share of the switches at which at least so many tasks were runnable.
double share_from(const Statistics &seen, std::size_t length)
{
    std::uint64_t count = 0;
    for (std::size_t i = length; i <= longest_counted; i++)
        count += seen.switches_at_length[i];
    return ratio(static_cast<double>(count), static_cast<double>(seen.switches));
}

Value choices_of(const Statistics &seen)
{
    Value all = Value::array();
    for (std::size_t i = 0; i < seen.choices.size(); i++) {
        const Choices &alike = seen.choices[i];
        if (alike.count > 0)
            all.push_back({{"least", std::size_t{1} << i},
                           {"most", (std::size_t{2} << i) - 1},
                           {"count", alike.count},
                           {"mean_ns", static_cast<double>(alike.spent) / static_cast<double>(alike.count)}});
    }
    return all;
}

// The length that the run queue did not exceed during this share of the time.
std::size_t length_at(const Statistics &seen, double share)
{
    Nanoseconds sum = 0;
    std::size_t length = 0;
    for (; length < longest_counted; length++) {
        sum += seen.time_at_length[length];
        if (sum > 0 && static_cast<double>(sum) >= share * static_cast<double>(seen.time))
            break;
    }
    return length;
}

// Each class with what its tasks had.
Value classes_of(const Simulation &simulation, const std::vector<std::string> &names)
{
    std::vector<Fairness> fairness(names.size());
    for (TaskId task = 0; task < simulation.tasks(); task++)
        fairness[simulation.class_of(task)].add(simulation.used(task), simulation.waited(task));
    Value all = Value::array();
    for (std::size_t of = 0; of < names.size(); of++) {
        const ClassStatistics none;
        const auto &all_seen = simulation.statistics().classes;
        const ClassStatistics &seen = of < all_seen.size() ? all_seen[of] : none;
        all.push_back(as_object(names[of], fairness[of], seen.busy, seen.wake_up, seen.response));
    }
    return all;
}

Value as_object(const Statistics &seen, CpuId cpus)
{
    double lengths = 0;
    for (std::size_t length = 0; length <= longest_counted; length++)
        lengths += static_cast<double>(length) * static_cast<double>(seen.switches_at_length[length]);
    const double seconds = static_cast<double>(seen.time) / 1e9, switches = static_cast<double>(seen.switches);
    const double capacity = static_cast<double>(seen.time) * cpus;
    return {
        {"time_ns", seen.time},
        {"switches", seen.switches},
        {"switches_per_s", ratio(switches, seconds)},
        {"voluntary", seen.voluntary},
        {"involuntary", seen.involuntary},
        {"wakes", seen.wakes},
        {"yields", seen.yields},
        {"calls", seen.calls},
        {"searched", seen.searched},
        {"recalculations", seen.recalculations},
        {"recalculated", seen.recalculated},
        {"switches_per_recalculation", ratio(switches, static_cast<double>(seen.recalculations))},
        {"busy_share", ratio(static_cast<double>(seen.busy), capacity)},
        {"overhead_ns", seen.overhead},
        {"overhead_share", ratio(static_cast<double>(seen.overhead), capacity)},
        {"longest_wait_ns", seen.longest_wait},
        {"mean_length", ratio(lengths, switches)},
        {"median_runnable", length_at(seen, 0.5)},
        {"p99_runnable", length_at(seen, 0.99)},
        {"share_over_10", share_from(seen, 11)},
        {"share_20_or_more", share_from(seen, 20)},
        {"longest", last_filled(seen.switches_at_length)},
        {"switches_at_length", up_to_last(seen.switches_at_length)},
        {"time_at_length_ns", up_to_last(seen.time_at_length)},
        {"choices", choices_of(seen)},
    };
}

PolicySettings settings_of(Fields &fields)
{
    return {static_cast<CpuId>(fields.whole("cpus", 1, 1, 64)), fields.whole("quantum_ns", 0, 0, hour),
            fields.whole("tick_ns", 0, 0, second)};
}

Value list_policies(Fields &fields)
{
    fields.none_left();
    Value all = Value::array();
    for (const PolicyKind *kind : policies())
        all.push_back(
            {{"name", kind->name}, {"alias", kind->alias}, {"title", kind->title}, {"source", kind->source},
             {"tick_ns", kind->tick}});
    return {{"policies", all}};
}

Value simulate_yield(Fields &fields)
{
    const PolicyKind &policy = fields.policy();
    const auto contexts = static_cast<std::uint32_t>(fields.whole("contexts", 2, 1, 4096));
    const auto others = static_cast<std::uint32_t>(fields.whole("others", 0, 0, 65536));
    const auto yields = static_cast<std::uint64_t>(fields.whole("yields", 40'000, 1, 1'000'000'000));
    const auto cpus = static_cast<CpuId>(fields.whole("cpus", 1, 1, 64));
    const Costs costs = fields.costs();
    fields.none_left();
    const YieldCost seen = yield_cost(policy, contexts, others, yields, costs, cpus);
    return {{"policy", policy.name},
                  {"contexts", contexts},
                  {"yield_ns", seen.ns},
                  {"switched_fraction", seen.switching},
                  {"searched_per_yield", seen.searched},
                  {"recalculations_per_yield", seen.recalculations},
                  {"recalculated_per_yield", seen.recalculated},
                  {"costs", as_object(costs)}};
}

Value simulate_web_site(Fields &fields)
{
    const PolicyKind &policy = fields.policy();
    const PolicySettings settings = settings_of(fields);
    const Nanoseconds length = static_cast<Nanoseconds>(fields.real("hours", 17, 0.001, 1000) * 3600e9);
    const Costs costs = fields.costs();
    WebSite::Settings site = WebSite::fitted();
    site.seed = static_cast<std::uint64_t>(fields.whole("seed", 1, 0, never));
    const auto count = [&](const char *name, std::uint32_t fitted) {
        return static_cast<std::uint32_t>(fields.whole(name, fitted, 1, 65536));
    };
    const auto time = [&](const char *name, Nanoseconds fitted) { return fields.whole(name, fitted, 1, 1000 * hour); };
    site.servers = count("servers", site.servers);
    site.jobs = count("jobs", site.jobs);
    site.sleepers = count("sleepers", site.sleepers);
    site.between_requests = time("between_requests_ns", site.between_requests);
    site.between_bursts = time("between_bursts_ns", site.between_bursts);
    site.least_burst = static_cast<std::uint32_t>(fields.whole("least_burst", site.least_burst, 0, 1000));
    site.burst_requests = fields.real("burst_requests", site.burst_requests, 0, 1000);
    site.request_run = time("request_run_ns", site.request_run);
    site.job_run = time("job_run_ns", site.job_run);
    site.job_pause = time("job_pause_ns", site.job_pause);
    site.sleeper_pause = time("sleeper_pause_ns", site.sleeper_pause);
    fields.none_left();
    WebSite load(site);
    Simulation simulation(policy, settings, costs);
    simulation.run(load, length);
    Value answer = {{"policy", policy.name}, {"tasks", simulation.tasks()}, {"requests", load.requests()}};
    answer.update(as_object(simulation.statistics(), settings.cpus));
    answer["classes"] = classes_of(simulation, {"servers", "jobs", "sleepers"});
    return answer;
}

Value simulate_tasks(Fields &fields)
{
    const PolicyKind &policy = fields.policy();
    const PolicySettings settings = settings_of(fields);
    const Nanoseconds length = fields.whole("length_ns", 60 * second, 1, 1000 * hour);
    const Costs costs = fields.costs();
    const Mix::Settings mix = mix_of(fields);
    fields.none_left();
    for (const Mix::Class &one : mix.classes)
        if (one.then == Mix::Then::yield && one.run.nothing() && costs.entry == 0)
            throw std::invalid_argument("yields without a run need costs.entry_ns: without it no time passes");
    Mix load(mix);
    Simulation simulation(policy, settings, costs);
    simulation.run(load, length);
    Value answer = {{"policy", policy.name}, {"cpus", settings.cpus}, {"tasks", simulation.tasks()}};
    answer.update(as_object(simulation.statistics(), settings.cpus));
    answer["classes"] = classes_of(simulation, names_of(mix));
    return answer;
}

Value replay(Fields &fields)
{
    const PolicyKind &policy = fields.policy();
    const std::string path = fields.text("trace");
    std::ifstream file(path);
    if (!file)
        throw std::invalid_argument("the trace " + path + " cannot be opened");
    PolicySettings settings = settings_of(fields);
    const bool of_others = fields.find("cpus") != nullptr;
    const Costs costs = fields.costs();
    fields.none_left();
    const auto replayed = [&](Load &load, Nanoseconds until, Nanoseconds length, std::uint64_t switches,
                              const std::vector<std::string> &classes) {
        Simulation simulation(policy, settings, costs);
        simulation.run(load, until);
        Value answer = {{"policy", policy.name},
                        {"cpus", settings.cpus},
                        {"tasks", simulation.tasks()},
                        {"recorded_ns", length},
                        {"recorded_switches", switches}};
        answer.update(as_object(simulation.statistics(), settings.cpus));
        if (!classes.empty())
            answer["classes"] = classes_of(simulation, classes);
        return answer;
    };
    if (version_of_recording(file, path) == 1) {
        const Trace::Recording recording = Trace::read(file, path);
        settings.cpus = of_others ? settings.cpus : recording.cpus;
        Trace load(recording);
        return replayed(load, never, recording.length(), recording.switches(), {});
    }
    const Recorded::Recording recording = Recorded::read(file, path);
    settings.cpus = of_others ? settings.cpus : recording.cpus;
    if (settings.tick == 0)
        settings.tick = recording.tick;
    Recorded load(recording);
    return replayed(load, recording.length, recording.length, recording.switches, recording.classes);
}

Value calibrate_costs(Fields &fields)
{
    const auto others = static_cast<std::uint32_t>(fields.whole("others", 0, 0, 65536));
    const Value *listed = fields.find("points");
    if (listed == nullptr || !listed->is_array() || listed->empty())
        throw std::invalid_argument("points must be a list of {\"policy\", \"contexts\", \"ns\", \"fitted\"}");
    fields.none_left();
    std::vector<Point> points;
    for (std::size_t i = 0; i < listed->size(); i++) {
        Fields point((*listed)[i], "points[" + std::to_string(i) + "]");
        const PolicyKind &policy = point.policy();
        const auto contexts = static_cast<std::uint32_t>(point.whole("contexts", 0, 1, 4096));
        points.push_back({&policy, contexts, point.real("ns", 0, 1, 1e9), point.yes("fitted", true)});
        point.none_left();
    }
    if (std::none_of(points.begin(), points.end(), [](const Point &point) { return point.fitted; }))
        throw std::invalid_argument("no point is fitted: there is nothing to take the costs from");
    const Calibration result = calibrate(std::move(points), others);
    Value answers = Value::array();
    for (const Point &point : result.points)
        answers.push_back({{"policy", point.policy->name},
                                 {"contexts", point.contexts},
                                 {"ns", point.measured_ns},
                                 {"simulated_ns", point.simulated_ns},
                                 {"fitted", point.fitted}});
    return {{"costs", as_object(result.costs)},
                  {"others", others},
                  {"worst_fitted", result.worst_fitted},
                  {"worst_predicted", result.worst_predicted},
                  {"points", answers}};
}

Value answer(const std::string &line)
{
    const Value request = json::parse(line);
    Fields fields(request);
    const std::string what = fields.text("do");
    if (what == "policies")
        return list_policies(fields);
    if (what == "yield")
        return simulate_yield(fields);
    if (what == "web_site")
        return simulate_web_site(fields);
    if (what == "tasks")
        return simulate_tasks(fields);
    if (what == "replay")
        return replay(fields);
    if (what == "calibrate")
        return calibrate_costs(fields);
    throw std::invalid_argument("\"do\" must be policies, yield, web_site, tasks, replay or calibrate, not \"" + what +
                                "\"");
}

// Answers every line; true if all could be answered.
bool answer_all(std::istream &input)
{
    bool all = true;
    std::string line;
    for (std::int64_t number = 1; std::getline(input, line); number++) {
        if (line.empty())
            continue;
        Value said;
        try {
            said = answer(line);
        } catch (const std::invalid_argument &error) {
            said = {{"error", error.what()}, {"line", number}};
            all = false;
        }
        std::cout << said.dump(-1, ' ', false, Value::error_handler_t::replace) << std::endl;
    }
    return all;
}

constexpr const char *usage = "usage: schedsim < REQUESTS, or schedsim FILE…: each line a request in JSON, such as\n"
                              "  {\"do\":\"policies\"}\n"
                              "  {\"do\":\"yield\",\"policy\":\"linux_2_0_30\",\"contexts\":40}\n"
                              "Exit code 0: all answered, 1: some not, 2: wrong usage.\n";

} // namespace

int main(int argc, char **argv)
{
    if (argc > 1 && std::string(argv[1]) == "--help") {
        std::fputs(usage, stdout);
        return 0;
    }
    bool all = true;
    for (int i = 1; i < argc; i++) {
        std::ifstream file(argv[i]);
        if (!file) {
            std::fprintf(stderr, "schedsim: %s cannot be opened\n%s", argv[i], usage);
            return 2;
        }
        all &= answer_all(file);
    }
    if (argc == 1)
        all = answer_all(std::cin);
    return all ? 0 : 1;
}
