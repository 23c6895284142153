/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "contexts.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#endif

#define STACK_BYTES (64u * 1024)

struct start {
    struct probe_run *run;
    context_body *body;
    void *shared;
    int index;
};

struct contexts {
    bool processes;
    int count;
    struct start *start;
    pthread_t *thread;
    pid_t *pid;
    clockid_t *clock;
};

static void *thread_main(void *argument)
{
    const struct start *start = argument;
    probe_place(start->run, start->index);
    start->body(start->run, start->index, start->shared);
    return NULL;
}

static _Noreturn void process_main(const struct start *start, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* the parent died before the line above */
        _exit(1);
    thread_main((void *)start);
    _exit(0);
}

static void *allocate(uint64_t count, uint64_t size)
{
    void *memory = calloc(count, size);
    if (!memory)
        probe_fail("out of memory");
    return memory;
}

static void start_process(struct contexts *c, int i)
{
    pid_t parent = getpid();
    c->pid[i] = fork();
    if (c->pid[i] == 0)
        process_main(&c->start[i], parent);
    if (c->pid[i] < 0)
        probe_skip("%d of %d processes could be started: %s; see ulimit -u and the pids limit of the cgroup", i,
                   c->count, strerror(errno));
    if (clock_getcpuclockid(c->pid[i], &c->clock[i]) != 0)
        probe_fail("no CPU clock for process %d", (int)c->pid[i]);
}

static void start_thread(struct contexts *c, int i, const pthread_attr_t *attributes)
{
    int error = pthread_create(&c->thread[i], attributes, thread_main, &c->start[i]);
    if (error)
        probe_skip("%d of %d threads could be started: %s; see ulimit -u, vm.max_map_count and the pids limit of the "
                   "cgroup", i, c->count, strerror(error));
}

struct contexts *contexts_start(struct probe_run *run, bool processes, int first, int count, context_body *body,
                                void *shared)
{
    struct contexts *c = allocate(1, sizeof *c);
    uint64_t room = count > 0 ? (uint64_t)count : 1;
    c->processes = processes;
    c->count = count;
    c->start = allocate(room, sizeof *c->start);
    c->thread = allocate(room, sizeof *c->thread);
    c->pid = allocate(room, sizeof *c->pid);
    c->clock = allocate(room, sizeof *c->clock);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    for (int i = 0; i < count; i++) {
        c->start[i] = (struct start){run, body, shared, first + i};
        if (processes)
            start_process(c, i);
        else
            start_thread(c, i, &attributes);
    }
    pthread_attr_destroy(&attributes);
    run->contexts = c;
    return c;
}

static void reap(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            probe_fail("cannot wait for a context: %s", strerror(errno));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        probe_fail("a context ended by %s %d", WIFSIGNALED(status) ? "signal" : "exit code",
                   WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

void contexts_join(struct probe_run *run, struct contexts *c)
{
    for (int i = 0; i < c->count; i++) {
        if (c->processes)
            reap(c->pid[i]);
        else
            pthread_join(c->thread[i], NULL);
    }
    if (run->contexts == c)
        run->contexts = NULL;
    free(c->start);
    free(c->thread);
    free(c->pid);
    free(c->clock);
    free(c);
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    return clock_gettime(clock, &now) == 0 ? (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec : 0;
}

uint64_t contexts_cpu_ns(const struct contexts *c)
{
    static uint64_t spent_reading;
    uint64_t total = 0;
    if (!c || !c->processes)
        return 0;
    uint64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < c->count; i++)
        total += clock_ns(c->clock[i]);
    total -= spent_reading;
    spent_reading += clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
    return total;
}

/* Polled, not signalled: a wake-up for each of thousands of arrivals would cost more than their start. */
void gate_open(struct gate *gate, int count)
{
    while (__atomic_load_n(&gate->arrived, __ATOMIC_ACQUIRE) != (uint32_t)count)
        usleep(100);
    __atomic_store_n(&gate->open, 1, __ATOMIC_RELEASE); /* pairs with the load in gate_pass */
    futex_wake(&gate->open, INT_MAX, 0);
}

void gate_pass(struct gate *gate)
{
    __atomic_fetch_add(&gate->arrived, 1, __ATOMIC_RELEASE); /* pairs with the load in gate_open */
    while (!__atomic_load_n(&gate->open, __ATOMIC_ACQUIRE))
        futex_wait(&gate->open, 0, 0);
}

/* rseq's cpu_id is a load from the thread's own memory; sched_getcpu() would cost as much as what it observes. */
static int current_cpu(void)
{
#ifdef RSEQ_SIG
    if (__rseq_size) {
        const volatile struct rseq *area = (const void *)((char *)__builtin_thread_pointer() + __rseq_offset);
        return (int)area->cpu_id;
    }
#endif
    return sched_getcpu();
}

struct last_ran *last_ran_new(void)
{
    struct last_ran *last = probe_share(PROBE_MAX_CPUS * sizeof *last);
    for (int cpu = 0; cpu < PROBE_MAX_CPUS; cpu++)
        last[cpu].context = -1;
    return last;
}

bool last_ran_switched(struct last_ran *last_ran, int index)
{
    struct last_ran *here = &last_ran[current_cpu()];
    bool switched = here->context != index;
    here->context = index;
    return switched;
}
