// SPDX-License-Identifier: Apache-2.0
// The loads: what runs on the simulated machine.
#pragma once

#include <cstdint>
#include <deque>
#include <iosfwd>
#include <string>
#include <vector>

#include "schedsim/random.hpp"
#include "schedsim/simulation.hpp"

namespace schedsim
{

// Contexts that all do nothing but yield: the benchmark. The first yields warm up, until every context's priority has
// been through several recalculations; they are not counted.
class Yielders final : public Load
{
  public:
    struct Settings {
        std::uint32_t contexts = 2;
        std::uint32_t others = 0;       // tasks that exist and sleep: recalculation meets them too
        std::uint64_t yields = 100'000; // counted, of all contexts together
        Nanoseconds run = 0;            // of a context between two of its yields
    };
    explicit Yielders(const Settings &settings);
    void begin(Simulation &simulation) override;
    Step next(TaskId task, Simulation &simulation) override;
    bool over(const Simulation &simulation) const override;

  private:
    Settings settings_;
    std::uint64_t warm_up_;
    bool warm_ = false;
};

// A busy web site, as a generative model: servers that wait for requests, of which some come alone and some come many
// at once (the images of a page, the readers of a mailing), a few jobs that compute for long and pause for long, and
// programs that hardly ever run. The defaults are fitted to the figures that were published of one such machine: see
// studies/web_site_1999.jsonl for them and how near it comes.
class WebSite final : public Load
{
  public:
    struct Settings {
        std::uint32_t servers = 200;
        std::uint32_t jobs = 3;
        std::uint32_t sleepers = 217;
        Nanoseconds between_requests = 0; // means, of exponential times
        Nanoseconds between_bursts = 0;
        std::uint32_t least_burst = 0;
        double burst_requests = 0; // above the least: mean of a Poisson number
        Nanoseconds request_run = 0;
        Nanoseconds job_run = 0;
        Nanoseconds job_pause = 0;
        Nanoseconds sleeper_pause = 0;
        std::uint64_t seed = 1;
    };
    static Settings fitted();
    explicit WebSite(const Settings &settings);
    void begin(Simulation &simulation) override;
    Step next(TaskId task, Simulation &simulation) override;
    void left(TaskId task, Simulation &simulation) override;
    void called(std::uint32_t token, Simulation &simulation) override;
    bool over(const Simulation &simulation) const override;
    std::uint64_t requests() const
    {
        return requests_;
    }

  private:
    enum Token : std::uint32_t { request, burst, first_wake };
    void arrive(Simulation &simulation);

    Settings settings_;
    Random random_;
    std::vector<TaskId> idle_;  // servers that wait, the one that waits longest at the end
    std::uint64_t backlog_ = 0; // requests that nobody has taken
    std::uint64_t requests_ = 0;
    enum class Serving : std::uint8_t { nothing, a_request };
    std::vector<Serving> serving_;
};

// A recorded run queue, replayed: in each interval as many tasks are runnable as were seen, and as many times one of
// them begins to wait while another is woken as there were switches. What ran, and for how long each, nobody recorded:
// runs are as long as each other within an interval.
class Trace final : public Load
{
  public:
    struct Interval {
        Nanoseconds length;
        std::uint32_t runnable;
        std::uint32_t switches;
    };
    struct Recording {
        CpuId cpus = 1;
        std::uint32_t tasks = 0;
        std::vector<Interval> intervals;
        Nanoseconds length() const;
        std::uint64_t switches() const;
    };
    // Reads a recording: a line of JSON that says what it is, then a line [length_ns, runnable, switches, forks] for
    // each interval. Throws std::invalid_argument with the line that is wrong.
    static Recording read(std::istream &input, const std::string &name);

    explicit Trace(const Recording &recording);
    void begin(Simulation &simulation) override;
    Step next(TaskId task, Simulation &simulation) override;
    void left(TaskId task, Simulation &simulation) override;
    void called(std::uint32_t token, Simulation &simulation) override;
    bool over(const Simulation &simulation) const override;

  private:
    enum Token : std::uint32_t { interval, alone };
    void wake_one(Simulation &simulation);
    void begin_interval(Simulation &simulation);

    const Recording &recording_;
    std::deque<TaskId> waiting_; // the one that waits longest first
    std::size_t next_interval_ = 0;
    std::uint32_t awake_ = 0;
    std::uint32_t wanted_ = 0;    // awake in this interval
    std::uint64_t exchanges_ = 0; // still to come: one begins to wait and another is woken
    Nanoseconds run_ = 0;         // until a task may be exchanged
    std::vector<char> began_;     // tasks that have had a run since they woke
    bool done_ = false;
};

} // namespace schedsim
