// SPDX-License-Identifier: Apache-2.0
// Needs: TBB TBB::tbb, libtbb-dev in Debian.
#include "programs.hpp"

#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

struct arena : programs::forks<tbb::task_group> {
    tbb::global_control limit;
    tbb::task_arena of;
    explicit arena(unsigned threads)
        : limit(tbb::global_control::max_allowed_parallelism, threads), of(static_cast<int>(threads))
    {
    }

    template <class Make> auto enter(Make make)
    {
        return of.execute(make);
    }
};

int main(int count, char **arguments)
{
    return programs::main({programs::fork_join<arena>}, count, arguments);
}
