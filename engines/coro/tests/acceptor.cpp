// SPDX-License-Identifier: Apache-2.0
#include <coro/acceptor.hpp>

#include <coro/pool.hpp>
#include <coro/spawn.hpp>
#include <coro/when_all.hpp>

#include "ways.hpp"

#include <array>
#include <fcntl.h>
#include <netinet/in.h>
#include <string_view>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

using coro::io_interface;
using coro::lazy;

namespace
{

// A listening socket of the loopback, and connections to it.
struct listening_socket {
    int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    sockaddr_in where{};

    listening_socket()
    {
        where.sin_family = AF_INET;
        where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof where;
        CHECK(::bind(fd, reinterpret_cast<sockaddr *>(&where), size) == 0 && ::listen(fd, 64) == 0);
        ::getsockname(fd, reinterpret_cast<sockaddr *>(&where), &size);
    }
    ~listening_socket()
    {
        ::close(fd);
    }
    // A connected socket that has sent this byte.
    [[nodiscard]] int connect(unsigned char byte) const
    {
        const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        CHECK(::connect(made, reinterpret_cast<const sockaddr *>(&where), sizeof where) == 0);
        CHECK(::send(made, &byte, 1, 0) == 1);
        return made;
    }
};

template <class Test> void with_each_interface(Test test)
{
    test::with_each({{.io = io_interface::io_uring}, {.io = io_interface::epoll}}, test);
}

unsigned char byte_of(int peer)
{
    unsigned char byte = 0;
    CHECK(::recv(peer, &byte, 1, MSG_WAITALL) == 1);
    ::close(peer);
    return byte;
}

} // namespace

TEST("each of many connections is accepted once, in its order, and the kernel is asked once where it can")
{
    with_each_interface([](coro::loop &loop) {
        const listening_socket listening;
        constexpr std::size_t count = 50;
        std::vector<int> clients;
        const auto server = [&]() -> lazy<bool> {
            coro::acceptor peers(listening.fd);
            bool right = true;
            for (unsigned char round = 0; round < count; round++) {
                if (round % 10 == 0)
                    for (unsigned char i = 0; i < 10; i++)
                        clients.push_back(listening.connect(static_cast<unsigned char>(round + i)));
                right = byte_of(co_await peers.next()) == round && right;
            }
            co_return right;
        };
        const std::size_t before = loop.io().started;
        CHECK(loop.run(server()));
        if (std::string_view(loop.io().interface) == "io_uring")
            CHECK(loop.io().started - before <= 2); // one more where the kernel has no multishot
        for (const int each : clients)
            ::close(each);
    });
}

TEST("a connection that nobody fetched is closed with the acceptor, also when the loop ends at once")
{
    with_each_interface([](coro::loop &loop) {
        const listening_socket listening;
        std::vector<int> clients;
        const auto server = [&]() -> lazy<> {
            coro::acceptor peers(listening.fd);
            for (unsigned char i = 0; i < 3; i++)
                clients.push_back(listening.connect(i));
            ::close(co_await peers.next());
        };
        loop.run(server());
        loop.run(); // the cancelled operation ends
        CHECK(loop.io().in_flight == 0);
        ::shutdown(listening.fd, SHUT_RDWR);
        for (const int each : clients) {
            char byte = 0;
            const ssize_t got = ::recv(each, &byte, 1, 0);
            CHECK(got == 0 || (got < 0 && errno == ECONNRESET));
            ::close(each);
        }
    });
    const listening_socket listening;
    coro::loop loop;
    CHECK(test::throws<coro::cancelled>([&] {
        std::stop_source source;
        source.request_stop();
        loop.run([](int fd) -> lazy<> {
            coro::acceptor peers(fd);
            co_await peers.next();
        }(listening.fd), source.get_token());
    }));
}

TEST("stop ends the wait, and the next one gets what came meanwhile")
{
    with_each_interface([](coro::loop &loop) {
        const listening_socket listening;
        const auto server = [&]() -> lazy<int> {
            coro::acceptor peers(listening.fd);
            std::stop_source source;
            const auto waits = [&]() -> lazy<bool> {
                try {
                    ::close(co_await coro::with_stop(source.get_token(), peers.next()));
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
            const int client = listening.connect(7);
            const int got = byte_of(co_await peers.next());
            ::close(client);
            co_return got;
        };
        CHECK(loop.run(server()) == 7);
    });
}

TEST("of several that wait at once each gets a connection, or the error")
{
    with_each_interface([](coro::loop &loop) {
        const listening_socket listening;
        const int no_socket = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
        std::vector<int> clients;
        const auto next_byte = [](coro::acceptor &of) -> lazy<int> {
            try {
                co_return byte_of(co_await of.next());
            } catch (const std::system_error &problem) {
                co_return -problem.code().value();
            }
        };
        const auto connects = [&]() -> lazy<int> {
            co_await coro::yield();
            for (unsigned char i = 1; i <= 3; i++)
                clients.push_back(listening.connect(i));
            co_return 0;
        };
        const auto server = [&]() -> lazy<bool> {
            coro::acceptor peers(listening.fd), none(no_socket);
            const auto [a, b, c, d] =
                co_await coro::when_all(next_byte(peers), next_byte(peers), next_byte(peers), connects());
            const auto [e, f] = co_await coro::when_all(next_byte(none), next_byte(none));
            co_return a == 1 && b == 2 && c == 3 && d == 0 && e == -ENOTSOCK && f == -ENOTSOCK;
        };
        CHECK(loop.run(server()));
        ::close(no_socket);
        for (const int each : clients)
            ::close(each);
    });
}

TEST("an error is thrown, and the next call asks again")
{
    with_each_interface([](coro::loop &loop) {
        const auto server = []() -> lazy<int> {
            const int no_socket = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
            coro::acceptor peers(no_socket);
            int errors = 0;
            for (int i = 0; i < 2; i++)
                try {
                    co_await peers.next();
                } catch (const std::system_error &problem) {
                    errors += problem.code().value() == ENOTSOCK ? 1 : 0;
                }
            ::close(no_socket);
            co_return errors;
        };
        CHECK(loop.run(server()) == 2);
    });
}

TEST("the workers of a pool share an acceptor")
{
    const listening_socket listening;
    constexpr int count = 40;
    coro::pool pool(2);
    std::thread client([&] {
        std::vector<int> clients;
        for (unsigned char i = 0; i < count; i++)
            clients.push_back(listening.connect(i));
        for (const int each : clients) {
            char byte = 0;
            CHECK(::recv(each, &byte, 1, 0) == 0);
            ::close(each);
        }
    });
    const auto all = [&]() -> lazy<int> {
        coro::acceptor peers(listening.fd);
        const auto some = [&]() -> lazy<int> {
            int sum = 0;
            for (int i = 0; i < count / 4; i++)
                sum += byte_of(co_await peers.next());
            co_return sum;
        };
        std::vector<lazy<int>> parts;
        for (int i = 0; i < 4; i++)
            parts.push_back([](coro::pool &on, lazy<int> part) -> lazy<int> {
                co_return co_await coro::on(on, std::move(part));
            }(pool, some()));
        int sum = 0;
        for (const int each : co_await coro::when_all(std::move(parts)))
            sum += each;
        co_return sum;
    };
    CHECK(coro::sync_wait(all(), &pool) == count * (count - 1) / 2);
    client.join();
}
