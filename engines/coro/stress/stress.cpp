// SPDX-License-Identifier: Apache-2.0
// coro_stress [fibers=N] [lazies=N] [stack=BYTES]: so many alive at once, each waiting on a latch, then all go on.
// Prints the memory that each costs and what the least is: for a fiber one page and its share of the page tables, for a
// lazy its frame. Exit code 1 when one did not run or was lost.
#include <coro/fiber.hpp>
#include <coro/latch.hpp>
#include <coro/lazy.hpp>
#include <coro/loop.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace
{

// Bytes of the line `name` of /proc/self/status.
std::size_t status_bytes(std::string_view name)
{
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with(name))
            return std::strtoull(line.c_str() + name.size() + 1, nullptr, 10) * 1024;
    return 0;
}

struct memory {
    std::size_t resident = status_bytes("VmRSS"), tables = status_bytes("VmPTE");
};

// Frames of the pool, counted.
struct counted_frames {
    static inline std::size_t alive = 0, bytes = 0;

    static void *allocate(std::size_t size)
    {
        alive++;
        bytes += size;
        return coro::pooled_frames::allocate(size);
    }
    static void release(void *frame, std::size_t size) noexcept
    {
        alive--;
        bytes -= size;
        coro::pooled_frames::release(frame, size);
    }
};

void report(const char *what, std::size_t count, const memory &before, const memory &after, double least, double tables)
{
    const double each = static_cast<double>(after.resident - before.resident) / static_cast<double>(count);
    const double table = static_cast<double>(after.tables - before.tables) / static_cast<double>(count);
    std::printf("%zu %s: %.1f bytes each and %.1f of page tables; the least is %.1f and %.1f: %.3f times the least\n",
                count, what, each, table, least, tables, (each + table) / (least + tables));
}

bool fibers(std::size_t count, std::size_t stack)
{
    coro::loop loop;
    coro::latch gate(1), arrived(count);
    std::size_t ended = 0;
    const memory before;
    for (std::size_t i = 0; i < count; i++)
        coro::fiber::spawn(loop,
                           [&] {
                               arrived.count_down();
                               coro::fiber::await(gate.wait());
                               ended++;
                           },
                           {.stack = {.size = stack}})
            .detach();
    loop.run();
    const memory after;
    const bool all_wait = arrived.done() && ended == 0;
    const auto page = static_cast<double>(coro::stack_pool::page_size());
    // An entry of 8 bytes for each page of the stack and its guard.
    report("fibers", count, before, after, page, 8 * (static_cast<double>(stack) / page + 1));
    const coro::stack_statistics stacks = coro::stack_pool::shared().statistics();
    std::printf("  stacks with a guard region %zu, a guard mapping %zu, a canary %zu\n", stacks.region, stacks.mapping,
                stacks.canary);
    gate.count_down();
    loop.run();
    return all_wait && ended == count;
}

using counted_lazy = coro::lazy<void, counted_frames>;

counted_lazy wait_for(coro::latch &gate, std::size_t &ended)
{
    co_await gate.wait();
    ended++;
}

bool lazies(std::size_t count)
{
    struct finish : coro::detail::frame {
        std::size_t reached = 0;
        finish() noexcept : frame([](frame *self) { static_cast<finish *>(self)->reached++; })
        {
        }
    } end;
    coro::loop loop;
    coro::latch gate(1);
    std::size_t ended = 0;
    const coro::environment on_loop{&loop};
    // Handles in memory that is there before the measurement.
    std::vector<std::byte> reserved(count * sizeof(counted_lazy), std::byte(1));
    auto *all = reinterpret_cast<counted_lazy *>(reserved.data());

    const memory before;
    for (std::size_t i = 0; i < count; i++)
        (new (&all[i]) counted_lazy(wait_for(gate, ended)))->prepare(end.handle(), on_loop).resume();
    const memory after;
    const bool all_wait = counted_frames::alive == count && ended == 0;
    const double frame = static_cast<double>(counted_frames::bytes) / static_cast<double>(count);
    report("lazies", count, before, after, frame, 8 * frame / static_cast<double>(coro::stack_pool::page_size()));

    gate.count_down();
    loop.run();
    std::destroy_n(all, count);
    return all_wait && ended == count && end.reached == count && counted_frames::alive == 0;
}

std::size_t parameter(int count, char **arguments, std::string_view name, std::size_t otherwise)
{
    for (int i = 1; i < count; i++) {
        const std::string_view argument(arguments[i]);
        if (argument.starts_with(name) && argument.substr(name.size()).starts_with('=')) {
            const std::string_view digits = argument.substr(name.size() + 1);
            const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), otherwise);
            if (error != std::errc() || end != digits.data() + digits.size()) {
                std::fprintf(stderr, "coro_stress: %s is no number\n", arguments[i]);
                std::exit(2);
            }
        }
    }
    return otherwise;
}

} // namespace

int main(int count, char **arguments)
{
    const std::size_t stack = parameter(count, arguments, "stack", 16384);
    const bool lazies_right = lazies(parameter(count, arguments, "lazies", 100000));
    const bool fibers_right = fibers(parameter(count, arguments, "fibers", 10000), stack);
    std::printf("lazies %s, fibers %s\n", lazies_right ? "all there" : "LOST", fibers_right ? "all there" : "LOST");
    return lazies_right && fibers_right ? 0 : 1;
}
