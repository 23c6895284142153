// SPDX-License-Identifier: Apache-2.0
// A stackful coroutine without a scheduler: resume() goes on inside, self::suspend() comes back.
// fiber.hpp builds on it; use it alone for generators and state machines that need a stack.
#pragma once

#include <coro/detail/exceptions.hpp>
#include <coro/detail/point.hpp>
#include <coro/detail/sanitizer.hpp>
#include <coro/stack.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace coro
{

// The floating-point control bits: rounding, masked exceptions, flush to zero.
enum class float_bits : std::uint8_t {
    of_thread, // a change outlives the switch, as for any function of the thread
    own,       // saved and restored by every switch, at its price
};

struct stack_options {
    std::size_t size = stack_pool::default_size;
    float_bits floats = float_bits::of_thread;
};

namespace detail
{

// Thrown through the frames of a context that is destroyed before its end.
struct abandoned {
};

// The head of everything that runs on a stack of its own; lies at the top of that stack, so that a small context is one
// page of memory.
struct block {
    // Whatever a switch must look at. Zero is the plain case, so that one question is enough.
    enum : unsigned {
        ended = 1,
        abandon = 2,
        failed = 4,
        has_canary = 8,
        own_floats = 16,
        holds_exceptions = 32,
    };

    point place;
    unsigned flags = 0;
    void (*body)(block &);
    stack memory;
    exception_state exceptions;
    float_control floats;
    std::exception_ptr failure;
    [[no_unique_address]] stack_watch watch;
};

// The block whose first member this is.
inline block &block_at(point *place) noexcept
{
    return *reinterpret_cast<block *>(place);
}

// Not cold, which gcc takes it for as it always throws: the call would go to another section, and a loop around a
// suspension take a jump more.
[[noreturn, gnu::noinline, gnu::hot]] inline void throw_abandoned()
{
    throw abandoned{};
}

[[noreturn, gnu::noinline]] inline void overflowed() noexcept
{
    std::fputs("coro: a fiber has overflowed its stack; give it a larger stack_options::size\n", stderr);
    std::abort();
}

[[gnu::noinline]] inline void keep_exceptions(block &inner, exception_state &now, const exception_state &outer) noexcept
{
    inner.exceptions = std::exchange(now, outer);
    inner.flags &= ~block::holds_exceptions;
    if (inner.exceptions.any_or(0) != 0)
        inner.flags |= block::holds_exceptions;
}

[[gnu::noinline]] inline void enter_watched(block &inner) noexcept
{
    exception_state &now = find_exceptions_of_this_thread();
    const exception_state outer = std::exchange(now, std::exchange(inner.exceptions, {}));
    const bool own_floats = (inner.flags & block::own_floats) != 0;
    const float_control floats = own_floats ? float_control::of_thread() : float_control{};
    if (own_floats)
        inner.floats.apply();
    inner.watch.entering();
    exchange(&inner.place);
    inner.watch.left();
    if (own_floats) {
        inner.floats = float_control::of_thread();
        floats.apply();
    }
    keep_exceptions(inner, now, outer);
    if ((inner.flags & block::has_canary) != 0)
        if (inner.place.sp < inner.memory.base || !stack_pool::canary_lives(inner.memory))
            overflowed();
}

// Runs the block's stack until it leaves. False: it has just suspended; true: look at its flags.
// pre: it neither runs nor has ended.
[[gnu::always_inline]] inline bool enter(block &inner) noexcept
{
    exception_state &now = exceptions_of_this_thread();
    if (now.any_or(inner.flags) != 0) [[unlikely]] {
        enter_watched(inner);
        return true;
    }
    inner.watch.entering();
    block &again = block_at(exchange(&inner.place));
    again.watch.left();
    if (now.any_or(again.flags) == 0) [[likely]]
        return false;
    keep_exceptions(again, now, {});
    return true;
}

// Back to where enter() was called. Returns its argument, as exchange() does. pre: runs on the block's stack.
[[gnu::always_inline]] inline block &leave(block &self)
{
    self.watch.leaving();
    block &again = block_at(exchange(&self.place));
    again.watch.entered();
    if ((again.flags & block::abandon) != 0) [[unlikely]]
        throw_abandoned();
    return again;
}

[[noreturn]] inline void begin(point *place) noexcept
{
    CORO_OUTERMOST_FRAME();
    block &self = block_at(place);
    self.watch.entered_first();
    try {
        self.body(self);
    } catch (const abandoned &) {
        // Its frames are gone, as was asked.
    } catch (...) {
        self.failure = std::current_exception();
        self.flags |= block::failed;
    }
    self.flags |= block::ended;
    self.watch.leaving_last();
    exchange(&self.place);
    __builtin_unreachable();
}

// A block of type Block and behind it a Body, on a stack from the pool, about to begin. Throws as the stack pool and
// the Body's constructor do, and std::invalid_argument when they do not fit.
template <class Block, class Body, class... Arguments>
[[nodiscard]] Block &make_block(const stack_options &options, void (*run)(block &), Arguments &&...arguments)
{
    static_assert(std::is_base_of_v<block, Block>);
    struct stack_owner {
        stack memory;
        ~stack_owner()
        {
            if (memory.base != nullptr)
                stack_cache::give(memory);
        }
    } owner{stack_cache::take(options.size)};
    const stack memory = owner.memory;

    // Blocks at the same place of every page would share a few sets of the caches.
    const auto colour = (reinterpret_cast<std::uintptr_t>(memory.base) / 4096 % 16) * 64;
    constexpr std::size_t alignment = std::max({alignof(Block), alignof(Body), std::size_t(64)});
    constexpr auto rounded = [](std::size_t size) { return (size + alignment - 1) / alignment * alignment; };
    if (rounded(sizeof(Block)) + rounded(sizeof(Body)) + 2048 > memory.size - alignment) [[unlikely]]
        throw std::invalid_argument("a fiber's function object does not fit on its stack");
    std::byte *top = memory.top() - colour;
    if constexpr (alignment > 64)
        top -= reinterpret_cast<std::uintptr_t>(top) % alignment;
    std::byte *block_at = top - rounded(sizeof(Block)), *body_at = block_at - rounded(sizeof(Body));

    new (body_at) Body(std::forward<Arguments>(arguments)...);
    Block &made = *new (block_at) Block;
    made.memory = memory;
    made.body = run;
    if (memory.guarded == guard::canary)
        made.flags |= block::has_canary;
    if (options.floats == float_bits::own) {
        made.flags |= block::own_floats;
        made.floats = float_control::of_thread();
    }
    made.watch.created(memory.base, memory.size);
    start_at(made.place, body_at, begin);
    owner.memory = {};
    return made;
}

// The Body that make_block() has put behind the Block.
template <class Block, class Body> Body &body_of(block &self) noexcept
{
    constexpr std::size_t alignment = std::max({alignof(Block), alignof(Body), std::size_t(64)});
    constexpr std::size_t size = (sizeof(Body) + alignment - 1) / alignment * alignment;
    return *std::launder(reinterpret_cast<Body *>(reinterpret_cast<std::byte *>(static_cast<Block *>(&self)) - size));
}

// pre: the stack is not in use. The Body has been destroyed by whoever ran it.
template <class Block> void destroy_block(Block &gone) noexcept
{
    const stack memory = gone.memory;
    gone.watch.destroyed();
    std::destroy_at(&gone);
    stack_cache::give(memory);
}

} // namespace detail

class context
{
  public:
    // What the function inside gets: the way back.
    class self
    {
      public:
        // Returns when somebody resumes; throws detail::abandoned, which must not be held up, when the context goes.
        [[gnu::always_inline]] void suspend()
        {
            // The same pointer, but in a register: the next suspend() need not wait for the stack to have it again.
            block_ = &detail::leave(*block_);
        }

      private:
        friend context;
        explicit self(detail::block &of) noexcept : block_(&of)
        {
        }
        detail::block *block_;
    };

    // body(self) runs at the first resume().
    template <class Body>
    requires std::invocable < std::decay_t<Body>
    &, self > &&(!std::same_as<std::decay_t<Body>, context>)explicit context(Body &&body,
                                                                             const stack_options &options = {})
        : block_(&detail::make_block<detail::block, kept<std::decay_t<Body>>>(options, run<std::decay_t<Body>>,
                                                                              std::forward<Body>(body)))
    {
        destroy_body_ = [](detail::block &of) noexcept {
            std::destroy_at(&detail::body_of<detail::block, kept<std::decay_t<Body>>>(of));
        };
    }

    context(context &&other) noexcept : block_(std::exchange(other.block_, nullptr)), destroy_body_(other.destroy_body_)
    {
    }
    context &operator=(context &&other) noexcept
    {
        std::swap(block_, other.block_);
        std::swap(destroy_body_, other.destroy_body_);
        return *this;
    }
    // Unwinds the frames of a context that has not ended.
    ~context()
    {
        if (block_ == nullptr)
            return;
        if (!done() && block_->place.ip != reinterpret_cast<void *>(detail::begin)) [[unlikely]]
            abandon();
        destroy_body_(*block_);
        detail::destroy_block(*block_);
    }

    // Runs the body until it suspends or ends. Throws what the body threw. pre: !done().
    [[gnu::always_inline]] void resume()
    {
        if (detail::enter(*block_)) [[unlikely]]
            rethrow();
    }

    [[nodiscard]] bool done() const noexcept
    {
        return (block_->flags & detail::block::ended) != 0;
    }

    // Bytes, as stack_pool::used().
    [[nodiscard]] std::size_t stack_used() const noexcept
    {
        return stack_pool::used(block_->memory);
    }

    [[nodiscard]] const stack &memory() const noexcept
    {
        return block_->memory;
    }

  private:
    template <class Body> struct kept {
        Body body;
        explicit kept(auto &&from) : body(std::forward<decltype(from)>(from))
        {
        }
    };

    template <class Body> static void run(detail::block &of)
    {
        detail::body_of<detail::block, kept<Body>>(of).body(self(of));
    }

    [[gnu::noinline]] void rethrow()
    {
        if ((block_->flags & detail::block::failed) == 0)
            return;
        block_->flags &= ~detail::block::failed;
        std::rethrow_exception(std::exchange(block_->failure, nullptr));
    }

    // A body that catches everything and suspends again is resumed until it gives in.
    [[gnu::noinline]] void abandon() noexcept
    {
        block_->flags |= detail::block::abandon;
        while (!done())
            detail::enter(*block_);
    }

    detail::block *block_;
    void (*destroy_body_)(detail::block &) noexcept;
};

} // namespace coro
