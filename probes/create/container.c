/* SPDX-License-Identifier: Apache-2.0
 * container - a process with namespaces of its own, by clone3(), which ends at once: what a container costs to start
 * before anything runs in it.
 *
 * Known answer: every child is waited for by its PID and must have ended by itself with the exit code it was given. Once
 * a run, a child made in the same way compares its namespaces with its parent's: those that were asked for are others.
 * Overhead: the loop, nanoseconds against tens of microseconds.
 * Limits: namespaces as they come, without a root file system, an address or a limit: what a runtime adds by mount(),
 * netlink and files of control groups is more. The kernel takes a network namespace down after the process has ended,
 * by a thread of its own; its CPU time is in no figure. with=group starts the child in the control group that the probe
 * is in, by CLONE_INTO_CGROUP, and makes none.
 * Assembly: start_all contains (call|bl)\s.*<syscall
 * Source: clone(2), namespaces(7); Oakes et al., SOCK: Rapid Task Provisioning with Serverless-Optimized Containers
 * (USENIX ATC 2018), who measure these primitives. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "child.h"

#ifndef SYS_clone3
#define SYS_clone3 435
#endif
#define INTO_CGROUP UINT64_C(0x200000000)

/* As linux/sched.h has it, whose older versions lack the last member. */
struct how {
    uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size, cgroup;
};

static const struct { const char *name, *file; uint64_t flag; } spaces[] = {
    {"user", "user", CLONE_NEWUSER}, {"mount", "mnt", CLONE_NEWNS}, {"pid", "pid", CLONE_NEWPID},
    {"net", "net", CLONE_NEWNET},    {"ipc", "ipc", CLONE_NEWIPC},  {"uts", "uts", CLONE_NEWUTS},
    {"cgroup", "cgroup", CLONE_NEWCGROUP}};
#define SPACES (sizeof spaces / sizeof *spaces)

static ino_t number_of(const char *file)
{
    char path[64];
    struct stat facts;
    snprintf(path, sizeof path, "/proc/self/ns/%s", file);
    return stat(path, &facts) == 0 ? facts.st_ino : 0;
}

/* Whether exactly those of the caller's namespaces that were asked for are others than these. */
static bool are_own(const ino_t *parents, uint64_t flags)
{
    for (unsigned i = 0; i < SPACES; i++)
        if ((number_of(spaces[i].file) != parents[i]) != ((flags & spaces[i].flag) != 0))
            return false;
    return true;
}

static pid_t start(struct how *how)
{
    return (pid_t)syscall(SYS_clone3, how, sizeof *how);
}

static __attribute__((noinline)) uint64_t start_all(struct how *how, uint64_t times)
{
    uint64_t ended = 0;
    for (uint64_t i = 0; i < times; i++) {
        pid_t pid = (pid_t)syscall(SYS_clone3, how, sizeof *how);
        if (pid == 0)
            _exit(child_code(i)); /* exit() would run the parent's handlers and write its buffers again */
        if (pid < 0)
            child_refused("clone3()", errno);
        ended += child_ended(pid, child_code(i));
    }
    return ended;
}

/* The descriptor of the control group of version 2 that the process is in. */
static int own_group(void)
{
    char line[512], path[600];
    struct statfs facts;
    int fd = -1;
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "0::", 3) == 0) {
            line[strcspn(line, "\n")] = 0;
            snprintf(path, sizeof path, "/sys/fs/cgroup%s", line + 3);
            fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        }
    if (file)
        fclose(file);
    if (fd < 0 || fstatfs(fd, &facts) != 0 || facts.f_type != CGROUP2_SUPER_MAGIC)
        probe_skip("no control group of version 2 is found at /sys/fs/cgroup");
    return fd;
}

static uint64_t flags_of(const char *with)
{
    uint64_t all = 0;
    for (unsigned i = 0; i < SPACES; i++) {
        if (strcmp(spaces[i].name, with) == 0)
            return spaces[i].flag;
        if (spaces[i].flag != CLONE_NEWUSER)
            all |= spaces[i].flag;
    }
    return strcmp(with, "all") == 0 ? all : 0;
}

static void setup(struct probe_run *run)
{
    struct how *how = calloc(1, sizeof *how);
    ino_t parents[SPACES];
    if (!how)
        probe_fail("out of memory");
    how->exit_signal = SIGCHLD;
    how->flags = flags_of(probe_choice(run, "with"));
    for (unsigned i = 0; i < SPACES; i++)
        parents[i] = number_of(spaces[i].file);
    if (probe_is(run, "with", "group")) {
        how->flags = INTO_CGROUP;
        how->cgroup = (uint64_t)own_group();
    }
    pid_t pid = start(how);
    if (pid == 0)
        _exit(are_own(parents, how->flags) ? 1 : 2);
    if (pid < 0)
        probe_skip("a process cannot be started with=%s: %s; it needs the right CAP_SYS_ADMIN, a kernel from 5.7 on, and a "
                   "sandbox that allows it", probe_choice(run, "with"), strerror(errno));
    if (!child_ended(pid, 1))
        probe_fail("the namespaces of a child are not those that were asked for");
    run->state = how;
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    probe_start(value);
    uint64_t ended = start_all(run->state, operations);
    probe_stop(value);
    probe_count(value, "checked", ended);
}

static const struct probe container_probe = {
    .title = "process with namespaces",
    .question = "What does a process cost that has namespaces of its own, as a container has?",
    .operation = "one clone3() with new namespaces, _exit() in the child and waitpid() in the parent",
    .source = "clone(2); Oakes et al., SOCK (USENIX ATC 2018)",
    .statistic = "median",
    .placements = "same,free",
    .uses = "cpu,sched",
    .metrics = (const struct probe_metric[]){
        {"container", "s", "lower", "wall", "operations", "time from the clone to the known end of the child"},
        {"container_cpu", "s", "lower", "cpu", "operations", "CPU time of parent and child for it"},
        {0}},
    .params = (const struct probe_param[]){
        {.name = "with", .doc = "which namespaces are new; all but that of users; or none, in the own control group by name",
         .choices = "none,user,mount,pid,net,ipc,uts,cgroup,all,group",
         .sweep = "none,user,mount,pid,net,ipc,uts,cgroup,all,group", .brief = "none,net,all"},
        {0}},
    .setup = setup,
    .batch = batch,
};

int main(int argc, char **argv)
{
    return probe_main(&container_probe, argc, argv);
}
