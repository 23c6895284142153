/* SPDX-License-Identifier: Apache-2.0
 * rogue - a probe that does what no probe should; which of it, is its name on disk (rogue/<way>).
 *
 * Known answer: every run appends "<way> <run id>" to $ROGUE_LOG, so that tests know what to look for afterwards.
 * `well` and `slow` behave; the rest is told by the names in `ways` below. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <mqueue.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *way, *run_id;
static long operations = 10, values = 1;

static void describe(void)
{
    const char *name = strcmp(way, "misnames") == 0 ? "somebody_else" : way;
    if (strcmp(way, "mumbles") == 0) {
        puts("I am a probe");
        return;
    }
    if (strcmp(way, "dies_asked") == 0)
        raise(SIGSEGV);
    printf("{\"protocol\":%d,\"probe\":\"rogue/%s\",\"question\":\"What does a rogue do?\",\"operation\":\"one\","
           "\"source\":\"made up\",\"statistic\":\"median\",\"placements\":[\"same\"],\"uses\":[\"cpu\"],"
           "\"metrics\":[{\"name\":\"operation\",\"unit\":\"s\",\"better\":\"lower\",\"over\":\"wall\","
           "\"per\":\"operations\",\"doc\":\"time\"}]}\n",
           strcmp(way, "outdated") == 0 ? 99 : 1, name);
}

static void meta(const char *probe)
{
    printf("{\"type\":\"meta\",\"protocol\":1,\"probe\":\"rogue/%s\",\"parameters\":{},\"placement\":\"same\","
           "\"operations\":%ld}\n", probe, operations);
}

static void value(long checked)
{
    printf("{\"type\":\"value\",\"operations\":%ld,\"wall_ns\":1000,\"counts\":{\"checked\":%ld}}\n", operations, checked);
}

static void end(long announced)
{
    printf("{\"type\":\"end\",\"values\":%ld}\n", announced);
}

static int behave(void)
{
    meta(way);
    for (long i = 0; i < values; i++)
        value(operations);
    end(values);
    return 0;
}

/* A child that leaves session and group, closes all streams and stays. */
static void leave_child(void)
{
    if (fork() == 0) {
        setsid();
        if (fork() > 0)
            _exit(0);
        for (int fd = 0; fd < 3; fd++)
            close(fd);
        signal(SIGTERM, SIG_IGN);
        signal(SIGHUP, SIG_IGN);
        for (;;)
            pause();
    }
    wait(NULL);
}

static void name_of(char *name, size_t size, int number)
{
    snprintf(name, size, "/steelyard-%s-%d", run_id, number);
}

/* One of each kind under the first and under the last of the run's names. */
static void leave_objects(void)
{
    uint32_t hash = 2166136261u;
    for (const char *c = run_id; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 16777619u;
    for (int number = 0; number < 16; number += 15) {
        key_t key = (key_t)((0x53000000u | ((hash & 0xfffffu) << 4)) + (unsigned)number);
        char name[128];
        name_of(name, sizeof name, number);
        struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 8};
        bool made = shm_open(name, O_CREAT | O_RDWR, 0600) >= 0 && sem_open(name, O_CREAT, 0600, 1) != SEM_FAILED &&
                    mq_open(name, O_CREAT | O_RDWR, 0600, &attributes) != (mqd_t)-1 &&
                    shmget(key, 4096, IPC_CREAT | 0600) >= 0 && semget(key, 1, IPC_CREAT | 0600) >= 0 &&
                    msgget(key, IPC_CREAT | 0600) >= 0;
        if (!made) {
            perror("rogue: cannot make its objects");
            exit(3);
        }
    }
}

static void fill_file(const char *name)
{
    static char block[1 << 20];
    int fd = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    for (int i = 0; i < 1024; i++)
        if (write(fd, block, sizeof block) < 0)
            _exit(4);
}

static int hang(void) { for (;;) pause(); }
static int hang_with_child(void) { leave_child(); leave_objects(); return hang(); }
static int garbage(void) { fputs("\x7f""ELF\x01\xff\xfe\n\n[[[[[[ {\"type\":\"value\"", stdout); return 0; }
static int no_text(void) { meta(way); puts("{\"type\":\"caveat\",\"text\":\"\xff\"}"); end(0); return 0; }
static int nested(void) { meta(way); fputs("{\"type\":\"value\",\"x\":", stdout); for (int i = 0; i < 1 << 20; i++) putchar('['); return 0; }
static int nothing(void) { return 0; }
static int fails(void) { fputs("the first word\n[/red] [bold]the last word\n", stderr); return 1; }
static int skips(void) { fputs("needs a quantum computer\n", stderr); return 77; }
static int dies(void) { meta(way); fflush(stdout); raise(SIGSEGV); return 0; }
static int kills_itself(void) { meta(way); fflush(stdout); raise(SIGKILL); return 0; }
static int overcounts(void) { meta(way); value(operations + 1); end(1); return 0; }
static int impersonates(void) { meta("well"); value(operations); end(1); return 0; }
static int no_end(void) { meta(way); value(operations); return 0; }
static int overdoes(void) { meta(way); for (int i = 0; i < 5000; i++) value(operations); end(5000); return 0; }
static int miscounts(void) { meta(way); value(operations); end(2); return 0; }
static int goes_on(void) { behave(); puts("one more thing"); return 0; }
static int leaves_child(void) { leave_child(); return behave(); }
static int leaves_objects(void) { leave_objects(); return behave(); }
static int leaves_files(void) { fill_file("/dev/null"); FILE *f = fopen("left.txt", "w"); fputs("x", f); fclose(f); mkdir("a", 0700); return behave(); }
static int fills_file(void) { fill_file("big"); return behave(); }
static int slow(void) { usleep(100000); return behave(); }
static int messy(void) { leave_child(); leave_objects(); usleep(150000); return behave(); }

/* Files of which each is within the limit of a file, together they are not. */
static int fills_folder(void)
{
    for (int i = 0;; i++) {
        char name[16];
        snprintf(name, sizeof name, "part%d", i);
        int fd = open(name, O_CREAT | O_WRONLY, 0600);
        if (posix_fallocate(fd, 0, 32 << 20) != 0 || i == 8)
            return hang();
        close(fd);
        usleep(1000);
    }
}

static int floods(void)
{
    static char line[1 << 16];
    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = '\n';
    for (int i = 0; i < 1 << 14; i++)
        if (write(1, line, sizeof line) < 0)
            return 5;
    return 0;
}

static int floods_stderr(void)
{
    static char line[1 << 16];
    memset(line, 'y', sizeof line - 1);
    line[sizeof line - 1] = '\n';
    for (int i = 0; i < 1 << 8; i++)
        if (write(2, line, sizeof line) < 0)
            return 5;
    return behave();
}

/* Well in its first runs (pilot and block 1), then never again. */
static int turns_bad(void)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s.turned", getenv("ROGUE_LOG"));
    int fd = open(path, O_CREAT | O_WRONLY | O_APPEND, 0600);
    if (write(fd, "x", 1) == 1 && lseek(fd, 0, SEEK_END) > 2)
        return fails();
    return behave();
}

static const struct { const char *name; int (*act)(void); } ways[] = {
    {"well", behave}, {"slow", slow}, {"messy", messy}, {"hangs", hang}, {"hangs_with_child", hang_with_child},
    {"garbage", garbage}, {"no_text", no_text}, {"nested", nested}, {"nothing", nothing}, {"fails", fails},
    {"skips", skips}, {"dies", dies}, {"kills_itself", kills_itself}, {"overcounts", overcounts},
    {"impersonates", impersonates}, {"no_end", no_end}, {"miscounts", miscounts}, {"overdoes", overdoes}, {"goes_on", goes_on},
    {"leaves_child", leaves_child}, {"leaves_objects", leaves_objects}, {"leaves_files", leaves_files},
    {"fills_file", fills_file}, {"fills_folder", fills_folder}, {"floods", floods}, {"floods_stderr", floods_stderr},
    {"turns_bad", turns_bad},
};

static void log_run(void)
{
    const char *log = getenv("ROGUE_LOG");
    int fd = log ? open(log, O_CREAT | O_WRONLY | O_APPEND, 0600) : -1;
    char line[256];
    int length = snprintf(line, sizeof line, "%s %s\n", way, run_id);
    if (fd >= 0 && write(fd, line, (size_t)length) != length)
        _exit(6);
    if (fd >= 0)
        close(fd);
}

int main(int argc, char **argv)
{
    const char *slash = strrchr(argv[0], '/');
    way = slash ? slash + 1 : argv[0];
    run_id = getenv("STEELYARD_RUN_ID") ? getenv("STEELYARD_RUN_ID") : "none";
    if (argc == 2 && strcmp(argv[1], "--describe") == 0) {
        describe();
        return 0;
    }
    for (int i = 1; i + 1 < argc; i++) {
        if (strcmp(argv[i], "--operations") == 0)
            operations = atol(argv[i + 1]);
        if (strcmp(argv[i], "--values") == 0)
            values = atol(argv[i + 1]);
    }
    log_run();
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (strcmp(ways[i].name, way) == 0)
            return ways[i].act();
    return 2;
}
