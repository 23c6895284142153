// SPDX-License-Identifier: Apache-2.0
// The loads: what runs on the simulated machine.
#pragma once

#include <cstdint>
#include <deque>
#include <iosfwd>
#include <optional>
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
    void take(Simulation &simulation, Nanoseconds came);

    Settings settings_;
    Random random_;
    std::vector<TaskId> idle_;        // servers that wait, the one that waits longest at the end
    std::deque<Nanoseconds> backlog_; // when each request came that nobody has taken, the oldest first
    std::vector<Nanoseconds> came_;   // by server: when the request came that it has, or was woken for
    std::uint64_t requests_ = 0;
    enum class Serving : std::uint8_t { nothing, a_request };
    std::vector<Serving> serving_;
};

// A distribution of times.
struct Times {
    enum class Shape : std::uint8_t { constant, uniform, exponential, mixture };
    Shape shape = Shape::constant;
    // The time; the least and the most; the mean; or the means of two exponential ones, `share` of the second.
    Nanoseconds a = 0, b = 0;
    double share = 0;
    Nanoseconds draw(Random &random) const;
    bool nothing() const
    {
        return shape == Shape::constant && a == 0;
    }
};

// The stream of random numbers of a task, or of anything else that has a number.
Random stream(std::uint64_t seed, std::uint64_t number);

// Classes of tasks that are alike. What a task does depends on the seed and its number alone, not on the policy.
class Mix final : public Load
{
  public:
    // After each run: sleep, yield, never (it runs for ever), or wait for a request. Requests come to a class at times
    // that are `pause` apart; who serves none takes it, the one that was last busy first.
    enum class Then : std::uint8_t { pause, yield, forever, request };
    struct Class {
        std::string name;
        std::uint32_t count = 1;
        int nice = 0;
        Times run;
        Then then = Then::forever;
        Times pause;
        // Of the real kernel alone; the simulated ones have neither classes nor groups of tasks.
        std::string policy = "other";
        int weight = 0;               // of a control group of its own, 100 for that of any other; 0: it has none
        std::optional<int> autogroup; // the nice value of an autogroup of its own
    };
    struct Settings {
        std::vector<Class> classes;
        std::uint64_t seed = 1;
    };
    explicit Mix(const Settings &settings);
    void begin(Simulation &simulation) override;
    Step next(TaskId task, Simulation &simulation) override;
    void left(TaskId task, Simulation &simulation) override;
    void called(std::uint32_t token, Simulation &simulation) override;
    bool over(const Simulation &simulation) const override;

  private:
    static constexpr std::uint32_t arrival = 1u << 31; // tokens from here on; those below are tasks that wake first
    enum class Doing : std::uint8_t { nothing, a_request };
    struct Request {
        Nanoseconds arrived, run;
    };
    struct Member {
        Random random;
        ClassId of;
        Doing doing;
        Nanoseconds due;   // of what it does now: when it should have begun
        Nanoseconds pause; // that begins when its run is over
    };
    struct Group {
        Random random; // of its requests
        std::vector<TaskId> idle;
        std::deque<Request> backlog;
    };
    Step serve(TaskId task, Simulation &simulation);
    void wake_one(ClassId of, Simulation &simulation);

    const Settings settings_;
    std::vector<Member> members_;
    std::vector<Group> groups_;
};

// The lives of tasks as they were recorded: how long each ran, how long it slept, whom it woke and when it ended. A
// task that another one woke waits for that one again, and a task that the kernel woke sleeps as long as it did.
class Recorded final : public Load
{
  public:
    struct Act {
        enum class Kind : std::uint8_t { run, sleep, wait, wake, yield, end };
        Kind kind = Kind::wait;
        Nanoseconds number = 0; // how long, or for `wake` whom
    };
    struct Life {
        enum class Beginning : std::uint8_t { awake, asleep, unborn };
        ClassId of = 0;
        int nice = 0;
        Beginning beginning = Beginning::unborn;
        std::vector<Act> acts;
    };
    struct Recording {
        CpuId cpus = 1;
        Nanoseconds length = 0, tick = 0;
        std::uint64_t switches = 0;
        std::vector<std::string> classes;
        std::vector<Life> tasks;
    };
    // Reads a recording: a line of JSON that says what it is, then a line for each task. Throws std::invalid_argument
    // with the line that is wrong.
    static Recording read(std::istream &input, const std::string &name);

    explicit Recorded(const Recording &recording);
    void begin(Simulation &simulation) override;
    Step next(TaskId task, Simulation &simulation) override;
    void left(TaskId task, Simulation &simulation) override;
    void called(std::uint32_t number, Simulation &simulation) override;
    bool over(const Simulation &simulation) const override;

  private:
    void create(std::uint32_t number, Simulation &simulation);
    void notify(std::uint32_t number, Simulation &simulation);

    const Recording &recording_;
    // By the number of the recording: the next act, the task, the wake-ups that came before their wait, who waits.
    std::vector<std::size_t> at_;
    std::vector<TaskId> id_;
    std::vector<std::uint32_t> pending_;
    std::vector<char> waits_;
    // By task.
    std::vector<std::uint32_t> number_;
    std::vector<Nanoseconds> due_;
};

// 1: a run queue (Trace), 2: the lives of tasks (Recorded). Leaves the stream at its beginning.
std::int64_t version_of_recording(std::istream &input, const std::string &name);

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
