// SPDX-License-Identifier: Apache-2.0
#include <coro/parallel.hpp>
#include <coro/spawn.hpp>

static coro::lazy<int> one()
{
    co_return 1;
}

int main()
{
    coro::pool pool(2);
    const auto [a, b] = coro::sync_wait(
        []() -> coro::lazy<std::tuple<int, int>> { co_return co_await coro::parallel(one(), one()); }(), &pool);
    return a + b == 2 ? 0 : 1;
}
