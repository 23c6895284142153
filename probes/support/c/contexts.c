/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "contexts.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#if defined(__GLIBC__) && __has_include(<sys/rseq.h>)
#if __GLIBC_PREREQ(2, 35) /* a wheel is linked to an older one, whatever headers are there */
#include <sys/rseq.h>
#endif
#endif

#define STACK_BYTES (64u * 1024)
#define PROCESS_BYTES (160u * 1024) /* of the kernel's memory; measured: 130 KiB with a small probe's page tables */
#define SHORTEST_SLICE_NS 100000 /* the kernel's own minimum */
#define SHORTEST_SLEEP_NS 500000 /* among n busy contexts a wake-up of 10 us is paid off by n times that of waiting */
#define LONGEST_SLEEP_NS 50000000
#define MAX_CLOCKS_READ 512 /* about 0.5 ms: more would use up the reader's time slice, and a round of all would pass */

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

/* fork() succeeds until the machine kills somebody for memory: what is missing must be known before. */
static void require_memory(uint64_t needed)
{
    char line[128];
    FILE *file = fopen("/proc/meminfo", "re");
    unsigned long long available_kib = ULLONG_MAX / 1024;
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %llu kB", &available_kib) == 1)
            break;
    if (file)
        fclose(file);
    if (needed / 1024 > available_kib)
        probe_skip("so many processes need about %llu MiB of memory and %llu MiB are available",
                   (unsigned long long)needed >> 20, available_kib >> 10);
}

struct contexts *contexts_start(struct probe_run *run, bool processes, int first, int count, context_body *body,
                                void *shared)
{
    if (processes)
        require_memory((uint64_t)count * PROCESS_BYTES);
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

int contexts_processes(const struct contexts *contexts)
{
    return contexts && contexts->processes ? contexts->count : 0;
}

pid_t contexts_process(const struct contexts *contexts, int index)
{
    return contexts->pid[index];
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
    int step = (c->count + MAX_CLOCKS_READ - 1) / MAX_CLOCKS_READ, clocks = 0;
    for (int i = 0; i < c->count; i += step, clocks++)
        total += clock_ns(c->clock[i]);
    if (step > 1) {
        total = (uint64_t)((double)total / clocks * c->count);
        probe_caveat("CPU time is an estimate from every %dth of %d processes", step, c->count);
    }
    total -= spent_reading;
    spent_reading += clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
    return total;
}

struct switches thread_switches(void)
{
    struct rusage own;
    getrusage(RUSAGE_THREAD, &own);
    return (struct switches){(uint64_t)own.ru_nvcsw, (uint64_t)own.ru_nivcsw};
}

uint64_t tally_operations(const struct tally *tally, int contexts)
{
    uint64_t sum = 0;
    for (int i = 0; i < contexts; i++)
        sum += __atomic_load_n(&tally[i].operations, __ATOMIC_ACQUIRE);
    return sum;
}

void timekeeper_become(void)
{
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } wish = {.size = sizeof wish};
    if (syscall(SYS_sched_getattr, 0, &wish, sizeof wish, 0) == 0) {
        wish.runtime = SHORTEST_SLICE_NS;
        syscall(SYS_sched_setattr, 0, &wish, 0);
    }
}

void timekeeper_sleep(uint64_t (*done)(const void *shared), const void *shared, uint64_t enough)
{
    uint64_t begin_ns = probe_now_ns(), before = done(shared), now;
    double rest_ns = SHORTEST_SLEEP_NS;
    do {
        struct timespec pause = {.tv_nsec = (long)(rest_ns < SHORTEST_SLEEP_NS  ? SHORTEST_SLEEP_NS
                                                   : rest_ns > LONGEST_SLEEP_NS ? LONGEST_SLEEP_NS
                                                                                : rest_ns)};
        nanosleep(&pause, NULL);
        now = done(shared);
        double elapsed_ns = (double)(probe_now_ns() - begin_ns), rate = (double)(now - before) / elapsed_ns;
        rest_ns = rate > 0 ? (double)(enough - now) / rate : 2 * rest_ns;
    } while (now < enough);
}

/* Polled, not signalled: a wake-up for each of thousands of arrivals would cost more than their start. One context is
 * woken, who wakes the rest: whoever wakes hundreds owes the scheduler that time, and a timekeeper that pays it off
 * after the gate has opened sleeps for a whole round of the others. */
void gate_open(struct gate *gate, int count)
{
    while (__atomic_load_n(&gate->arrived, __ATOMIC_ACQUIRE) != (uint32_t)count)
        usleep(100);
    __atomic_store_n(&gate->open, 1, __ATOMIC_RELEASE); /* pairs with the load in gate_pass */
    futex_wake(&gate->open, 1, 0);
}

void gate_pass(struct gate *gate)
{
    __atomic_fetch_add(&gate->arrived, 1, __ATOMIC_RELEASE); /* pairs with the load in gate_open */
    while (!__atomic_load_n(&gate->open, __ATOMIC_ACQUIRE))
        futex_wait(&gate->open, 0, 0);
    futex_wake(&gate->open, INT_MAX, 0);
}

/* rseq's cpu_id is a load from the thread's own memory; sched_getcpu() would cost as much as what it observes. */
int thread_cpu(void)
{
#ifdef RSEQ_SIG
    if (__rseq_size) {
        const volatile struct rseq *area = (const void *)((char *)__builtin_thread_pointer() + __rseq_offset);
        return (int)area->cpu_id;
    }
#endif
    return sched_getcpu();
}

uint64_t cpus_among(const int *cpu, int count)
{
    uint64_t different = 0;
    for (int i = 0; i < count; i++) {
        int before = 0;
        while (before < i && cpu[before] != cpu[i])
            before++;
        different += before == i;
    }
    return different;
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
    struct last_ran *here = &last_ran[thread_cpu()];
    bool switched = here->context != index;
    here->context = index;
    return switched;
}
