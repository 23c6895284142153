// SPDX-License-Identifier: Apache-2.0
#include <coro/io.hpp>

#include <coro/loop.hpp>
#include <coro/pool.hpp>
#include <coro/spawn.hpp>
#include <coro/when_all.hpp>

#include "test.hpp"

#include <array>
#include <cstdlib>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <thread>
#include <vector>

using coro::io_interface;
using coro::lazy;
using namespace std::chrono_literals;

namespace
{

// A file that is gone with the object. Byte i is i % 251.
struct scratch_file {
    int fd;
    explicit scratch_file(std::size_t size)
    {
        char name[] = "/tmp/coro-test-XXXXXX";
        fd = ::mkstemp(name);
        ::unlink(name);
        std::vector<unsigned char> content(size);
        for (std::size_t i = 0; i < size; i++)
            content[i] = static_cast<unsigned char>(i % 251);
        CHECK(::write(fd, content.data(), size) == static_cast<ssize_t>(size));
    }
    ~scratch_file()
    {
        ::close(fd);
    }
};

// Calls test(loop) for each interface that this kernel allows.
template <class Test> void with_each_interface(unsigned depth, Test test)
{
    int tried = 0;
    for (const io_interface io : {io_interface::io_uring, io_interface::libaio}) {
        coro::loop loop({depth, io});
        scratch_file probe(1);
        std::array<std::byte, 1> byte{};
        try {
            loop.run([](int fd, std::span<std::byte> into) -> lazy<int> {
                co_return co_await coro::read_at(fd, into, 0);
            }(probe.fd, byte));
        } catch (const std::system_error &refused) {
            std::printf("    skipped: %s\n", refused.what());
            continue;
        }
        tried++;
        test(loop);
    }
    CHECK(tried > 0 || test::emulated());
}

lazy<std::size_t> sum_block(int fd, std::int64_t block)
{
    std::array<std::byte, 512> bytes{};
    const int got = co_await coro::read_at(fd, bytes, block * 512);
    std::size_t sum = 0;
    for (int i = 0; i < got; i++)
        sum += static_cast<std::size_t>(bytes[static_cast<std::size_t>(i)]);
    co_return sum;
}

} // namespace

TEST("a thousand reads through a queue of four are all done, and what must wait is counted")
{
    with_each_interface(4, [](coro::loop &loop) {
        const scratch_file file(512 * 1000);
        std::vector<lazy<std::size_t>> reads;
        for (int block = 0; block < 1000; block++)
            reads.push_back(sum_block(file.fd, block));
        const auto sums = loop.run([](auto all) -> lazy<std::vector<std::size_t>> {
            co_return co_await coro::when_all(std::move(all));
        }(std::move(reads)));
        std::size_t total = 0, expected = 0;
        for (const std::size_t sum : sums)
            total += sum;
        for (std::size_t i = 0; i < 512 * 1000; i++)
            expected += i % 251;
        CHECK(total == expected);
        const coro::io_statistics seen = loop.io();
        CHECK(seen.completed == 1001 && seen.started == 1001 && seen.in_flight == 0);
        CHECK(seen.deferred >= 996 && seen.most_in_flight == 4);
    });
}

TEST("bytes written at an offset are read back, and the end of the file is 0")
{
    with_each_interface(8, [](coro::loop &loop) {
        const scratch_file file(0);
        const auto body = [&]() -> lazy<bool> {
            const std::array<std::byte, 4> out{std::byte(1), std::byte(2), std::byte(3), std::byte(4)};
            std::array<std::byte, 4> in{};
            const int written = co_await coro::write_at(file.fd, out, 100);
            const int got = co_await coro::read_at(file.fd, in, 100);
            const int end = co_await coro::read_at(file.fd, in, 104);
            co_return written == 4 && got == 4 && end == 0 && in == out;
        };
        CHECK(loop.run(body()));
    });
}

TEST("an error of the kernel is a system_error with its number")
{
    with_each_interface(8, [](coro::loop &loop) {
        const auto body = []() -> lazy<int> {
            std::array<std::byte, 4> in{};
            try {
                co_await coro::read_at(-1, in, 0);
            } catch (const std::system_error &problem) {
                co_return problem.code().value();
            }
            co_return 0;
        };
        CHECK(loop.run(body()) == EBADF);
    });
}

TEST("a connection is accepted, and what is sent is received")
{
    with_each_interface(8, [](coro::loop &loop) {
        const int listening = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        CHECK(::bind(listening, reinterpret_cast<sockaddr *>(&address), size) == 0 && ::listen(listening, 8) == 0);
        ::getsockname(listening, reinterpret_cast<sockaddr *>(&address), &size);
        const auto server = [&]() -> lazy<int> {
            const int peer = co_await coro::accept(listening);
            std::array<std::byte, 64> bytes{};
            int total = 0;
            while (const int got = co_await coro::receive(peer, bytes))
                total += co_await coro::send(peer, std::span(bytes).first(static_cast<std::size_t>(got)));
            ::close(peer);
            co_return total;
        };
        std::thread client([&] {
            const int peer = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
            CHECK(::connect(peer, reinterpret_cast<const sockaddr *>(&address), sizeof address) == 0);
            char back[5] = {};
            CHECK(::send(peer, "hello", 5, 0) == 5 && ::recv(peer, back, 5, MSG_WAITALL) == 5);
            ::close(peer);
        });
        const int echoed = loop.run(server());
        client.join();
        ::close(listening);
        CHECK(echoed == 5);
    });
}

TEST("stop ends an operation that would wait for ever, from this thread and another one")
{
    with_each_interface(8, [](coro::loop &loop) {
        int ends[2];
        CHECK(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
        const auto reader = [&]() -> lazy<> {
            std::array<std::byte, 4> in{};
            co_await coro::receive(ends[0], in);
        };
        for (int round = 0; round < 20; round++) {
            std::stop_source source;
            std::thread stopper([&] {
                std::this_thread::sleep_for(std::chrono::microseconds(round * 50));
                source.request_stop();
            });
            CHECK(test::throws<coro::cancelled>([&] { loop.run(reader(), source.get_token()); }));
            stopper.join();
        }
        std::stop_source source;
        coro::spawn(loop, [](std::stop_source &of) -> lazy<> {
            co_await coro::yield();
            of.request_stop();
        }(source));
        CHECK(test::throws<coro::cancelled>([&] { loop.run(reader(), source.get_token()); }));
        CHECK(loop.io().in_flight == 0);
        ::close(ends[0]);
        ::close(ends[1]);
    });
}

TEST("stop ends an operation that has not even reached the kernel")
{
    with_each_interface(1, [](coro::loop &loop) {
        int ends[2];
        CHECK(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
        const auto reader = [&]() -> lazy<int> {
            std::array<std::byte, 4> in{};
            co_return co_await coro::receive(ends[0], in);
        };
        std::stop_source source;
        const auto all = [&]() -> lazy<int> {
            const auto writer = [&]() -> lazy<int> {
                co_await coro::yield();
                source.request_stop();
                co_return static_cast<int>(::send(ends[1], "x", 1, 0));
            };
            const auto stopped = [&]() -> lazy<int> {
                try {
                    co_return co_await coro::with_stop(source.get_token(), reader());
                } catch (const coro::cancelled &) {
                    co_return -1;
                }
            };
            auto [first, second, wrote] = co_await coro::when_all(reader(), stopped(), writer());
            co_return first == 1 && second == -1 && wrote == 1 ? 1 : 0;
        };
        CHECK(loop.run(all()) == 1);
        ::close(ends[0]);
        ::close(ends[1]);
    });
}

TEST("the workers of a pool read each for itself")
{
    coro::pool pool(2);
    const scratch_file file(512 * 100);
    std::vector<lazy<std::size_t>> reads;
    for (int block = 0; block < 100; block++)
        reads.push_back([](coro::pool &there, int fd, int which) -> lazy<std::size_t> {
            co_return co_await coro::on(there, sum_block(fd, which));
        }(pool, file.fd, block));
    std::size_t total = 0, expected = 0;
    for (const std::size_t sum : coro::sync_wait(
             [](auto all) -> lazy<std::vector<std::size_t>> {
                 co_return co_await coro::when_all(std::move(all));
             }(std::move(reads)),
             &pool))
        total += sum;
    for (std::size_t i = 0; i < 512 * 100; i++)
        expected += i % 251;
    CHECK(total == expected);
}
