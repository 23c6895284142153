// SPDX-License-Identifier: Apache-2.0
// coro_tests [FILE…]: runs the tests of these files, or all; exit code 1 when one fails.
#include "test.hpp"

#include <algorithm>
#include <exception>
#include <span>

namespace
{

test::registered *first = nullptr;

std::string_view stem(std::string_view path)
{
    path = path.substr(path.rfind('/') + 1);
    return path.substr(0, path.rfind('.'));
}

bool passes(const test::registered &each)
{
    try {
        each.body();
        return true;
    } catch (const std::exception &problem) {
        std::printf("FAILED %s: %s\n       %s\n", std::string(each.file).c_str(), each.sentence, problem.what());
    }
    return false;
}

} // namespace

test::registered::registered(const char *in_file, const char *the_sentence, void (*the_body)())
    : file(stem(in_file)), sentence(the_sentence), body(the_body), next(first)
{
    first = this;
}

int main(int count, char **arguments)
{
    std::setvbuf(stdout, nullptr, _IOLBF, 0); // what was said is seen even when a test ends the process
    const std::span<char *> files(arguments + 1, static_cast<std::size_t>(count - 1));
    int run = 0, failures = 0;
    for (const test::registered *each = first; each != nullptr; each = each->next) {
        if (!files.empty() &&
            std::none_of(files.begin(), files.end(), [&](const char *file) { return each->file == file; }))
            continue;
        std::printf("%s: %s\n", std::string(each->file).c_str(), each->sentence);
        run++;
        failures += passes(*each) ? 0 : 1;
    }
    std::printf("%d tests, %d failed\n", run, failures);
    return run == 0 || failures != 0;
}
