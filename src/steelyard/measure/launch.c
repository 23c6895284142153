/* SPDX-License-Identifier: Apache-2.0
 * launch - start one probe where it belongs, end it on time and leave nothing of it behind.
 *
 *   launch --run-id ID --parent PID --cpus 0,1 --deadline-ms N --file-limit BYTES --scratch DIR --report FD -- PROBE …
 *   launch --run-id ID --scratch DIR --report FD --sweep
 *
 * The second form starts nothing: it ends and removes what a launcher left that was itself killed.
 * It is a program of its own, not code in the runner, because the runner may be killed with SIGKILL at any moment: then
 * this process gets SIGTERM from the kernel (PR_SET_PDEATHSIG) and still ends the probe and sweeps. It is the subreaper
 * of all that the probe starts, so that a child which left session and process group is found as well.
 * One JSON object is written to the report descriptor when all is over. Exit code 0, or 2 for wrong usage. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <mqueue.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NAMES_A_RUN 16  /* /steelyard-<id>-0 … 15 and as many System V keys belong to a run (protocol.md) */
#define GRACE_MS 100    /* contexts that die with their probe are not stragglers */
#define WATCH_MS 250    /* how often the scratch folder is looked at */
#define KILL_ROUNDS 200 /* of 10 ms: what is not dead by then is stuck in the kernel and is reported */
#define DEAD_LOOKS 4    /* so many looks at a killed process that nobody reaps: its probe waits for it in vain */
#define MOST_LOOKED_AT 64 /* children of a probe; reading about more of them would take the CPU from the probe */

struct options {
    const char *run_id, *scratch;
    cpu_set_t cpus;
    bool pinned, sweep;
    pid_t parent;
    int64_t deadline_ms, file_limit;
    int report;
    char **command;
};

struct outcome {
    int status;            /* as of waitpid, of the probe itself */
    bool ended;            /* the probe itself was reaped */
    const char *stopped;   /* why it was ended from here: "deadline", "disk", "death", "lab", or NULL */
    int stragglers, stuck, swept;
    int killed_by;         /* the signal that ended the process for which "death" stands */
    bool moved, real_time; /* the probe ended on CPUs that it was not given, under a real-time policy of its own */
    struct rusage usage;   /* of everything that was reaped */
    int64_t wall_ns;
};

static _Noreturn void usage(const char *what)
{
    fprintf(stderr, "launch: %s\n", what);
    exit(2);
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t number(const char *text)
{
    char *rest;
    errno = 0;
    int64_t value = strtoll(text, &rest, 10);
    if (errno || rest == text || *rest || value < 0)
        usage("an option needs a number");
    return value;
}

static void parse_cpus(struct options *o, char *list)
{
    CPU_ZERO(&o->cpus);
    for (char *save, *word = strtok_r(list, ",", &save); word; word = strtok_r(NULL, ",", &save))
        CPU_SET((unsigned)number(word), &o->cpus);
    o->pinned = true;
}

static struct options parse(int argc, char **argv)
{
    struct options o = {.deadline_ms = 60000, .file_limit = 1 << 26, .report = -1};
    int i = 1;
    if (argc > 1 && strcmp(argv[argc - 1], "--sweep") == 0) {
        o.sweep = true;
        argc--;
    }
    for (; i + 1 < argc && strcmp(argv[i], "--") != 0; i += 2) {
        char *value = argv[i + 1];
        if (strcmp(argv[i], "--run-id") == 0)
            o.run_id = value;
        else if (strcmp(argv[i], "--parent") == 0)
            o.parent = (pid_t)number(value);
        else if (strcmp(argv[i], "--cpus") == 0)
            parse_cpus(&o, value);
        else if (strcmp(argv[i], "--deadline-ms") == 0)
            o.deadline_ms = number(value);
        else if (strcmp(argv[i], "--file-limit") == 0)
            o.file_limit = number(value);
        else if (strcmp(argv[i], "--scratch") == 0)
            o.scratch = value;
        else if (strcmp(argv[i], "--report") == 0)
            o.report = (int)number(value);
        else
            usage("unknown option");
    }
    if ((i + 1 >= argc) != o.sweep || !o.run_id || !o.scratch || o.report < 0)
        usage("needs --run-id, --scratch, --report, and -- PROBE or --sweep");
    o.command = argv + i + 1;
    return o;
}

/* --- the probe's own process --------------------------------------------------------------------------------- */

static void limit(int resource, rlim_t value)
{
    struct rlimit r;
    getrlimit(resource, &r);
    r.rlim_cur = r.rlim_max == RLIM_INFINITY || r.rlim_max > value ? value : r.rlim_max;
    setrlimit(resource, &r);
}

/* The report, and whatever else this program holds for the lab (the lock of the machine), are not the probe's: what
 * outlives its probe must not keep the machine locked. */
static void close_from(int first)
{
    if (syscall(SYS_close_range, first, ~0u, 0) == 0)
        return;
    for (int fd = first; fd < 1024; fd++) /* before Linux 5.9 */
        close(fd);
}

static _Noreturn void become_probe(const struct options *o, const sigset_t *old)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (o->pinned && sched_setaffinity(0, sizeof o->cpus, &o->cpus) != 0) {
        fprintf(stderr, "launch: cannot place the probe on its CPUs: %s\n", strerror(errno));
        _exit(126);
    }
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, (rlim_t)o->file_limit);
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    if (chdir(o->scratch) != 0 || setenv("TMPDIR", o->scratch, 1) != 0)
        _exit(126);
    close_from(3);
    sigprocmask(SIG_SETMASK, old, NULL);
    execv(o->command[0], o->command);
    fprintf(stderr, "launch: cannot start %s: %s\n", o->command[0], strerror(errno));
    _exit(127);
}

/* --- watching ------------------------------------------------------------------------------------------------ */

static int64_t scratch_bytes;

static int add_size(const char *path, const struct stat *s, int type, struct FTW *where)
{
    (void)path, (void)type, (void)where;
    scratch_bytes += (int64_t)s->st_blocks * 512;
    return 0;
}

static bool scratch_over(const struct options *o)
{
    scratch_bytes = 0;
    nftw(o->scratch, add_size, 16, FTW_PHYS);
    return scratch_bytes > o->file_limit;
}

/* Where and under which policy the probe's first thread ended: a process that is not reaped yet still has both. */
static void look_at_end(const struct options *o, pid_t probe, struct outcome *outcome)
{
    cpu_set_t cpus, given;
    if (o->pinned && sched_getaffinity(probe, sizeof cpus, &cpus) == 0) {
        CPU_AND(&given, &cpus, &o->cpus);
        outcome->moved = !CPU_EQUAL(&given, &cpus);
    }
    int policy = sched_getscheduler(probe);
    outcome->real_time = (policy == SCHED_FIFO || policy == SCHED_RR) && policy != sched_getscheduler(0);
}

/* Reap what is dead. Returns false when there is no child left. */
static bool reap(const struct options *o, pid_t probe, struct outcome *outcome)
{
    for (;;) {
        siginfo_t dead = {0};
        if (waitid(P_ALL, 0, &dead, WEXITED | WNOHANG | WNOWAIT) != 0)
            return false;
        if (dead.si_pid == 0)
            return true;
        int status;
        if (dead.si_pid == probe)
            look_at_end(o, probe, outcome);
        if (waitpid(dead.si_pid, &status, 0) == probe) {
            outcome->status = status;
            outcome->ended = true;
        }
    }
}

/* State of a process by /proc/PID/stat, and the signal that killed it if it is dead; '?' where it can't be read. */
static char state_of(pid_t pid, int *killed_by)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[got < 0 ? 0 : got] = 0;
    char *rest = strrchr(text, ')'), *last = strrchr(text, ' ');
    if (!rest || rest[1] == 0 || !last)
        return '?';
    *killed_by = atoi(last) & 0x7f; /* the last field is the exit status as of waitpid */
    return rest[2];
}

/* Whether a child of the probe was killed and is not reaped: the probe may wait for its part in vain until the deadline.
 * Only the same process at DEAD_LOOKS looks in a row counts, for many a probe reaps at its leisure. */
static bool waits_for_a_dead_one(pid_t probe, struct outcome *outcome)
{
    static pid_t last;
    static int looks;
    char path[64], line[1024];
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)probe, (int)probe);
    FILE *file = fopen(path, "re");
    bool some = file && fgets(line, sizeof line, file);
    if (file)
        fclose(file);
    int children = 0;
    for (char *save, *word = some ? strtok_r(line, " ", &save) : NULL; word && children < MOST_LOOKED_AT;
         word = strtok_r(NULL, " ", &save), children++) {
        pid_t pid = (pid_t)atoi(word);
        int killed_by = 0;
        if (state_of(pid, &killed_by) == 'Z' && killed_by != 0 && (last == 0 || last == pid)) {
            last = pid;
            outcome->killed_by = killed_by;
            return ++looks >= DEAD_LOOKS;
        }
    }
    last = looks = 0;
    return false;
}

/* The signal that came within the time, or -1. */
static int wait_signal(const sigset_t *set, int64_t ms)
{
    struct timespec limit = {ms / 1000, (ms % 1000) * 1000000};
    return sigtimedwait(set, NULL, &limit);
}

static void watch(const struct options *o, pid_t probe, const sigset_t *set, struct outcome *outcome)
{
    int64_t end = now_ns() + o->deadline_ms * 1000000;
    while (!outcome->ended && !outcome->stopped) {
        int64_t left_ms = (end - now_ns()) / 1000000;
        if (left_ms <= 0) {
            outcome->stopped = "deadline";
            break;
        }
        int seen = wait_signal(set, left_ms < WATCH_MS ? left_ms : WATCH_MS);
        if (seen == SIGTERM || seen == SIGINT || seen == SIGHUP)
            outcome->stopped = "lab";
        reap(o, probe, outcome);
        if (outcome->ended || outcome->stopped || seen >= 0)
            continue;
        if (scratch_over(o))
            outcome->stopped = "disk";
        else if (waits_for_a_dead_one(probe, outcome))
            outcome->stopped = "death";
    }
}

/* Every orphan becomes a child of this process (subreaper), so killing the children until none is left ends all. */
static int kill_children(void)
{
    char path[64], *line = NULL;
    size_t size = 0;
    int killed = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(path, "re");
    if (file && getline(&line, &size, file) > 0)
        for (char *save, *word = strtok_r(line, " ", &save); word; word = strtok_r(NULL, " ", &save))
            killed += kill((pid_t)atoi(word), SIGKILL) == 0;
    free(line);
    if (file)
        fclose(file);
    return killed;
}

static void end_all(const struct options *o, pid_t probe, const sigset_t *set, struct outcome *outcome)
{
    if (!outcome->ended)
        kill(probe, SIGKILL);
    int64_t grace_end = now_ns() + GRACE_MS * INT64_C(1000000);
    while (reap(o, probe, outcome) && now_ns() < grace_end)
        wait_signal(set, 5);
    for (int round = 0; reap(o, probe, outcome); round++) {
        int killed = kill_children();
        if (round == 0)
            outcome->stragglers = killed;
        if (round == KILL_ROUNDS) {
            outcome->stuck = killed;
            return;
        }
        wait_signal(set, 10);
    }
}

/* --- leftovers ----------------------------------------------------------------------------------------------- */

/* FNV-1a of the run's id: the System V keys of a run are 0x53000000 + its low 20 bits * 16 + 0 … 15. */
static key_t first_key(const char *run_id)
{
    uint32_t hash = 2166136261u;
    for (const char *c = run_id; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 16777619u;
    return (key_t)(0x53000000u | ((hash & 0xfffffu) << 4));
}

static int sweep_system_v(key_t key)
{
    int swept = 0, id;
    if ((id = msgget(key, 0)) >= 0)
        swept += msgctl(id, IPC_RMID, NULL) == 0;
    if ((id = semget(key, 0, 0)) >= 0)
        swept += semctl(id, 0, IPC_RMID) == 0;
    if ((id = shmget(key, 0, 0)) >= 0)
        swept += shmctl(id, IPC_RMID, NULL) == 0;
    return swept;
}

static int sweep_names(const char *run_id)
{
    int swept = 0;
    for (int i = 0; i < NAMES_A_RUN; i++) {
        char name[128];
        snprintf(name, sizeof name, "/steelyard-%s-%d", run_id, i);
        swept += shm_unlink(name) == 0;
        swept += sem_unlink(name) == 0;
        swept += mq_unlink(name) == 0;
        swept += sweep_system_v(first_key(run_id) + i);
    }
    return swept;
}

/* Ends the processes of a run whose launcher is gone, which their environment tells. Returns how many there were. */
static int kill_marked(const char *run_id)
{
    char mark[128], path[288];
    int length = snprintf(mark, sizeof mark, "STEELYARD_RUN_ID=%s", run_id), killed = 0;
    for (int round = 0; round < KILL_ROUNDS; round++) {
        int found = 0;
        DIR *proc = opendir("/proc");
        for (struct dirent *entry; proc && (entry = readdir(proc));) {
            pid_t pid = (pid_t)atoi(entry->d_name);
            if (pid <= 1 || pid == getpid())
                continue;
            snprintf(path, sizeof path, "/proc/%s/environ", entry->d_name);
            FILE *file = fopen(path, "re");
            char *variable = NULL;
            size_t size = 0;
            bool ours = false;
            while (file && !ours && getdelim(&variable, &size, 0, file) > 0)
                ours = strncmp(variable, mark, (size_t)length + 1) == 0;
            free(variable);
            if (file)
                fclose(file);
            found += ours && kill(pid, SIGKILL) == 0;
        }
        if (proc)
            closedir(proc);
        if (found == 0)
            break;
        killed = found > killed ? found : killed;
        usleep(10000);
    }
    return killed;
}

static int remove_one(const char *path, const struct stat *s, int type, struct FTW *where)
{
    (void)s, (void)type, (void)where;
    remove(path);
    return 0;
}

static void write_report(int fd, const struct outcome *o)
{
    char signal_text[16] = "null", code_text[16] = "null";
    if (o->ended && WIFSIGNALED(o->status))
        snprintf(signal_text, sizeof signal_text, "%d", WTERMSIG(o->status));
    if (o->ended && WIFEXITED(o->status))
        snprintf(code_text, sizeof code_text, "%d", WEXITSTATUS(o->status));
    dprintf(fd,
            "{\"exit\":%s,\"signal\":%s,\"stopped\":%s%s%s,\"stragglers\":%d,\"stuck\":%d,\"swept\":%d,"
            "\"killed_by\":%d,\"moved\":%s,\"real_time\":%s,"
            "\"wall_ns\":%" PRId64 ",\"user_ns\":%" PRId64 ",\"system_ns\":%" PRId64
            ",\"voluntary\":%ld,\"involuntary\":%ld,\"peak_rss_kib\":%ld}\n",
            code_text, signal_text, o->stopped ? "\"" : "", o->stopped ? o->stopped : "null", o->stopped ? "\"" : "",
            o->stragglers, o->stuck, o->swept, o->killed_by, o->moved ? "true" : "false",
            o->real_time ? "true" : "false", o->wall_ns,
            (int64_t)o->usage.ru_utime.tv_sec * 1000000000 + o->usage.ru_utime.tv_usec * 1000,
            (int64_t)o->usage.ru_stime.tv_sec * 1000000000 + o->usage.ru_stime.tv_usec * 1000, o->usage.ru_nvcsw,
            o->usage.ru_nivcsw, o->usage.ru_maxrss);
}

int main(int argc, char **argv)
{
    struct options options = parse(argc, argv);
    struct outcome outcome = {0};
    sigset_t set, old;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, &old);
    signal(SIGPIPE, SIG_IGN); /* a lab that is gone does not read the report; the sweep happens before it anyway */
    setsid();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (options.parent && getppid() != options.parent) /* the lab died before the line above */
        outcome.stopped = "lab";
    if (options.sweep)
        outcome.stragglers = kill_marked(options.run_id);
    else
        mkdir(options.scratch, 0700);
    if (!outcome.stopped && !options.sweep) {
        int64_t start = now_ns();
        pid_t probe = fork();
        if (probe == 0)
            become_probe(&options, &old);
        if (probe < 0) {
            fprintf(stderr, "launch: cannot fork: %s\n", strerror(errno));
            outcome.stopped = "fork";
        } else {
            watch(&options, probe, &set, &outcome);
            outcome.wall_ns = now_ns() - start;
            end_all(&options, probe, &set, &outcome);
        }
    }
    getrusage(RUSAGE_CHILDREN, &outcome.usage);
    outcome.swept = sweep_names(options.run_id);
    nftw(options.scratch, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    write_report(options.report, &outcome);
    return 0;
}
