// SPDX-License-Identifier: Apache-2.0
#include <coro/stack.hpp>

#include <coro/context.hpp>

#include "test.hpp"

#include <cstring>
#include <sys/wait.h>
#include <vector>

using coro::guard;
using coro::stack_pool;

TEST("a stack has the size that was asked for, rounded up to a power of two, and can be written throughout")
{
    stack_pool pool;
    for (const std::size_t size : {std::size_t(1), std::size_t(4096), std::size_t(5000), std::size_t(1) << 20}) {
        const coro::stack got = pool.take(size);
        CHECK(got.size >= size && got.size < 2 * std::max(size, stack_pool::page_size()));
        std::memset(got.base, 1, got.size);
        pool.give(got);
    }
}

TEST("a stack is used again, and statistics count it once")
{
    stack_pool pool;
    const coro::stack first = pool.take(16384);
    pool.give(first);
    const coro::stack again = pool.take(16384);
    CHECK(again.base == first.base);
    const coro::stack_statistics now = pool.statistics();
    CHECK(now.region + now.mapping + now.canary == 1);
}

TEST("a stack above the largest is refused")
{
    stack_pool pool;
    CHECK(test::throws<std::invalid_argument>([&] { (void)pool.take(stack_pool::largest + 1); }));
}

TEST("a stack that is trimmed is empty again and still guarded")
{
    stack_pool pool;
    const coro::stack got = pool.take(std::size_t(1) << 16);
    std::memset(got.base, 1, got.size);
    CHECK(stack_pool::used(got) == got.size);
    pool.give(got);
    pool.trim();
    const coro::stack again = pool.take(std::size_t(1) << 16);
    CHECK(again.base == got.base && stack_pool::used(again) <= stack_pool::page_size());
}

// Whether writing there ends a process.
static bool faults(std::byte *where)
{
    const pid_t child = ::fork();
    if (child == 0) {
        ::signal(SIGSEGV, SIG_DFL); // a sanitizer's handler would report it
        *static_cast<volatile std::byte *>(where) = std::byte(1);
        ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

TEST("each kind of guard does what it says")
{
    for (const guard kind : {guard::region, guard::mapping, guard::canary}) {
        stack_pool pool(kind);
        const coro::stack got = pool.take(16384);
        if (got.guarded != kind)
            continue; // an older kernel has no guard regions
        CHECK(faults(got.base - 1) == (kind != guard::canary));
        if (kind == guard::canary) {
            CHECK(stack_pool::canary_lives(got));
            got.base[3] = std::byte(1);
            CHECK(!stack_pool::canary_lives(got));
        }
    }
}

TEST("beyond the kernel's map limit stacks have canaries, and all of them exist")
{
    std::size_t limit = 65530;
    std::ifstream("/proc/sys/vm/max_map_count") >> limit;
    if (limit > 1000000)
        return; // a machine set up to hold them all
    stack_pool pool(guard::mapping);
    std::vector<coro::stack> all;
    for (std::size_t i = 0; i < limit / 4 + 1000; i++)
        all.push_back(pool.take(4096));
    const coro::stack_statistics now = pool.statistics();
    CHECK(now.mapping > 0 && now.canary > 0 && now.mapping + now.canary == all.size());
    CHECK(all.back().guarded == guard::canary);
    for (const coro::stack &each : all)
        *each.base = std::byte(1);
}

#if !defined(CORO_ASAN) && !defined(CORO_TSAN)
TEST("a context whose canary is gone ends the process")
{
    // A pool of its own is not what a context takes its stack from, so the canary is asked for directly.
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(2);
        coro::context inner([](coro::context::self self) { self.suspend(); });
        const_cast<coro::stack &>(inner.memory()).guarded = guard::canary;
        auto &head = *reinterpret_cast<coro::detail::block *>(
            reinterpret_cast<std::byte *>(const_cast<coro::stack *>(&inner.memory())) -
            offsetof(coro::detail::block, memory));
        head.flags |= coro::detail::block::has_canary;
        *inner.memory().base = std::byte(1);
        inner.resume();
        ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}
#endif
