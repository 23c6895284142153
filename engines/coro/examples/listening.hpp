// SPDX-License-Identifier: Apache-2.0
// What the echo servers share: a listening socket, and stopping at SIGINT or SIGTERM.
#pragma once

#include <coro/io.hpp>
#include <coro/lazy.hpp>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <netinet/in.h>
#include <stop_token>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>

// A descriptor that is closed with the object.
class descriptor
{
  public:
    explicit descriptor(int of) noexcept : fd_(of)
    {
    }
    descriptor(const descriptor &) = delete;
    descriptor &operator=(const descriptor &) = delete;
    ~descriptor()
    {
        ::close(fd_);
    }
    [[nodiscard]] int get() const noexcept
    {
        return fd_;
    }

  private:
    int fd_;
};

// Listens on the loopback interface and prints the port; 0 asks the kernel for one.
inline int listen_on(int count, char **arguments)
{
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int yes = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(count > 1 ? std::atoi(arguments[1]) : 0));
    socklen_t size = sizeof address;
    auto *any = reinterpret_cast<sockaddr *>(&address);
    if (fd < 0 || ::bind(fd, any, size) != 0 || ::listen(fd, SOMAXCONN) != 0 || ::getsockname(fd, any, &size) != 0)
        throw std::system_error(errno, std::generic_category(), "listen");
    std::printf("listening on port %d\n", ntohs(address.sin_port));
    std::fflush(stdout);
    return fd;
}

// Requests a stop at the first SIGINT or SIGTERM. Call block_signals() before there are other threads.
inline sigset_t block_signals()
{
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);
    return ends;
}

inline coro::lazy<> stop_at_signal(std::stop_source &source)
{
    const sigset_t ends = block_signals();
    const descriptor signals(::signalfd(-1, &ends, SFD_CLOEXEC));
    std::array<std::byte, sizeof(signalfd_siginfo)> info{};
    co_await coro::read_at(signals.get(), info, 0);
    source.request_stop();
}
