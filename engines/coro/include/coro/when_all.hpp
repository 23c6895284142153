// SPDX-License-Identifier: Apache-2.0
// `co_await when_all(a(), b())`: begins all, goes on when all have ended.
#pragma once

#include <coro/detail/frame.hpp>
#include <coro/lazy.hpp>

#include <algorithm>
#include <atomic>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <span>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace coro
{
namespace detail
{

// The continuation of several lazies: the last one to end resumes whoever waits.
class joint : frame
{
  public:
    explicit joint(std::size_t parts) noexcept : frame(on_end), left_(parts + 1)
    {
    }

    // Begins each in turn; every one runs until it waits for something. Returns whether the coroutine suspends.
    template <class Promise, class BeginAll> bool begin(std::coroutine_handle<Promise> waiting, BeginAll begin_all)
    {
        waiting_ = waiting;
        begin_all(this->handle(), environment_of(waiting));
        // One more than the parts was counted, so that nobody resumes the coroutine before it has suspended.
        return left_.fetch_sub(1, std::memory_order_acq_rel) != 1;
    }

  private:
    static void on_end(frame *self)
    {
        auto &all = *static_cast<joint *>(self);
        // acq_rel: the last one releases its own result and sees those of the others.
        if (all.left_.fetch_sub(1, std::memory_order_acq_rel) == 1)
            all.waiting_.resume();
    }

    std::atomic<std::size_t> left_;
    std::coroutine_handle<> waiting_;
};

// void as a value, for tuples.
template <class T> auto take_as_value(outcome<T> &from)
{
    if constexpr (std::is_void_v<T>)
        return from.take(), std::monostate{};
    else
        return from.take();
}

// Throws the exception of the first one in the list that threw.
template <class... Lazies> auto values_of(std::tuple<Lazies...> &parts)
{
    return std::apply([](auto &...part) { return std::tuple{take_as_value(part.result())...}; }, parts);
}

template <class T, class Frames> auto values_of(std::vector<lazy<T, Frames>> &parts)
{
    if constexpr (std::is_void_v<T>) {
        for (auto &part : parts)
            part.result().take();
    } else {
        std::vector<T> values;
        values.reserve(parts.size());
        for (auto &part : parts)
            values.push_back(part.result().take());
        return values;
    }
}

template <class... Lazies> constexpr std::size_t count_of(const std::tuple<Lazies...> &) noexcept
{
    return sizeof...(Lazies);
}
template <class Lazy> std::size_t count_of(const std::vector<Lazy> &parts) noexcept
{
    return parts.size();
}

// Calls visit(part) for each, in order.
template <class... Lazies, class Visit> void each_of(std::tuple<Lazies...> &parts, Visit visit)
{
    std::apply([&visit](auto &...part) { (visit(part), ...); }, parts);
}
template <class Lazy, class Visit> void each_of(std::vector<Lazy> &parts, Visit visit)
{
    for (Lazy &part : parts)
        visit(part);
}

// Parts: a tuple or a vector of lazies.
template <class Parts> class [[nodiscard]] all_of
{
  public:
    explicit all_of(Parts &&parts) noexcept : joint_(count_of(parts)), parts_(std::move(parts))
    {
    }
    [[nodiscard]] bool await_ready() const noexcept
    {
        return false;
    }
    template <class Promise> bool await_suspend(std::coroutine_handle<Promise> waiting)
    {
        return joint_.begin(waiting, [this](std::coroutine_handle<> then, const environment &around) {
            each_of(parts_, [&](auto &part) { part.prepare(then, around).resume(); });
        });
    }
    auto await_resume()
    {
        return values_of(parts_);
    }

  private:
    joint joint_;
    Parts parts_;
};

// Some at a time: a part that ends begins the next one.
template <class T, class Frames> class [[nodiscard]] some_of : frame
{
  public:
    some_of(std::vector<lazy<T, Frames>> &&parts, std::size_t at_most) noexcept
        : frame(on_end), parts_(std::move(parts)), at_most_(std::min(at_most, parts_.size())), next_(at_most_),
          left_(parts_.size() + 1)
    {
    }
    [[nodiscard]] bool await_ready() const noexcept
    {
        return false;
    }
    template <class Promise> bool await_suspend(std::coroutine_handle<Promise> waiting)
    {
        waiting_ = waiting;
        around_ = &environment_of(waiting);
        for (std::size_t i = 0; i < at_most_; i++)
            parts_[i].prepare(this->handle(), *around_).resume();
        return left_.fetch_sub(1, std::memory_order_acq_rel) != 1;
    }
    auto await_resume()
    {
        return values_of(parts_);
    }

  private:
    static void on_end(frame *self)
    {
        auto &all = *static_cast<some_of *>(self);
        // Before this one is counted: after it another one may be the last, unless the next one is ours to begin.
        const std::size_t next = all.next_.fetch_add(1, std::memory_order_relaxed);
        const bool begins = next < all.parts_.size();
        if (all.left_.fetch_sub(1, std::memory_order_acq_rel) == 1)
            all.waiting_.resume();
        else if (begins)
            all.parts_[next].prepare(all.handle(), *all.around_).resume();
    }

    std::vector<lazy<T, Frames>> parts_;
    const std::size_t at_most_;
    std::atomic<std::size_t> next_, left_; // left: one more until the first ones have begun
    const environment *around_ = nullptr;
    std::coroutine_handle<> waiting_;
};

} // namespace detail

// A tuple of the values, std::monostate for void. All are waited for whatever happens; then the exception of the first
// one in the list that threw is thrown. They inherit the executor and the stop token.
template <class... T, class... Frames> auto when_all(lazy<T, Frames>... parts)
{
    return detail::all_of(std::tuple(std::move(parts)...));
}

// The values in the order of the lazies; nothing for void.
template <class T, class Frames> auto when_all(std::vector<lazy<T, Frames>> parts)
{
    return detail::all_of(std::move(parts));
}

// The same, but no more than `at_most` have begun and not ended at any time. pre: at_most > 0.
template <class T, class Frames> auto when_all(std::vector<lazy<T, Frames>> parts, std::size_t at_most)
{
    return detail::some_of<T, Frames>(std::move(parts), at_most);
}

} // namespace coro
