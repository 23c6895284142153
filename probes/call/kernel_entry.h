/* SPDX-License-Identifier: Apache-2.0
 * kernel_entry.h - proves whether a function of the C library enters the kernel, by trying it where it cannot.
 *
 * System time is no proof: on most kernels it is sampled by the tick, and ten milliseconds hold one to ten of those.
 * Nor is a tracer, which not every container allows. */
#ifndef STEELYARD_KERNEL_ENTRY_H
#define STEELYARD_KERNEL_ENTRY_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe.h"

enum kernel_entry { STAYS_IN_USER_SPACE, ENTERS_KERNEL, KERNEL_ENTRY_UNKNOWN };

/* From here on every system call fails but the one that ends the process. A filter, because seccomp's strict mode
 * also forbids reading the time-stamp counter, which the vDSO lives on; failing, as killing leaves audit records. */
static inline bool close_kernel(void)
{
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EDOM),
    };
    struct sock_fprog filter = {sizeof program / sizeof *program, program};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/* `works` says whether the function gave the right answer; it runs in a process of its own. */
static inline enum kernel_entry kernel_entry(bool (*works)(void))
{
    pid_t pid = fork();
    if (pid == 0) {
        /* Once with the kernel open, so that the dynamic linker has bound the function. */
        bool ready = works() && close_kernel();
        _exit(!ready ? KERNEL_ENTRY_UNKNOWN : works() ? STAYS_IN_USER_SPACE : ENTERS_KERNEL);
    }
    int status;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        return KERNEL_ENTRY_UNKNOWN;
    return (enum kernel_entry)WEXITSTATUS(status);
}

#endif
