// SPDX-License-Identifier: Apache-2.0
// schedsim_live: does for real what schedsim simulates. Reads one request "tasks" and starts a thread for each task,
// which spins and sleeps by the same plan: the same random numbers give the same times to run and to sleep. README.md
// has the request and the answer.
//
// A run is over when the thread has had so much CPU time. Pauses end at a moment, by clock_nanosleep. Requests of a
// class come at moments that are drawn before; whoever is free sleeps until the next one that nobody has taken.
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <iterator>
#include <mutex>
#include <thread>

#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

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

// Until so much CPU time is used; false when the end came before.
bool spin(Nanoseconds run, Nanoseconds end)
{
    const Nanoseconds until = read_clock(CLOCK_THREAD_CPUTIME_ID) + run;
    while (read_clock(CLOCK_THREAD_CPUTIME_ID) < until)
        if (now() >= end)
            return false;
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

void take_policy(const Mix::Class &kind)
{
    static constexpr Named known[] = {{"other", SCHED_OTHER}, {"batch", SCHED_BATCH}, {"idle", SCHED_IDLE},
                                      {"fifo", SCHED_FIFO}, {"rr", SCHED_RR}};
    const Named *found = nullptr;
    for (const Named &one : known)
        if (kind.policy == one.name)
            found = &one;
    if (found == nullptr)
        throw std::invalid_argument("the policy of " + kind.name + " must be other, batch, idle, fifo or rr");
    const bool real_time = found->policy == SCHED_FIFO || found->policy == SCHED_RR;
    sched_param level{};
    level.sched_priority = real_time ? sched_get_priority_min(found->policy) : 0;
    const auto self = static_cast<id_t>(syscall(SYS_gettid));
    if (sched_setscheduler(0, found->policy, &level) != 0 ||
        (!real_time && kind.nice != 0 && setpriority(PRIO_PROCESS, self, kind.nice) != 0))
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

    constexpr Nanoseconds to_start = 200 * millisecond; // all threads are there and asleep by then
    std::vector<Group> groups(mix.classes.size());
    std::vector<Worker> workers;
    const Nanoseconds begin = now() + to_start;
    const Span span = {begin, begin + length};
    for (std::size_t of = 0; of < mix.classes.size(); of++) {
        draw_requests(mix.classes[of], stream(mix.seed, ~std::uint64_t{of}), span, groups[of]);
        for (std::uint32_t i = 0; i < mix.classes[of].count; i++)
            workers.push_back({&mix.classes[of], &groups[of], stream(mix.seed, workers.size()), {}, {}});
    }
    std::exception_ptr refused;
    std::mutex one_at_a_time;
    std::vector<std::thread> threads;
    for (Worker &worker : workers)
        threads.emplace_back([&worker, &span, &refused, &one_at_a_time] {
            try {
                take_policy(*worker.kind);
                work(worker, span);
            } catch (...) {
                const std::lock_guard held(one_at_a_time);
                refused = std::current_exception();
            }
        });
    for (std::thread &thread : threads)
        thread.join();
    if (refused)
        std::rethrow_exception(refused);

    Value classes = Value::array();
    Nanoseconds busy = 0;
    std::uint64_t voluntary = 0, involuntary = 0;
    for (const Mix::Class &kind : mix.classes) {
        Fairness fairness;
        Histogram wake_up, response;
        Nanoseconds of_class = 0;
        for (const Worker &worker : workers)
            if (worker.kind == &kind) {
                fairness.add(worker.used, worker.waited);
                wake_up.merge(worker.wake_up);
                response.merge(worker.response);
                of_class += worker.used;
                voluntary += worker.voluntary;
                involuntary += worker.involuntary;
            }
        busy += of_class;
        classes.push_back(as_object(kind.name, fairness, of_class, wake_up, response));
    }
    return {{"policy", "kernel"},
            {"cpus", cpus},
            {"tasks", workers.size()},
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
        std::cout << answer(line).dump(-1, ' ', false, Value::error_handler_t::replace) << std::endl;
        return 0;
    } catch (const std::exception &error) {
        std::cout << Value{{"error", error.what()}}.dump(-1, ' ', false, Value::error_handler_t::replace) << std::endl;
        return 1;
    }
}
