// SPDX-License-Identifier: Apache-2.0
// A generator that may yield the values of another one of its kind. Reading a value costs the same at every depth: the
// reader resumes the innermost generator, not the chain above it.
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

// As generator, and `co_yield recursive_generator` yields all values of that one. An exception passes through the
// generators above as if they had called the one that threw.
template <class T, class Frames = pooled_frames> class [[nodiscard]] recursive_generator
{
  public:
    using reference = typename detail::yielded<T>::reference;

    class promise_type
    {
      public:
        recursive_generator get_return_object() noexcept
        {
            return recursive_generator(std::coroutine_handle<promise_type>::from_promise(*this));
        }
        [[nodiscard]] std::suspend_always initial_suspend() const noexcept
        {
            return {};
        }

        struct final_awaiter {
            [[nodiscard]] bool await_ready() const noexcept
            {
                return false;
            }
            std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> ended) const noexcept
            {
                promise_type &self = ended.promise();
                if (!self.parent_)
                    return std::noop_coroutine();
                self.root_->innermost_ = self.parent_;
                return self.parent_;
            }
            void await_resume() const noexcept
            {
            }
        };
        [[nodiscard]] final_awaiter final_suspend() const noexcept
        {
            return {};
        }

        [[nodiscard]] std::suspend_always yield_value(reference value) noexcept
        {
            root_->value_.set(value);
            return {};
        }

        class nested_awaiter
        {
          public:
            explicit nested_awaiter(recursive_generator &&nested) noexcept : nested_(std::move(nested))
            {
            }
            [[nodiscard]] bool await_ready() const noexcept
            {
                return false;
            }
            std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> outer) noexcept
            {
                promise_type &inner = nested_.coroutine_.promise();
                inner.root_ = outer.promise().root_;
                inner.parent_ = outer;
                inner.root_->innermost_ = nested_.coroutine_;
                return nested_.coroutine_;
            }
            void await_resume() const
            {
                if (nested_.coroutine_.promise().failure_ != nullptr) [[unlikely]]
                    std::rethrow_exception(nested_.coroutine_.promise().failure_);
            }

          private:
            recursive_generator nested_;
        };
        [[nodiscard]] nested_awaiter yield_value(recursive_generator &&nested) noexcept
        {
            return nested_awaiter(std::move(nested));
        }
        [[nodiscard]] nested_awaiter yield_value(recursive_generator &nested) noexcept
        {
            return nested_awaiter(std::move(nested));
        }

        void return_void() const noexcept
        {
        }
        // The outermost throws out of next(); one inside hands it to its parent, which may catch it.
        void unhandled_exception()
        {
            if (!parent_)
                throw;
            failure_ = std::current_exception();
        }
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
        friend recursive_generator;
        promise_type *root_ = this;
        std::coroutine_handle<promise_type> parent_;
        std::exception_ptr failure_;
        // Of the root only:
        std::coroutine_handle<> innermost_ = std::coroutine_handle<promise_type>::from_promise(*this);
        detail::yielded<T> value_;
    };

    recursive_generator(recursive_generator &&other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr))
    {
    }
    recursive_generator &operator=(recursive_generator &&other) noexcept
    {
        std::swap(coroutine_, other.coroutine_);
        return *this;
    }
    ~recursive_generator()
    {
        if (coroutine_)
            coroutine_.destroy();
    }

    // Computes the next value; false at the end. Throws what a generator threw and none above it caught.
    // pre: not at the end.
    [[gnu::always_inline]] bool next()
    {
        const std::coroutine_handle<promise_type> coroutine = coroutine_; // which resume() cannot change
        coroutine.promise().innermost_.resume();
        return !coroutine.done();
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
        using reference = recursive_generator::reference;
        using pointer = std::add_pointer_t<reference>;

        iterator() = default;
        iterator &operator++()
        {
            coroutine_.promise().innermost_.resume();
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
        friend recursive_generator;
        explicit iterator(std::coroutine_handle<promise_type> coroutine) noexcept : coroutine_(coroutine)
        {
        }
        std::coroutine_handle<promise_type> coroutine_;
    };

    // pre: called once.
    [[nodiscard]] iterator begin()
    {
        coroutine_.promise().innermost_.resume();
        return iterator(coroutine_);
    }
    [[nodiscard]] std::default_sentinel_t end() const noexcept
    {
        return {};
    }

  private:
    explicit recursive_generator(std::coroutine_handle<promise_type> coroutine) noexcept : coroutine_(coroutine)
    {
    }
    std::coroutine_handle<promise_type> coroutine_;
};

} // namespace coro
