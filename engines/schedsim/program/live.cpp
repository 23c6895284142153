// SPDX-License-Identifier: Apache-2.0
// schedsim_live: does for real what schedsim simulates. Reads one request "tasks" and starts a thread for each task,
// which spins and sleeps by the same plan: the same random numbers give the same times to run and to sleep. README.md
// has the request and the answer.
//
// A run is over when the thread has had so much CPU time. Pauses end at a moment, by clock_nanosleep. Requests of a
// class come at moments that are drawn before; whoever is free sleeps until the next one that nobody has taken.
//
// The threads are those of one process, but for classes with a control group or an autogroup of their own: a process
// each, for the kernel puts processes into them.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <deque>
#include <exception>
#include <fstream>
#include <future>
#include <iostream>
#include <iterator>
#include <thread>

#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "control_groups.hpp"
#include "requests.hpp"

namespace
{

using namespace schedsim;

Nanoseconds read_clock(clockid_t clock)
{
    timespec now{};
    clock_gettime(clock, &now);
    return now.tv_sec * second + now.tv_nsec;
}

Nanoseconds now()
{
    return read_clock(CLOCK_MONOTONIC);
}

void sleep_until(Nanoseconds moment)
{
    const timespec due = {moment / second, moment % second};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, nullptr) == EINTR)
        ;
}

struct Request {
    Nanoseconds due, run;
};

// What all tasks of a class share.
struct Group {
    std::vector<Request> requests;
    std::atomic<std::size_t> taken = 0;
};

struct Worker {
    const Mix::Class *kind;
    Group *group;
    Random random;
    Histogram wake_up, response;
    Nanoseconds used = 0, waited = 0;
    std::uint64_t voluntary = 0, involuntary = 0;
};

// The moments of all workers: the same beginning and end.
struct Span {
    Nanoseconds begin, end;
};

// Between two readings of a clock in a row: where more time has passed, others had the CPU.
constexpr Nanoseconds taken_away = 20 * microsecond;

// Until so much CPU time is used; false when the end came before. The clock of CPU time is read at the ends alone: each
// reading has the kernel account for the thread and end its slice to the nanosecond, where the timer's tick would.
bool spin(Nanoseconds run, Nanoseconds end)
{
    const Nanoseconds until = read_clock(CLOCK_THREAD_CPUTIME_ID) + run;
    for (Nanoseconds left = run; left > 0; left = until - read_clock(CLOCK_THREAD_CPUTIME_ID)) {
        Nanoseconds last = now();
        for (Nanoseconds used = 0; used < left;) {
            const Nanoseconds read = now();
            if (read >= end)
                return false;
            if (read - last < taken_away)
                used += read - last;
            last = read;
        }
    }
    return true;
}

void wake_at(Worker &worker, Nanoseconds due)
{
    sleep_until(due);
    worker.wake_up.add(now() - due);
}

void pause_and_run(Worker &worker, const Span &span)
{
    Nanoseconds due = span.begin + worker.kind->pause.draw(worker.random);
    while (due < span.end) {
        wake_at(worker, due);
        const Nanoseconds run = worker.kind->run.draw(worker.random), pause = worker.kind->pause.draw(worker.random);
        if (!spin(run, span.end))
            return;
        const Nanoseconds done = now();
        worker.response.add(done - due);
        due = done + pause;
    }
}

void serve(Worker &worker, const Span &span)
{
    for (;;) {
        const std::size_t number = worker.group->taken++;
        if (number >= worker.group->requests.size())
            return;
        const Request &request = worker.group->requests[number];
        if (request.due > now())
            wake_at(worker, request.due);
        if (!spin(request.run, span.end))
            return;
        worker.response.add(now() - request.due);
    }
}

// Time on a CPU and time ready for one, of the calling thread, as the kernel counts them.
void read_schedstat(Worker &worker)
{
    char path[64];
    std::snprintf(path, sizeof path, "/proc/self/task/%ld/schedstat", static_cast<long>(syscall(SYS_gettid)));
    long long used = 0, waited = 0;
    if (std::FILE *file = std::fopen(path, "re")) {
        if (std::fscanf(file, "%lld %lld", &used, &waited) != 2)
            waited = 0;
        std::fclose(file);
    }
    worker.used = read_clock(CLOCK_THREAD_CPUTIME_ID);
    worker.waited = waited;
}

struct Named {
    const char *name;
    int policy;
};

constexpr int sched_ext = 7; // SCHED_EXT of Linux 6.12, which the C library may not know

// Without a scheduler that is loaded, SCHED_EXT is SCHED_OTHER by another name.
void require_sched_ext(const Mix::Class &kind)
{
    std::string state;
    if (!(std::ifstream("/sys/kernel/sched_ext/state") >> state))
        throw std::runtime_error("the tasks " + kind.name + " may not be ext: this kernel has no sched_ext");
    if (state != "enabled")
        throw std::runtime_error("the tasks " + kind.name + " may not be ext: no scheduler of sched_ext is loaded");
}

void take_policy(const Mix::Class &kind)
{
    static constexpr Named known[] = {{"other", SCHED_OTHER}, {"batch", SCHED_BATCH}, {"idle", SCHED_IDLE},
                                      {"fifo", SCHED_FIFO}, {"rr", SCHED_RR}, {"ext", sched_ext}};
    const Named *found = nullptr;
    for (const Named &one : known)
        if (kind.policy == one.name)
            found = &one;
    if (found == nullptr)
        throw std::invalid_argument("the policy of " + kind.name + " must be other, batch, idle, fifo, rr or ext");
    if (found->policy == sched_ext)
        require_sched_ext(kind);
    const bool real_time = found->policy == SCHED_FIFO || found->policy == SCHED_RR;
    sched_param level{};
    level.sched_priority = real_time ? sched_get_priority_min(found->policy) : 0;
    const auto self = static_cast<id_t>(syscall(SYS_gettid));
    if (sched_setscheduler(0, found->policy, &level) != 0 ||
        (!real_time && getpriority(PRIO_PROCESS, self) != kind.nice && // that of who started us, it may be
         setpriority(PRIO_PROCESS, self, kind.nice) != 0))
        throw std::runtime_error("the tasks " + kind.name + " may not be " + kind.policy + " with nice " +
                                 std::to_string(kind.nice) + " (" + std::strerror(errno) +
                                 "): that needs the right CAP_SYS_NICE");
}

void work(Worker &worker, const Span &span)
{
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    sleep_until(span.begin);
    switch (worker.kind->then) {
    case Mix::Then::pause: pause_and_run(worker, span); break;
    case Mix::Then::request: serve(worker, span); break;
    case Mix::Then::forever: spin(never / 2, span.end); break;
    case Mix::Then::yield:
        while (spin(worker.kind->run.draw(worker.random), span.end) && now() < span.end)
            sched_yield();
    }
    read_schedstat(worker);
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    worker.voluntary = static_cast<std::uint64_t>(usage.ru_nvcsw);
    worker.involuntary = static_cast<std::uint64_t>(usage.ru_nivcsw);
}

// The first `cpus` of those that this process may use, for itself and for all threads that it starts.
void keep_to(CpuId cpus)
{
    cpu_set_t allowed, chosen;
    CPU_ZERO(&chosen);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        throw std::runtime_error(std::string("the CPUs cannot be asked for: ") + std::strerror(errno));
    if (static_cast<CpuId>(CPU_COUNT(&allowed)) < cpus)
        throw std::runtime_error("the load needs " + std::to_string(cpus) + " CPUs, and here are " +
                                 std::to_string(CPU_COUNT(&allowed)));
    for (int cpu = 0; cpu < CPU_SETSIZE && static_cast<CpuId>(CPU_COUNT(&chosen)) < cpus; cpu++)
        if (CPU_ISSET(cpu, &allowed))
            CPU_SET(cpu, &chosen);
    sched_setaffinity(0, sizeof chosen, &chosen);
}

void draw_requests(const Mix::Class &kind, Random random, const Span &span, Group &group)
{
    if (kind.then != Mix::Then::request)
        return;
    for (Nanoseconds due = span.begin + kind.pause.draw(random); due < span.end; due += kind.pause.draw(random))
        group.requests.push_back({due, kind.run.draw(random)});
}

// Classes whose threads are those of one process.
struct Party {
    std::vector<std::size_t> classes;
    pid_t process = -1;
    int answer = -1; // where it writes what its classes had
};

std::vector<Party> parties_of(const std::vector<Mix::Class> &classes)
{
    std::vector<Party> found;
    Party others;
    for (std::size_t of = 0; of < classes.size(); of++)
        if (classes[of].weight > 0 || classes[of].autogroup)
            found.push_back({{of}});
        else
            others.classes.push_back(of);
    if (!others.classes.empty())
        found.push_back(others);
    return found;
}

// All threads of these classes, from the beginning to the end; what each class had, with its number.
Value run_classes(const Mix::Settings &mix, const std::vector<std::size_t> &members, const Span &span)
{
    for (const std::size_t of : members) // who may not is told so before anybody runs
        std::async(std::launch::async, take_policy, std::cref(mix.classes[of])).get();
    std::deque<Group> groups;
    std::deque<Worker> workers;
    std::uint64_t number = 0; // of the task among those of all classes, as the simulation counts them
    for (std::size_t of = 0; of < mix.classes.size(); of++) {
        const Mix::Class &kind = mix.classes[of];
        if (std::find(members.begin(), members.end(), of) == members.end()) {
            number += kind.count;
            continue;
        }
        draw_requests(kind, stream(mix.seed, ~std::uint64_t{of}), span, groups.emplace_back());
        for (std::uint32_t i = 0; i < kind.count; i++)
            workers.push_back({&kind, &groups.back(), stream(mix.seed, number++), {}, {}});
    }
    std::vector<std::thread> threads;
    for (Worker &worker : workers)
        threads.emplace_back([&worker, &span] {
            take_policy(*worker.kind);
            work(worker, span);
        });
    for (std::thread &thread : threads)
        thread.join();

    Value classes = Value::array();
    std::uint64_t voluntary = 0, involuntary = 0;
    for (const std::size_t of : members) {
        const Mix::Class &kind = mix.classes[of];
        Fairness fairness;
        Histogram wake_up, response;
        Nanoseconds busy = 0;
        for (const Worker &worker : workers)
            if (worker.kind == &kind) {
                fairness.add(worker.used, worker.waited);
                wake_up.merge(worker.wake_up);
                response.merge(worker.response);
                busy += worker.used;
                voluntary += worker.voluntary;
                involuntary += worker.involuntary;
            }
        classes.push_back({{"number", of}, {"had", as_object(kind.name, fairness, busy, wake_up, response)}});
    }
    return {{"classes", classes}, {"voluntary", voluntary}, {"involuntary", involuntary}};
}

std::string as_text(const Value &value)
{
    return value.dump(-1, ' ', false, Value::error_handler_t::replace);
}

// The life of a process of its own, which ends with the one that started it.
[[noreturn]] void be_party(const Mix::Settings &mix, const Party &party, const ControlGroups &groups, const Span &span,
                           int answer)
{
    std::string said;
    try {
        for (const std::size_t of : party.classes) {
            groups.enter(of);
            if (mix.classes[of].autogroup)
                take_autogroup(*mix.classes[of].autogroup);
        }
        said = as_text(run_classes(mix, party.classes, span));
    } catch (const std::exception &error) {
        said = as_text({{"error", error.what()}});
    }
    for (std::size_t written = 0; written < said.size();) {
        const ssize_t more = write(answer, said.data() + written, said.size() - written);
        if (more <= 0)
            break;
        written += static_cast<std::size_t>(more);
    }
    _exit(0);
}

void start(Party &party, const Mix::Settings &mix, const ControlGroups &groups, const Span &span)
{
    int ends[2];
    const pid_t starter = getpid();
    if (pipe(ends) != 0 || (party.process = fork()) < 0)
        throw std::runtime_error(std::string("no process can be started: ") + std::strerror(errno));
    if (party.process == 0) {
        close(ends[0]);
        prctl(PR_SET_PDEATHSIG, static_cast<unsigned long>(SIGKILL), 0UL, 0UL, 0UL);
        if (getppid() != starter)
            _exit(0);
        be_party(mix, party, groups, span, ends[1]);
    }
    close(ends[1]);
    party.answer = ends[0];
}

// What the party says when it is done; throws std::runtime_error with what it could not do.
Value answer_of(const Party &party)
{
    std::string said;
    char piece[4096];
    for (ssize_t more; (more = read(party.answer, piece, sizeof piece)) > 0;)
        said.append(piece, static_cast<std::size_t>(more));
    close(party.answer);
    int status = 0;
    waitpid(party.process, &status, 0);
    if (said.empty())
        throw std::runtime_error("a process of the tasks ended before its time, with the status " +
                                 std::to_string(status));
    const Value answer = json::parse(said);
    if (const Value *error = json::find(answer, "error"))
        throw std::runtime_error(error->get<std::string>());
    return answer;
}

Value answer(const std::string &line)
{
    const Value request = json::parse(line);
    Fields fields(request);
    if (fields.text("do") != "tasks")
        throw std::invalid_argument("\"do\" must be tasks: nothing else can be done for real");
    const auto cpus = static_cast<CpuId>(fields.whole("cpus", 1, 1, 64));
    const Nanoseconds length = fields.whole("length_ns", second, 1, hour);
    const Mix::Settings mix = mix_of(fields);
    fields.none_left();
    keep_to(cpus);

    ControlGroups groups(mix.classes);
    groups.create(mix.classes);
    constexpr Nanoseconds to_start = 200 * millisecond; // all threads are there and asleep by then
    const Nanoseconds begin = now() + to_start;
    std::vector<Party> parties = parties_of(mix.classes);
    for (Party &party : parties)
        start(party, mix, groups, {begin, begin + length});
    Value classes = Value::array();
    std::exception_ptr refused;
    std::uint64_t tasks = 0, voluntary = 0, involuntary = 0;
    Nanoseconds busy = 0;
    for (const Party &party : parties)
        try {
            const Value seen = answer_of(party);
            voluntary += seen["voluntary"].get<std::uint64_t>();
            involuntary += seen["involuntary"].get<std::uint64_t>();
            for (const Value &one : seen["classes"]) {
                busy += one["had"]["busy_ns"].get<Nanoseconds>();
                tasks += one["had"]["tasks"].get<std::uint64_t>();
                classes[one["number"].get<std::size_t>()] = one["had"];
            }
        } catch (const std::exception &) {
            refused = std::current_exception();
            for (const Party &other : parties) // nobody needs what the others do
                if (&other > &party)
                    kill(other.process, SIGKILL);
        }
    if (refused)
        std::rethrow_exception(refused);
    return {{"policy", "kernel"},
            {"cpus", cpus},
            {"tasks", tasks},
            {"time_ns", length},
            {"voluntary", voluntary},
            {"involuntary", involuntary},
            {"busy_share", static_cast<double>(busy) / static_cast<double>(length) / cpus},
            {"classes", classes}};
}

} // namespace

int main()
{
    const std::string line{std::istreambuf_iterator<char>(std::cin), {}};
    try {
        std::cout << as_text(answer(line)) << std::endl;
        return 0;
    } catch (const std::exception &error) {
        std::cout << as_text({{"error", error.what()}}) << std::endl;
        return 1;
    }
}
