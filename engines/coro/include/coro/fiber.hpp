// SPDX-License-Identifier: Apache-2.0
// Stackful coroutines on an executor: plain functions that may wait anywhere in their call chain.
// fiber::await() takes whatever co_await takes, a lazy too, and a lazy awaits a fiber: `co_await std::move(fiber)`.
#pragma once

#include <coro/context.hpp>
#include <coro/detail/frame.hpp>
#include <coro/detail/queue.hpp>
#include <coro/detail/waiter.hpp>
#include <coro/executor.hpp>
#include <coro/lazy.hpp>
#include <coro/spawn.hpp>

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <stdexcept>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace coro
{

struct fiber_options {
    stack_options stack{};
    std::stop_token stop{}; // what the fiber waits for ends when stop is requested
};

namespace detail
{

// A fiber's control block. Others see `coroutine`: resuming it runs the fiber.
class fiber_block : public block
{
  public:
    struct promise : inheriting {
        fiber_block *block = nullptr;
    };

    // What is to be done once the fiber has left its stack: only then may another thread resume it. What it returns is
    // resumed next.
    using step = std::coroutine_handle<> (*)(void *);

    fiber_block() noexcept : coroutine(resume)
    {
        coroutine.promise.environment = &around;
        coroutine.promise.block = this;
        own.handle = coroutine.handle();
    }

    // Leaves the stack and comes back when somebody resumes `coroutine`. pre: runs on the fiber's stack.
    [[gnu::always_inline]] void suspend(step after, void *argument)
    {
        after_ = after;
        argument_ = argument;
        leave(*this);
    }

    void schedule() noexcept
    {
        around.executor->schedule(own);
    }

    // One of the two owners, the handle and the fiber itself, is done with it.
    void release() noexcept
    {
        // acq_rel: the last one sees what the other has done.
        if (owners_.fetch_sub(1, std::memory_order_acq_rel) == 1)
            destroy(*this);
    }

    frame_with_promise<promise> coroutine;
    environment around;
    work own; // to schedule the fiber when it waits for nothing in particular
    void (*destroy)(fiber_block &) noexcept = nullptr;

    // Those who wait for its end.
    spinlock end_lock;
    line joining;
    bool has_ended = false;

  private:
    friend trampoline;
    static void resume(frame *resumed);

    void run(thread_state &here)
    {
        here.fiber = this;
        const bool noteworthy = enter(*this);
        here.fiber = nullptr;
        if (noteworthy && (flags & ended) != 0) [[unlikely]]
            return end();
        // Another thread may run the fiber before this returns: no member is touched afterwards.
        if (const std::coroutine_handle<> next = after_(argument_))
            next.resume();
    }

    void end()
    {
        for (;;) {
            waiter *next = nullptr;
            {
                std::lock_guard hold(end_lock);
                has_ended = true;
                next = joining.serve();
            }
            if (next == nullptr)
                break;
            wake(next);
        }
        release();
    }

    step after_ = nullptr;
    void *argument_ = nullptr;
    std::atomic<int> owners_{2};
};

// Runs one fiber after the other from the thread's own stack. A fiber that becomes ready inside, because what it waits
// for ended at once, is run when the present one has left: nothing nests, however often that happens.
class trampoline
{
  public:
    static void run(fiber_block &first)
    {
        thread_state &here = this_thread();
        if (here.trampoline != nullptr)
            return here.trampoline->later_.push(first.own);
        trampoline self;
        here.trampoline = &self;
        first.run(here);
        while (work *next = self.later_.pop())
            block_of(*next).run(here);
        here.trampoline = nullptr;
    }

  private:
    static fiber_block &block_of(const work &own) noexcept
    {
        return *std::coroutine_handle<fiber_block::promise>::from_address(own.handle.address()).promise().block;
    }

    fifo<work> later_;
};

inline void fiber_block::resume(frame *resumed)
{
    trampoline::run(*static_cast<frame_with_promise<promise> *>(resumed)->promise.block);
}

template <class T> struct fiber_block_of : fiber_block {
    outcome<T> result;

    template <class Body> static void run_body(block &of)
    {
        auto &self = static_cast<fiber_block_of &>(of);
        Body &body = body_of<fiber_block_of, Body>(of);
        try {
            if constexpr (std::is_void_v<T>)
                body();
            else
                self.result.set_value(body());
        } catch (...) {
            self.result.set_failure(std::current_exception());
        }
        std::destroy_at(&body);
    }
};

template <class Awaitable> decltype(auto) awaiter_of(Awaitable &&awaitable)
{
    if constexpr (requires { std::forward<Awaitable>(awaitable).operator co_await(); })
        return std::forward<Awaitable>(awaitable).operator co_await();
    else if constexpr (requires { operator co_await(std::forward<Awaitable>(awaitable)); })
        return operator co_await(std::forward<Awaitable>(awaitable));
    else
        return std::forward<Awaitable>(awaitable);
}

// What a fiber leaves behind to be done: the awaiter's await_suspend, as co_await would call it.
template <class Awaiter> struct suspension {
    Awaiter &awaiter;
    fiber_block &fiber;
    std::exception_ptr failure{};

    static std::coroutine_handle<> after_leaving(void *of)
    {
        return static_cast<suspension *>(of)->begin();
    }

    std::coroutine_handle<> begin()
    {
        const auto handle = fiber.coroutine.handle();
        using result = decltype(awaiter.await_suspend(handle));
        try {
            if constexpr (std::is_void_v<result>)
                return awaiter.await_suspend(handle), nullptr;
            else if constexpr (std::is_same_v<result, bool>)
                return awaiter.await_suspend(handle) ? nullptr : std::coroutine_handle<>(handle);
            else
                return awaiter.await_suspend(handle);
        } catch (...) {
            failure = std::current_exception();
            return handle;
        }
    }
};

// What any fiber can do, whatever it returns.
class fiber_calls
{
  public:
    // Waits as co_await does and gives what it gives; the thread meanwhile runs other work.
    // Throws std::logic_error outside of a fiber.
    template <class Awaitable> static decltype(auto) await(Awaitable &&awaitable)
    {
        auto &&awaiter = awaiter_of(std::forward<Awaitable>(awaitable));
        if (!awaiter.await_ready()) {
            suspension<std::remove_reference_t<decltype(awaiter)>> after{awaiter, current()};
            after.fiber.suspend(after.after_leaving, &after);
            if (after.failure != nullptr) [[unlikely]]
                std::rethrow_exception(after.failure);
        }
        return awaiter.await_resume();
    }

    // Lets what is ready on the same executor go first.
    static void yield()
    {
        fiber_block &self = current();
        self.suspend(
            [](void *of) {
                static_cast<fiber_block *>(of)->schedule();
                return std::coroutine_handle<>();
            },
            &self);
    }

    // Whether a fiber calls this.
    [[nodiscard]] static bool inside() noexcept
    {
        return this_thread().fiber != nullptr;
    }

    // Of the calling fiber.
    [[nodiscard]] static const std::stop_token &stop_token()
    {
        return current().around.stop;
    }
    [[nodiscard]] static coro::executor &executor()
    {
        return *current().around.executor;
    }
    // Bytes, as stack_pool::used().
    [[nodiscard]] static std::size_t own_stack_used()
    {
        return stack_pool::used(current().memory);
    }

  private:
    static fiber_block &current()
    {
        if (fiber_block *self = this_thread().fiber) [[likely]]
            return *self;
        throw std::logic_error("coro: only a fiber can do this; a coroutine uses co_await, a thread sync_wait");
    }
};

} // namespace detail

// A fiber's handle: join it or detach it, as with std::thread. T: what its function returns.
template <class T> class [[nodiscard]] basic_fiber : public detail::fiber_calls
{
  public:
    basic_fiber(basic_fiber &&other) noexcept : block_(std::exchange(other.block_, nullptr))
    {
    }
    basic_fiber &operator=(basic_fiber &&other) noexcept
    {
        std::swap(block_, other.block_);
        return *this;
    }
    ~basic_fiber()
    {
        if (block_ != nullptr)
            std::terminate();
    }

    [[nodiscard]] bool joinable() const noexcept
    {
        return block_ != nullptr;
    }

    // Nobody waits for it; what it throws is dropped.
    void detach() noexcept
    {
        std::exchange(block_, nullptr)->release();
    }

    class [[nodiscard]] join_awaiter : detail::line_waiter
    {
      public:
        explicit join_awaiter(detail::fiber_block_of<T> *of) noexcept : block_(of)
        {
        }
        ~join_awaiter()
        {
            block_->release();
        }
        [[nodiscard]] bool await_ready() const noexcept
        {
            return false;
        }
        template <class Promise> bool await_suspend(std::coroutine_handle<Promise> waiting)
        {
            return wait_in(block_->joining, block_->end_lock, waiting, [this] { return block_->has_ended; });
        }
        T await_resume()
        {
            finish();
            return block_->result.take();
        }

      private:
        detail::fiber_block_of<T> *block_;
    };

    // `co_await std::move(fiber)`: its value, or its exception. Throws cancelled when whoever waits is stopped first;
    // the fiber goes on then, detached.
    [[nodiscard]] join_awaiter operator co_await() &&noexcept
    {
        return join_awaiter(std::exchange(block_, nullptr));
    }

    // Its value, or its exception. A fiber that calls this waits; a thread is blocked, and must not be the one that the
    // executor runs on.
    T join()
    {
        if (inside())
            return await(std::move(*this));
        return sync_wait(joined(std::move(*this)));
    }

    // Bytes, as stack_pool::used().
    [[nodiscard]] std::size_t stack_used() const noexcept
    {
        return stack_pool::used(block_->memory);
    }

    // Begins function() as a fiber of the executor, which must outlive it.
    template <class Function>
    static auto async(coro::executor &on, Function &&function, const fiber_options &options = {})
    {
        using result = std::invoke_result_t<std::decay_t<Function> &>;
        return basic_fiber<result>::begin(on, std::forward<Function>(function), options);
    }

    // As async(), for what gives nothing.
    template <class Function>
    requires std::is_void_v < std::invoke_result_t < std::decay_t<Function>
    & >> static basic_fiber<void> spawn(coro::executor &on, Function &&function, const fiber_options &options = {})
    {
        return basic_fiber<void>::begin(on, std::forward<Function>(function), options);
    }

  private:
    template <class> friend class basic_fiber;
    using block = detail::fiber_block_of<T>;

    explicit basic_fiber(block *of) noexcept : block_(of)
    {
    }

    template <class Function>
    static basic_fiber begin(coro::executor &on, Function &&function, const fiber_options &options)
    {
        using body = std::decay_t<Function>;
        block &made = detail::make_block<block, body>(options.stack, block::template run_body<body>,
                                                      std::forward<Function>(function));
        made.around.executor = &on;
        if (options.stop.stop_possible())
            made.around.stop = options.stop;
        made.destroy = [](detail::fiber_block &gone) noexcept { detail::destroy_block(static_cast<block &>(gone)); };
        made.schedule();
        return basic_fiber(&made);
    }

    static lazy<T> joined(basic_fiber self)
    {
        co_return co_await std::move(self);
    }

    block *block_;
};

using fiber = basic_fiber<void>;

} // namespace coro
