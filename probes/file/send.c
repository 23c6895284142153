/* SPDX-License-Identifier: Apache-2.0
 * send - the bytes of a cached file go into a TCP connection over loopback: by way of memory, by sendfile(), by splice().
 *
 * One process holds both ends. What has arrived is thrown away within the kernel (MSG_TRUNC), without a copy, so that the
 * way to the socket is what differs.
 *
 * Known answer: as many bytes arrive as the file has; before and after each batch they are compared one by one.
 * Overhead: throwing the bytes away, one or more system calls an operation, the same for all ways.
 * Limits: loopback never copies what sendfile() and splice() send, as a network card would by itself; nobody else runs,
 * and no acknowledgement is late.
 * Assembly: send_by_memory contains (call|bl)\s.*<pread
 * Assembly: send_by_sendfile contains (call|bl)\s.*<sendfile
 * Assembly: send_by_splice contains (call|bl)\s.*<splice
 * Source: sendfile(2) and splice(2) of the Linux manual. */
#define _GNU_SOURCE
#include <poll.h>
#include <sys/sendfile.h>

#include "../message/sockets.h"
#include "pages.h"

struct sending {
    int file, out, in, pipe[2]; /* `out` does not wait */
    uint64_t size;
    unsigned char *memory, *arrived;
};

/* Sends what it can of the file from `offset` on. Returns how many bytes that were, or -1 with errno. */
typedef int64_t send_function(struct sending *sending, uint64_t offset);

static __attribute__((noinline)) int64_t send_by_memory(struct sending *sending, uint64_t offset)
{
    ssize_t got = pread(sending->file, sending->memory, sending->size - offset, (off_t)offset);
    return got <= 0 ? -1 : send(sending->out, sending->memory, (size_t)got, MSG_NOSIGNAL);
}

static __attribute__((noinline)) int64_t send_by_sendfile(struct sending *sending, uint64_t offset)
{
    off_t from = (off_t)offset;
    return sendfile(sending->out, sending->file, &from, sending->size - offset);
}

/* What does not go from the pipe into the socket at once is thrown away, and comes again from the file. */
static __attribute__((noinline)) int64_t send_by_splice(struct sending *sending, uint64_t offset)
{
    loff_t from = (loff_t)offset;
    ssize_t filled = splice(sending->file, &from, sending->pipe[1], NULL, sending->size - offset, SPLICE_F_MOVE);
    if (filled <= 0)
        return -1;
    ssize_t sent = splice(sending->pipe[0], NULL, sending->out, NULL, (size_t)filled, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    const int error = errno;
    for (ssize_t left = filled - (sent > 0 ? sent : 0); left > 0;) {
        ssize_t thrown = read(sending->pipe[0], sending->memory, (size_t)left);
        if (thrown <= 0)
            probe_fail("the pipe cannot be emptied: %s", strerror(errno));
        left -= thrown;
    }
    errno = error;
    return sent;
}

/* Takes up to `most` bytes out: into memory, or nowhere if that is NULL. Waits for the first of them if `waits`. */
static uint64_t take(struct sending *sending, unsigned char *into, uint64_t most, bool waits)
{
    ssize_t got = recv(sending->in, into, most, (into ? 0 : MSG_TRUNC) | (waits ? 0 : MSG_DONTWAIT));
    if (got == 0 || (got < 0 && errno != EAGAIN))
        probe_fail("nothing arrives: %s", got ? strerror(errno) : "the connection is closed");
    return got < 0 ? 0 : (uint64_t)got;
}

/* The whole file, there and out again. `arrived` is NULL, or where its bytes go. */
static uint64_t send_one(struct sending *sending, send_function *way, unsigned char *arrived)
{
    uint64_t sent = 0, taken = 0;
    while (sent < sending->size) {
        int64_t more = way(sending, sent);
        if (more < 0 && errno != EAGAIN)
            probe_fail("cannot send: %s", strerror(errno));
        if (more > 0)
            sent += (uint64_t)more;
        else if (taken < sent) /* there is no room: what is on its way has to come out first */
            taken += take(sending, arrived ? arrived + taken : NULL, sent - taken, true);
        else
            poll(&(struct pollfd){.fd = sending->out, .events = POLLOUT}, 1, -1);
    }
    while (taken < sending->size)
        taken += take(sending, arrived ? arrived + taken : NULL, sending->size - taken, true);
    return taken;
}

static send_function *way_of(const struct probe_run *run)
{
    return probe_is(run, "way", "sendfile") ? send_by_sendfile : probe_is(run, "way", "splice") ? send_by_splice
                                                                                            : send_by_memory;
}

static void compare_one(const struct probe_run *run, struct sending *sending)
{
    const uint64_t page = page_bytes();
    memset(sending->arrived, 0, sending->size);
    send_one(sending, way_of(run), sending->arrived);
    for (uint64_t at = 0; at < sending->size; at++)
        if (sending->arrived[at] != file_byte(at, page))
            probe_fail("byte %" PRIu64 " of the file did not arrive as it is", at);
}

static void setup(struct probe_run *run)
{
    struct sending *sending = calloc(1, sizeof *sending);
    if (!sending)
        probe_fail("out of memory");
    struct ends ends = tcp_connection();
    sending->out = ends.calling;
    sending->in = ends.called;
    sending->size = (uint64_t)probe_integer(run, "size");
    sending->file = file_of(sending->size);
    sending->memory = malloc(sending->size);
    sending->arrived = malloc(sending->size);
    if (!sending->memory || !sending->arrived)
        probe_fail("out of memory");
    if (pipe2(sending->pipe, O_CLOEXEC) != 0)
        probe_skip("no pipe: %s", strerror(errno));
    if (fcntl(sending->out, F_SETFL, O_NONBLOCK) != 0)
        probe_fail("the socket cannot be made not to wait: %s", strerror(errno));
    run->state = sending;
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    struct sending *sending = run->state;
    send_function *way = way_of(run);
    uint64_t bytes = 0;
    compare_one(run, sending);
    probe_start(value);
    for (uint64_t i = 0; i < operations; i++)
        bytes += send_one(sending, way, NULL);
    probe_stop(value);
    compare_one(run, sending);
    probe_count(value, "checked", bytes / sending->size);
    probe_count(value, "bytes", bytes);
}

static void teardown(struct probe_run *run)
{
    struct sending *sending = run->state;
    close(sending->out);
    close(sending->in);
    close(sending->file);
    close(sending->pipe[0]);
    close(sending->pipe[1]);
    free(sending->memory);
    free(sending->arrived);
    free(sending);
}

static const struct probe send_probe = {
    .title = "cached file into a socket",
    .question = "What does it cost to send a cached file, with and without a copy of one's own?",
    .operation = "one file of `size` bytes into a TCP connection over loopback, and its bytes thrown away at the other end",
    .source = "sendfile(2), splice(2)",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu,net",
    .metrics = (const struct probe_metric[]){
        {"file", "s", "lower", "wall", "operations", "time of one file"},
        {"bandwidth", "B/s", "higher", "bytes", "wall", "bytes sent in a second"},
        {0}},
    .params = (const struct probe_param[]){
        {.name = "way", .doc = "read into memory and sent from there; sendfile(); splice() through a pipe",
         .choices = "memory,sendfile,splice", .sweep = "memory,sendfile,splice"},
        {.name = "size", .doc = "size of the file", .unit = "B", .sweep = "1024,4096,16384,65536", .brief = "4096,65536",
         .min = 1, .max = 16777216},
        {0}},
    .setup = setup,
    .batch = batch,
    .teardown = teardown,
};

int main(int argc, char **argv)
{
    return probe_main(&send_probe, argc, argv);
}
