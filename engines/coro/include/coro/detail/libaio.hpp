// SPDX-License-Identifier: Apache-2.0
// The older asynchronous I/O of Linux by its system calls: files opened with O_DIRECT, and readiness of everything else
// (IOCB_CMD_POLL, Linux 4.18). A read or write of a cached file is done before io_submit returns, as this interface
// does.
#pragma once

#include <coro/detail/io_backend.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <linux/aio_abi.h>
#include <memory>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace coro::detail
{

class libaio_backend final : public io_backend
{
  public:
    // Null where the kernel has none, or no room for `depth` operations (fs.aio-max-nr).
    static std::unique_ptr<io_backend> open(unsigned depth, int wake_fd)
    {
        aio_context_t context = 0;
        if (::syscall(__NR_io_setup, depth, &context) != 0)
            return nullptr;
        return std::unique_ptr<io_backend>(new libaio_backend(context, depth, wake_fd));
    }

    libaio_backend(const libaio_backend &) = delete;
    libaio_backend &operator=(const libaio_backend &) = delete;
    ~libaio_backend() override
    {
        ::syscall(__NR_io_destroy, context_);
    }

    bool start(io_operation &operation) override
    {
        if (free_.empty())
            return false;
        iocb *block = free_.back();
        free_.pop_back();
        *block = {};
        block->aio_data = reinterpret_cast<std::uintptr_t>(&operation);
        block->aio_fildes = static_cast<std::uint32_t>(operation.fd);
        block->aio_flags = IOCB_FLAG_RESFD;
        block->aio_resfd = static_cast<std::uint32_t>(wake_fd_);
        switch (operation.kind) {
        case io_kind::read:
        case io_kind::write:
            block->aio_lio_opcode = operation.kind == io_kind::read ? IOCB_CMD_PREAD : IOCB_CMD_PWRITE;
            block->aio_buf = reinterpret_cast<std::uintptr_t>(operation.buffer);
            block->aio_nbytes = operation.size;
            block->aio_offset = operation.offset;
            break;
        // Sockets: wait until they are ready, then call without blocking.
        case io_kind::receive:
        case io_kind::accept:
            block->aio_lio_opcode = IOCB_CMD_POLL;
            block->aio_buf = POLLIN;
            break;
        case io_kind::send:
            block->aio_lio_opcode = IOCB_CMD_POLL;
            block->aio_buf = POLLOUT;
            break;
        case io_kind::poll:
            block->aio_lio_opcode = IOCB_CMD_POLL;
            block->aio_buf = operation.events;
            break;
        }
        operation.backend = reinterpret_cast<std::uintptr_t>(block);
        pending_.push_back(block);
        return true;
    }

    void cancel(io_operation &operation) override
    {
        auto *block = reinterpret_cast<iocb *>(operation.backend);
        operation.cancelled = true;
        if (const auto waiting = std::find(pending_.begin(), pending_.end(), block); waiting != pending_.end()) {
            pending_.erase(waiting);
            cancelled_.push_back(block);
            return;
        }
        io_event event{};
        // -EINPROGRESS: it was cancelled and its completion comes as usual.
        if (::syscall(__NR_io_cancel, context_, block, &event) == 0)
            cancelled_.push_back(block);
    }

    void poll(completion done, void *owner) override
    {
        submit(done, owner);
        reap(done, owner);
    }

    void wait(completion done, void *owner, io_timeout timeout) override
    {
        const std::size_t before = delivered_;
        submit(done, owner);
        reap(done, owner);
        if (delivered_ == before) {
            pollfd wake{wake_fd_, POLLIN, 0};
            timespec until{};
            if (!pending_.empty()) // the kernel refused them and may have nothing in flight that would wake us
                timeout = std::min(timeout.value_or(retry_after), retry_after);
            if (timeout) {
                until.tv_sec = timeout->count() / 1'000'000'000;
                until.tv_nsec = timeout->count() % 1'000'000'000;
            }
            ::ppoll(&wake, 1, timeout ? &until : nullptr, nullptr);
            reap(done, owner);
        }
        std::uint64_t count = 0;
        [[maybe_unused]] const auto drained = ::read(wake_fd_, &count, sizeof count);
    }

    [[nodiscard]] std::size_t refusals() const noexcept override
    {
        return refusals_;
    }
    [[nodiscard]] const char *name() const noexcept override
    {
        return "libaio";
    }

  private:
    static constexpr std::chrono::nanoseconds retry_after = std::chrono::milliseconds(1);

    libaio_backend(aio_context_t context, unsigned depth, int wake_fd)
        : context_(context), wake_fd_(wake_fd), blocks_(std::make_unique<iocb[]>(depth))
    {
        free_.reserve(depth);
        for (unsigned i = 0; i < depth; i++)
            free_.push_back(&blocks_[i]);
    }

    void submit(completion done, void *owner)
    {
        while (!pending_.empty()) {
            const long taken = ::syscall(__NR_io_submit, context_, static_cast<long>(pending_.size()), pending_.data());
            if (taken > 0) {
                pending_.erase(pending_.begin(), pending_.begin() + taken);
            } else if (errno == EAGAIN || errno == EINTR) {
                refusals_++; // they stay and the next call offers them again
                return;
            } else { // of the first one alone
                iocb *refused = pending_.front();
                const int error = errno;
                pending_.erase(pending_.begin());
                complete(refused, -error, done, owner);
            }
        }
    }

    void reap(completion done, void *owner)
    {
        while (!cancelled_.empty()) {
            iocb *block = cancelled_.back();
            cancelled_.pop_back();
            complete(block, -ECANCELED, done, owner);
        }
        std::array<io_event, 64> events;
        long got = 0;
        do {
            timespec at_once{};
            got = ::syscall(__NR_io_getevents, context_, 0L, static_cast<long>(events.size()), events.data(), &at_once);
            for (long i = 0; i < got; i++)
                complete(reinterpret_cast<iocb *>(events[static_cast<std::size_t>(i)].obj),
                         static_cast<int>(events[static_cast<std::size_t>(i)].res), done, owner);
        } while (got == static_cast<long>(events.size()));
    }

    void complete(iocb *block, int result, completion done, void *owner)
    {
        auto &operation = *reinterpret_cast<io_operation *>(block->aio_data);
        // A cancelled poll ends without any event.
        if (result == 0 && operation.cancelled && is_poll(operation))
            result = -ECANCELED;
        else if (result >= 0 && is_poll(operation))
            result = call(operation, result);
        if (result == -EAGAIN && operation.cancelled)
            result = -ECANCELED;
        if (result == -EAGAIN) { // somebody else was quicker: wait for readiness again
            pending_.push_back(block);
            return;
        }
        free_.push_back(block);
        delivered_++;
        operation.result = result;
        done(owner, operation);
    }

    static bool is_poll(const io_operation &operation) noexcept
    {
        return operation.kind != io_kind::read && operation.kind != io_kind::write;
    }

    static int call(const io_operation &operation, int ready)
    {
        long got = ready;
        if (operation.kind == io_kind::receive)
            got = ::recv(operation.fd, operation.buffer, operation.size, MSG_DONTWAIT);
        else if (operation.kind == io_kind::send)
            got = ::send(operation.fd, operation.buffer, operation.size, MSG_DONTWAIT | MSG_NOSIGNAL);
        else if (operation.kind == io_kind::accept)
            // Blocks when the peer has left since: give it listening sockets with O_NONBLOCK.
            got = ::accept4(operation.fd, nullptr, nullptr, SOCK_CLOEXEC);
        return got < 0 ? -errno : static_cast<int>(got);
    }

    aio_context_t context_;
    int wake_fd_;
    std::unique_ptr<iocb[]> blocks_;
    std::vector<iocb *> free_, pending_, cancelled_;
    std::size_t refusals_ = 0, delivered_ = 0;
};

} // namespace coro::detail
