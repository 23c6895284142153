// SPDX-License-Identifier: Apache-2.0
// `co_await when_any(a(), b())`: begins all, and the first one to end stops the others.
#pragma once

#include <coro/attempt.hpp>
#include <coro/detail/frame.hpp>
#include <coro/lazy.hpp>
#include <coro/when_all.hpp>

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace coro
{
namespace detail
{

// Parts: a tuple or a vector of lazies.
template <class Parts> class [[nodiscard]] any_of
{
  public:
    explicit any_of(Parts &&parts)
        : parts_(std::move(parts)), ends_(std::make_unique<end[]>(count_of(parts_))), first_(none),
          left_(count_of(parts_) + 1)
    {
    }
    any_of(const any_of &) = delete;
    any_of &operator=(const any_of &) = delete;

    [[nodiscard]] bool await_ready() const noexcept
    {
        return false;
    }
    template <class Promise> bool await_suspend(std::coroutine_handle<Promise> waiting)
    {
        waiting_ = waiting;
        const environment &around = environment_of(waiting);
        inherited_ = around;
        inherited_.stop = stop_.get_token();
        if (around.stop.stop_possible())
            passes_on_.emplace(around.stop, pass_on{&stop_});
        std::size_t i = 0;
        each_of(parts_, [&](auto &part) {
            ends_[i].all = this;
            ends_[i].place = i;
            part.prepare(ends_[i++].handle(), inherited_).resume();
        });
        return left_.fetch_sub(1, std::memory_order_acq_rel) != 1;
    }
    auto await_resume()
    {
        passes_on_.reset();
        return value_of(parts_, first_.load(std::memory_order_acquire));
    }

  private:
    static constexpr std::size_t none = static_cast<std::size_t>(-1);

    struct pass_on {
        std::stop_source *to;
        void operator()() const noexcept
        {
            to->request_stop();
        }
    };

    // The continuation of one part.
    struct end : frame {
        any_of *all = nullptr;
        std::size_t place = 0;
        end() noexcept : frame(on_end)
        {
        }
        static void on_end(frame *self)
        {
            auto &ended = *static_cast<end *>(self);
            any_of &all = *ended.all;
            std::size_t expected = none;
            // acq_rel: as for left_, which everybody changes afterwards.
            if (all.first_.compare_exchange_strong(expected, ended.place, std::memory_order_acq_rel))
                all.stop_.request_stop();
            if (all.left_.fetch_sub(1, std::memory_order_acq_rel) == 1)
                all.waiting_.resume();
        }
    };

    template <class... Lazies> static auto value_of(std::tuple<Lazies...> &parts, std::size_t first)
    {
        return value_at(parts, first, std::index_sequence_for<Lazies...>());
    }
    template <class... Lazies, std::size_t... I>
    static auto value_at(std::tuple<Lazies...> &parts, std::size_t first, std::index_sequence<I...>)
    {
        using values = std::variant<decltype(take_as_value(std::get<I>(parts).result()))...>;
        std::optional<values> found;
        ((I == first ? void(found.emplace(std::in_place_index<I>, take_as_value(std::get<I>(parts).result()))) : void()),
         ...);
        return *std::move(found);
    }
    template <class T, class Frames> static auto value_of(std::vector<lazy<T, Frames>> &parts, std::size_t first)
    {
        return std::pair(first, take_as_value(parts[first].result()));
    }

    Parts parts_;
    std::unique_ptr<end[]> ends_;
    std::stop_source stop_;
    environment inherited_;
    std::optional<std::stop_callback<pass_on>> passes_on_;
    std::coroutine_handle<> waiting_;
    std::atomic<std::size_t> first_;
    std::atomic<std::size_t> left_; // one more until all have begun
};

// One of race(): hands the result on whatever it is.
template <class T, class Frames> lazy<void, Frames> ended(lazy<T, Frames> body, std::optional<result<T>> &into)
{
    into.emplace(co_await attempt(std::move(body)));
}

} // namespace detail

// The value of the first one to end, as the variant's alternative of its place; throws its exception. The others are
// asked to stop and waited for, so that nothing of theirs outlives the call; what they bring is dropped: race() keeps
// it. They inherit the executor; a stop from outside reaches all of them.
template <class... T, class... Frames> auto when_any(lazy<T, Frames>... parts)
{
    return detail::any_of(std::tuple(std::move(parts)...));
}

// The place of the first one to end, and its value, std::monostate for void. pre: there is one.
template <class T, class Frames> auto when_any(std::vector<lazy<T, Frames>> parts)
{
    return detail::any_of(std::move(parts));
}

// As when_any(), but all results come back, values and exceptions, and with them the place of the one that was first:
// `auto [first, results] = co_await race(a(), b())`.
template <class... T, class... Frames>
lazy<std::pair<std::size_t, std::tuple<result<T>...>>> race(lazy<T, Frames>... parts)
{
    std::tuple<std::optional<result<T>>...> into;
    std::size_t first = 0;
    co_await std::apply(
        [&](auto &...place) -> lazy<> {
            const auto found = co_await when_any(detail::ended(std::move(parts), place)...);
            first = found.index();
        },
        into);
    co_return std::apply([&](auto &...place) { return std::pair(first, std::tuple(*std::move(place)...)); }, into);
}

} // namespace coro
