// SPDX-License-Identifier: Apache-2.0
// Needs: asio.hpp, libasio-dev in Debian.
// Its coroutines, and the channel of its experimental part.
#include "programs.hpp"

#include <array>
#include <asio.hpp>
#include <asio/experimental/channel.hpp>
#include <thread>

using asio::ip::tcp;
using programs::timed;
using channel_of_numbers = asio::experimental::channel<void(asio::error_code, std::uint64_t)>;

static asio::awaitable<void> produce(channel_of_numbers &to, std::uint64_t count)
{
    for (std::uint64_t i = 0; i < count; i++)
        co_await to.async_send({}, i, asio::use_awaitable);
    to.close();
}

static asio::awaitable<void> consume(channel_of_numbers &from, std::uint64_t &sum)
{
    try {
        for (;;)
            sum += co_await from.async_receive(asio::use_awaitable);
    } catch (const asio::system_error &) {
        // closed
    }
}

// On one thread: its channel is not for several.
static void channel(unsigned, std::uint64_t size, const timed &time)
{
    time([&] {
        asio::io_context context(1);
        channel_of_numbers between(context, programs::capacity);
        std::uint64_t sum = 0;
        asio::co_spawn(context, produce(between, size), asio::detached);
        asio::co_spawn(context, consume(between, sum), asio::detached);
        context.run();
        return sum;
    });
}

static asio::awaitable<void> answer(tcp::socket socket)
{
    try {
        std::array<std::byte, programs::message_size> message;
        for (;;) {
            co_await asio::async_read(socket, asio::buffer(message), asio::use_awaitable);
            co_await asio::async_write(socket, asio::buffer(message), asio::use_awaitable);
        }
    } catch (const asio::system_error &) {
        // the client has closed
    }
}

static asio::awaitable<void> serve(tcp::acceptor &acceptor, std::size_t connections)
{
    for (std::size_t i = 0; i < connections; i++) {
        tcp::socket socket = co_await acceptor.async_accept(asio::use_awaitable);
        socket.set_option(tcp::no_delay(true));
        asio::co_spawn(acceptor.get_executor(), answer(std::move(socket)), asio::detached);
    }
}

static asio::awaitable<void> ask(asio::io_context &in, tcp::endpoint where, std::uint64_t times, std::uint64_t &right)
{
    tcp::socket socket(in);
    co_await socket.async_connect(where, asio::use_awaitable);
    socket.set_option(tcp::no_delay(true));
    std::array<std::byte, programs::message_size> message{}, answered;
    for (std::uint64_t i = 0; i < times; i++) {
        std::memcpy(message.data(), &i, sizeof i);
        co_await asio::async_write(socket, asio::buffer(message), asio::use_awaitable);
        co_await asio::async_read(socket, asio::buffer(answered), asio::use_awaitable);
        right += message == answered ? 1 : 0;
    }
}

static void io_socket(unsigned connections, std::uint64_t size, const timed &time)
{
    time([&] {
        asio::io_context serving(1), asking(1);
        tcp::acceptor acceptor(serving, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
        asio::co_spawn(serving, serve(acceptor, connections), asio::detached);
        std::thread server([&] { serving.run(); });
        std::uint64_t right = 0;
        for (unsigned i = 0; i < connections; i++)
            asio::co_spawn(asking, ask(asking, acceptor.local_endpoint(), size / connections, right), asio::detached);
        asking.run();
        server.join();
        return right;
    });
}

int main(int count, char **arguments)
{
    static constexpr std::array all{programs::program{"channel", channel}, programs::program{"io_socket", io_socket}};
    return programs::main({all}, count, arguments);
}
