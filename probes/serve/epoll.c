/* SPDX-License-Identifier: Apache-2.0
 * epoll - one thread, a state machine for each connection: the model of nginx and of every event loop.
 *
 * The calls of a request that goes deep return before the wait, as those of a state machine must; they are made again
 * after it. Waits are a heap of times and one timer; a question to another service is one more descriptor.
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
#include <unistd.h>

#include "serve.h"
#include "waits.h"

enum { EVENTS = 256 };

struct connection {
    struct wait wait; /* the first member */
    int fd, waits;
    int closing; /* the client sends no more: what it asked is answered, then it is closed */
    int gone;    /* it takes no answer either: freed when its wait is over */
    struct incoming incoming;
    struct request request; /* the one that waits */
    uint32_t steps, state;
    char *answer;           /* what could not be sent at once */
    size_t sent, size;
};

/* Events of what a connection asked have this bit in their pointer. */
#define ASKED ((uintptr_t)1)

static int poller;
static struct waits waits;

static void end(struct connection *connection)
{
    if (connection->waits) {
        epoll_ctl(poller, EPOLL_CTL_DEL, connection->fd, NULL);
        connection->gone = 1;
        return;
    }
    close(connection->fd);
    serve_done(&connection->incoming);
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

static int finish(struct connection *connection)
{
    const struct request *request = &connection->request;
    uint32_t state = serve_second_half(request, connection->steps, connection->state);
    char *larger = realloc(connection->answer, SERVE_ANSWER_HEAD + request->answer);
    if (!larger)
        return -1;
    connection->answer = larger;
    connection->sent = 0;
    connection->size = serve_answer(larger, request, connection->steps, state);
    serve_forget(&connection->incoming, request->size);
    return send_on(connection);
}

/* Begins to wait. 0, or -1: what is to be asked does not answer. */
static int await(struct connection *connection)
{
    char question[SERVE_QUESTION + 1];
    connection->waits = 1;
    if (!serve_asks()) {
        waits_add(&waits, &connection->wait, connection->request.wait_us);
        return 0;
    }
    if (!connection->incoming.asked) {
        struct epoll_event wanted = {.events = EPOLLIN, .data.ptr = (void *)((uintptr_t)connection | ASKED)};
        connection->incoming.asked = serve_dial_asked(1);
        epoll_ctl(poller, EPOLL_CTL_ADD, connection->incoming.asked, &wanted);
    }
    serve_question(question, &connection->request);
    if (send(connection->incoming.asked, question, SERVE_QUESTION, MSG_NOSIGNAL) == SERVE_QUESTION)
        return 0;
    connection->waits = 0;
    return -1;
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
        connection->state = serve_first_half(request, connection->steps);
        if (request->wait_us)
            return await(connection);
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

/* Goes on with one whose wait is over. */
static void resume(struct connection *connection)
{
    connection->waits = 0;
    if (connection->gone)
        end(connection);
    else
        settle(connection, finish(connection));
}

static void wake(void)
{
    uint64_t times, now = serve_now();
    (void)!read(waits.timer, &times, sizeof times);
    for (struct wait *wait; (wait = waits_take(&waits, now));)
        resume((struct connection *)wait);
    waits_set_timer(&waits);
}

/* Something has come of what a connection asked: the answer, or the end. */
static void hear(struct connection *connection)
{
    char text[SERVE_QUESTION];
    ssize_t came = recv(connection->incoming.asked, text, sizeof text, 0);
    if (came == sizeof text && connection->waits) {
        resume(connection);
    } else if (came >= 0 || errno != EAGAIN) {
        connection->waits = 0;
        end(connection);
    }
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
    waits.timer = waits_timer();
    struct epoll_event wanted = {.events = EPOLLIN, .data.ptr = &waits};
    epoll_ctl(poller, EPOLL_CTL_ADD, waits.timer, &wanted);
    wanted.data.ptr = NULL;
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &wanted);
    for (;;) {
        struct epoll_event events[EVENTS];
        struct connection *asked[EVENTS];
        int came = epoll_wait(poller, events, EVENTS, -1), timed = 0, heard = 0;
        for (int i = 0; i < came; i++) {
            if (!events[i].data.ptr)
                take(listener);
            else if (events[i].data.ptr == &waits)
                timed = 1;
            else if ((uintptr_t)events[i].data.ptr & ASKED)
                asked[heard++] = (struct connection *)((uintptr_t)events[i].data.ptr ^ ASKED);
            else
                ready(events[i].data.ptr, events[i].events);
        }
        /* Last: these may free connections that have events above. */
        if (timed)
            wake();
        for (int i = 0; i < heard; i++)
            hear(asked[i]);
    }
}

int main(int argc, char **argv)
{
    const struct serve_model model = {
        .title = "epoll loop", .nonblocking = 1, .source = "Kegel, The C10K problem (1999)", .serve = serve};
    return serve_main(argc, argv, &model);
}
