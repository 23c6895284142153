// SPDX-License-Identifier: Apache-2.0
#include <coro/receiver.hpp>

#include <coro/pool.hpp>
#include <coro/sleep.hpp>
#include <coro/spawn.hpp>
#include <coro/when_all.hpp>

#include "ways.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <span>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <thread>
#include <unistd.h>
#include <vector>

using coro::io_interface;
using coro::lazy;
using namespace std::chrono_literals;

namespace
{

// What one end sends the other receives.
struct connection {
    int ends[2];

    connection()
    {
        CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    }
    connection(const connection &) = delete;
    connection &operator=(const connection &) = delete;
    ~connection()
    {
        ::close(ends[0]);
        ::close(ends[1]);
    }
    void send(std::string_view text) const
    {
        CHECK(::send(ends[1], text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
    }
};

// With memory that the kernel chooses, without, and without io_uring.
template <class Test> void with_each_way(unsigned buffers, std::size_t size, Test test)
{
    test::with_each({{.io = io_interface::io_uring, .receive_buffers = buffers, .receive_size = size},
                     {.io = io_interface::io_uring, .receive_buffers = 0, .receive_size = size},
                     {.io = io_interface::epoll, .receive_buffers = buffers, .receive_size = size}},
                    [buffers, &test, way = 0](coro::loop &loop) mutable { test(loop, way++ == 0 ? buffers : 0); });
}

// Whether the kernel chooses memory for what comes, where it has been given so many blocks.
bool chooses(const coro::loop &loop, unsigned buffers)
{
    utsname system{};
    ::uname(&system);
    return buffers > 0 && std::string_view(loop.io().interface) == "io_uring" && std::atoi(system.release) >= 6;
}

std::string text_of(std::span<const std::byte> bytes)
{
    return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

// All that comes until there are so many bytes, or the peer closes.
lazy<std::string> read_all(coro::receiver &from, std::size_t count)
{
    std::string all;
    while (all.size() < count) {
        const std::span bytes = co_await from.next();
        if (bytes.empty())
            break;
        all += text_of(bytes);
    }
    co_return all;
}

// Differs from place to place, and no block looks as the one before it.
std::string long_text(std::size_t size)
{
    std::string text(size, ' ');
    for (std::size_t i = 0; i < size; i++)
        text[i] = static_cast<char>('!' + (i + i / 89) % 89);
    return text;
}

} // namespace

TEST("each piece comes once and in order, then that the peer has closed, and the kernel is asked once where it can")
{
    with_each_way(16, 64, [](coro::loop &loop, unsigned buffers) {
        const connection peers;
        constexpr int count = 100;
        const auto reads = [&]() -> lazy<bool> {
            coro::receiver from(peers.ends[0]);
            bool right = true;
            for (int i = 0; i < count; i++) {
                peers.send(std::to_string(i));
                right = text_of(co_await from.next()) == std::to_string(i) && right;
            }
            ::shutdown(peers.ends[1], SHUT_WR);
            for (int i = 0; i < 2; i++)
                right = (co_await from.next()).empty() && right;
            co_return right;
        };
        const std::size_t before = loop.io().started;
        CHECK(loop.run(reads()));
        const std::size_t asked = loop.io().started - before;
        if (chooses(loop, buffers))
            CHECK(asked <= 4 && loop.io().provided == count); // the others: about the end
        else
            CHECK(asked == count + 2 && loop.io().provided == 0);
    });
}

TEST("much that comes is whole and in order, however few blocks of memory there are")
{
    with_each_way(2, 64, [](coro::loop &loop, unsigned) {
        const connection peers;
        const std::string sent = long_text(test::many(1 << 20, 1 << 16));
        std::thread writer([&] {
            for (std::size_t at = 0, size = 1; at < sent.size(); at += size, size = size % 4000 + 777)
                peers.send(std::string_view(sent).substr(at, size));
            ::shutdown(peers.ends[1], SHUT_WR);
        });
        const auto reads = [&]() -> lazy<std::string> {
            coro::receiver from(peers.ends[0]);
            co_return co_await read_all(from, SIZE_MAX);
        };
        const std::string got = loop.run(reads());
        writer.join();
        CHECK(got == sent);
    });
}

TEST("the end that comes right behind the last bytes is told")
{
    with_each_way(4, 64, [](coro::loop &loop, unsigned) {
        for (int round = 0; round < 100; round++) {
            const connection peers;
            std::thread writer;
            const auto reads = [&]() -> lazy<std::string> {
                coro::receiver from(peers.ends[0]);
                peers.send("first");
                std::string all = text_of(co_await from.next());
                writer = std::thread([&] {
                    peers.send("last");
                    ::shutdown(peers.ends[1], SHUT_WR);
                });
                co_return all + co_await read_all(from, SIZE_MAX);
            };
            const std::string got = loop.run(reads());
            writer.join();
            CHECK(got == "firstlast");
        }
    });
}

TEST("what nobody fetches keeps nobody else from what has come, and is there later")
{
    with_each_way(2, 16, [](coro::loop &loop, unsigned) {
        const connection slow, quick;
        const auto both = [&]() -> lazy<bool> {
            coro::receiver of_slow(slow.ends[0]), of_quick(quick.ends[0]);
            slow.send("x");
            bool right = text_of(co_await of_slow.next()) == "x";
            const std::string much = long_text(1000);
            slow.send(much);
            co_await coro::sleep(1ms); // it takes all blocks
            for (int i = 0; i < 20; i++) {
                quick.send("hello");
                right = text_of(co_await of_quick.next()) == "hello" && right;
            }
            const std::string rest = co_await read_all(of_slow, much.size());
            co_return right && rest == much;
        };
        CHECK(loop.run(both()));
    });
}

TEST("a peer that sends faster than its bytes are fetched is held back")
{
    with_each_way(256, 16, [](coro::loop &loop, unsigned buffers) {
        const connection peers;
        const auto reads = [&]() -> lazy<std::string> {
            coro::receiver from(peers.ends[0]);
            peers.send("x");
            co_await from.next();
            const std::size_t before = loop.io().provided;
            for (int i = 0; i < 100; i++) {
                peers.send("y");
                co_await coro::sleep(100us);
            }
            const std::size_t taken = loop.io().provided - before;
            CHECK(chooses(loop, buffers) ? taken >= 16 && taken < 50 : taken == 0);
            co_return co_await read_all(from, 100);
        };
        CHECK(loop.run(reads()) == std::string(100, 'y'));
    });
}

TEST("blocks that nobody fetched go back to the kernel with their receiver")
{
    with_each_way(4, 16, [](coro::loop &loop, unsigned buffers) {
        constexpr std::size_t rounds = 50;
        const auto reads = [&]() -> lazy<bool> {
            bool right = true;
            for (std::size_t i = 0; i < rounds; i++) {
                const connection peers;
                coro::receiver from(peers.ends[0]);
                peers.send("ab");
                right = text_of(co_await from.next()) == "ab" && right;
                peers.send("cd");
                co_await coro::sleep(100us);
            }
            co_return right;
        };
        CHECK(loop.run(reads()));
        loop.run(); // the cancelled operations end
        CHECK(loop.io().in_flight == 0);
        CHECK(!chooses(loop, buffers) || loop.io().provided >= rounds);
    });
}

TEST("stop ends the wait, and the next one gets what came meanwhile")
{
    with_each_way(4, 16, [](coro::loop &loop, unsigned) {
        const connection peers;
        const auto reads = [&]() -> lazy<std::string> {
            coro::receiver from(peers.ends[0]);
            std::stop_source source;
            const auto waits = [&]() -> lazy<bool> {
                try {
                    co_await coro::with_stop(source.get_token(), from.next());
                    co_return false;
                } catch (const coro::cancelled &) {
                    co_return true;
                }
            };
            const auto stops = [&]() -> lazy<bool> {
                co_await coro::yield();
                source.request_stop();
                co_return true;
            };
            const auto [stopped, asked] = co_await coro::when_all(waits(), stops());
            CHECK(stopped && asked);
            peers.send("later");
            co_await coro::sleep(1ms);
            co_return text_of(co_await from.next());
        };
        CHECK(loop.run(reads()) == "later");
    });
}

TEST("an error is thrown, and the next call asks again")
{
    with_each_way(4, 16, [](coro::loop &loop, unsigned) {
        const auto reads = []() -> lazy<int> {
            const int no_socket = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
            int errors = 0;
            {
                coro::receiver from(no_socket);
                for (int i = 0; i < 2; i++)
                    try {
                        co_await from.next();
                    } catch (const std::system_error &problem) {
                        errors += problem.code().value() == ENOTSOCK ? 1 : 0;
                    }
            }
            ::close(no_socket);
            co_return errors;
        };
        CHECK(loop.run(reads()) == 2);
    });
}

TEST("a receiver that is fetched from by other threads of a pool loses nothing")
{
    for (const unsigned buffers : {4u, 0u}) {
        coro::pool pool(2, {.receive_buffers = buffers, .receive_size = 64});
        std::vector<connection> peers(8);
        const std::string sent = long_text(test::many(100'000, 10'000));
        std::thread writer([&] {
            for (std::size_t at = 0; at < sent.size(); at += 100)
                for (const connection &each : peers)
                    each.send(std::string_view(sent).substr(at, 100));
        });
        const auto reads = [&](const connection &each) -> lazy<bool> {
            coro::receiver from(each.ends[0]);
            std::string all;
            while (all.size() < sent.size()) {
                all += text_of(co_await from.next());
                co_await coro::yield();
            }
            co_return all == sent;
        };
        std::vector<lazy<bool>> parts;
        for (const connection &each : peers)
            parts.push_back([](coro::pool &on, lazy<bool> part) -> lazy<bool> {
                co_return co_await coro::on(on, std::move(part));
            }(pool, reads(each)));
        const auto all = [](auto of) -> lazy<std::size_t> {
            std::size_t right = 0;
            for (const bool each : co_await coro::when_all(std::move(of)))
                right += each ? 1 : 0;
            co_return right;
        };
        CHECK(coro::sync_wait(all(std::move(parts)), &pool) == peers.size());
        writer.join();
    }
}
