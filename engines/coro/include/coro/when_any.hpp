// SPDX-License-Identifier: Apache-2.0
// `co_await when_any(a(), b())`: begins all, and the first one to end stops the others.
#pragma once

#include <coro/detail/frame.hpp>
#include <coro/lazy.hpp>
#include <coro/when_all.hpp>

#include <array>
#include <atomic>
#include <coroutine>
#include <cstddef>
#include <optional>
#include <stop_token>
#include <tuple>
#include <utility>
#include <variant>

namespace coro
{
namespace detail
{

template <class... Lazies> class [[nodiscard]] any_of
{
  public:
    explicit any_of(Lazies &&...parts) noexcept : parts_(std::move(parts)...)
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
        inherited_ = {around.executor, stop_.get_token()};
        if (around.stop.stop_possible())
            passes_on_.emplace(around.stop, pass_on{&stop_});
        begin_all(std::index_sequence_for<Lazies...>());
        return left_.fetch_sub(1, std::memory_order_acq_rel) != 1;
    }

    // The value of the first one to end, as the variant's alternative of its place; throws its exception.
    auto await_resume()
    {
        passes_on_.reset();
        return value_of_first(std::index_sequence_for<Lazies...>());
    }

  private:
    static constexpr std::size_t none = sizeof...(Lazies);

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
        end() noexcept : frame(on_end)
        {
        }
        static void on_end(frame *self)
        {
            auto &ended = *static_cast<end *>(self);
            any_of &all = *ended.all;
            std::size_t expected = none;
            // acq_rel: as for left_, which everybody changes afterwards.
            if (all.first_.compare_exchange_strong(expected, static_cast<std::size_t>(&ended - all.ends_.data()),
                                                   std::memory_order_acq_rel))
                all.stop_.request_stop();
            if (all.left_.fetch_sub(1, std::memory_order_acq_rel) == 1)
                all.waiting_.resume();
        }
    };

    template <std::size_t... I> void begin_all(std::index_sequence<I...>)
    {
        for (end &each : ends_)
            each.all = this;
        (std::get<I>(parts_).prepare(ends_[I].handle(), inherited_).resume(), ...);
    }

    template <std::size_t... I> auto value_of_first(std::index_sequence<I...>)
    {
        using values = std::variant<decltype(take_as_value(std::get<I>(parts_).result()))...>;
        const std::size_t first = first_.load(std::memory_order_acquire);
        std::optional<values> found;
        ((I == first ? void(found.emplace(std::in_place_index<I>, take_as_value(std::get<I>(parts_).result())))
                     : void()),
         ...);
        return *std::move(found);
    }

    std::tuple<Lazies...> parts_;
    std::array<end, sizeof...(Lazies)> ends_;
    std::stop_source stop_;
    environment inherited_;
    std::optional<std::stop_callback<pass_on>> passes_on_;
    std::coroutine_handle<> waiting_;
    std::atomic<std::size_t> first_{none};
    std::atomic<std::size_t> left_{sizeof...(Lazies) + 1}; // one more until all have begun
};

} // namespace detail

// The others are asked to stop and waited for, so that nothing of theirs outlives the call; what they bring is dropped.
// They inherit the executor; a stop from outside reaches all of them.
template <class... T, class... Frames> auto when_any(lazy<T, Frames>... parts)
{
    return detail::any_of<lazy<T, Frames>...>(std::move(parts)...);
}

} // namespace coro
