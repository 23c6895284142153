// SPDX-License-Identifier: Apache-2.0
// For kernels and containers that forbid io_uring: what can be ready is tried at once and, if it would block, when
// epoll(7) says that it is; files go by libaio, and where that is missing too, the calling thread reads them itself.
#pragma once

#include <coro/detail/io_backend.hpp>
#include <coro/detail/libaio.hpp>
#include <coro/detail/queue.hpp>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <memory>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <unordered_map>
#include <utility>

namespace coro::detail
{

class epoll_backend final : public io_backend
{
  public:
    // Null when there is no room for a descriptor. files: null, or what reads and writes them.
    static std::unique_ptr<io_backend> open(int wake_fd, std::unique_ptr<libaio_backend> files)
    {
        const int fd = ::epoll_create1(EPOLL_CLOEXEC);
        if (fd < 0)
            return nullptr;
        return std::unique_ptr<io_backend>(new epoll_backend(fd, wake_fd, std::move(files)));
    }

    epoll_backend(const epoll_backend &) = delete;
    epoll_backend &operator=(const epoll_backend &) = delete;
    ~epoll_backend() override
    {
        ::close(fd_);
    }

    bool start(io_operation &operation) override
    {
        if (files_ != nullptr && reads_or_writes(operation))
            return files_->start(operation);
        operation.result = waits_for(operation) == 0 ? call_blocking(operation) : call(operation);
        if (operation.result == -EAGAIN && waits_for(operation) != 0)
            wait_for(operation);
        else
            done_.push(operation);
        return true;
    }

    void cancel(io_operation &operation) override
    {
        if (files_ != nullptr && reads_or_writes(operation))
            return files_->cancel(operation);
        const auto at = waiting_.find(operation.fd);
        if (at == waiting_.end() || !at->second.remove(operation))
            return; // it is among the done
        waiting_count_--;
        operation.result = -ECANCELED;
        done_.push(operation);
    }

    void poll(completion done, void *owner) override
    {
        if (files_ != nullptr)
            files_->poll(done, owner);
        look();
        hand_over(done, owner);
    }

    void wait(completion done, void *owner, io_timeout timeout) override
    {
        const bool begun = files_ != nullptr && files_->hand_to_kernel(done, owner);
        if (!begun && done_.empty()) {
            std::array<pollfd, 2> both{{{wake_fd_, POLLIN, 0}, {fd_, POLLIN, 0}}};
            if (files_ != nullptr)
                timeout = files_->patience(timeout);
            timespec until{};
            if (timeout) {
                until.tv_sec = timeout->count() / 1'000'000'000;
                until.tv_nsec = timeout->count() % 1'000'000'000;
            }
            ::ppoll(both.data(), both.size(), timeout ? &until : nullptr, nullptr);
        }
        std::uint64_t count = 0;
        [[maybe_unused]] const auto drained = ::read(wake_fd_, &count, sizeof count);
        poll(done, owner);
    }

    [[nodiscard]] std::size_t refusals() const noexcept override
    {
        return files_ != nullptr ? files_->refusals() : 0;
    }
    [[nodiscard]] const char *name() const noexcept override
    {
        return files_ != nullptr ? "libaio" : "epoll";
    }

  private:
    epoll_backend(int fd, int wake_fd, std::unique_ptr<libaio_backend> files)
        : fd_(fd), wake_fd_(wake_fd), files_(std::move(files))
    {
    }

    static bool reads_or_writes(const io_operation &operation) noexcept
    {
        return operation.kind == io_kind::read || operation.kind == io_kind::write;
    }

    // Events of poll(2); 0: it is never not ready.
    static std::uint32_t waits_for(const io_operation &operation) noexcept
    {
        switch (operation.kind) {
        case io_kind::receive:
        case io_kind::accept:
        case io_kind::accept_all: return POLLIN;
        case io_kind::send:
        case io_kind::connect: return POLLOUT;
        case io_kind::poll: return operation.events;
        default: return 0;
        }
    }

    static std::uint32_t ready_now(const io_operation &operation) noexcept
    {
        pollfd asked{operation.fd, static_cast<short>(waits_for(operation)), 0};
        return ::poll(&asked, 1, 0) > 0 ? static_cast<std::uint32_t>(static_cast<unsigned short>(asked.revents)) : 0;
    }

    // -EAGAIN when it would block.
    static int call(io_operation &operation) noexcept
    {
        long got = 0;
        switch (operation.kind) {
        case io_kind::receive:
            got = ::recv(operation.fd, operation.buffer, operation.size, MSG_DONTWAIT);
            break;
        case io_kind::send:
            got = ::send(operation.fd, operation.buffer, operation.size, MSG_DONTWAIT | MSG_NOSIGNAL);
            break;
        case io_kind::accept:
        case io_kind::accept_all: // once, which its owner knows by goes_on
            // Blocks when the peer has left since: give it listening sockets with O_NONBLOCK.
            if (ready_now(operation) == 0)
                return -EAGAIN;
            got = ::accept4(operation.fd, nullptr, nullptr, SOCK_CLOEXEC);
            break;
        case io_kind::connect: return connect(operation);
        default: {
            const std::uint32_t events = ready_now(operation);
            return events == 0 ? -EAGAIN : static_cast<int>(events);
        }
        }
        return got < 0 ? -errno : static_cast<int>(got);
    }

    // Without blocking, whatever the socket's mode is; the second call asks how the first one ended.
    static int connect(io_operation &operation) noexcept
    {
        if (operation.under_way) {
            if (ready_now(operation) == 0)
                return -EAGAIN;
            int error = 0;
            socklen_t size = sizeof error;
            return ::getsockopt(operation.fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0 ? -errno : -error;
        }
        operation.under_way = true;
        const int mode = ::fcntl(operation.fd, F_GETFL);
        if (mode < 0 || ((mode & O_NONBLOCK) == 0 && ::fcntl(operation.fd, F_SETFL, mode | O_NONBLOCK) < 0))
            return -errno;
        const int failed =
            ::connect(operation.fd, static_cast<const sockaddr *>(operation.buffer), static_cast<socklen_t>(operation.size));
        const int error = failed != 0 ? errno : 0;
        if ((mode & O_NONBLOCK) == 0)
            ::fcntl(operation.fd, F_SETFL, mode);
        return error == EINPROGRESS ? -EAGAIN : -error;
    }

    static int call_blocking(const io_operation &operation) noexcept
    {
        long got = 0;
        switch (operation.kind) {
        case io_kind::read: got = ::pread(operation.fd, operation.buffer, operation.size, operation.offset); break;
        case io_kind::write: got = ::pwrite(operation.fd, operation.buffer, operation.size, operation.offset); break;
        case io_kind::open:
            got = ::open(static_cast<const char *>(operation.buffer), static_cast<int>(operation.events),
                         static_cast<mode_t>(operation.size));
            break;
        case io_kind::sync: got = operation.events != 0 ? ::fdatasync(operation.fd) : ::fsync(operation.fd); break;
        default: return -EINVAL;
        }
        return got < 0 ? -errno : static_cast<int>(got);
    }

    void wait_for(io_operation &operation)
    {
        fifo<io_operation> &here = waiting_[operation.fd];
        here.push(operation);
        waiting_count_++;
        const int error = arm(operation.fd, here);
        if (error == 0)
            return;
        here.remove(operation);
        waiting_count_--;
        operation.result = error;
        done_.push(operation);
    }

    // Reports once whatever one of them waits for. The number of a descriptor that was closed may be that of a new one.
    int arm(int fd, fifo<io_operation> &operations) const noexcept
    {
        epoll_event wanted{};
        wanted.events = EPOLLONESHOT;
        wanted.data.fd = fd;
        operations.each([&wanted](const io_operation &each) { wanted.events |= waits_for(each); });
        if (::epoll_ctl(fd_, EPOLL_CTL_MOD, fd, &wanted) == 0 ||
            (errno == ENOENT && ::epoll_ctl(fd_, EPOLL_CTL_ADD, fd, &wanted) == 0))
            return 0;
        return -errno;
    }

    void look()
    {
        if (waiting_count_ == 0)
            return;
        std::array<epoll_event, 64> events;
        const int got = ::epoll_wait(fd_, events.data(), static_cast<int>(events.size()), 0);
        for (int i = 0; i < got; i++)
            try_again(events[static_cast<std::size_t>(i)].data.fd);
    }

    void try_again(int fd)
    {
        const auto at = waiting_.find(fd);
        if (at == waiting_.end())
            return;
        fifo<io_operation> before = std::exchange(at->second, {});
        while (io_operation *each = before.pop()) {
            each->result = call(*each);
            if (each->result == -EAGAIN) {
                at->second.push(*each);
            } else {
                waiting_count_--;
                done_.push(*each);
            }
        }
        if (at->second.empty())
            return;
        if (const int error = arm(fd, at->second); error != 0)
            while (io_operation *each = at->second.pop()) {
                each->result = error;
                waiting_count_--;
                done_.push(*each);
            }
    }

    void hand_over(completion done, void *owner)
    {
        fifo<io_operation> now = std::exchange(done_, {});
        while (io_operation *each = now.pop())
            done(owner, *each);
    }

    int fd_, wake_fd_;
    std::unique_ptr<libaio_backend> files_;
    std::unordered_map<int, fifo<io_operation>> waiting_; // by descriptor
    std::size_t waiting_count_ = 0;
    fifo<io_operation> done_;
};

} // namespace coro::detail
