// SPDX-License-Identifier: Apache-2.0
#include "schedsim/loads.hpp"

namespace schedsim
{

// Tasks are numbered: servers, then jobs, then sleepers.

WebSite::Settings WebSite::fitted()
{
    Settings settings;
    settings.between_requests = 5'800 * microsecond;
    settings.between_bursts = 275 * millisecond;
    settings.least_burst = 6;
    settings.burst_requests = 7;
    settings.request_run = 210 * microsecond;
    settings.job_run = 540 * millisecond;
    settings.job_pause = 1'440 * millisecond;
    settings.sleeper_pause = 60 * second;
    return settings;
}

WebSite::WebSite(const Settings &settings) : settings_(settings), random_(settings.seed)
{
}

void WebSite::begin(Simulation &simulation)
{
    const std::uint32_t counts[] = {settings_.servers, settings_.jobs, settings_.sleepers};
    for (ClassId of = 0; of < 3; of++)
        for (std::uint32_t i = 0; i < counts[of]; i++)
            simulation.create(0, of);
    for (TaskId server = settings_.servers; server-- > 0;)
        idle_.push_back(server);
    serving_.resize(settings_.servers);
    came_.resize(settings_.servers);
    for (TaskId other = settings_.servers; other < simulation.tasks(); other++) {
        const bool job = other < settings_.servers + settings_.jobs;
        const Nanoseconds pause = job ? settings_.job_pause : settings_.sleeper_pause;
        simulation.call_at(random_.exponential(pause), first_wake + other);
    }
    simulation.call_at(random_.exponential(settings_.between_requests), request);
    simulation.call_at(random_.exponential(settings_.between_bursts), burst);
}

// A server is woken for the request, or the request waits.
void WebSite::take(Simulation &simulation, Nanoseconds came)
{
    if (idle_.empty()) {
        backlog_.push_back(came);
        return;
    }
    const TaskId server = idle_.back();
    idle_.pop_back();
    came_[server] = came;
    simulation.wake(server);
}

void WebSite::left(TaskId task, Simulation &simulation)
{
    if (task >= settings_.servers || serving_[task] != Serving::nothing)
        return;
    idle_.push_back(task);
    if (!backlog_.empty()) { // it came after the server had looked, and before it slept
        const Nanoseconds came = backlog_.front();
        backlog_.pop_front();
        take(simulation, came);
    }
}

void WebSite::called(std::uint32_t token, Simulation &simulation)
{
    const Nanoseconds now = simulation.now();
    if (token == request) {
        requests_++;
        take(simulation, now);
        simulation.call_at(now + random_.exponential(settings_.between_requests), request);
    } else if (token >= first_wake) {
        simulation.wake(token - first_wake);
    } else {
        for (std::uint32_t left = settings_.least_burst + random_.poisson(settings_.burst_requests); left > 0; left--) {
            requests_++;
            take(simulation, now);
        }
        // Half of the time between two is fixed: lines of 1.5 Mbit/s do not deliver a burst upon a burst.
        const Nanoseconds half = settings_.between_bursts / 2;
        simulation.call_at(now + half + random_.exponential(half), burst);
    }
}

Step WebSite::next(TaskId task, Simulation &simulation)
{
    if (task >= settings_.servers + settings_.jobs)
        return {100 * microsecond, Step::Then::sleep, random_.exponential(settings_.sleeper_pause)};
    if (task >= settings_.servers)
        return {random_.exponential(settings_.job_run), Step::Then::sleep, random_.exponential(settings_.job_pause)};
    // A server runs with a request in hand; when it is done with it, it takes the next one or waits.
    if (serving_[task] == Serving::a_request) {
        simulation.note_response(task, simulation.now() - came_[task]);
        serving_[task] = Serving::nothing;
        if (backlog_.empty())
            return {0, Step::Then::wait, 0};
        came_[task] = backlog_.front();
        backlog_.pop_front();
    }
    serving_[task] = Serving::a_request;
    return {random_.exponential(settings_.request_run), Step::Then::more, 0};
}

bool WebSite::over(const Simulation &) const
{
    return false;
}

} // namespace schedsim
