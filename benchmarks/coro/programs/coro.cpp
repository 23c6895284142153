// SPDX-License-Identifier: Apache-2.0
#include "programs.hpp"

#include <coro/acceptor.hpp>
#include <coro/channel.hpp>
#include <coro/io.hpp>
#include <coro/latch.hpp>
#include <coro/loop.hpp>
#include <coro/parallel.hpp>
#include <coro/spawn.hpp>

#include <arpa/inet.h>
#include <array>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <thread>

using coro::lazy;
using programs::timed;

static lazy<std::uint64_t> fib(std::uint64_t n)
{
    if (n < 2)
        co_return n;
    const auto [a, b] = co_await coro::parallel(fib(n - 1), fib(n - 2));
    co_return a + b;
}

static lazy<std::uint64_t> skynet(std::uint64_t number, std::uint64_t size)
{
    if (size == 1)
        co_return number;
    std::vector<lazy<std::uint64_t>> children;
    children.reserve(10);
    for (std::uint64_t i = 0; i < 10; i++)
        children.push_back(skynet(number + i * (size / 10), size / 10));
    std::uint64_t sum = 0;
    for (const std::uint64_t each : co_await coro::parallel(std::move(children)))
        sum += each;
    co_return sum;
}

static lazy<std::uint64_t> queens(programs::board placed, int row, int n)
{
    if (row == n)
        co_return 1;
    std::vector<lazy<std::uint64_t>> children;
    children.reserve(static_cast<std::size_t>(n));
    for (int column = 0; column < n; column++)
        if (placed.fits(row, column))
            children.push_back(queens(placed.with(row, column), row + 1, n));
    std::uint64_t sum = 0;
    for (const std::uint64_t each : co_await coro::parallel(std::move(children)))
        sum += each;
    co_return sum;
}

static lazy<> multiply(programs::matrices &of, std::size_t i, std::size_t j, std::size_t k, std::size_t size)
{
    if (size <= programs::matmul_leaf) {
        of.multiply(i, j, k, size);
        co_return;
    }
    const std::size_t half = size / 2;
    for (const std::size_t part : {k, k + half})
        co_await coro::parallel(multiply(of, i, j, part, half), multiply(of, i, j + half, part, half),
                                multiply(of, i + half, j, part, half), multiply(of, i + half, j + half, part, half));
}

static lazy<> produce(coro::channel<std::uint64_t> &to, std::uint64_t first, std::uint64_t count, coro::latch &done)
{
    for (std::uint64_t i = 0; i < count; i++)
        co_await to.push(first + i);
    done.count_down();
}

static lazy<> consume(coro::channel<std::uint64_t> &from, std::uint64_t &sum, coro::latch &done)
{
    while (const auto value = co_await from.pop())
        sum += *value;
    done.count_down();
}

static void channel(unsigned threads, std::uint64_t size, const timed &time)
{
    coro::pool pool(threads);
    const std::size_t pairs = std::max(1u, threads / 2);
    time([&] {
        coro::channel<std::uint64_t> between(programs::capacity);
        coro::latch produced(pairs), consumed(pairs);
        std::vector<std::uint64_t> sums(pairs);
        const std::uint64_t each = size / pairs;
        for (std::size_t i = 0; i < pairs; i++) {
            coro::spawn(pool, produce(between, i * each, each, produced));
            coro::spawn(pool, consume(between, sums[i], consumed));
        }
        coro::sync_wait([](auto &in, auto &out, auto &of) -> lazy<> {
            co_await in.wait();
            of.close();
            co_await out.wait();
        }(produced, consumed, between));
        std::uint64_t sum = 0;
        for (const std::uint64_t one : sums)
            sum += one;
        return sum;
    });
}

static lazy<bool> transfer_all(int socket, std::span<std::byte> bytes)
{
    while (!bytes.empty()) {
        const int got = co_await coro::receive(socket, bytes);
        if (got == 0)
            co_return false;
        bytes = bytes.subspan(static_cast<std::size_t>(got));
    }
    co_return true;
}

static lazy<> answer(int socket)
{
    std::array<std::byte, programs::message_size> message;
    while (co_await transfer_all(socket, message))
        co_await coro::send(socket, message);
    ::close(socket);
}

static lazy<> serve(coro::loop &on, int listening, std::size_t connections)
{
    coro::acceptor peers(listening);
    for (std::size_t i = 0; i < connections; i++) {
        const int socket = co_await peers.next();
        const int one = 1;
        ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        coro::spawn(on, answer(socket));
    }
}

static lazy<> ask(sockaddr_in where, std::uint64_t times, std::uint64_t &right)
{
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int one = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    co_await coro::connect(socket, reinterpret_cast<sockaddr *>(&where), sizeof where);
    std::array<std::byte, programs::message_size> message{}, answered;
    for (std::uint64_t i = 0; i < times; i++) {
        std::memcpy(message.data(), &i, sizeof i);
        co_await coro::send(socket, message);
        if (co_await transfer_all(socket, answered) && message == answered)
            right++;
    }
    ::close(socket);
}

// About what it takes to wake a thread on another CPU of a virtual machine.
static constexpr coro::reactor_options spinning{.spin = std::chrono::microseconds(50)};

// `size` round trips in all; a server and a client with a thread each.
static void io_socket(unsigned connections, std::uint64_t size, const timed &time)
{
    time([&] {
        const int listening = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in where{};
        where.sin_family = AF_INET;
        where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t length = sizeof where;
        if (::bind(listening, reinterpret_cast<sockaddr *>(&where), length) != 0 || ::listen(listening, SOMAXCONN) != 0)
            std::abort();
        ::getsockname(listening, reinterpret_cast<sockaddr *>(&where), &length);
        std::thread server([&] {
            coro::loop loop(spinning);
            coro::spawn(loop, serve(loop, listening, connections));
            loop.run();
        });
        std::uint64_t right = 0;
        coro::loop loop(spinning);
        for (unsigned i = 0; i < connections; i++)
            coro::spawn(loop, ask(where, size / connections, right));
        loop.run();
        server.join();
        ::close(listening);
        return right;
    });
}

struct workers {
    coro::pool pool;
    explicit workers(unsigned threads) : pool(threads)
    {
    }

    template <class Make> auto enter(Make make)
    {
        return coro::sync_wait(make(), &pool);
    }
    static constexpr auto fib = ::fib;
    static constexpr auto skynet = ::skynet;
    static constexpr auto queens = ::queens;
    static constexpr auto multiply = ::multiply;
};

int main(int count, char **arguments)
{
    static constexpr std::array others{programs::program{"channel", channel}, programs::program{"io_socket", io_socket}};
    return programs::main({programs::fork_join<workers>, others}, count, arguments);
}
