// SPDX-License-Identifier: Apache-2.0
// `co_await when_all(a(), b())`: begins all, goes on when all have ended.
#pragma once

#include <coro/detail/frame.hpp>
#include <coro/lazy.hpp>

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

} // namespace coro
