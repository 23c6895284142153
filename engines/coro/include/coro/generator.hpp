// SPDX-License-Identifier: Apache-2.0
// A sequence of values that is computed as it is read. A range for `for`, and next()/value() without iterators.
#pragma once

#include <coro/detail/yielded.hpp>
#include <coro/frames.hpp>

#include <coroutine>
#include <cstddef>
#include <exception>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

namespace coro
{

// T: what co_yield gives; a value is read as const T&, T& stays a reference. The reader sees the object that was
// yielded, or a copy of it when it is a small plain value, until it asks for the next one. For sequences made of
// sequences see recursive_generator.hpp.
template <class T, class Frames = pooled_frames> class [[nodiscard]] generator
{
  public:
    using reference = typename detail::yielded<T>::reference;

    class promise_type
    {
      public:
        generator get_return_object() noexcept
        {
            return generator(std::coroutine_handle<promise_type>::from_promise(*this));
        }
        [[nodiscard]] std::suspend_always initial_suspend() const noexcept
        {
            return {};
        }
        [[nodiscard]] std::suspend_always final_suspend() const noexcept
        {
            return {};
        }
        [[nodiscard]] std::suspend_always yield_value(reference value) noexcept
        {
            value_.set(value);
            return {};
        }
        void return_void() const noexcept
        {
        }
        // Out of resume(), which is next(): nothing has to be stored or asked for.
        [[noreturn]] void unhandled_exception() const
        {
            throw;
        }
        // A generator cannot wait: it has nobody to wait for it.
        template <class Awaitable> void await_transform(Awaitable &&) = delete;

        static void *operator new(std::size_t size)
        {
            return Frames::allocate(size);
        }
        static void operator delete(void *frame, std::size_t size) noexcept
        {
            Frames::release(frame, size);
        }

      private:
        friend generator;
        detail::yielded<T> value_;
    };

    generator(generator &&other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr))
    {
    }
    generator &operator=(generator &&other) noexcept
    {
        std::swap(coroutine_, other.coroutine_);
        return *this;
    }
    ~generator()
    {
        if (coroutine_)
            coroutine_.destroy();
    }

    // Computes the next value; false at the end. Throws what the generator threw, which is its end. pre: not at the
    // end.
    [[gnu::always_inline]] bool next()
    {
        // The handle is not kept in a register over resume(): value() reads it again anyhow, and the register is one
        // that the reader's loop then lacks (1.009 of a bare resume, python -m benchmarks.coro; without it 1.000).
        coroutine_.resume();
        return !coroutine_.done();
    }

    // pre: next() was true.
    [[nodiscard, gnu::always_inline]] reference value() const noexcept
    {
        return coroutine_.promise().value_.get();
    }

    class iterator
    {
      public:
        using iterator_concept = std::input_iterator_tag;
        using iterator_category = std::input_iterator_tag;
        using difference_type = std::ptrdiff_t;
        using value_type = std::remove_cvref_t<T>;
        using reference = generator::reference;
        using pointer = std::add_pointer_t<reference>;

        iterator() = default;
        iterator &operator++()
        {
            coroutine_.resume();
            return *this;
        }
        void operator++(int)
        {
            ++*this;
        }
        reference operator*() const noexcept
        {
            return coroutine_.promise().value_.get();
        }
        pointer operator->() const noexcept
        {
            return std::addressof(coroutine_.promise().value_.get());
        }
        bool operator==(std::default_sentinel_t) const noexcept
        {
            return coroutine_.done();
        }

      private:
        friend generator;
        explicit iterator(std::coroutine_handle<promise_type> coroutine) noexcept : coroutine_(coroutine)
        {
        }
        std::coroutine_handle<promise_type> coroutine_;
    };

    // pre: called once.
    [[nodiscard]] iterator begin()
    {
        coroutine_.resume();
        return iterator(coroutine_);
    }
    [[nodiscard]] std::default_sentinel_t end() const noexcept
    {
        return {};
    }

  private:
    explicit generator(std::coroutine_handle<promise_type> coroutine) noexcept : coroutine_(coroutine)
    {
    }
    std::coroutine_handle<promise_type> coroutine_;
};

} // namespace coro
