// SPDX-License-Identifier: Apache-2.0
// What a reader has of a coroutine that yields values, and what the promises of both kinds of generators share.
#pragma once

#include <coro/detail/yielded.hpp>

#include <coroutine>
#include <cstddef>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

namespace coro::detail
{

template <class T, class Promise> class sequence;

// A promise of a sequence also has get_return_object(), final_suspend(), unhandled_exception() and innermost(): the
// coroutine that computes the next value.
template <class T, class Frames> class sequence_promise
{
  public:
    using reference = typename yielded<T>::reference;

    [[nodiscard]] std::suspend_always initial_suspend() const noexcept
    {
        return {};
    }
    void return_void() const noexcept
    {
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

  protected:
    yielded<T> value_;

  private:
    template <class, class> friend class sequence;
};

// The owner of a suspended coroutine and its only reader.
template <class T, class Promise> class sequence
{
  public:
    using reference = typename yielded<T>::reference;

    sequence(sequence &&other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr))
    {
    }
    sequence &operator=(sequence &&other) noexcept
    {
        std::swap(coroutine_, other.coroutine_);
        return *this;
    }
    ~sequence()
    {
        if (coroutine_)
            coroutine_.destroy();
    }

    // Computes the next value; false at the end. Throws what a generator threw and none above it caught, which is the
    // end. pre: not at the end.
    [[gnu::always_inline]] bool next()
    {
        // The handle is not kept in a register over resume(): value() reads it again anyhow, and the register is one
        // that the reader's loop then lacks (1.009 of a bare resume, python -m benchmarks.coro; without it 1.000).
        coroutine_.promise().innermost().resume();
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
        using reference = sequence::reference;
        using pointer = std::add_pointer_t<reference>;

        iterator() = default;
        iterator &operator++()
        {
            coroutine_.promise().innermost().resume();
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
        friend sequence;
        explicit iterator(std::coroutine_handle<Promise> coroutine) noexcept : coroutine_(coroutine)
        {
        }
        std::coroutine_handle<Promise> coroutine_;
    };

    // pre: called once.
    [[nodiscard]] iterator begin()
    {
        iterator first(coroutine_);
        ++first;
        return first;
    }
    [[nodiscard]] std::default_sentinel_t end() const noexcept
    {
        return {};
    }

  private:
    friend Promise;
    explicit sequence(std::coroutine_handle<Promise> coroutine) noexcept : coroutine_(coroutine)
    {
    }
    std::coroutine_handle<Promise> coroutine_;
};

} // namespace coro::detail
