// SPDX-License-Identifier: Apache-2.0
// `co_await parallel(a(), b())`: as when_all, and idle workers of the pool take the parts that have not begun.
#pragma once

#include <coro/detail/frame.hpp>
#include <coro/lazy.hpp>
#include <coro/pool.hpp>
#include <coro/when_all.hpp>

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

namespace coro
{
namespace detail
{

// Begins parts one after the other. A strand is a chain of parts that one thread after the other runs, each beginning
// when the one before has ended. The first strand begins in the awaiting thread; what is left of the parts, the rest,
// lies in the worker's deque, and whoever takes it from there makes another strand. A part that ends on the thread that
// has the rest goes on with it: as long as nobody steals, there is one strand, and not one atomic operation (Frigo et
// al., "The Implementation of the Cilk-5 Multithreaded Language", 1998, the fast clone).
class forking
{
  public:
    // begin(self, i, then): what resume() of the result begins is part i; `then` is resumed when it has ended.
    using begin_part = std::coroutine_handle<> (*)(forking &, std::size_t, std::coroutine_handle<>);

    forking(std::size_t parts, begin_part how) noexcept
        : taken_(on_taken, *this), part_end_(on_end, *this), begin_(how), parts_(parts)
    {
    }
    forking(const forking &) = delete;
    forking &operator=(const forking &) = delete;

    // What the awaiting thread goes on with.
    template <class Promise> std::coroutine_handle<> begin(std::coroutine_handle<Promise> waiting)
    {
        waiting_ = waiting;
        around_ = &environment_of(waiting);
        if (parts_ < 2)
            return parts_ == 0 ? waiting_ : begin_(*this, 0, waiting);
        rest_.handle = taken_.handle();
        const thread_state &here = this_thread();
        if (here.worker == nullptr || here.executor != around_->executor)
            return begin_all();
        next_ = 1;
        here.worker->fork(rest_);
        return begin_(*this, 0, part_end_.handle());
    }

    [[nodiscard]] const environment &around() const noexcept
    {
        return *around_;
    }

  private:
    struct step : frame {
        forking &of;
        step(void (*on_resume)(frame *), forking &whose) noexcept : frame(on_resume), of(whose)
        {
        }
    };

    // Nobody to share with: each runs until it waits for something.
    std::coroutine_handle<> begin_all()
    {
        strands_.store(parts_ + 1, std::memory_order_relaxed);
        for (std::size_t i = 0; i < parts_; i++)
            begin_(*this, i, part_end_.handle()).resume();
        return left_one() ? waiting_ : std::noop_coroutine();
    }

    // A thread has taken the rest: a thief, or its own, when the part that it had begun waits.
    static void on_taken(frame *self)
    {
        forking &all = static_cast<step *>(self)->of;
        const std::size_t part = all.next_++;
        all.split_ = true;
        if (all.next_ != all.parts_) {
            // The rest counts as a strand, so nobody can have counted down to the end meanwhile.
            all.strands_.fetch_add(1, std::memory_order_relaxed);
            this_thread().worker->fork(all.rest_);
        }
        all.begin_(all, part, all.part_end_.handle()).resume();
    }

    static void on_end(frame *self)
    {
        forking &all = static_cast<step *>(self)->of;
        worker *const here = this_thread().worker;
        if (here == nullptr || !here->take_back(all.rest_)) {
            if (all.left_one())
                all.waiting_.resume();
            return;
        }
        const std::size_t part = all.next_++;
        std::coroutine_handle<> then = all.part_end_.handle();
        if (all.next_ != all.parts_)
            here->fork(all.rest_);
        else if (!all.split_)
            then = all.waiting_;
        else
            all.left_one(); // there is no rest any more; this strand is still there
        all.begin_(all, part, then).resume();
    }

    // acq_rel: the last one releases its own results and sees those of the others.
    bool left_one() noexcept
    {
        return strands_.fetch_sub(1, std::memory_order_acq_rel) == 1;
    }

    step taken_, part_end_;
    begin_part begin_;
    work rest_;
    std::coroutine_handle<> waiting_;
    const environment *around_ = nullptr;
    const std::size_t parts_;
    std::size_t next_ = 0; // of whoever has the rest, as is split_
    bool split_ = false;   // there has been more than one strand
    std::atomic<std::size_t> strands_{2}; // and the rest
};

template <class Parts> class [[nodiscard]] parallel_of : forking
{
  public:
    explicit parallel_of(Parts &&parts) noexcept : forking(count_of(parts), begin_part), parts_(std::move(parts))
    {
    }
    [[nodiscard]] bool await_ready() const noexcept
    {
        return false;
    }
    template <class Promise> std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> waiting)
    {
        return this->begin(waiting);
    }
    auto await_resume()
    {
        return values_of(parts_);
    }

  private:
    static std::coroutine_handle<> begin_part(forking &self, std::size_t part, std::coroutine_handle<> then)
    {
        return prepare(static_cast<parallel_of &>(self).parts_, part, then, self.around());
    }
    template <class... Lazies>
    static std::coroutine_handle<> prepare(std::tuple<Lazies...> &parts, std::size_t part, std::coroutine_handle<> then,
                                           const environment &around)
    {
        std::coroutine_handle<> begun;
        std::apply(
            [&](auto &...each) {
                std::size_t i = 0;
                ((i++ == part ? void(begun = each.prepare(then, around)) : void()), ...);
            },
            parts);
        return begun;
    }
    template <class Lazy>
    static std::coroutine_handle<> prepare(std::vector<Lazy> &parts, std::size_t part, std::coroutine_handle<> then,
                                           const environment &around)
    {
        return parts[part].prepare(then, around);
    }

    Parts parts_;
};

} // namespace detail

// Runs the parts like a when_all(), with what it gives and throws. On a pool the first one begins at once, each of the
// others when the one before has ended or waits, or as soon as an idle worker takes it: they run at the same time, so
// what they share needs a lock. The cost of a part that nobody steals is that of a call.
template <class... T, class... Frames> auto parallel(lazy<T, Frames>... parts)
{
    return detail::parallel_of(std::tuple(std::move(parts)...));
}

// The values in the order of the lazies; nothing for void.
template <class T, class Frames> auto parallel(std::vector<lazy<T, Frames>> parts)
{
    return detail::parallel_of(std::move(parts));
}

} // namespace coro
