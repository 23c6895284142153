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

template <class... Lazies> class [[nodiscard]] all_of
{
  public:
    explicit all_of(Lazies &&...parts) noexcept : parts_(std::move(parts)...), joint_(sizeof...(Lazies))
    {
    }
    [[nodiscard]] bool await_ready() const noexcept
    {
        return false;
    }
    template <class Promise> bool await_suspend(std::coroutine_handle<Promise> waiting)
    {
        return joint_.begin(waiting, [this](std::coroutine_handle<> then, const environment &around) {
            std::apply([&](auto &...part) { (part.prepare(then, around).resume(), ...); }, parts_);
        });
    }
    auto await_resume()
    {
        return std::apply([](auto &...part) { return std::tuple{take_as_value(part.result())...}; }, parts_);
    }

  private:
    std::tuple<Lazies...> parts_;
    joint joint_;
};

template <class T, class Frames> class [[nodiscard]] all_of_many
{
  public:
    explicit all_of_many(std::vector<lazy<T, Frames>> &&parts) noexcept
        : parts_(std::move(parts)), joint_(parts_.size())
    {
    }
    [[nodiscard]] bool await_ready() const noexcept
    {
        return false;
    }
    template <class Promise> bool await_suspend(std::coroutine_handle<Promise> waiting)
    {
        return joint_.begin(waiting, [this](std::coroutine_handle<> then, const environment &around) {
            for (auto &part : parts_)
                part.prepare(then, around).resume();
        });
    }
    auto await_resume()
    {
        if constexpr (std::is_void_v<T>) {
            for (auto &part : parts_)
                part.result().take();
        } else {
            std::vector<T> values;
            values.reserve(parts_.size());
            for (auto &part : parts_)
                values.push_back(part.result().take());
            return values;
        }
    }

  private:
    std::vector<lazy<T, Frames>> parts_;
    joint joint_;
};

} // namespace detail

// A tuple of the values, std::monostate for void. All are waited for whatever happens; then the exception of the first
// one in the list that threw is thrown. They inherit the executor and the stop token.
template <class... T, class... Frames> auto when_all(lazy<T, Frames>... parts)
{
    return detail::all_of<lazy<T, Frames>...>(std::move(parts)...);
}

// The values in the order of the lazies; nothing for void.
template <class T, class Frames> auto when_all(std::vector<lazy<T, Frames>> parts)
{
    return detail::all_of_many<T, Frames>(std::move(parts));
}

} // namespace coro
