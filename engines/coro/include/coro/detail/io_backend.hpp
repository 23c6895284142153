// SPDX-License-Identifier: Apache-2.0
// What the reactor asks of a kernel interface for asynchronous I/O. An interface is one file that implements this.
#pragma once

#include <coro/detail/provided_buffers.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace coro::detail
{

// read and write end by themselves; sync and open as well; what waits for a peer may take for ever. accept_all and
// receive_all may complete many times.
enum class io_kind : std::uint8_t {
    read,
    write,
    sync,
    open,
    receive,
    receive_all, // where the backend has provided buffers
    send,
    accept,
    accept_all,
    connect,
    poll
};

// One request to the kernel. Belongs to whoever waits for it.
struct io_operation {
    io_operation *next = nullptr;
    io_kind kind = io_kind::read;
    int fd = -1;
    void *buffer = nullptr;        // of open the path, of connect the address
    std::size_t size = 0;          // of open the mode of a new file
    std::int64_t offset = 0;       // of read and write
    std::uint32_t events = 0;      // of poll; of open the flags; of sync 1 without what a read does not need
    int result = 0;                // as the system call would give, or -errno
    std::uintptr_t backend = 0;    // the backend's own
    bool under_way = false;        // the backend's own as well
    bool goes_on = false;          // set by the backend: this is not its last completion
    std::byte *provided = nullptr; // set by the backend: the block that a receive_all has taken
};

// Duration to block for: none waits for ever.
using io_timeout = std::optional<std::chrono::nanoseconds>;

// One thread, the reactor's, but for wake-ups, which come through the eventfd.
class io_backend
{
  public:
    using completion = void (*)(void *owner, io_operation &);

    virtual ~io_backend() = default;

    // Takes the operation; false when the kernel takes no more now: try again after a completion.
    virtual bool start(io_operation &operation) = 0;
    // Asks the kernel to end it early. It completes either way.
    virtual void cancel(io_operation &operation) = 0;
    // Hands what was started to the kernel and calls `done` for what has completed, without blocking.
    virtual void poll(completion done, void *owner) = 0;
    // The same, but blocks until something completes, the eventfd is written or the time is over.
    virtual void wait(completion done, void *owner, io_timeout timeout) = 0;
    // EAGAIN and EBUSY of the kernel, each of which was retried.
    [[nodiscard]] virtual std::size_t refusals() const noexcept = 0;
    // Reads and writes in registered memory.
    [[nodiscard]] virtual std::size_t in_registered() const noexcept
    {
        return 0;
    }
    // Memory for receive_all, made by the first call; null where the kernel takes none.
    [[nodiscard]] virtual std::shared_ptr<provided_buffers> provided(unsigned, std::size_t)
    {
        return nullptr;
    }
    [[nodiscard]] virtual const char *name() const noexcept = 0;
};

} // namespace coro::detail
