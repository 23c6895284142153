// SPDX-License-Identifier: Apache-2.0
// Needs: OpenMP OpenMP::OpenMP_CXX, libgomp of the compiler in Debian.
#include "programs.hpp"

#include <type_traits>

// The children of the task that runs: a group is no object of OpenMP.
struct tasks {
    template <class Call> static void run(Call call)
    {
#pragma omp task firstprivate(call)
        call();
    }
    static void wait()
    {
#pragma omp taskwait
    }
};

struct team : programs::forks<tasks> {
    unsigned threads;
    explicit team(unsigned count) : threads(count)
    {
    }

    template <class Make> auto enter(Make make) const
    {
        if constexpr (std::is_void_v<decltype(make())>) {
#pragma omp parallel num_threads(threads)
#pragma omp single
            make();
        } else {
            decltype(make()) result{};
#pragma omp parallel num_threads(threads)
#pragma omp single
            result = make();
            return result;
        }
    }
};

int main(int count, char **arguments)
{
    return programs::main({programs::fork_join<team>}, count, arguments);
}
