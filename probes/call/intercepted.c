/* SPDX-License-Identifier: Apache-2.0
 * intercepted - a system call that somebody looks at or answers before the kernel does, as sandboxes have it.
 *
 *	none    nobody: the reference
 *	filter  a seccomp filter of so many comparisons lets it through; the last one is about this call
 *	refuse  the filter answers with an error
 *	trap    the filter raises SIGSYS, whose handler in the same thread answers: what gVisor's systrap begins with
 *	notify  the filter hands it to another process, which answers (SECCOMP_RET_USER_NOTIF)
 *	ptrace  a tracer stops it before and after, and answers
 *
 * Known answer: who intercepts answers with a number that the kernel would not; who lets it through leaves the parent's
 * PID, and a second call that the same filter refuses shows that the filter is there.
 * Overhead: the loop, a fraction of a percent.  Limits: since Linux 5.11 the kernel remembers which calls a filter always
 * lets through and does not run it for them: `filter` is then little more than none. Whoever answers in another process
 * shares the CPU with who asks.
 * Assembly: repeat contains (call|bl)\s.*<getppid
 * Source: seccomp(2), seccomp_unotify(2), ptrace(2); Hromatka, Using a cBPF Binary Tree in Libseccomp to Improve
 * Performance (Linux Plumbers Conference 2018). */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "probe.h"

#define ANSWER 7654321       /* no process is that: numbers of processes end at 2^22 */
#define REFUSED SYS_getsid   /* a call that nobody here needs */
#define MOST_RULES 1000
#define UNKNOWN_CALL 0x7000u /* numbers of system calls that there are not */

enum by { NONE, FILTER, REFUSE, TRAP, NOTIFY, TRACE };

struct interception {
    enum by by;
    pid_t other; /* who answers, if another process does */
    long answer; /* that getppid() gives */
};

/* --- who answers ----------------------------------------------------------------------------------------------- */

static void on_trap(int signal, siginfo_t *info, void *context)
{
    ucontext_t *interrupted = context;
    (void)signal, (void)info;
#if defined(__x86_64__)
    interrupted->uc_mcontext.gregs[REG_RAX] = ANSWER;
#elif defined(__aarch64__)
    interrupted->uc_mcontext.regs[0] = ANSWER;
#else
    (void)interrupted;
#endif
}

/* Answers until nobody can ask any more. */
static _Noreturn void answer_notifications(int listener)
{
    struct seccomp_notif asked;
    struct seccomp_notif_resp answer;
    for (;;) {
        memset(&asked, 0, sizeof asked);
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0) {
            if (errno == EINTR || errno == ENOENT)
                continue;
            _exit(0);
        }
        answer = (struct seccomp_notif_resp){.id = asked.id, .val = ANSWER};
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) != 0 && errno != ENOENT)
            _exit(1);
    }
}

/* The register with the result, at the stop after the call. */
static bool set_result(pid_t traced)
{
    struct user_regs_struct registers;
    struct iovec all = {&registers, sizeof registers};
    if (ptrace(PTRACE_GETREGSET, traced, NT_PRSTATUS, &all) != 0)
        return false;
#if defined(__x86_64__)
    if (registers.orig_rax != SYS_getppid)
        return true;
    registers.rax = ANSWER;
#elif defined(__aarch64__)
    if (registers.regs[8] != SYS_getppid)
        return true;
    registers.regs[0] = ANSWER;
#endif
    return ptrace(PTRACE_SETREGSET, traced, NT_PRSTATUS, &all) == 0;
}

/* Ends with the traced one; a tracer that dies leaves it running. */
static _Noreturn void trace(pid_t traced)
{
    int status;
    bool before = true;
    if (ptrace(PTRACE_SEIZE, traced, 0, PTRACE_O_TRACESYSGOOD) != 0 || ptrace(PTRACE_INTERRUPT, traced, 0, 0) != 0)
        _exit(1);
    while (waitpid(traced, &status, __WALL) == traced && WIFSTOPPED(status)) {
        int signal = WSTOPSIG(status);
        if (signal == (SIGTRAP | 0x80)) {
            if (!before && !set_result(traced))
                _exit(1);
            before = !before;
            signal = 0;
        } else if (status >> 16) {
            signal = 0; /* a stop of the tracing itself */
        }
        ptrace(PTRACE_SYSCALL, traced, 0, signal);
    }
    _exit(0);
}

/* --- setting it up --------------------------------------------------------------------------------------------- */

/* So many comparisons with calls that there are not, then what happens to getppid(), and a refusal of REFUSED. */
static int install(uint32_t rules, uint32_t action, unsigned flags)
{
    static struct sock_filter program[2 * MOST_RULES + 8];
    unsigned short length = 0;
    program[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (uint32_t rule = 1; rule < rules; rule++) {
        program[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, UNKNOWN_CALL + rule, 0, 1);
        program[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
    }
    program[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1);
    program[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
    program[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, REFUSED, 0, 1);
    program[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EDOM);
    program[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog filter = {length, program};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    int installed = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter);
    if (installed < 0)
        probe_skip("a seccomp filter cannot be installed here: %s", strerror(errno));
    return installed;
}

/* Takes the listener from the process that it will serve: the listener exists once the filter does, and then this one
 * must be running already, outside the filter. Says 0, or why it cannot. */
static _Noreturn void serve_notifications(pid_t asker, int told)
{
    int listener = -1;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (read(told, &listener, sizeof listener) != sizeof listener)
        _exit(1);
    int process = (int)syscall(SYS_pidfd_open, asker, 0);
    int own = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, listener, 0);
    int why = own < 0 ? errno : 0;
    if (write(told, &why, sizeof why) != sizeof why || why != 0)
        _exit(1);
    answer_notifications(own);
}

static void start_notified(struct interception *of, uint32_t rules)
{
    int told[2], why = 0;
    pid_t asker = getpid();
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, told) != 0)
        probe_fail("no socket pair: %s", strerror(errno));
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); /* where Yama is on, a child may not reach into its parent */
    of->other = fork();
    if (of->other == 0)
        serve_notifications(asker, told[1]);
    if (of->other < 0)
        probe_skip("no process for who answers: %s", strerror(errno));
    int listener = install(rules, SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER);
    close(told[1]);
    if (write(told[0], &listener, sizeof listener) != sizeof listener || read(told[0], &why, sizeof why) != sizeof why)
        probe_fail("the process that answers has ended");
    if (why != 0)
        probe_skip("the process that answers cannot have the listener: %s; it takes Linux 5.6", strerror(why));
    close(told[0]);
    close(listener); /* the other one has its own; should it die, calls fail instead of waiting */
}

static void start_traced(struct interception *of)
{
    int told[2];
    char go = 1;
    pid_t traced = getpid();
    if (pipe(told) != 0)
        probe_fail("no pipe: %s", strerror(errno));
    of->other = fork();
    if (of->other == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (read(told[0], &go, 1) != 1)
            _exit(1);
        trace(traced);
    }
    if (of->other < 0)
        probe_skip("no process for the tracer: %s", strerror(errno));
    prctl(PR_SET_PTRACER, of->other, 0, 0, 0); /* where Yama is on, a child may not trace its parent unasked */
    if (write(told[1], &go, 1) != 1)
        probe_fail("the tracer cannot be told: %s", strerror(errno));
    while (getppid() != ANSWER)
        if (waitpid(of->other, NULL, WNOHANG) == of->other)
            probe_skip("a process may not be traced here (ptrace)");
    close(told[0]);
    close(told[1]);
}

static enum by by_of(const struct probe_run *run)
{
    static const char *const names[] = {"none", "filter", "refuse", "trap", "notify", "ptrace"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (probe_is(run, "by", names[i]))
            return (enum by)i;
    probe_fail("there is no by=%s", probe_choice(run, "by"));
}

static void setup(struct probe_run *run)
{
    struct interception *of = calloc(1, sizeof *of);
    const uint32_t rules = (uint32_t)probe_integer(run, "rules");
    if (!of)
        probe_fail("out of memory");
#if !defined(__x86_64__) && !defined(__aarch64__)
    probe_skip("this probe knows the registers of x86-64 and aarch64 alone");
#endif
    of->by = by_of(run);
    of->answer = of->by == NONE || of->by == FILTER ? getppid() : ANSWER;
    switch (of->by) {
    case NONE:
        break;
    case FILTER:
        install(rules, SECCOMP_RET_ALLOW, 0);
        break;
    case REFUSE:
        install(rules, SECCOMP_RET_ERRNO | EDOM, 0);
        of->answer = getppid(); /* -1 or -EDOM, by the C library */
        if (of->answer >= 0)
            probe_fail("the filter did not refuse the call");
        break;
    case TRAP: {
        struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
        sigaction(SIGSYS, &action, NULL);
        install(rules, SECCOMP_RET_TRAP, 0);
        break;
    }
    case NOTIFY:
        start_notified(of, rules);
        break;
    case TRACE:
        start_traced(of);
        break;
    }
    if (of->by != NONE && of->by != TRACE && (syscall(REFUSED, 0) != -1 || errno != EDOM))
        probe_fail("the filter is not in force");
    run->state = of;
}

static __attribute__((noinline)) uint64_t repeat(uint64_t times, long answer)
{
    uint64_t right = 0;
    for (uint64_t i = 0; i < times; i++)
        right += getppid() == answer;
    return right;
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    const struct interception *of = run->state;
    probe_start(value);
    uint64_t right = repeat(operations, of->answer);
    probe_stop(value);
    probe_count(value, "checked", right);
}

static void teardown(struct probe_run *run)
{
    struct interception *of = run->state;
    if (of->other > 0) {
        kill(of->other, SIGKILL);
        waitpid(of->other, NULL, 0);
    }
    free(of);
}

static const struct probe intercepted_probe = {
    .title = "intercepted system call",
    .question = "What does it cost that somebody looks at a system call, or answers it in the kernel's place?",
    .operation = "one getppid() of the C library, let through or answered by who intercepts it",
    .source = "seccomp(2), seccomp_unotify(2), ptrace(2); T. Hromatka, Linux Plumbers Conference 2018",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu,sched",
    .metrics = (const struct probe_metric[]){
        {"system_call", "s", "lower", "wall", "operations", "time of one system call, with the loop"}, {0}},
    .params = (const struct probe_param[]){
        {.name = "by", .doc = "who intercepts it", .choices = "none,filter,refuse,trap,notify,ptrace",
         .sweep = "none,filter,refuse,trap,notify,ptrace"},
        {.name = "rules", .doc = "comparisons of the filter, the last of which is about this call", .unit = "1",
         .sweep = "1,306", .brief = "1", .min = 1, .max = MOST_RULES},
        {0}},
    .setup = setup,
    .batch = batch,
    .teardown = teardown,
};

int main(int argc, char **argv)
{
    return probe_main(&intercepted_probe, argc, argv);
}
