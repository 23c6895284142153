// SPDX-License-Identifier: Apache-2.0
// The next value of a coro::recursive_generator that yields from 100 below it.
#include "recursive.hpp"

int main()
{
    return recursive_report(100);
}
