/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "counters.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

struct event {
    const char *name;
    uint32_t type;
    uint64_t config;
};

static const struct event hardware[COUNTERS_MAX + 1] = {
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"branch_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    {"cache_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
};
static const struct event software[COUNTERS_MAX + 1] = {
    {"task_clock_ns", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
    {"page_faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    {"context_switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
};

static struct {
    const struct event *events;
    int fd[COUNTERS_MAX][COUNTERS_TASKS]; /* of the tasks of each event that could be opened; -1 of one that had ended */
    int tasks;
    bool opened[COUNTERS_MAX];
    bool open, user_only;
    char scope[64], absent[320];
} counters;

static void say_absent(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(counters.absent, sizeof counters.absent, format, arguments);
    va_end(arguments);
}

static void say_refused(int error)
{
    const char *why = strerror(error);
    if (error == EACCES || error == EPERM)
        say_absent("counting is not permitted here (%s): sysctl kernel.perf_event_paranoid=2 or less permits it; a container "
                   "needs perf_event_open in its seccomp profile", why);
    else if (error == EMFILE || error == ENFILE)
        say_absent("too many open files to count so many contexts (%s): a higher ulimit -n permits it", why);
    else
        say_absent("the machine has no such counters (%s): virtual machines have them only where the host passes them on",
                   why);
}

/* All threads of this process, then the other processes. Returns more than COUNTERS_TASKS when there are too many. */
static int list_tasks(pid_t tasks[COUNTERS_TASKS + 1], const pid_t *processes, int others)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/task");
    for (struct dirent *entry; folder && count <= COUNTERS_TASKS && (entry = readdir(folder));)
        if (entry->d_name[0] != '.')
            tasks[count++] = (pid_t)strtol(entry->d_name, NULL, 10);
    if (folder)
        closedir(folder);
    for (int i = 0; count <= COUNTERS_TASKS && i < others; i++)
        tasks[count++] = processes[i];
    return count;
}

static int open_event(const struct event *event, pid_t task)
{
    struct perf_event_attr attributes = {
        .type = event->type, .size = sizeof attributes, .config = event->config, .inherit = 1,
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
        .exclude_kernel = counters.user_only, .exclude_hv = counters.user_only,
    };
    return (int)syscall(SYS_perf_event_open, &attributes, task, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* One event for every task, or for none. Returns 0 or the error. */
static int open_everywhere(int e, const pid_t *tasks, int count)
{
    for (int i = 0; i < count; i++) {
        counters.fd[e][i] = open_event(&counters.events[e], tasks[i]);
        if (counters.fd[e][i] < 0 && errno != ESRCH) { /* a thread of a runtime may end while we look */
            int error = errno;
            while (i-- > 0)
                close(counters.fd[e][i]);
            return error;
        }
    }
    counters.opened[e] = true;
    return 0;
}

/* All events, with those missing noted that the processor lacks. Returns 0 or the error of the first. */
static int open_all(const pid_t *tasks, int count)
{
    int first_error = 0, opened = 0, last_error = 0;
    for (int e = 0; counters.events[e].name; e++) {
        int error = open_everywhere(e, tasks, count);
        opened += error == 0;
        last_error = error ? error : last_error;
        if (e == 0)
            first_error = error;
        if (error == EACCES || error == EPERM || error == EMFILE)
            break;
    }
    if (opened && last_error) {
        size_t length = 0;
        for (int e = 0; counters.events[e].name; e++)
            if (!counters.opened[e])
                length += (size_t)snprintf(counters.absent + length, sizeof counters.absent - length, "%s%s",
                                           length ? ", " : "", counters.events[e].name);
        snprintf(counters.absent + length, sizeof counters.absent - length, ": %s", strerror(last_error));
    }
    return opened ? 0 : first_error;
}

bool counters_open(const pid_t *processes, int count)
{
    const char *wanted = getenv("STEELYARD_COUNTERS");
    pid_t tasks[COUNTERS_TASKS + 1];
    if (wanted && strcmp(wanted, "off") == 0) {
        say_absent("turned off by STEELYARD_COUNTERS");
        return false;
    }
    bool by_software = wanted && strcmp(wanted, "software") == 0;
    counters.events = by_software ? software : hardware;
    counters.tasks = list_tasks(tasks, processes, count);
    if (counters.tasks > COUNTERS_TASKS) {
        say_absent("more than %d contexts are not counted: reading so many counters would take too long",
                   COUNTERS_TASKS);
        return false;
    }
    int error = open_all(tasks, counters.tasks);
    if (error == EACCES || error == EPERM) {
        counters.user_only = true; /* what an ordinary user may count of itself */
        error = open_all(tasks, counters.tasks);
    }
    if (error) {
        say_refused(error);
        return false;
    }
    snprintf(counters.scope, sizeof counters.scope, "%s, %s", by_software ? "software" : "hardware",
             counters.user_only ? "user only" : "user and kernel");
    counters.open = true;
    return true;
}

void counters_close(void)
{
    for (int e = 0; counters.open && e < COUNTERS_MAX; e++)
        for (int i = 0; counters.opened[e] && i < counters.tasks; i++)
            close(counters.fd[e][i]);
    counters.open = false;
}

bool counters_are_open(void)
{
    return counters.open;
}

bool counters_read(struct counter counted[COUNTERS_MAX])
{
    for (int e = 0; e < COUNTERS_MAX; e++) {
        counted[e] = (struct counter){0};
        for (int i = 0; counters.open && counters.opened[e] && i < counters.tasks; i++) {
            struct counter one;
            if (counters.fd[e][i] < 0)
                continue;
            if (read(counters.fd[e][i], &one, sizeof one) != sizeof one)
                return false;
            counted[e].count += one.count;
            counted[e].enabled_ns += one.enabled_ns;
            counted[e].running_ns += one.running_ns;
        }
    }
    return true;
}

const char *counters_name(int event)
{
    return counters.opened[event] ? counters.events[event].name : NULL;
}

const char *counters_scope(void)
{
    return counters.scope;
}

const char *counters_absent(void)
{
    return counters.absent;
}
