// SPDX-License-Identifier: Apache-2.0
// A sequence of values that is computed as it is read. A range for `for`, and next()/value() without iterators.
#pragma once

#include <coro/detail/sequence.hpp>
#include <coro/frames.hpp>

#include <coroutine>

namespace coro
{

template <class T, class Frames> class generator;

namespace detail
{

template <class T, class Frames> class generator_promise : public sequence_promise<T, Frames>
{
  public:
    using typename sequence_promise<T, Frames>::reference;

    generator<T, Frames> get_return_object() noexcept
    {
        return generator<T, Frames>(innermost());
    }
    [[nodiscard]] std::suspend_always final_suspend() const noexcept
    {
        return {};
    }
    [[nodiscard]] std::suspend_always yield_value(reference value) noexcept
    {
        this->value_.set(value);
        return {};
    }
    // Out of resume(), which is next(): nothing has to be stored or asked for.
    [[noreturn]] void unhandled_exception() const
    {
        throw;
    }

    std::coroutine_handle<generator_promise> innermost() noexcept
    {
        return std::coroutine_handle<generator_promise>::from_promise(*this);
    }
};

} // namespace detail

// T: what co_yield gives; a value is read as const T&, T& stays a reference. The reader sees the object that was
// yielded, or a copy of it when it is a small plain value, until it asks for the next one. For sequences made of
// sequences see recursive_generator.hpp.
template <class T, class Frames = pooled_frames>
class [[nodiscard]] generator : public detail::sequence<T, detail::generator_promise<T, Frames>>
{
  public:
    using promise_type = detail::generator_promise<T, Frames>;
    using detail::sequence<T, promise_type>::sequence;
};

} // namespace coro
