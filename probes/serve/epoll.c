/* SPDX-License-Identifier: Apache-2.0
 * epoll - one thread, a state machine for each connection: the model of nginx and of every event loop.
 *
 * The calls of a request that goes deep return before the wait, as those of a state machine must; they are made again
 * after it. Waits are a heap of times and one timer.
 *
 * Known answer: checksum and result of each request.
 * Limits: one CPU. The lock costs what an uncontended one does: no other thread can hold it.
 * Assembly: serve_work contains (imul|madd|mul )
 * Source: Kegel, The C10K problem (1999); epoll(7). */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "serve.h"

enum { EVENTS = 256 };

struct connection {
    int fd, waits;
    int closing; /* the client sends no more: what it asked is answered, then it is closed */
    int gone;    /* it takes no answer either: freed when its wait is over */
    struct incoming incoming;
    struct request request; /* the one that waits */
    uint32_t steps, state;
    uint64_t due;           /* ns, of its wait */
    char *answer;           /* what could not be sent at once */
    size_t sent, size;
};

static int poller, timer;
static struct connection **heap; /* those that wait, the first due first */
static size_t waiting, room;

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void set_timer(void)
{
    uint64_t due = waiting ? heap[0]->due : 0;
    struct itimerspec at = {.it_value = {(time_t)(due / 1000000000u), (long)(due % 1000000000u)}};
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL);
}

static void heap_add(struct connection *connection)
{
    if (waiting == room) {
        room = room ? 2 * room : 64;
        heap = realloc(heap, room * sizeof *heap);
        if (!heap)
            abort();
    }
    size_t at = waiting++;
    while (at && heap[(at - 1) / 2]->due > connection->due) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = connection;
    if (at == 0)
        set_timer();
}

static struct connection *heap_first(void)
{
    struct connection *first = heap[0], *last = heap[--waiting];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < waiting; at = child) {
        if (child + 1 < waiting && heap[child + 1]->due < heap[child]->due)
            child++;
        if (heap[child]->due >= last->due)
            break;
        heap[at] = heap[child];
    }
    heap[at] = last;
    return first;
}

static void end(struct connection *connection)
{
    if (connection->waits) {
        epoll_ctl(poller, EPOLL_CTL_DEL, connection->fd, NULL);
        connection->gone = 1;
        return;
    }
    close(connection->fd);
    free(connection->incoming.data);
    free(connection->answer);
    free(connection);
}

/* Sends on. 0: all is sent, 1: the rest when there is room, -1: the connection has ended. */
static int send_on(struct connection *connection)
{
    while (connection->sent < connection->size) {
        ssize_t sent = send(connection->fd, connection->answer + connection->sent, connection->size - connection->sent,
                            MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN)
            return -1;
        struct epoll_event wanted = {.events = sent < 0 ? EPOLLOUT : EPOLLIN, .data.ptr = connection};
        if (sent < 0)
            return epoll_ctl(poller, EPOLL_CTL_MOD, connection->fd, &wanted) == 0 ? 1 : -1;
        connection->sent += (size_t)sent;
        if (connection->sent == connection->size && connection->sent != (size_t)sent) /* it had to wait for room */
            epoll_ctl(poller, EPOLL_CTL_MOD, connection->fd, &wanted);
    }
    return 0;
}

static __attribute__((noinline)) uint32_t deep(uint32_t state, uint32_t steps, uint32_t depth)
{
    volatile uint32_t level = depth;
    uint32_t result = depth > 1 ? deep(state, steps, depth - 1) : serve_work(state, steps);
    return level == depth ? result : 0;
}

static int finish(struct connection *connection)
{
    const struct request *request = &connection->request;
    if (request->lock)
        serve_lock();
    uint32_t state = deep(connection->state, connection->steps - connection->steps / 2, request->depth);
    if (request->lock)
        serve_unlock();
    char *larger = realloc(connection->answer, SERVE_ANSWER_HEAD + request->answer);
    if (!larger)
        return -1;
    connection->answer = larger;
    connection->sent = 0;
    connection->size = serve_answer(larger, request, connection->steps, state);
    serve_forget(&connection->incoming, request->size);
    return send_on(connection);
}

/* Goes on until something has to be waited for. 0, or -1: the connection has ended. */
static int advance(struct connection *connection)
{
    for (;;) {
        struct request *request = &connection->request;
        long used = serve_parse(connection->incoming.data, connection->incoming.have, request);
        if (used < 0)
            (void)!send(connection->fd, serve_refusal, strlen(serve_refusal), MSG_NOSIGNAL);
        if (used <= 0)
            return (int)used;
        connection->steps = serve_steps(request);
        connection->state = deep(request->crc, connection->steps / 2, request->depth);
        if (request->wait_us) {
            connection->waits = 1;
            connection->due = now() + request->wait_us * UINT64_C(1000);
            heap_add(connection);
            return 0;
        }
        int sending = finish(connection);
        if (sending != 0)
            return sending < 0 ? -1 : 0;
    }
}

/* After an answer, whose sending has ended with `state` as send_on says. */
static void settle(struct connection *connection, int state)
{
    if (state == 0)
        state = advance(connection);
    if (state < 0 || (state == 0 && connection->closing && !connection->waits && connection->sent == connection->size))
        end(connection);
}

static void wake(void)
{
    uint64_t times, until = now();
    (void)!read(timer, &times, sizeof times);
    while (waiting && heap[0]->due <= until) {
        struct connection *connection = heap_first();
        connection->waits = 0;
        if (connection->gone)
            end(connection);
        else
            settle(connection, finish(connection));
    }
    set_timer();
}

static void take(int listener)
{
    int fd;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
        struct connection *connection = calloc(1, sizeof *connection);
        struct epoll_event wanted = {.events = EPOLLIN, .data.ptr = connection};
        if (connection)
            connection->fd = fd;
        if (!connection || epoll_ctl(poller, EPOLL_CTL_ADD, fd, &wanted) != 0) {
            free(connection);
            close(fd);
        }
    }
}

static void ready(struct connection *connection, uint32_t events)
{
    if (events & (EPOLLERR | EPOLLHUP)) {
        end(connection);
    } else if (events & EPOLLOUT) {
        settle(connection, send_on(connection));
    } else {
        int state = serve_read(connection->fd, &connection->incoming);
        if (state < 0) {
            struct epoll_event nothing = {.data.ptr = connection};
            epoll_ctl(poller, EPOLL_CTL_MOD, connection->fd, &nothing);
            connection->closing = 1;
        }
        if (!connection->waits)
            settle(connection, 0);
    }
}

static void serve(int listener, int threads)
{
    (void)threads;
    poller = epoll_create1(EPOLL_CLOEXEC);
    timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    struct epoll_event wanted = {.events = EPOLLIN, .data.ptr = &timer};
    epoll_ctl(poller, EPOLL_CTL_ADD, timer, &wanted);
    wanted.data.ptr = NULL;
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &wanted);
    for (;;) {
        struct epoll_event events[EVENTS];
        int came = epoll_wait(poller, events, EVENTS, -1), timed = 0;
        for (int i = 0; i < came; i++) {
            if (!events[i].data.ptr)
                take(listener);
            else if (events[i].data.ptr == &timer)
                timed = 1;
            else
                ready(events[i].data.ptr, events[i].events);
        }
        if (timed) /* last: it may free connections that have events above */
            wake();
    }
}

int main(int argc, char **argv)
{
    const struct serve_model model = {
        .title = "epoll loop", .nonblocking = 1, .source = "Kegel, The C10K problem (1999)", .serve = serve};
    return serve_main(argc, argv, &model);
}
