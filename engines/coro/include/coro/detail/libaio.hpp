// SPDX-License-Identifier: Apache-2.0
// The older asynchronous I/O of Linux by its system calls, for files opened with O_DIRECT: a read or write of a cached
// file is done before io_submit returns. epoll.hpp does all else.
#pragma once

#include <coro/detail/io_backend.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <linux/aio_abi.h>
#include <memory>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace coro::detail
{

class libaio_backend
{
  public:
    // Null where the kernel has none, or no room for `depth` operations (fs.aio-max-nr).
    static std::unique_ptr<libaio_backend> open(unsigned depth, int wake_fd)
    {
        aio_context_t context = 0;
        if (::syscall(__NR_io_setup, depth, &context) != 0)
            return nullptr;
        return std::unique_ptr<libaio_backend>(new libaio_backend(context, depth, wake_fd));
    }

    libaio_backend(const libaio_backend &) = delete;
    libaio_backend &operator=(const libaio_backend &) = delete;
    ~libaio_backend()
    {
        ::syscall(__NR_io_destroy, context_);
    }

    // As io_backend, for reads and writes.
    bool start(io_operation &operation)
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
        block->aio_lio_opcode = operation.kind == io_kind::read ? IOCB_CMD_PREAD : IOCB_CMD_PWRITE;
        block->aio_buf = reinterpret_cast<std::uintptr_t>(operation.buffer);
        block->aio_nbytes = operation.size;
        block->aio_offset = operation.offset;
        operation.backend = reinterpret_cast<std::uintptr_t>(block);
        pending_.push_back(block);
        return true;
    }

    void cancel(io_operation &operation)
    {
        auto *block = reinterpret_cast<iocb *>(operation.backend);
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

    void poll(io_backend::completion done, void *owner)
    {
        submit(done, owner);
        reap(done, owner);
    }

    // Before blocking: true when something has completed meanwhile.
    bool hand_to_kernel(io_backend::completion done, void *owner)
    {
        const std::size_t before = delivered_;
        poll(done, owner);
        return delivered_ != before;
    }

    // How long to block at most: the kernel may have refused some and have nothing in flight that would wake us.
    [[nodiscard]] io_timeout patience(io_timeout timeout) const
    {
        return pending_.empty() ? timeout : std::min(timeout.value_or(retry_after), retry_after);
    }

    [[nodiscard]] std::size_t refusals() const noexcept
    {
        return refusals_;
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

    void submit(io_backend::completion done, void *owner)
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

    void reap(io_backend::completion done, void *owner)
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

    void complete(iocb *block, int result, io_backend::completion done, void *owner)
    {
        auto &operation = *reinterpret_cast<io_operation *>(block->aio_data);
        free_.push_back(block);
        delivered_++;
        operation.result = result;
        done(owner, operation);
    }

    aio_context_t context_;
    int wake_fd_;
    std::unique_ptr<iocb[]> blocks_;
    std::vector<iocb *> free_, pending_, cancelled_;
    std::size_t refusals_ = 0, delivered_ = 0;
};

} // namespace coro::detail
