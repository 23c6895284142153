/* SPDX-License-Identifier: Apache-2.0
 * bare - the shortest two-process loops that do the same as our message probes, to see what those add.
 *
 *   bare round_trip pipe|unix COUNT        one byte there and back; prints seconds a round trip
 *   bare bandwidth pipe|unix SIZE COUNT    messages one way, read in full; prints seconds a message
 *
 * Both processes stay on the CPUs that they are started on. Nothing is checked here: that is the point. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct ends { int there[2], back[2]; }; /* [0] is read from, [1] is written to */

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static struct ends connect_both(const char *kind)
{
    struct ends e;
    if (strcmp(kind, "unix") == 0) { /* one connection for both ways, as a client and a server have it */
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
            exit(1);
        e.there[1] = e.back[0] = pair[0];
        e.there[0] = e.back[1] = pair[1];
    } else if (pipe(e.there) != 0 || pipe(e.back) != 0) {
        exit(1);
    }
    return e;
}

static void take(int fd, char *buffer, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = read(fd, buffer + done, size - done);
        if (n <= 0)
            exit(1);
        done += (size_t)n;
    }
}

static void give(int fd, const char *buffer, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = write(fd, buffer + done, size - done);
        if (n <= 0)
            exit(1);
        done += (size_t)n;
    }
}

static double round_trips(const struct ends *e, char *buffer, long count)
{
    if (fork() == 0) {
        for (long i = 0; i < count + 1; i++) {
            take(e->there[0], buffer, 1);
            give(e->back[1], buffer, 1);
        }
        _exit(0);
    }
    give(e->there[1], buffer, 1); /* the first one waits for the other process to exist */
    take(e->back[0], buffer, 1);
    double start = now_s();
    for (long i = 0; i < count; i++) {
        give(e->there[1], buffer, 1);
        take(e->back[0], buffer, 1);
    }
    return now_s() - start;
}

static double messages(const struct ends *e, char *buffer, size_t size, long count)
{
    if (fork() == 0) {
        for (long i = 0; i < count + 1; i++) {
            take(e->there[0], buffer, size);
            if (i == 0 || i == count)
                give(e->back[1], buffer, 1);
        }
        _exit(0);
    }
    give(e->there[1], buffer, size);
    take(e->back[0], buffer, 1);
    double start = now_s();
    for (long i = 0; i < count; i++)
        give(e->there[1], buffer, size);
    take(e->back[0], buffer, 1);
    return now_s() - start;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    long last = atol(argv[argc - 1]);
    size_t size = argc > 4 ? (size_t)atol(argv[3]) : 1;
    char *buffer = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
    if (!buffer || last < 1)
        return 2;
    memset(buffer, 1, size);
    struct ends e = connect_both(argv[2]);
    double seconds = strcmp(argv[1], "bandwidth") == 0 ? messages(&e, buffer, size, last) : round_trips(&e, buffer, last);
    wait(NULL);
    printf("%.6g\n", seconds / (double)last);
    return 0;
}
