/* SPDX-License-Identifier: Apache-2.0
 * io_uring - one thread, a state machine for each connection, which hands its operations to the kernel and takes results.
 *
 * A connection has one operation under way: it receives, waits, asks, or sends. What many connections hand in goes to the
 * kernel in one call. The calls of a request that goes deep return before the wait, as in serve/epoll.
 *
 * Known answer: checksum and result of each request.
 * Limits: one CPU; no registered buffers or files. The lock costs what an uncontended one does.
 * Assembly: serve_work contains (imul|madd|mul )
 * Source: Axboe, Efficient IO with io_uring (2019); io_uring_enter(2). */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ring.h"
#include "serve.h"

/* Headers before Linux 5.19 lack it. */
#ifndef IORING_ACCEPT_MULTISHOT
#define IORING_ACCEPT_MULTISHOT (1U << 0)
#endif

enum { ENTRIES = 1024, COMPLETIONS = 1 << 15, FULL_PAUSE_NS = 10000000 };

struct connection {
    int fd;
    enum { RECEIVING, WAITING, SENDING } doing;
    struct incoming incoming;
    struct request request;
    uint32_t steps, state;
    struct __kernel_timespec wait;
    char question[SERVE_QUESTION + 1];
    char *answer;
    size_t sent, size;
};

/* A send of a question says something only where it fails, and then what is linked to it fails as well. */
#define UNHEARD ((uint64_t)1)

static struct ring ring;
static uint32_t queued;
static struct connection listening; /* the listener, which waits where no more descriptors can be had */

static void enter(uint32_t wanted)
{
    while (queued || wanted) {
        long taken = syscall(SYS_io_uring_enter, ring.fd, queued, wanted, wanted ? IORING_ENTER_GETEVENTS : 0, NULL, 0);
        if (taken < 0 && errno != EINTR && errno != EAGAIN && errno != EBUSY)
            abort();
        queued -= taken > 0 ? (uint32_t)taken : 0;
        if (taken >= 0 || wanted)
            return;
    }
}

static struct io_uring_sqe *queue(uint8_t operation, int fd, const void *what, size_t size, struct connection *whose)
{
    while (queued == ENTRIES)
        enter(0);
    uint32_t at = *ring.submitted;
    struct io_uring_sqe *entry = &ring.entry[at & ring.submission_mask];
    *entry = (struct io_uring_sqe){.opcode = operation, .fd = fd, .addr = (uint64_t)(uintptr_t)what, .len = (uint32_t)size,
                                   .user_data = (uint64_t)(uintptr_t)whose};
    __atomic_store_n(ring.submitted, at + 1, __ATOMIC_RELEASE);
    queued++;
    return entry;
}

static void end(struct connection *connection)
{
    close(connection->fd);
    serve_done(&connection->incoming);
    free(connection->answer);
    free(connection);
}

static void wait(struct connection *connection, uint64_t ns)
{
    connection->doing = WAITING;
    connection->wait = (struct __kernel_timespec){(long long)(ns / 1000000000u), (long long)(ns % 1000000000u)};
    queue(IORING_OP_TIMEOUT, -1, &connection->wait, 1, connection);
}

static void take(int listener)
{
    queue(IORING_OP_ACCEPT, listener, NULL, 0, &listening)->ioprio = IORING_ACCEPT_MULTISHOT;
}

static void go_on_sending(struct connection *connection)
{
    connection->doing = SENDING;
    queue(IORING_OP_SEND, connection->fd, connection->answer + connection->sent, connection->size - connection->sent, connection)
        ->msg_flags = MSG_NOSIGNAL | MSG_WAITALL;
}

static void finish(struct connection *connection)
{
    const struct request *request = &connection->request;
    uint32_t state = serve_second_half(request, connection->steps, connection->state);
    char *larger = realloc(connection->answer, SERVE_ANSWER_HEAD + request->answer);
    if (!larger) {
        end(connection);
        return;
    }
    connection->answer = larger;
    connection->sent = 0;
    connection->size = serve_answer(larger, request, connection->steps, state);
    serve_forget(&connection->incoming, request->size);
    go_on_sending(connection);
}

/* Asks the other service; its answer is what is waited for. */
static void ask(struct connection *connection)
{
    int *asked = &connection->incoming.asked;
    if (!*asked)
        *asked = serve_dial_asked(0);
    connection->doing = WAITING;
    serve_question(connection->question, &connection->request);
    while (queued > ENTRIES - 2) /* a chain is handed in as one */
        enter(0);
    struct io_uring_sqe *sending = queue(IORING_OP_SEND, *asked, connection->question, SERVE_QUESTION, connection);
    sending->flags = IOSQE_IO_LINK | IOSQE_CQE_SKIP_SUCCESS;
    sending->msg_flags = MSG_NOSIGNAL;
    sending->user_data |= UNHEARD;
    queue(IORING_OP_RECV, *asked, connection->question, SERVE_QUESTION, connection)->msg_flags = MSG_WAITALL;
}

/* Goes on with what has come, until there is something to wait for. */
static void advance(struct connection *connection)
{
    struct request *request = &connection->request;
    long used = serve_parse(connection->incoming.data, connection->incoming.have, request);
    if (used < 0)
        (void)!send(connection->fd, serve_refusal, strlen(serve_refusal), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (used < 0 || serve_room(&connection->incoming) != 0) {
        end(connection);
        return;
    }
    if (used == 0) {
        struct incoming *incoming = &connection->incoming;
        connection->doing = RECEIVING;
        queue(IORING_OP_RECV, connection->fd, incoming->data + incoming->have, incoming->room - incoming->have, connection);
        return;
    }
    connection->steps = serve_steps(request);
    connection->state = serve_first_half(request, connection->steps);
    if (!request->wait_us)
        finish(connection);
    else if (serve_asks())
        ask(connection);
    else
        wait(connection, request->wait_us * UINT64_C(1000));
}

static void accepted(int fd, uint32_t flags)
{
    struct connection *connection = fd < 0 ? NULL : calloc(1, sizeof *connection);
    if (connection) {
        connection->fd = fd;
        advance(connection);
    } else if (fd >= 0) {
        close(fd);
    }
    if (!(flags & IORING_CQE_F_MORE) && fd < 0)
        wait(&listening, FULL_PAUSE_NS);
    else if (!(flags & IORING_CQE_F_MORE))
        take(listening.fd);
}

static void completed(struct connection *connection, int result, uint32_t flags)
{
    if (connection == &listening && listening.doing == WAITING) {
        listening.doing = RECEIVING;
        take(listening.fd);
    } else if (connection == &listening) {
        accepted(result, flags);
    } else if (connection->doing == WAITING) {
        if (result == -ETIME || result == SERVE_QUESTION)
            finish(connection);
        else
            end(connection);
    } else if (result <= 0) { /* the client sends no more, or takes no more */
        end(connection);
    } else if (connection->doing == RECEIVING) {
        connection->incoming.have += (size_t)result;
        advance(connection);
    } else if ((connection->sent += (size_t)result) < connection->size) {
        go_on_sending(connection);
    } else {
        advance(connection);
    }
}

static void serve(int listener, int threads)
{
    (void)threads;
    const char *why = ring_open(&ring, ENTRIES, COMPLETIONS);
    if (why) {
        fprintf(stderr, "%s\n", why);
        exit(1);
    }
    listening.fd = listener;
    take(listener);
    for (;;) {
        enter(1);
        uint32_t at = *ring.reaped;
        while (at != __atomic_load_n(ring.completed, __ATOMIC_ACQUIRE)) {
            struct io_uring_cqe completion = ring.completion[at++ & ring.completion_mask];
            __atomic_store_n(ring.reaped, at, __ATOMIC_RELEASE);
            if (!(completion.user_data & UNHEARD))
                completed((struct connection *)(uintptr_t)completion.user_data, completion.res, completion.flags);
        }
    }
}

static const char *lacks(void)
{
    struct ring tried;
    return ring_open(&tried, ENTRIES, COMPLETIONS);
}

int main(int argc, char **argv)
{
    const struct serve_model model = {
        .title = "io_uring loop", .source = "Axboe, Efficient IO with io_uring (2019)", .lacks = lacks, .serve = serve};
    return serve_main(argc, argv, &model);
}
