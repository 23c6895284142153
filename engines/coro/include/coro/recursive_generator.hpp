// SPDX-License-Identifier: Apache-2.0
// A generator that may yield the values of another one of its kind. Reading a value costs the same at every depth: the
// reader resumes the innermost generator, not the chain above it.
#pragma once

#include <coro/detail/sequence.hpp>
#include <coro/frames.hpp>

#include <coroutine>
#include <exception>
#include <utility>

namespace coro
{

template <class T, class Frames> class recursive_generator;

namespace detail
{

template <class T, class Frames> class recursive_generator_promise : public sequence_promise<T, Frames>
{
    using handle = std::coroutine_handle<recursive_generator_promise>;
    using generator = recursive_generator<T, Frames>;

  public:
    using typename sequence_promise<T, Frames>::reference;

    generator get_return_object() noexcept
    {
        return generator(handle::from_promise(*this));
    }

    struct final_awaiter {
        [[nodiscard]] bool await_ready() const noexcept
        {
            return false;
        }
        std::coroutine_handle<> await_suspend(handle ended) const noexcept
        {
            recursive_generator_promise &self = ended.promise();
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
        explicit nested_awaiter(generator &&nested) noexcept : nested_(std::move(nested))
        {
        }
        [[nodiscard]] bool await_ready() const noexcept
        {
            return false;
        }
        std::coroutine_handle<> await_suspend(handle outer) noexcept
        {
            recursive_generator_promise &inner = nested_.coroutine_.promise();
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
        generator nested_;
    };
    [[nodiscard]] nested_awaiter yield_value(generator &&nested) noexcept
    {
        return nested_awaiter(std::move(nested));
    }
    [[nodiscard]] nested_awaiter yield_value(generator &nested) noexcept
    {
        return nested_awaiter(std::move(nested));
    }

    // The outermost throws out of next(); one inside hands it to its parent, which may catch it.
    void unhandled_exception()
    {
        if (!parent_)
            throw;
        failure_ = std::current_exception();
    }

    // pre: of the root.
    [[nodiscard]] std::coroutine_handle<> innermost() const noexcept
    {
        return innermost_;
    }

  private:
    recursive_generator_promise *root_ = this;
    handle parent_;
    std::exception_ptr failure_;
    std::coroutine_handle<> innermost_ = handle::from_promise(*this); // of the root only, as is value_
};

} // namespace detail

// As generator, and `co_yield recursive_generator` yields all values of that one. An exception passes through the
// generators above as if they had called the one that threw.
template <class T, class Frames = pooled_frames>
class [[nodiscard]] recursive_generator : public detail::sequence<T, detail::recursive_generator_promise<T, Frames>>
{
  public:
    using promise_type = detail::recursive_generator_promise<T, Frames>;
    using detail::sequence<T, promise_type>::sequence;
};

} // namespace coro
