// SPDX-License-Identifier: Apache-2.0
// coro_cancel [seconds=N] [threads=N] [seed=N]: trees of tasks on a pool that wait for everything there is, and are
// stopped at random moments. Prints how many; exit code 1 when one did not end, or a frame is left.
#include <coro/channel.hpp>
#include <coro/fiber.hpp>
#include <coro/io.hpp>
#include <coro/latch.hpp>
#include <coro/loop.hpp>
#include <coro/mutex.hpp>
#include <coro/parallel.hpp>
#include <coro/pool.hpp>
#include <coro/receiver.hpp>
#include <coro/semaphore.hpp>
#include <coro/sleep.hpp>
#include <coro/spawn.hpp>
#include <coro/when_all.hpp>
#include <coro/when_any.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <span>
#include <string_view>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

using coro::cancelled;
using namespace std::chrono_literals;

namespace
{

std::atomic<std::int64_t> frames{0};

struct counted_frames {
    static void *allocate(std::size_t size)
    {
        frames.fetch_add(1, std::memory_order_relaxed);
        return coro::pooled_frames::allocate(size);
    }
    static void release(void *frame, std::size_t size) noexcept
    {
        frames.fetch_sub(1, std::memory_order_relaxed);
        coro::pooled_frames::release(frame, size);
    }
};

using task = coro::lazy<void, counted_frames>;
using random_numbers = std::minstd_rand;

[[noreturn]] void broken(const char *what)
{
    std::fprintf(stderr, "coro_cancel: %s\n", what);
    std::_Exit(1);
}

// Two sockets: what one sends the other receives.
struct connection {
    std::array<int, 2> ends;
    connection()
    {
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
            broken("there is no room for a connection");
    }
    connection(const connection &) = delete;
    connection &operator=(const connection &) = delete;
    ~connection()
    {
        for (const int end : ends)
            ::close(end);
    }
};

struct ground {
    explicit ground(std::size_t threads) : pool(threads)
    {
    }
    connection peers; // of all
    coro::pool pool, other{1};
    coro::mutex mutex;
    coro::semaphore semaphore{3}, connections{64};
    coro::channel<int> channel{4};
    std::size_t inside = 0; // of the mutex
    std::atomic<std::uint64_t> started{0}, ended{0}, stopped{0};
};

struct presence {
    ground &on;
    explicit presence(ground &where) : on(where)
    {
        on.started.fetch_add(1, std::memory_order_relaxed);
    }
    ~presence()
    {
        on.ended.fetch_add(1, std::memory_order_relaxed);
    }
};

std::chrono::microseconds short_time(random_numbers &random)
{
    return std::chrono::microseconds(random() % 300);
}

task pause(std::chrono::microseconds time)
{
    co_await coro::sleep(time);
}

task act(ground &on, random_numbers::result_type seed, int depth);

task hold_mutex(ground &on)
{
    const auto hold = co_await on.mutex.lock();
    if (++on.inside != 1)
        broken("two are inside a mutex");
    co_await coro::yield();
    on.inside--;
}

// Given back however its holder ends.
struct permit {
    coro::semaphore &of;
    ~permit()
    {
        of.release();
    }
};

task hold_permit(ground &on)
{
    co_await on.semaphore.acquire();
    const permit back{on.semaphore};
    co_await coro::yield();
}

task pass_byte(ground &on, bool sends)
{
    std::array<std::byte, 1> byte{};
    if (sends)
        co_await coro::send(on.peers.ends[0], byte);
    else
        co_await coro::receive(on.peers.ends[1], byte);
}

// The last time it waits for what does not come.
task receive_all(ground &on, std::size_t times, bool waits)
{
    if (!on.connections.try_acquire())
        co_return;
    const permit back{on.connections};
    const connection own;
    coro::receiver from(own.ends[0]);
    for (std::size_t i = 0; i < times; i++) {
        const bool sent = ::send(own.ends[1], "x", 1, MSG_NOSIGNAL) == 1;
        const std::span bytes = co_await from.next();
        if (!sent || bytes.size() != 1)
            broken("a byte was lost, or received twice");
    }
    if (waits)
        co_await from.next();
}

task one_step(ground &on, random_numbers &random, int depth)
{
    switch (random() % (depth > 0 ? 14 : 10)) {
    case 0: co_await coro::yield(); break;
    case 1: co_await coro::sleep(short_time(random)); break;
    case 2: co_await hold_mutex(on); break;
    case 3: co_await hold_permit(on); break;
    case 4: co_await on.channel.push(1); break;
    case 5: co_await on.channel.pop(); break;
    case 6: co_await coro::on(on.other, pause(short_time(random))); break;
    case 7:
    case 8: co_await pass_byte(on, random() % 2 == 0); break;
    case 9: co_await receive_all(on, random() % 3, random() % 2 == 0); break;
    case 10: {
        std::vector<task> parts;
        for (std::size_t i = random() % 6; i > 0; i--)
            parts.push_back(act(on, random(), depth - 1));
        co_await coro::parallel(std::move(parts));
        break;
    }
    case 11: co_await coro::parallel(act(on, random(), depth - 1), act(on, random(), depth - 1)); break;
    case 12: co_await coro::when_all(act(on, random(), depth - 1), act(on, random(), depth - 1)); break;
    default: co_await coro::when_any(act(on, random(), depth - 1), pause(short_time(random))); break;
    }
}

task act(ground &on, random_numbers::result_type seed, int depth)
{
    const presence here(on);
    random_numbers random(seed);
    for (std::size_t i = random() % 5; i > 0; i--)
        co_await one_step(on, random, depth);
}

coro::lazy<> root(ground &on, random_numbers::result_type seed, coro::latch &end)
{
    try {
        co_await act(on, seed, 4);
    } catch (const cancelled &) {
        on.stopped.fetch_add(1, std::memory_order_relaxed);
    }
    end.count_down();
}

// A round: several roots, each stopped from this thread after a random time.
void round(ground &on, random_numbers &random)
{
    constexpr std::size_t roots = 16;
    auto end = std::make_unique<coro::latch>(roots);
    std::vector<std::stop_source> stops(roots);
    for (std::stop_source &stop : stops)
        coro::spawn(on.pool, root(on, random(), *end), stop.get_token());
    for (std::stop_source &stop : stops) {
        if (random() % 4 == 0)
            std::this_thread::sleep_for(short_time(random));
        stop.request_stop();
    }
    const auto patience = std::chrono::steady_clock::now() + 60s;
    while (!end->done()) {
        if (std::chrono::steady_clock::now() > patience)
            broken("a task did not end within a minute after it was stopped");
        std::this_thread::sleep_for(10us);
    }
}

std::size_t parameter(int count, char **arguments, std::string_view name, std::size_t otherwise)
{
    for (int i = 1; i < count; i++) {
        const std::string_view argument(arguments[i]);
        if (argument.starts_with(name) && argument.substr(name.size()).starts_with('='))
            return std::strtoull(arguments[i] + name.size() + 1, nullptr, 10);
    }
    return otherwise;
}

} // namespace

int main(int count, char **arguments)
{
    const std::chrono::seconds time(parameter(count, arguments, "seconds", 2));
    std::uint64_t rounds = 0, tasks = 0, stopped = 0, stolen = 0;
    random_numbers random(static_cast<random_numbers::result_type>(parameter(count, arguments, "seed", 1)));
    for (const auto until = std::chrono::steady_clock::now() + time; std::chrono::steady_clock::now() < until;) {
        // A pool that begins and ends is part of what can go wrong.
        auto on = std::make_unique<ground>(parameter(count, arguments, "threads", 2));
        for (int i = 0; i < 200 && std::chrono::steady_clock::now() < until; i++, rounds++)
            round(*on, random);
        stolen += on->pool.statistics().stolen;
        ground &left = *on;
        const std::uint64_t began = left.started, over = left.ended;
        tasks += began;
        stopped += left.stopped;
        on.reset(); // joins its threads: what they still destroyed is gone
        if (began != over || frames.load() != 0)
            broken("a task or a frame is left");
    }
    std::printf("%llu rounds, %llu tasks, %llu roots stopped, %llu stolen; none lost\n",
                static_cast<unsigned long long>(rounds), static_cast<unsigned long long>(tasks),
                static_cast<unsigned long long>(stopped), static_cast<unsigned long long>(stolen));
    return stolen == 0;
}
