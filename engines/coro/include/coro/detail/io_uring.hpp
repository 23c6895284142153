// SPDX-License-Identifier: Apache-2.0
// io_uring by its system calls; Linux 5.11 or later (IORING_FEAT_EXT_ARG).
#pragma once

#include <coro/detail/io_backend.hpp>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/time_types.h>
#include <memory>
#include <poll.h>
#include <span>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <utility>

namespace coro::detail
{

class io_uring_backend final : public io_backend
{
  public:
    // Null where the kernel has none that will do. depth: operations in flight at most. registered: may be empty; where
    // the kernel does not take it (RLIMIT_MEMLOCK), reads and writes go there as elsewhere.
    static std::unique_ptr<io_backend> open(unsigned depth, int wake_fd, std::span<std::byte> registered)
    {
        std::unique_ptr<io_uring_backend> made(new io_uring_backend(wake_fd));
        if (!made->set_up(depth))
            return nullptr;
        iovec all{registered.data(), registered.size()};
        if (!registered.empty() && ::syscall(__NR_io_uring_register, made->fd_, IORING_REGISTER_BUFFERS, &all, 1) == 0)
            made->registered_ = registered;
        return made;
    }

    io_uring_backend(const io_uring_backend &) = delete;
    io_uring_backend &operator=(const io_uring_backend &) = delete;
    ~io_uring_backend() override
    {
        if (entries_ != nullptr)
            ::munmap(entries_, entries_size_);
        if (rings_ != nullptr)
            ::munmap(rings_, rings_size_);
        if (fd_ >= 0)
            ::close(fd_);
    }

    bool start(io_operation &operation) override
    {
        io_uring_sqe *entry = next_entry();
        if (entry == nullptr) { // full of what the kernel has not fetched yet
            enter(0, 0, nullptr);
            entry = next_entry();
        }
        if (entry == nullptr)
            return false;
        entry->fd = operation.fd;
        entry->addr = reinterpret_cast<std::uintptr_t>(operation.buffer);
        entry->len = static_cast<std::uint32_t>(std::min<std::size_t>(operation.size, 0x7ffff000));
        entry->user_data = reinterpret_cast<std::uintptr_t>(&operation);
        switch (operation.kind) {
        case io_kind::read:
        case io_kind::write: {
            const bool reads = operation.kind == io_kind::read, fixed = is_registered(operation);
            in_registered_ += fixed ? 1 : 0;
            entry->opcode = fixed   ? (reads ? IORING_OP_READ_FIXED : IORING_OP_WRITE_FIXED)
                            : reads ? IORING_OP_READ
                                    : IORING_OP_WRITE; // fixed: buf_index is 0
            entry->off = static_cast<std::uint64_t>(operation.offset);
            break;
        }
        case io_kind::sync:
            entry->opcode = IORING_OP_FSYNC;
            entry->addr = 0;
            entry->fsync_flags = operation.events != 0 ? IORING_FSYNC_DATASYNC : 0;
            break;
        case io_kind::open:
            entry->opcode = IORING_OP_OPENAT;
            entry->fd = AT_FDCWD;
            entry->open_flags = operation.events;
            break;
        case io_kind::connect:
            entry->opcode = IORING_OP_CONNECT;
            entry->len = 0;
            entry->off = operation.size;
            break;
        case io_kind::receive: entry->opcode = IORING_OP_RECV; break;
        case io_kind::receive_all:
            entry->opcode = IORING_OP_RECV;
            entry->ioprio = receive_multishot;
            entry->flags = IOSQE_BUFFER_SELECT;
            break;
        case io_kind::send:
            entry->opcode = IORING_OP_SEND;
            entry->msg_flags = no_signal;
            break;
        case io_kind::accept:
        case io_kind::accept_all:
            entry->opcode = IORING_OP_ACCEPT;
            entry->ioprio = operation.kind == io_kind::accept_all ? accept_multishot : 0;
            entry->addr = 0;
            entry->len = 0;
            entry->accept_flags = close_on_exec;
            break;
        case io_kind::poll:
            entry->opcode = IORING_OP_POLL_ADD;
            entry->addr = 0;
            entry->len = 0;
            entry->poll32_events = operation.events;
            break;
        }
        publish();
        return true;
    }

    void cancel(io_operation &operation) override
    {
        io_uring_sqe *entry = next_entry();
        while (entry == nullptr) { // as above
            enter(0, 0, nullptr);
            entry = next_entry();
        }
        entry->opcode = IORING_OP_ASYNC_CANCEL;
        entry->addr = reinterpret_cast<std::uintptr_t>(&operation);
        entry->user_data = nobody;
        publish();
    }

    void poll(completion done, void *owner) override
    {
        // Completions may wait in the kernel until somebody enters it.
        const bool asked = (std::atomic_ref(*sq_flags_).load(std::memory_order_relaxed) &
                            (IORING_SQ_CQ_OVERFLOW | IORING_SQ_TASKRUN)) != 0;
        if (unsubmitted_ != 0 || asked)
            enter(0, asked ? IORING_ENTER_GETEVENTS : 0, nullptr);
        reap(done, owner);
    }

    void wait(completion done, void *owner, io_timeout timeout) override
    {
        arm_wake();
        if (!timeout) {
            enter(1, IORING_ENTER_GETEVENTS, nullptr);
        } else {
            __kernel_timespec until{};
            until.tv_sec = timeout->count() / 1'000'000'000;
            until.tv_nsec = timeout->count() % 1'000'000'000;
            enter(1, IORING_ENTER_GETEVENTS, &until);
        }
        reap(done, owner);
    }

    [[nodiscard]] std::size_t refusals() const noexcept override
    {
        return refusals_;
    }
    [[nodiscard]] std::size_t in_registered() const noexcept override
    {
        return in_registered_;
    }
    [[nodiscard]] std::shared_ptr<provided_buffers> provided(unsigned count, std::size_t size) override
    {
        if (!std::exchange(asked_for_provided_, true)) {
            auto made = std::make_shared<provided_buffers>(count, size);
            io_uring_buf_reg all = made->registration();
            if (::syscall(__NR_io_uring_register, fd_, IORING_REGISTER_PBUF_RING, &all, 1) == 0)
                provided_ = std::move(made);
        }
        return provided_;
    }
    [[nodiscard]] const char *name() const noexcept override
    {
        return "io_uring";
    }

  private:
    static constexpr std::uint64_t nobody = 0, wake_up = 1;  // user_data that is no operation
    static constexpr std::uint32_t no_signal = 0x4000;       // MSG_NOSIGNAL
    static constexpr std::uint32_t close_on_exec = 02000000; // SOCK_CLOEXEC
    static constexpr std::uint16_t accept_multishot = 1;     // IORING_ACCEPT_MULTISHOT (5.19)
    static constexpr std::uint16_t receive_multishot = 2;    // IORING_RECV_MULTISHOT (6.0)
    static constexpr std::uint32_t more = 2;                 // IORING_CQE_F_MORE

    explicit io_uring_backend(int wake_fd) noexcept : wake_fd_(wake_fd)
    {
    }

    bool set_up(unsigned depth)
    {
        // Room for the wake-up and cancellations beside the operations.
        const unsigned size = std::bit_ceil(std::min(depth, 16384u) + 2);
        io_uring_params parameters{};
        // Completions need not interrupt a thread that will come by itself (5.19).
        parameters.flags = IORING_SETUP_CLAMP | IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG;
        fd_ = static_cast<int>(::syscall(__NR_io_uring_setup, size, &parameters));
        if (fd_ < 0 && errno == EINVAL) {
            parameters = {};
            parameters.flags = IORING_SETUP_CLAMP;
            fd_ = static_cast<int>(::syscall(__NR_io_uring_setup, size, &parameters));
        }
        constexpr unsigned needed = IORING_FEAT_SINGLE_MMAP | IORING_FEAT_NODROP | IORING_FEAT_EXT_ARG;
        if (fd_ < 0 || (parameters.features & needed) != needed)
            return false;
        rings_size_ = std::max<std::size_t>(parameters.sq_off.array + parameters.sq_entries * sizeof(std::uint32_t),
                                            parameters.cq_off.cqes + parameters.cq_entries * sizeof(io_uring_cqe));
        entries_size_ = parameters.sq_entries * sizeof(io_uring_sqe);
        rings_ = map(rings_size_, IORING_OFF_SQ_RING);
        entries_ = static_cast<io_uring_sqe *>(map(entries_size_, IORING_OFF_SQES));
        if (rings_ == nullptr || entries_ == nullptr)
            return false;
        auto at = [this](std::uint32_t offset) {
            return reinterpret_cast<std::uint32_t *>(static_cast<std::byte *>(rings_) + offset);
        };
        sq_head_ = at(parameters.sq_off.head);
        sq_tail_ = at(parameters.sq_off.tail);
        sq_flags_ = at(parameters.sq_off.flags);
        sq_mask_ = *at(parameters.sq_off.ring_mask);
        cq_head_ = at(parameters.cq_off.head);
        cq_tail_ = at(parameters.cq_off.tail);
        cq_mask_ = *at(parameters.cq_off.ring_mask);
        completions_ = reinterpret_cast<io_uring_cqe *>(at(parameters.cq_off.cqes));
        // Entry i always stands in slot i.
        for (std::uint32_t i = 0; i <= sq_mask_; i++)
            at(parameters.sq_off.array)[i] = i;
        return true;
    }

    void *map(std::size_t size, off_t what) const noexcept
    {
        void *mapped = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd_, what);
        return mapped == MAP_FAILED ? nullptr : mapped;
    }

    [[nodiscard]] bool is_registered(const io_operation &operation) const noexcept
    {
        const auto begin = reinterpret_cast<std::uintptr_t>(registered_.data());
        const auto at = reinterpret_cast<std::uintptr_t>(operation.buffer);
        return at >= begin && at - begin < registered_.size() && operation.size <= registered_.size() - (at - begin);
    }

    // Zeroed; null when the kernel has not fetched the oldest one yet.
    io_uring_sqe *next_entry() noexcept
    {
        if (tail_ - std::atomic_ref(*sq_head_).load(std::memory_order_acquire) > sq_mask_)
            return nullptr;
        io_uring_sqe *entry = &entries_[tail_ & sq_mask_];
        std::memset(entry, 0, sizeof *entry);
        return entry;
    }

    void publish() noexcept
    {
        tail_++;
        unsubmitted_++;
        // release: the kernel reads the entry after it has seen the tail.
        std::atomic_ref(*sq_tail_).store(tail_, std::memory_order_release);
    }

    void arm_wake() noexcept
    {
        if (wake_armed_)
            return;
        io_uring_sqe *entry = next_entry();
        if (entry == nullptr)
            return; // what fills the queue will wake as well
        entry->opcode = IORING_OP_POLL_ADD;
        entry->fd = wake_fd_;
        entry->poll32_events = POLLIN;
        entry->user_data = wake_up;
        publish();
        wake_armed_ = true;
    }

    void enter(unsigned wanted, unsigned flags, const __kernel_timespec *until) noexcept
    {
        io_uring_getevents_arg argument{};
        argument.ts = reinterpret_cast<std::uintptr_t>(until);
        const bool timed = until != nullptr;
        const auto taken = static_cast<int>(::syscall(__NR_io_uring_enter, fd_, unsubmitted_, wanted,
                                                      flags | (timed ? IORING_ENTER_EXT_ARG : 0u),
                                                      timed ? &argument : nullptr, timed ? sizeof argument : 0));
        if (taken < 0 && (errno == EAGAIN || errno == EBUSY))
            refusals_++;
        // Nothing is lost: entries that the kernel has not fetched are offered again by the next call.
        unsubmitted_ = tail_ - std::atomic_ref(*sq_head_).load(std::memory_order_acquire);
    }

    void reap(completion done, void *owner)
    {
        std::uint32_t head = *cq_head_;
        // acquire: the entries were written before the kernel moved the tail.
        while (head != std::atomic_ref(*cq_tail_).load(std::memory_order_acquire)) {
            const io_uring_cqe entry = completions_[head & cq_mask_];
            std::atomic_ref(*cq_head_).store(++head, std::memory_order_release);
            if (entry.user_data == wake_up) {
                wake_armed_ = false;
                std::uint64_t count = 0;
                [[maybe_unused]] const auto drained = ::read(wake_fd_, &count, sizeof count);
            } else if (entry.user_data != nobody) {
                auto &operation = *reinterpret_cast<io_operation *>(entry.user_data);
                operation.result = entry.res;
                operation.goes_on = (entry.flags & more) != 0;
                operation.provided = (entry.flags & IORING_CQE_F_BUFFER) == 0
                                         ? nullptr
                                         : provided_->block(static_cast<std::uint16_t>(entry.flags >> 16));
                done(owner, operation);
            }
        }
    }

    int fd_ = -1;
    int wake_fd_;
    bool wake_armed_ = false;
    void *rings_ = nullptr;
    std::size_t rings_size_ = 0, entries_size_ = 0;
    io_uring_sqe *entries_ = nullptr;
    io_uring_cqe *completions_ = nullptr;
    std::uint32_t *sq_head_ = nullptr, *sq_tail_ = nullptr, *sq_flags_ = nullptr;
    std::uint32_t *cq_head_ = nullptr, *cq_tail_ = nullptr;
    std::uint32_t sq_mask_ = 0, cq_mask_ = 0;
    std::uint32_t tail_ = 0;
    unsigned unsubmitted_ = 0;
    std::size_t refusals_ = 0, in_registered_ = 0;
    std::span<std::byte> registered_;
    std::shared_ptr<provided_buffers> provided_;
    bool asked_for_provided_ = false;
};

} // namespace coro::detail
