/* SPDX-License-Identifier: Apache-2.0
 * epoll_floor - the least that answers HTTP requests: what a server costs beyond it, it spends on being a server.
 *
 *   epoll_floor PORT BODY
 *
 * One thread, level-triggered epoll, three system calls a request: epoll_wait, read, write. A request is whatever ends
 * with an empty line; its path and headers are not looked at, and the answer is written whole. Not a server to use: no
 * limit, no deadline, and a client that does not read its answer is cut off. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS 512
#define HEAD_BYTES 8192 /* the largest head; one that has not ended by then is cut off */
#define MOST_FILES 65536

struct connection {
    size_t length; /* bytes of a head that has not ended */
    char head[HEAD_BYTES];
};

struct response {
    char *text;
    size_t size;
};

static struct response plain, kept_open, closed;
static struct connection *connections[MOST_FILES];
static char reading[HEAD_BYTES];

static int listener_on(uint16_t port)
{
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one); /* inherited by what is accepted */
    if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 4096) != 0) {
        perror("epoll_floor: cannot listen");
        exit(1);
    }
    return fd;
}

static struct response made(const char *header, const char *body)
{
    struct response response;
    int size = asprintf(&response.text, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n%s\r\n%s",
                        strlen(body), header, body);
    if (size < 0)
        exit(1);
    response.size = (size_t)size;
    return response;
}

static void cut(int fd)
{
    free(connections[fd]);
    connections[fd] = NULL;
    close(fd);
}

static void accept_all(int queue, int listener)
{
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0)
            return;
        struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
        if (fd >= MOST_FILES || epoll_ctl(queue, EPOLL_CTL_ADD, fd, &event) != 0)
            close(fd);
    }
}

/* How many heads end in these bytes; `rest` is what follows the last of them. */
static size_t heads_in(const char *bytes, size_t length, size_t *rest)
{
    size_t heads = 0;
    const char *from = bytes, *end;
    while ((end = memmem(from, length - (size_t)(from - bytes), "\r\n\r\n", 4))) {
        heads++;
        from = end + 4;
    }
    *rest = length - (size_t)(from - bytes);
    return heads;
}

static bool has(const char *head, size_t length, const char *word)
{
    return memmem(head, length, word, strlen(word)) != NULL;
}

/* Which answer these heads get: HTTP/1.0 is kept open if it asks for it, and must be told so. */
static const struct response *response_to(const char *head, size_t length)
{
    if (has(head, length, " HTTP/1.0\r\n"))
        return has(head, length, "eep-") ? &kept_open : &closed;
    return has(head, length, "onnection: close") ? &closed : &plain;
}

static void answer(int fd)
{
    struct connection *kept = connections[fd];
    size_t before = kept ? kept->length : 0;
    char *into = kept ? kept->head + before : reading;
    ssize_t got = read(fd, into, HEAD_BYTES - before);
    if (got < 0 && errno == EAGAIN)
        return;
    if (got <= 0) {
        cut(fd);
        return;
    }
    char *head = kept ? kept->head : reading;
    size_t length = before + (size_t)got, rest;
    size_t heads = heads_in(head, length, &rest);
    const struct response *response = heads ? response_to(head, length) : &plain;
    for (size_t i = 0; i < heads; i++)
        if (write(fd, response->text, response->size) != (ssize_t)response->size) {
            cut(fd);
            return;
        }
    if (response == &closed) {
        cut(fd);
        return;
    }
    if (rest == HEAD_BYTES || (rest > 0 && !kept && !(kept = connections[fd] = calloc(1, sizeof *kept)))) {
        cut(fd);
        return;
    }
    if (kept) {
        memmove(kept->head, head + length - rest, rest);
        kept->length = rest;
        if (rest == 0) {
            free(kept);
            connections[fd] = NULL;
        }
    }
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "epoll_floor: needs a port and a body\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    plain = made("", argv[2]);
    kept_open = made("Connection: keep-alive\r\n", argv[2]);
    closed = made("Connection: close\r\n", argv[2]);
    int listener = listener_on((uint16_t)atoi(argv[1])), queue = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event listening = {.events = EPOLLIN, .data.fd = listener}, events[EVENTS];
    epoll_ctl(queue, EPOLL_CTL_ADD, listener, &listening);
    for (;;) {
        int ready = epoll_wait(queue, events, EVENTS, -1);
        for (int i = 0; i < ready; i++) {
            if (events[i].data.fd == listener)
                accept_all(queue, listener);
            else
                answer(events[i].data.fd);
        }
    }
}
