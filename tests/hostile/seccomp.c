/* SPDX-License-Identifier: Apache-2.0
 * seccomp PROGRAM … - run a program without the system calls that a container's default profile forbids.
 *
 * Known answer: io_uring_setup, perf_event_open and the others below fail with EPERM, in the program and in all that it
 * starts; everything else works. Exit code of the program, or 77 where no filter can be set. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const int forbidden[] = {
    SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register, SYS_perf_event_open, SYS_userfaultfd, SYS_bpf,
    SYS_add_key, SYS_keyctl, SYS_request_key, SYS_mount, SYS_umount2, SYS_pivot_root, SYS_setns, SYS_unshare,
    SYS_process_vm_readv, SYS_process_vm_writev, SYS_ptrace, SYS_kcmp, SYS_swapon, SYS_reboot, SYS_move_pages,
};

int main(int argc, char **argv)
{
    enum { COUNT = sizeof forbidden / sizeof *forbidden };
    struct sock_filter filter[COUNT + 3] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    };
    for (int i = 0; i < COUNT; i++)
        filter[1 + i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)forbidden[i],
                                                     (unsigned char)(COUNT - i), 0);
    filter[COUNT + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    filter[COUNT + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    struct sock_fprog program = {.len = COUNT + 3, .filter = filter};
    if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return 77;
    execv(argv[1], argv + 1);
    perror("seccomp: cannot start the program");
    return 127;
}
