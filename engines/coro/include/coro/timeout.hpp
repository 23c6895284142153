// SPDX-License-Identifier: Apache-2.0
// `co_await with_timeout(duration, lazy)`, and of anything else that can be awaited: `with_timeout(1s, receive(…))`.
#pragma once

#include <coro/lazy.hpp>
#include <coro/sleep.hpp>
#include <coro/when_any.hpp>

#include <exception>
#include <type_traits>
#include <utility>
#include <variant>

namespace coro
{

// Thrown by a wait that took too long.
class timed_out : public std::exception
{
  public:
    [[nodiscard]] const char *what() const noexcept override
    {
        return "the operation took longer than it was given";
    }
};

namespace detail
{

template <class Awaitable> struct lazy_of : std::false_type {
};
template <class T, class Frames> struct lazy_of<lazy<T, Frames>> : std::true_type {
};

inline lazy<> time_over(reactor::clock::duration after)
{
    co_await sleep(after);
}

template <class Awaitable> auto lazily(Awaitable &awaitable) -> lazy<decltype(awaitable.await_resume())>
{
    co_return co_await awaitable;
}

} // namespace detail

// The value of the lazy. After the time it is asked to stop and waited for, and timed_out is thrown. One that stops by
// itself, or is stopped from outside, throws cancelled as ever.
template <class T, class Frames> lazy<T> with_timeout(reactor::clock::duration limit, lazy<T, Frames> body)
{
    auto first = co_await when_any(std::move(body), detail::time_over(limit));
    if (first.index() == 1)
        throw timed_out();
    if constexpr (!std::is_void_v<T>)
        co_return std::get<0>(std::move(first));
}

// pre: awaited in the expression that makes both.
template <class Awaitable>
requires(!detail::lazy_of<std::remove_cvref_t<Awaitable>>::value)
auto with_timeout(reactor::clock::duration limit, Awaitable &&awaitable)
{
    return with_timeout(limit, detail::lazily(awaitable));
}

} // namespace coro
