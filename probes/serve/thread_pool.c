/* SPDX-License-Identifier: Apache-2.0
 * thread_pool - threads that take the next connection on which something has come: gunicorn's gthread, many a Java server.
 *
 * One epoll is the queue: a connection is in it once, and whoever takes it puts it back after the answer.
 *
 * Known answer: checksum and result of each request.  Limits: at most as many requests wait at a time as there are threads.
 * Assembly: serve_work contains (imul|madd|mul )
 * Source: epoll(7), EPOLLONESHOT; Welsh, SEDA (2001), section 2. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve.h"

struct connection {
    int fd;
    struct incoming incoming;
};

static int queue, listening_on;

static void watch(int operation, int fd, void *whose)
{
    struct epoll_event wanted = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = whose};
    epoll_ctl(queue, operation, fd, &wanted);
}

static void accept_one(void)
{
    int fd = accept(listening_on, NULL, NULL);
    struct connection *connection = fd < 0 ? NULL : calloc(1, sizeof *connection);
    if (connection) {
        connection->fd = fd;
        watch(EPOLL_CTL_ADD, fd, connection);
    } else if (fd >= 0) {
        close(fd);
    }
    watch(EPOLL_CTL_MOD, listening_on, NULL);
}

static void *work(void *unused)
{
    (void)unused;
    for (;;) {
        struct epoll_event event;
        if (epoll_wait(queue, &event, 1, -1) != 1)
            continue;
        struct connection *connection = event.data.ptr;
        if (!connection) {
            accept_one();
        } else if (serve_read(connection->fd, &connection->incoming) > 0 &&
                   serve_whole(connection->fd, &connection->incoming) == 0) {
            watch(EPOLL_CTL_MOD, connection->fd, connection);
        } else {
            close(connection->fd);
            serve_done(&connection->incoming);
            free(connection);
        }
    }
    return NULL;
}

static void serve(int listener, int threads)
{
    queue = epoll_create1(EPOLL_CLOEXEC);
    listening_on = listener;
    watch(EPOLL_CTL_ADD, listener, NULL);
    for (int thread = 1; thread < threads; thread++) {
        pthread_t other;
        if (pthread_create(&other, NULL, work, NULL) != 0)
            exit(1);
    }
    work(NULL);
}

int main(int argc, char **argv)
{
    const struct serve_model model = {
        .title = "thread pool", .threads = 100, .source = "Welsh, SEDA (2001), 2", .serve = serve};
    return serve_main(argc, argv, &model);
}
