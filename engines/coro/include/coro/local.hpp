// SPDX-License-Identifier: Apache-2.0
// Values that follow a chain of calls over its suspensions and threads, such as the id of a request: what a thread_local
// is to a thread.
#pragma once

#include <coro/lazy.hpp>

#include <coroutine>
#include <utility>

namespace coro
{
namespace detail
{

// One value of the chain; what it was before stands outside.
struct local_value {
    const void *key;
    const void *value;
    const local_value *outside;
};

} // namespace detail

// One object for each kind of value, with static lifetime: `inline const coro::local<std::string> request_id;`
template <class T> class local
{
  public:
    local() = default;
    local(const local &) = delete;
    local &operator=(const local &) = delete;

    // `co_await request_id.with(value, lazy)`: the lazy and all that it calls find the value, on every executor; what
    // it spawns begins without.
    template <class Result, class Frames> auto with(T value, lazy<Result, Frames> body) const
    {
        return setting<Result, Frames>(*this, std::move(value), std::move(body));
    }

    // `co_await request_id.get()`: a const T *, null where no caller has set one.
    [[nodiscard]] auto get() const
    {
        return detail::environment_reader([this](const environment &of) -> const T * {
            for (const detail::local_value *each = of.locals; each != nullptr; each = each->outside)
                if (each->key == this)
                    return static_cast<const T *>(each->value);
            return nullptr;
        });
    }

  private:
    template <class Result, class Frames> class [[nodiscard]] setting
    {
      public:
        setting(const local &of, T &&value, lazy<Result, Frames> &&body) noexcept
            : value_(std::move(value)), link_{&of, &value_, nullptr}, body_(std::move(body))
        {
        }
        setting(const setting &) = delete;
        setting &operator=(const setting &) = delete;

        [[nodiscard]] bool await_ready() const noexcept
        {
            return false;
        }
        template <class Promise> std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> waiting)
        {
            inherited_ = detail::environment_of(waiting);
            link_.outside = std::exchange(inherited_.locals, &link_);
            return body_.prepare(waiting, inherited_);
        }
        Result await_resume()
        {
            return body_.result().take();
        }

      private:
        T value_;
        detail::local_value link_;
        environment inherited_;
        lazy<Result, Frames> body_;
    };
};

} // namespace coro
