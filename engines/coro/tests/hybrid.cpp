// SPDX-License-Identifier: Apache-2.0
// Fibers that await lazies, lazies that await fibers, and both at once.
#include <coro/fiber.hpp>

#include <coro/io.hpp>
#include <coro/loop.hpp>
#include <coro/pool.hpp>
#include <coro/sleep.hpp>
#include <coro/when_all.hpp>

#include "test.hpp"

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <vector>

using coro::basic_fiber;
using coro::fiber;
using coro::lazy;
using namespace std::chrono_literals;

template <class Read> static std::string deep(int levels, Read &read)
{
    volatile int here = levels; // a frame of its own
    if (levels == 0)
        return fiber::await(read());
    std::string text = deep(levels - 1, read);
    return here == levels ? text : std::string();
}

// A deep call chain on a stack begins I/O as a lazy; the thread must be free while the kernel works.
TEST("the seven steps of a hybrid coroutine happen in their order")
{
    std::vector<std::string> steps;
    int ends[2];
    CHECK(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    std::string received;

    const auto read_message = [&]() -> lazy<std::string> {
        steps.emplace_back("2 the fiber invokes the lazy");
        std::array<std::byte, 16> bytes{};
        auto reading = coro::receive(ends[0], bytes);
        steps.emplace_back("3 the lazy submits I/O");
        const int got = co_await reading;
        steps.emplace_back("6 the I/O has completed and resumes the lazy");
        co_return std::string(reinterpret_cast<const char *>(bytes.data()), static_cast<std::size_t>(got));
    };
    coro::loop loop;
    fiber::spawn(loop, [&] {
        steps.emplace_back("1 the fiber is invoked");
        received = deep(100, read_message);
        steps.emplace_back("7 the fiber is switched in again");
    }).detach();
    coro::spawn(loop, [](auto &log, int other_end) -> lazy<> {
        // Runs on the same thread, so both the lazy and the fiber below it have left it.
        log.emplace_back("4 and 5 the lazy is suspended, the fiber is switched out");
        CHECK(::send(other_end, "message", 7, 0) == 7);
        co_return;
    }(steps, ends[1]));
    loop.run();
    ::close(ends[0]);
    ::close(ends[1]);

    CHECK(received == "message" && loop.io().completed == 1);
    const std::vector<std::string> expected{
        "1 the fiber is invoked",
        "2 the fiber invokes the lazy",
        "3 the lazy submits I/O",
        "4 and 5 the lazy is suspended, the fiber is switched out",
        "6 the I/O has completed and resumes the lazy",
        "7 the fiber is switched in again",
    };
    CHECK(steps == expected);
}

TEST("a lazy runs on the thread's stack, not on that of the fiber that awaits it")
{
    coro::loop loop;
    const auto stack_address = []() -> lazy<std::uintptr_t> {
        co_return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    };
    std::uintptr_t inside = 0, of_lazy = 0;
    fiber::spawn(loop, [&] {
        inside = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
        of_lazy = fiber::await(stack_address());
    }).detach();
    loop.run();
    const auto outside = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    const auto distance = [](std::uintptr_t a, std::uintptr_t b) { return a > b ? a - b : b - a; };
    CHECK(distance(of_lazy, outside) < std::size_t(1) << 16 && distance(of_lazy, inside) > std::size_t(1) << 16);
}

// fiber -> lazy -> fiber -> lazy …, with a wait at the bottom.
static int alternate(coro::executor &on, int levels);

static lazy<int> alternate_lazily(coro::executor &on, int levels)
{
    if (levels == 0) {
        co_await coro::sleep(1ms);
        co_return 0;
    }
    co_return 1 + co_await fiber::async(on, [&on, levels] { return alternate(on, levels - 1); });
}

static int alternate(coro::executor &on, int levels)
{
    return levels == 0 ? 0 : 1 + fiber::await(alternate_lazily(on, levels - 1));
}

TEST("fibers and lazies alternate, on a loop and on a pool")
{
    coro::loop loop;
    CHECK(loop.run(alternate_lazily(loop, 51)) == 51);
    CHECK(loop.run(alternate_lazily(loop, 50)) == 50);
    coro::pool pool(2);
    CHECK(coro::sync_wait(alternate_lazily(pool, 51), &pool) == 51);
}

TEST("an exception passes from a lazy through a fiber to a lazy")
{
    coro::loop loop;
    const auto bottom = []() -> lazy<int> {
        co_await coro::yield();
        throw std::runtime_error("bottom");
    };
    const auto top = [&]() -> lazy<int> {
        co_return co_await fiber::async(loop, [&] { return fiber::await(bottom()); });
    };
    CHECK(test::throws<std::runtime_error>([&] { loop.run(top()); }));
}

TEST("a fiber fans out lazies and waits for all")
{
    coro::pool pool(2);
    const auto part = [](int value) -> lazy<int> {
        co_await coro::sleep(std::chrono::microseconds(value));
        co_return value;
    };
    auto sum = fiber::async(pool, [&] {
        std::vector<lazy<int>> all;
        for (int i = 0; i < 100; i++)
            all.push_back(part(i));
        int total = 0;
        for (const int each : fiber::await(coro::when_all(std::move(all))))
            total += each;
        return total;
    });
    CHECK(sum.join() == 4950);
}

TEST("frames and stacks that a fiber takes on one thread may be given back on another")
{
    coro::pool pool(2);
    const auto moves = [](int value) -> lazy<int> {
        co_await coro::yield();
        co_return value;
    };
    std::vector<basic_fiber<int>> all;
    for (int i = 0; i < 8; i++)
        all.push_back(fiber::async(pool, [&] {
            int sum = 0;
            for (int k = 0; k < 300; k++) {
                sum += fiber::await(moves(1));
                sum += fiber::async(pool, [&] { return fiber::await(moves(1)); }).join();
            }
            return sum;
        }));
    for (auto &each : all)
        CHECK(each.join() == 600);
}
