// SPDX-License-Identifier: Apache-2.0
// As much of a test framework as these tests need: a test is a function, a failed check is printed and remembered.
#pragma once

#include <cmath>
#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace schedsim::test
{

inline std::vector<std::pair<std::string, std::function<void()>>> &all()
{
    static std::vector<std::pair<std::string, std::function<void()>>> tests;
    return tests;
}

inline bool &failed()
{
    static bool any = false;
    return any;
}

inline std::string &folder() // where the studies are
{
    static std::string path;
    return path;
}

struct Register {
    Register(const char *name, std::function<void()> body)
    {
        all().emplace_back(name, std::move(body));
    }
};

inline void check(bool right, const std::string &what)
{
    if (!right) {
        failed() = true;
        std::printf("    WRONG: %s\n", what.c_str());
    }
}

inline void near(double value, double wanted, double relative, const std::string &what)
{
    check(std::fabs(value - wanted) <= relative * std::fabs(wanted),
          what + ": " + std::to_string(value) + " is not within " + std::to_string(100 * relative) + " % of " +
              std::to_string(wanted));
}

inline int run(int argc, char **argv)
{
    if (argc > 1)
        folder() = argv[1];
    for (auto &[name, body] : all()) {
        std::printf("%s\n", name.c_str());
        try {
            body();
        } catch (const std::exception &error) {
            check(false, error.what());
        }
    }
    return failed() ? 1 : 0;
}

} // namespace schedsim::test

#define TEST(name, ...)                                                                                                \
    static void name();                                                                                                \
    static const schedsim::test::Register register_##name(#name, name);                                                \
    static void name()
#define MAIN                                                                                                           \
    int main(int argc, char **argv)                                                                                    \
    {                                                                                                                  \
        return schedsim::test::run(argc, argv);                                                                        \
    }
