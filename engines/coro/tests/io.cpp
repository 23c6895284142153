// SPDX-License-Identifier: Apache-2.0
#include <coro/io.hpp>

#include <coro/loop.hpp>
#include <coro/pool.hpp>
#include <coro/sleep.hpp>
#include <coro/spawn.hpp>
#include <coro/when_all.hpp>

#include "ways.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <string>
#include <string_view>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
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

template <class Test> void with_each_interface(unsigned depth, Test test)
{
    test::with_each({{.io_depth = depth, .io = io_interface::io_uring},
                     {.io_depth = depth, .io = io_interface::libaio},
                     {.io_depth = depth, .io = io_interface::epoll}},
                    test);
}

// The calling thread may make none of these system calls from now on, as in a container. False where that cannot be.
bool forbid(const std::vector<long> &calls)
{
    std::vector<sock_filter> filter{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
    for (const long call : calls) {
        filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 1));
        filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
    }
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

// What the best interface is called, once it has read a file and passed a byte between two sockets.
std::string works_by()
{
    coro::loop loop;
    const scratch_file file(100);
    int ends[2];
    CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    const auto passes = [&]() -> lazy<int> {
        std::array<std::byte, 1> byte{};
        const int read = co_await coro::read_at(file.fd, byte, 7);
        const auto receives = [&]() -> lazy<int> {
            std::array<std::byte, 1> got{};
            co_await coro::receive(ends[0], got);
            co_return static_cast<int>(got[0]);
        };
        const auto sends = [&]() -> lazy<int> { co_return co_await coro::send(ends[1], byte); };
        const auto [received, sent] = co_await coro::when_all(receives(), sends());
        co_return read == 1 && sent == 1 ? received : -1;
    };
    const int received = loop.run(passes());
    ::close(ends[0]);
    ::close(ends[1]);
    return received == 7 ? loop.io().interface : "wrong";
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
        const scratch_file file(4);
        std::stop_source source;
        const auto reader = [&]() -> lazy<int> {
            std::array<std::byte, 4> in{};
            co_return co_await coro::read_at(file.fd, in, 0);
        };
        const auto stopped = [&]() -> lazy<int> {
            try {
                co_return co_await coro::with_stop(source.get_token(), reader());
            } catch (const coro::cancelled &) {
                co_return -1;
            }
        };
        const auto stopper = [&]() -> lazy<int> {
            source.request_stop();
            co_return 0;
        };
        const auto all = [&]() -> lazy<bool> {
            const auto [first, second, third] = co_await coro::when_all(reader(), stopped(), stopper());
            co_return first == 4 && second == -1 && third == 0;
        };
        CHECK(loop.run(all()));
    });
}

TEST("those who wait for their peers keep no other from the kernel, however many they are")
{
    with_each_interface(4, [](coro::loop &loop) {
        constexpr std::size_t count = 100;
        std::vector<std::array<int, 2>> pairs(count);
        for (auto &ends : pairs)
            CHECK(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
        // Each answers the one before it, and the last one is asked first.
        const auto link = [&](std::size_t i) -> lazy<int> {
            std::array<std::byte, 1> byte{};
            const int got = co_await coro::receive(pairs[i][0], byte);
            if (i > 0)
                co_await coro::send(pairs[i - 1][1], byte);
            co_return got;
        };
        const auto all = [&]() -> lazy<int> {
            std::vector<lazy<int>> links;
            for (std::size_t i = 0; i < count; i++)
                links.push_back(link(i));
            CHECK(::send(pairs[count - 1][1], "x", 1, 0) == 1);
            int sum = 0;
            for (const int got : co_await coro::when_all(std::move(links)))
                sum += got;
            co_return sum;
        };
        CHECK(loop.run(all()) == static_cast<int>(count));
        for (const auto &ends : pairs) {
            ::close(ends[0]);
            ::close(ends[1]);
        }
    });
}

TEST("one socket is read and written at once, and its number may be used again")
{
    with_each_interface(8, [](coro::loop &loop) {
        const auto both_ways = [&]() -> lazy<bool> {
            int ends[2];
            CHECK(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
            const std::vector<std::byte> large(1 << 20, std::byte(7));
            const auto reader = [&](int from) -> lazy<std::size_t> {
                std::vector<std::byte> into(1 << 16);
                std::size_t total = 0;
                while (total < large.size())
                    total += static_cast<std::size_t>(co_await coro::receive(from, into));
                co_return total;
            };
            const auto writer = [&](int to) -> lazy<std::size_t> {
                std::size_t total = 0;
                while (total < large.size())
                    total += static_cast<std::size_t>(co_await coro::send(to, std::span(large).subspan(total)));
                co_return total;
            };
            const auto [a, b, c, d] =
                co_await coro::when_all(reader(ends[0]), writer(ends[0]), reader(ends[1]), writer(ends[1]));
            ::close(ends[0]);
            ::close(ends[1]);
            co_return a == large.size() && b == a && c == a && d == a;
        };
        for (int round = 0; round < 3; round++)
            CHECK(loop.run(both_ways()));
    });
}

TEST("a file is opened, written and synced, and a connection made or refused")
{
    with_each_interface(8, [](coro::loop &loop) {
        const std::string path = "/tmp/coro-test-open-" + std::to_string(::getpid());
        const auto files = [&]() -> lazy<bool> {
            const int fd = co_await coro::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600);
            const std::array<std::byte, 3> out{};
            const int written = co_await coro::write_at(fd, out, 0);
            const int synced = co_await coro::sync(fd) + co_await coro::sync(fd, true);
            ::close(fd);
            ::unlink(path.c_str());
            try {
                co_await coro::open(path.c_str(), O_RDONLY);
            } catch (const std::system_error &problem) {
                co_return written == 3 && synced == 0 && problem.code().value() == ENOENT;
            }
            co_return false;
        };
        CHECK(loop.run(files()));

        const int listening = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        CHECK(::bind(listening, reinterpret_cast<sockaddr *>(&address), size) == 0 && ::listen(listening, 8) == 0);
        ::getsockname(listening, reinterpret_cast<sockaddr *>(&address), &size);
        const auto connects = [&]() -> lazy<int> {
            const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
            int result = 0;
            try {
                result = co_await coro::connect(socket, reinterpret_cast<const sockaddr *>(&address), size);
            } catch (const std::system_error &problem) {
                result = problem.code().value();
            }
            ::close(socket);
            co_return result;
        };
        CHECK(loop.run(connects()) == 0);
        ::close(listening);
        CHECK(loop.run(connects()) == ECONNREFUSED);
    });
}

TEST("reads and writes in registered memory bring the same, and where the kernel takes it they are counted")
{
    alignas(4096) static std::array<std::byte, 8192> memory;
    const scratch_file file(4096);
    for (const io_interface io : {io_interface::io_uring, io_interface::libaio, io_interface::epoll}) {
        memory.fill(std::byte(0));
        coro::loop loop({8, io, memory});
        const auto body = [&]() -> lazy<bool> {
            const std::span<std::byte> inside(memory);
            const int read = co_await coro::read_at(file.fd, inside.subspan(100, 2000), 50);
            const int written = co_await coro::write_at(file.fd, inside.subspan(100, 2000), 4096);
            const int at_the_end = co_await coro::read_at(file.fd, inside.last(192), 0);
            std::array<std::byte, 2000> back{};
            const int got = co_await coro::read_at(file.fd, back, 4096);
            bool right = read == 2000 && written == 2000 && at_the_end == 192 && got == 2000;
            for (std::size_t i = 0; i < 2000; i++)
                right = right && memory[100 + i] == std::byte((50 + i) % 251) && back[i] == memory[100 + i];
            co_return right;
        };
        try {
            CHECK(loop.run(body()));
        } catch (const std::system_error &refused) {
            std::printf("    skipped: %s\n", refused.what());
            continue;
        }
        rlimit locked{};
        ::getrlimit(RLIMIT_MEMLOCK, &locked);
        const bool takes = io == io_interface::io_uring && locked.rlim_cur >= 1 << 16;
        CHECK(loop.io().registered == (takes ? 3 : 0));
    }
}

TEST("a thread that looks before it sleeps does not sleep as long as its peer answers in time")
{
    for (const auto spin : {0s, 3600s}) {
        coro::loop loop({.spin = spin});
        int ends[2];
        CHECK(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
        std::thread peer([&] {
            char byte = 0;
            while (::recv(ends[1], &byte, 1, 0) == 1) {
                std::this_thread::sleep_for(1ms);
                CHECK(::send(ends[1], &byte, 1, MSG_NOSIGNAL) == 1);
            }
        });
        const auto asks = [&]() -> lazy<int> {
            std::array<std::byte, 1> byte{};
            int answers = 0;
            for (int i = 0; i < 20; i++) {
                co_await coro::send(ends[0], byte);
                answers += co_await coro::receive(ends[0], byte);
            }
            co_await coro::sleep(1ms);
            co_return answers;
        };
        CHECK(loop.run(asks()) == 20);
        CHECK((loop.io().slept == 0) == (spin != 0s));
        ::shutdown(ends[0], SHUT_RDWR);
        peer.join();
        ::close(ends[0]);
        ::close(ends[1]);
    }
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

TEST("where a container forbids io_uring, or libaio as well, files are read and sockets wait in another way")
{
    struct {
        std::vector<long> forbidden;
        std::string_view otherwise;
    } const containers[] = {{{SYS_io_uring_setup}, "libaio"}, {{SYS_io_uring_setup, SYS_io_setup}, "epoll"}};
    for (const auto &container : containers) {
        bool forbids = false;
        std::string used;
        std::thread([&] {
            forbids = forbid(container.forbidden);
            try {
                used = works_by();
            } catch (const std::exception &problem) {
                used = problem.what();
            }
        }).join();
        if (!forbids)
            std::printf("    skipped: this system has no seccomp\n");
        else
            CHECK(used == container.otherwise || used == "epoll"); // libaio may have no room (fs.aio-max-nr)
    }
}
