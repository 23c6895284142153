// SPDX-License-Identifier: Apache-2.0
// TEST("sentence") { CHECK(condition); }, and what several tests need.
#pragma once

#include <coro/detail/sanitizer.hpp>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

namespace test
{

struct failed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Registers itself; main.cpp runs those of the files that it is asked for.
struct registered {
    registered(const char *in_file, const char *sentence, void (*body)());

    std::string_view file; // without folder and suffix
    const char *sentence;
    void (*body)();
    registered *next;
};

[[noreturn]] inline void fail(const char *what, const char *file, int line)
{
    throw failed(std::string(file) + ":" + std::to_string(line) + ": not true: " + what);
}

// Sanitizers make everything ten times slower, and ThreadSanitizer has room for few thousand stacks.
constexpr std::size_t many(std::size_t normal, std::size_t sanitized)
{
#if defined(CORO_ASAN) || defined(CORO_TSAN)
    (void)normal;
    return sanitized;
#else
    (void)sanitized;
    return normal;
#endif
}

// Uses so many bytes of the stack below the caller, which no compiler can take back.
[[gnu::noinline]] inline void use_stack(std::size_t bytes)
{
    void *memory = __builtin_alloca(bytes);
    std::memset(memory, 1, 1);
    asm volatile("" : : "r"(memory) : "memory");
}

// Counts the objects that live, to see that none is lost or destroyed twice.
struct counted {
    static inline int alive = 0;
    counted() noexcept
    {
        alive++;
    }
    counted(const counted &) noexcept
    {
        alive++;
    }
    counted &operator=(const counted &) = default;
    ~counted()
    {
        alive--;
    }
};

// Whether the call throws an Exception.
template <class Exception, class Call> bool throws(Call call)
{
    try {
        call();
    } catch (const Exception &) {
        return true;
    }
    return false;
}

} // namespace test

#define TEST_JOIN2(a, b) a##b
#define TEST_JOIN(a, b) TEST_JOIN2(a, b)
#define TEST(sentence)                                                                                                 \
    static void TEST_JOIN(test_body_, __LINE__)();                                                                     \
    static test::registered TEST_JOIN(test_, __LINE__)(__FILE__, sentence, TEST_JOIN(test_body_, __LINE__));           \
    static void TEST_JOIN(test_body_, __LINE__)()
#define CHECK(...) ((__VA_ARGS__) ? void() : test::fail(#__VA_ARGS__, __FILE__, __LINE__))
