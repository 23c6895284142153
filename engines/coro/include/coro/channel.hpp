// SPDX-License-Identifier: Apache-2.0
// A queue of bounded length between coroutines and fibers.
#pragma once

#include <coro/detail/waiter.hpp>

#include <coroutine>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

namespace coro
{

namespace detail
{

// Whoever pushes brings the value along, whoever pops finds it here.
template <class T> struct value_waiter : line_waiter {
    std::optional<T> value;
    bool refused = false; // a push into a closed channel

    using line_waiter::finish;
    using line_waiter::wait_in;
};

} // namespace detail

// First in, first out, and so are those who wait. Capacity 0: each push meets a pop. T moves without throwing.
template <class T> class channel
{
    static_assert(std::is_nothrow_move_constructible_v<T>, "it moves while a lock is held");
    using waiter = detail::value_waiter<T>;

  public:
    explicit channel(std::size_t capacity) : capacity_(capacity), slots_(std::make_unique<std::optional<T>[]>(capacity))
    {
    }
    channel(const channel &) = delete;
    channel &operator=(const channel &) = delete;

    class [[nodiscard]] push_awaiter : waiter
    {
      public:
        push_awaiter(channel &to, T &&brought) noexcept : channel_(to)
        {
            this->value.emplace(std::move(brought));
        }
        [[nodiscard]] bool await_ready() const noexcept
        {
            return false;
        }
        template <class Promise> bool await_suspend(std::coroutine_handle<Promise> waiting)
        {
            detail::waiter *reader = nullptr;
            const bool suspends = this->wait_in(channel_.pushing_, channel_.lock_, waiting,
                                                [&] { return channel_.put_at_once(*this, reader); });
            detail::wake(reader); // there is none when this suspends, and then nothing of it may be touched any more
            return suspends;
        }
        // False when the channel was closed and the value is gone.
        bool await_resume()
        {
            this->finish();
            return !this->refused;
        }

      private:
        channel &channel_;
    };

    class [[nodiscard]] pop_awaiter : waiter
    {
      public:
        explicit pop_awaiter(channel &from) noexcept : channel_(from)
        {
        }
        [[nodiscard]] bool await_ready() const noexcept
        {
            return false;
        }
        template <class Promise> bool await_suspend(std::coroutine_handle<Promise> waiting)
        {
            detail::waiter *writer = nullptr;
            const bool suspends = this->wait_in(channel_.popping_, channel_.lock_, waiting,
                                                [&] { return channel_.get_at_once(*this, writer); });
            detail::wake(writer); // as above
            return suspends;
        }
        // Nothing when the channel is closed and empty.
        std::optional<T> await_resume()
        {
            this->finish();
            return std::move(this->value);
        }

      private:
        channel &channel_;
    };

    // `co_await c.push(value)`: waits while the channel is full. Throws cancelled when stop is requested meanwhile.
    push_awaiter push(T value) noexcept
    {
        return push_awaiter(*this, std::move(value));
    }

    // `co_await c.pop()`: waits while it is empty and open. Throws cancelled when stop is requested meanwhile.
    pop_awaiter pop() noexcept
    {
        return pop_awaiter(*this);
    }

    // No push succeeds any more, what is inside can still be read, and everybody who waits is resumed.
    void close()
    {
        for (;;) {
            detail::waiter *next = nullptr;
            {
                std::lock_guard hold(lock_);
                closed_ = true;
                next = popping_.serve();
                if (next == nullptr && (next = pushing_.serve()) != nullptr)
                    static_cast<waiter *>(next)->refused = true;
            }
            if (next == nullptr)
                return;
            detail::wake(next);
        }
    }

  private:
    // All below under the lock.
    bool put_at_once(waiter &from, detail::waiter *&reader) noexcept
    {
        if (closed_) {
            from.refused = true;
            return true;
        }
        reader = popping_.serve();
        if (reader != nullptr)
            static_cast<waiter *>(reader)->value = std::move(from.value);
        else if (count_ < capacity_)
            slots_[(first_ + count_++) % capacity_] = std::move(from.value);
        else
            return false;
        return true;
    }

    bool get_at_once(waiter &into, detail::waiter *&writer) noexcept
    {
        if (count_ != 0) {
            into.value = std::move(slots_[first_]);
            first_ = (first_ + 1) % capacity_;
            count_--;
        }
        writer = pushing_.serve();
        if (writer != nullptr) {
            // Its value is the newest: into the room that has just been made, or straight on without any.
            auto &brought = static_cast<waiter *>(writer)->value;
            if (into.value.has_value())
                slots_[(first_ + count_++) % capacity_] = std::move(brought);
            else
                into.value = std::move(brought);
        }
        return into.value.has_value() || closed_;
    }

    detail::spinlock lock_;
    detail::line pushing_, popping_;
    std::size_t capacity_, first_ = 0, count_ = 0;
    std::unique_ptr<std::optional<T>[]> slots_;
    bool closed_ = false;
};

} // namespace coro
