// SPDX-License-Identifier: Apache-2.0
// `co_await attempt(lazy)`: its value or its exception, as a value. In when_all(), parallel() and when_any() each part
// keeps its own: `co_await when_all(attempt(a()), attempt(b()))`.
#pragma once

#include <coro/lazy.hpp>

#include <exception>
#include <type_traits>
#include <utility>
#include <variant>

namespace coro
{

template <class T> class [[nodiscard]] result
{
    using kept = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

  public:
    explicit result(std::exception_ptr failure) noexcept : holds_(std::in_place_index<1>, std::move(failure))
    {
    }
    template <class... From> explicit result(std::in_place_t, From &&...value) : holds_(std::in_place_index<0>, std::forward<From>(value)...)
    {
    }

    [[nodiscard]] bool has_value() const noexcept
    {
        return holds_.index() == 0;
    }
    // Null when there is a value.
    [[nodiscard]] std::exception_ptr failure() const noexcept
    {
        return has_value() ? nullptr : std::get<1>(holds_);
    }
    // Moves the value out, or throws the exception.
    T take()
    {
        if (!has_value())
            std::rethrow_exception(std::get<1>(holds_));
        if constexpr (!std::is_void_v<T>)
            return std::get<0>(std::move(holds_));
    }

  private:
    std::variant<kept, std::exception_ptr> holds_;
};

template <class T, class Frames> lazy<result<T>, Frames> attempt(lazy<T, Frames> body)
{
    try {
        if constexpr (std::is_void_v<T>) {
            co_await std::move(body);
            co_return result<T>(std::in_place);
        } else {
            co_return result<T>(std::in_place, co_await std::move(body));
        }
    } catch (...) {
        co_return result<T>(std::current_exception());
    }
}

} // namespace coro
