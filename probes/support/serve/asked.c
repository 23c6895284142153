/* SPDX-License-Identifier: Apache-2.0
 * asked.c - the second service of serve/: whoever asks it waits for its answer as for a database's.
 *
 * It prints its port and serves until its standard input ends. A question is SERVE_QUESTION hexadecimal digits, the us to
 * wait; the answer is the same bytes, after that time. A connection has one question under way. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve.h"
#include "waits.h"

enum { EVENTS = 256 };

struct asker {
    struct wait wait; /* the first member */
    int fd, waiting, gone;
    size_t have;
    char question[SERVE_QUESTION + 1];
};

static int poller;
static struct waits waits;

static void watch(int fd, void *whose)
{
    epoll_ctl(poller, EPOLL_CTL_ADD, fd, &(struct epoll_event){.events = EPOLLIN, .data.ptr = whose});
}

static void leave(struct asker *asker)
{
    if (asker->waiting) { /* freed when its wait is over */
        epoll_ctl(poller, EPOLL_CTL_DEL, asker->fd, NULL);
        asker->gone = 1;
        return;
    }
    close(asker->fd);
    free(asker);
}

static void hear(struct asker *asker)
{
    ssize_t came = recv(asker->fd, asker->question + asker->have, SERVE_QUESTION - asker->have, MSG_DONTWAIT);
    if (came < 0 && errno == EAGAIN)
        return;
    if (came <= 0) {
        leave(asker);
        return;
    }
    asker->have += (size_t)came;
    if (asker->have == SERVE_QUESTION) {
        asker->waiting = 1;
        waits_add(&waits, &asker->wait, (uint32_t)strtoul(asker->question, NULL, 16));
    }
}

static void answer_those_due(void)
{
    uint64_t times, now = serve_now();
    (void)!read(waits.timer, &times, sizeof times);
    for (struct wait *wait; (wait = waits_take(&waits, now));) {
        struct asker *asker = (struct asker *)wait;
        asker->waiting = 0;
        asker->have = 0;
        if (asker->gone || send(asker->fd, asker->question, SERVE_QUESTION, MSG_NOSIGNAL) != SERVE_QUESTION)
            leave(asker);
    }
    waits_set_timer(&waits);
}

static void take(int listener)
{
    int one = 1, fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    struct asker *asker = fd < 0 ? NULL : calloc(1, sizeof *asker);
    if (asker) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        asker->fd = fd;
        watch(fd, asker);
    } else if (fd >= 0) {
        close(fd);
    }
}

int main(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    prctl(PR_SET_PDEATHSIG, 9);
    prctl(PR_SET_TIMERSLACK, 1UL);
    poller = epoll_create1(EPOLL_CLOEXEC);
    waits.timer = waits_timer();
    if (listener < 0 || poller < 0 || waits.timer < 0 || bind(listener, (struct sockaddr *)&address, size) != 0 ||
        listen(listener, SOMAXCONN) != 0 || getsockname(listener, (struct sockaddr *)&address, &size) != 0) {
        perror("asked");
        return 1;
    }
    watch(STDIN_FILENO, &poller); /* a pipe */
    watch(waits.timer, &waits);
    watch(listener, NULL);
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    for (;;) {
        struct epoll_event events[EVENTS];
        int came = epoll_wait(poller, events, EVENTS, -1), due = 0;
        for (int i = 0; i < came; i++) {
            if (!events[i].data.ptr)
                take(listener);
            else if (events[i].data.ptr == &poller)
                return 0;
            else if (events[i].data.ptr == &waits)
                due = 1;
            else
                hear(events[i].data.ptr);
        }
        if (due) /* last: it may free what has events above */
            answer_those_due();
    }
}
