/* SPDX-License-Identifier: Apache-2.0
 * child.h - what all ways of creating a process share: how a refusal is told and how a child's end is proven. */
#ifndef STEELYARD_CHILD_H
#define STEELYARD_CHILD_H

#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe.h"

/* Exit codes that go round, so that one child's end can't be taken for that of its neighbour. */
static inline int child_code(uint64_t number)
{
    return (int)(number % 127) + 1;
}

/* Waits for the end of `pid`; true if it ended by itself and with that code. */
static inline bool child_ended(pid_t pid, int code)
{
    int status;
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == code;
}

static inline _Noreturn void child_refused(const char *call, int error)
{
    probe_skip("%s: %s; see ulimit -u, the pids limit of the cgroup and the free memory", call, strerror(error));
}

#endif
