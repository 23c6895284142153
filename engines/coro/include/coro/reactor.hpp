// SPDX-License-Identifier: Apache-2.0
// Timers and I/O of one thread: what a loop, or a worker of a pool, looks at when it has nothing to run.
#pragma once

#include <coro/detail/epoll.hpp>
#include <coro/detail/io_backend.hpp>
#include <coro/detail/io_uring.hpp>
#include <coro/detail/libaio.hpp>
#include <coro/detail/queue.hpp>
#include <coro/detail/spinlock.hpp>
#include <coro/detail/thread.hpp>
#include <coro/detail/timers.hpp>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <poll.h>
#include <span>
#include <stdexcept>
#include <sys/eventfd.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace coro
{

enum class io_interface : std::uint8_t {
    best, // the first of these that the kernel allows
    io_uring,
    libaio, // for files; for all else epoll
    epoll,  // and the thread that runs the loop reads and writes files itself
};

struct reactor_options {
    // Reads and writes of files that the kernel is given at once; the others wait here. What waits for a peer is not
    // counted: it would keep those from the kernel for which it waits.
    unsigned io_depth = 256;
    io_interface io = io_interface::best;
    // Memory that the kernel is to keep at hand for reads and writes of files that lie in it (registered buffers of
    // io_uring): it need not look its pages up each time, which O_DIRECT otherwise does. It must outlive the reactor.
    // Where the kernel cannot, or RLIMIT_MEMLOCK is too small, it is memory as any other.
    std::span<std::byte> registered{};
    // How long the thread looks for what comes before it sleeps. Worth as much as a wake-up takes (3 us on bare metal,
    // 50 us in a virtual machine), where peers answer sooner and there is a CPU for them; else it is CPU time spent for
    // nothing.
    std::chrono::nanoseconds spin{0};
    // Memory of which the kernel takes a block for what receivers get: so many blocks, which are memory only once they
    // have been used, of so many bytes. 0 blocks: each receiver has one of its own, as where the kernel takes none.
    unsigned receive_buffers = 256;
    std::size_t receive_size = 4096;
};

struct io_statistics {
    const char *interface = "none";
    std::size_t started = 0;    // handed to the kernel
    std::size_t completed = 0;  // came back, with whatever result
    std::size_t deferred = 0;   // had to wait for room: back-pressure
    std::size_t registered = 0; // reads and writes in registered memory
    std::size_t provided = 0;   // pieces that came into memory that the kernel chose
    std::size_t slept = 0;      // times that the thread slept in the kernel
    std::size_t refused = 0;    // calls that the kernel answered with EAGAIN or EBUSY, and that were repeated
    std::size_t in_flight = 0;
    std::size_t most_in_flight = 0;
};

namespace detail
{

// Something that only the reactor's thread may do, asked for by another.
struct reactor_request {
    reactor_request *next = nullptr;
    void (*run)(reactor_request &, reactor &) = nullptr;
};

struct timer : timer_node {
    void (*fire)(timer &) = nullptr;
};

struct io_wait : io_operation {
    void (*complete)(io_wait &) = nullptr;
};

} // namespace detail

// All members but request() and wake() belong to one thread.
class reactor
{
  public:
    using clock = std::chrono::steady_clock;

    explicit reactor(const reactor_options &options = {})
        : options_(options), wake_fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))
    {
        if (wake_fd_ < 0)
            throw std::system_error(errno, std::generic_category(), "coro: eventfd");
    }
    reactor(const reactor &) = delete;
    reactor &operator=(const reactor &) = delete;
    ~reactor()
    {
        while (abandoned_.load(std::memory_order_acquire) != 0)
            wait([] { return true; });
        ::close(wake_fd_);
    }

    // The calling thread's. Throws std::logic_error on a thread that runs neither a loop nor a pool.
    static reactor &current()
    {
        if (reactor *found = detail::this_thread().reactor) [[likely]]
            return *found;
        throw std::logic_error("coro: sleeping and I/O need a loop or a pool that runs the coroutine");
    }

    void add(detail::timer &timer) noexcept
    {
        used_ = true;
        timers_.insert(timer);
    }

    // pre: added and not fired.
    void remove(detail::timer &timer) noexcept
    {
        timers_.erase(timer);
    }

    // Calls operation.complete later, with the result set. Throws std::system_error without any interface.
    void start(detail::io_wait &operation)
    {
        used_ = true;
        if (io_ == nullptr) [[unlikely]]
            open_io();
        const bool bounded = is_bounded(operation);
        if ((bounded && (!deferred_.empty() || bounded_in_flight_ >= options_.io_depth)) || !io_->start(operation)) {
            deferred_.push(operation);
            statistics_.deferred++;
        } else {
            count_start(operation);
        }
    }

    // Memory for receive_all; null where there is none. Throws as start().
    [[nodiscard]] std::shared_ptr<detail::provided_buffers> provided()
    {
        if (io_ == nullptr)
            open_io();
        return options_.receive_buffers == 0 ? nullptr : io_->provided(options_.receive_buffers, options_.receive_size);
    }
    [[nodiscard]] std::size_t receive_size() const noexcept
    {
        return options_.receive_size;
    }

    // Ends the operation early if it can; it completes either way. pre: started and not complete.
    void cancel(detail::io_wait &operation)
    {
        if (!deferred_.remove(operation))
            return io_->cancel(operation);
        operation.result = -ECANCELED;
        operation.complete(operation);
    }

    // Nobody waits for an operation any more, which has been cancelled or will be: the reactor ends only after it has.
    // Any thread.
    void abandon() noexcept
    {
        abandoned_.fetch_add(1, std::memory_order_relaxed);
    }
    void forget_abandoned() noexcept
    {
        abandoned_.fetch_sub(1, std::memory_order_release);
    }

    // Runs the request on the reactor's thread, soon. Any thread.
    void request(detail::reactor_request &what) noexcept
    {
        requests_.push(what);
        wake();
    }

    // Ends wait() if it blocks, or the next one. Any thread. True when it was asleep.
    bool wake() noexcept
    {
        // seq_cst: pairs with wait(): whoever left work before this sees us asleep, or we see the work.
        if (!asleep_.load(std::memory_order_seq_cst) || !asleep_.exchange(false, std::memory_order_seq_cst))
            return false;
        const std::uint64_t one = 1;
        [[maybe_unused]] const auto written = ::write(wake_fd_, &one, sizeof one);
        return true;
    }

    // Does what is due without blocking.
    void poll()
    {
        requests_.drain([this](detail::reactor_request &what) {
            events_++;
            what.run(what, *this);
        });
        fire_timers();
        if (statistics_.in_flight != 0 || !deferred_.empty()) {
            io_->poll(on_completion, this);
            start_deferred();
        }
    }

    // Does what is due, and blocks until there is something or until `idle()` turns false, which wake() must announce.
    template <class Idle> void wait(Idle idle)
    {
        if (options_.spin.count() > 0 && look(idle))
            return;
        asleep_.store(true, std::memory_order_seq_cst);
        if (requests_.empty() && idle()) {
            io_timeout_type timeout;
            if (const detail::timer_node *first = timers_.first())
                timeout = std::max(first->deadline - clock::now(), clock::duration(0));
            statistics_.slept++;
            if (io_ != nullptr) {
                io_->wait(on_completion, this, timeout);
                start_deferred();
            } else {
                block(timeout);
            }
        }
        asleep_.store(false, std::memory_order_relaxed);
        poll();
    }

    // Nothing that would ever end a wait() by itself.
    [[nodiscard]] bool nothing_due() const noexcept
    {
        return timers_.first() == nullptr && statistics_.in_flight == 0 && deferred_.empty() && requests_.empty();
    }

    // Whether it has ever had a timer or I/O: a request may then come at any time, also for what has just completed.
    [[nodiscard]] bool used() const noexcept
    {
        return used_;
    }

    // Worth polling while there is other work.
    [[nodiscard]] bool has_io() const noexcept
    {
        return statistics_.in_flight != 0 || !deferred_.empty();
    }
    [[nodiscard]] bool has_timers() const noexcept
    {
        return timers_.first() != nullptr;
    }

    [[nodiscard]] io_statistics statistics() const noexcept
    {
        io_statistics now = statistics_;
        if (io_ != nullptr) {
            now.interface = io_->name();
            now.refused = io_->refusals();
            now.registered = io_->in_registered();
        }
        return now;
    }

  private:
    using io_timeout_type = detail::io_timeout;

    void open_io()
    {
        if (options_.io == io_interface::best || options_.io == io_interface::io_uring)
            io_ = detail::io_uring_backend::open(options_.io_depth, wake_fd_, options_.registered);
        if (io_ == nullptr && options_.io != io_interface::io_uring) {
            auto files = options_.io == io_interface::epoll
                             ? nullptr
                             : detail::libaio_backend::open(options_.io_depth, wake_fd_);
            if (files != nullptr || options_.io != io_interface::libaio)
                io_ = detail::epoll_backend::open(wake_fd_, std::move(files));
        }
        if (io_ == nullptr)
            throw std::system_error(
                ENOSYS, std::generic_category(),
                "coro: the kernel does not allow this interface for I/O here (kernel.io_uring_disabled, "
                "fs.aio-max-nr); io_interface::best takes what it allows");
    }

    // Polls for as long as the options say. True when something has come.
    template <class Idle> bool look(Idle &idle)
    {
        const clock::time_point until = clock::now() + options_.spin;
        const std::size_t before = events_;
        do {
            poll();
            if (events_ != before || !idle())
                return true;
            detail::spinlock::pause();
        } while (clock::now() < until);
        return false;
    }

    static bool is_bounded(const detail::io_operation &operation) noexcept
    {
        return operation.kind == detail::io_kind::read || operation.kind == detail::io_kind::write;
    }

    void count_start(const detail::io_operation &operation) noexcept
    {
        bounded_in_flight_ += is_bounded(operation) ? 1 : 0;
        statistics_.started++;
        statistics_.most_in_flight = std::max(statistics_.most_in_flight, ++statistics_.in_flight);
    }

    void start_deferred()
    {
        while (!deferred_.empty() && bounded_in_flight_ < options_.io_depth) {
            detail::io_operation *operation = deferred_.pop();
            if (!io_->start(*operation)) {
                detail::fifo<detail::io_operation> rest;
                rest.push(*operation);
                while (detail::io_operation *later = deferred_.pop())
                    rest.push(*later);
                deferred_ = rest;
                return;
            }
            count_start(*operation);
        }
    }

    static void on_completion(void *owner, detail::io_operation &operation)
    {
        auto &self = *static_cast<reactor *>(owner);
        self.events_++;
        self.statistics_.provided += operation.provided != nullptr ? 1 : 0;
        if (!operation.goes_on) {
            self.statistics_.in_flight--;
            self.bounded_in_flight_ -= is_bounded(operation) ? 1 : 0;
            self.statistics_.completed++;
        }
        auto &waiting = static_cast<detail::io_wait &>(operation);
        waiting.complete(waiting);
    }

    void fire_timers()
    {
        if (timers_.first() == nullptr)
            return;
        const clock::time_point now = clock::now();
        while (detail::timer_node *first = timers_.first()) {
            if (first->deadline > now)
                return;
            timers_.erase(*first);
            auto &due = static_cast<detail::timer &>(*first);
            events_++;
            due.fire(due);
        }
    }

    void block(io_timeout_type timeout) const noexcept
    {
        pollfd wake{wake_fd_, POLLIN, 0};
        timespec until{};
        if (timeout) {
            until.tv_sec = timeout->count() / 1'000'000'000;
            until.tv_nsec = timeout->count() % 1'000'000'000;
        }
        ::ppoll(&wake, 1, timeout ? &until : nullptr, nullptr);
        std::uint64_t count = 0;
        [[maybe_unused]] const auto drained = ::read(wake_fd_, &count, sizeof count);
    }

    reactor_options options_;
    int wake_fd_;
    bool used_ = false;
    std::atomic<bool> asleep_{false};
    std::atomic<std::size_t> abandoned_{0};
    detail::inbox<detail::reactor_request> requests_;
    detail::timer_heap timers_;
    detail::fifo<detail::io_operation> deferred_;
    io_statistics statistics_;
    std::size_t bounded_in_flight_ = 0;
    std::size_t events_ = 0; // completions, timers and requests that have been seen to
    std::unique_ptr<detail::io_backend> io_;
};

} // namespace coro
