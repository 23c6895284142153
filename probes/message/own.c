/* SPDX-License-Identifier: Apache-2.0
 * own - one context sends itself a message and takes it out again: what the calls cost, without a partner, a wake-up or
 * a switch. Over a connection the next message goes the other way, as in a conversation.
 *
 * Known answer: each message carries its number, and what comes out is that number and of that length.
 * Overhead: writing and comparing the number, about 1 ns; a call through a pointer each way.
 * Limits: nobody waits at the other end, so the call that sends wakes nobody, and the call that receives never sleeps.
 * Over loopback the kernel delivers within the call that sends, as it does to a partner. The buffers stay in the cache.
 * Assembly: talk_to_oneself contains call\s+\*|blr
 * Source: lat_pipe of lmbench (McVoy & Staelin, USENIX 1996), whose lat_ctx measures the pipe by a process that writes to
 * itself, to take it off the cost of a switch. */
#define _GNU_SOURCE
#include <mqueue.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <fcntl.h>

#include "names.h"
#include "sockets.h"

#define FIRST_NAME 8 /* of the run's names and keys */
#define EVENTFD_BYTES 8

/* One end to send to, the other to receive from. */
struct way {
    int in, out;
    void (*send)(const struct way *way, const unsigned char *message, uint64_t size);
    uint64_t (*receive)(const struct way *way, unsigned char *message, uint64_t size);
};

struct talk {
    struct way way[2]; /* in turn: over a connection an acknowledgement rides on the next message back */
    uint64_t size, number;
    unsigned char *out, *in; /* with room for a type before the message, as System V queues want it */
};

static void send_by_write(const struct way *way, const unsigned char *message, uint64_t size)
{
    if (write(way->in, message, size) != (ssize_t)size)
        probe_fail("cannot send %llu bytes: %s", (unsigned long long)size, strerror(errno));
}

/* A stream may bring a message in pieces. */
static uint64_t receive_by_read(const struct way *way, unsigned char *message, uint64_t size)
{
    uint64_t bytes = 0;
    while (bytes < size) {
        ssize_t piece = read(way->out, message + bytes, size - bytes);
        if (piece <= 0)
            probe_fail("cannot receive: %s", piece ? strerror(errno) : "the other side is gone");
        bytes += (uint64_t)piece;
    }
    return bytes;
}

static void send_to_mq(const struct way *way, const unsigned char *message, uint64_t size)
{
    if (mq_send(way->in, (const char *)message, size, 0) != 0)
        probe_fail("cannot send to the queue: %s", strerror(errno));
}

static uint64_t receive_from_mq(const struct way *way, unsigned char *message, uint64_t size)
{
    ssize_t bytes = mq_receive(way->out, (char *)message, size, NULL);
    if (bytes < 0)
        probe_fail("cannot receive from the queue: %s", strerror(errno));
    return (uint64_t)bytes;
}

static void send_to_sysv(const struct way *way, const unsigned char *message, uint64_t size)
{
    if (msgsnd(way->in, message - sizeof(long), size, 0) != 0)
        probe_fail("cannot send to the queue: %s", strerror(errno));
}

static uint64_t receive_from_sysv(const struct way *way, unsigned char *message, uint64_t size)
{
    ssize_t bytes = msgrcv(way->out, message - sizeof(long), size, 0, 0);
    if (bytes < 0)
        probe_fail("cannot receive from the queue: %s", strerror(errno));
    return (uint64_t)bytes;
}

static struct way by_descriptors(int in, int out)
{
    return (struct way){in, out, send_by_write, receive_by_read};
}

static struct way pipe_way(void)
{
    int ends[2];
    if (pipe(ends) != 0)
        probe_skip("no pipe: %s", strerror(errno));
    return by_descriptors(ends[1], ends[0]);
}

static struct way eventfd_way(void)
{
    int fd = eventfd(0, EFD_CLOEXEC);
    if (fd < 0)
        probe_skip("no eventfd: %s", strerror(errno));
    return by_descriptors(fd, fd);
}

static struct way posix_way(uint64_t size)
{
    struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = (long)size};
    char name[PROBE_IPC_NAME_BYTES];
    probe_ipc_name(name, FIRST_NAME);
    mq_unlink(name);
    mqd_t queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600, &attributes);
    if (queue == (mqd_t)-1)
        probe_skip("no POSIX queue for messages of %llu bytes: %s; see sysctl fs.mqueue", (unsigned long long)size,
                   strerror(errno));
    mq_unlink(name);
    return (struct way){queue, queue, send_to_mq, receive_from_mq};
}

static struct way sysv_way(uint64_t size)
{
    key_t key = probe_ipc_key(FIRST_NAME);
    int stale = msgget(key, 0);
    if (stale >= 0)
        msgctl(stale, IPC_RMID, NULL);
    int queue = msgget(key, IPC_CREAT | IPC_EXCL | 0600);
    struct msqid_ds state;
    if (queue < 0)
        probe_skip("no System V queue: %s; see sysctl kernel.msgmni", strerror(errno));
    if (msgctl(queue, IPC_STAT, &state) != 0 || state.msg_qbytes < size) {
        msgctl(queue, IPC_RMID, NULL);
        probe_skip("a System V queue takes no message of %llu bytes; a larger sysctl kernel.msgmnb would allow it",
                   (unsigned long long)size);
    }
    return (struct way){queue, queue, send_to_sysv, receive_from_sysv};
}

static struct way way_new(const struct probe_run *run, uint64_t size)
{
    if (probe_is(run, "channel", "pipe"))
        return pipe_way();
    if (probe_is(run, "channel", "eventfd"))
        return eventfd_way();
    return probe_is(run, "channel", "posix_mq") ? posix_way(size) : sysv_way(size);
}

/* One way and the way back, of a connection; else both the same. */
static void ways_new(const struct probe_run *run, struct talk *talk)
{
    bool tcp = probe_is(run, "channel", "tcp"), udp = probe_is(run, "channel", "udp");
    if (!tcp && !udp && !probe_is(run, "channel", "unix_stream")) {
        talk->way[0] = talk->way[1] = way_new(run, talk->size);
        return;
    }
    struct ends ends = tcp ? tcp_connection() : udp ? udp_pair() : unix_connection(SOCK_STREAM);
    talk->way[0] = by_descriptors(ends.calling, ends.called);
    talk->way[1] = by_descriptors(ends.called, ends.calling);
}

static unsigned char *message_room(uint64_t size)
{
    long *memory = calloc(1, sizeof *memory + size);
    if (!memory)
        probe_fail("out of memory");
    *memory = 1; /* the type of a message of System V */
    return (unsigned char *)(memory + 1);
}

static void setup(struct probe_run *run)
{
    struct talk *talk = calloc(1, sizeof *talk);
    if (!talk)
        probe_fail("out of memory");
    talk->size = (uint64_t)probe_integer(run, "size");
    if (probe_is(run, "channel", "eventfd") && talk->size != EVENTFD_BYTES)
        probe_skip("an eventfd takes %d bytes at a time, not %llu", EVENTFD_BYTES, (unsigned long long)talk->size);
    if (probe_is(run, "channel", "udp") && talk->size > UDP_LARGEST)
        probe_skip("a UDP datagram has at most %d bytes, and %llu were asked for", UDP_LARGEST,
                   (unsigned long long)talk->size);
    ways_new(run, talk);
    talk->out = message_room(talk->size);
    talk->in = message_room(talk->size);
    run->state = talk;
}

/* The timed part: how many came out as they went in. A byte is enough to tell one from its neighbours. */
static __attribute__((noinline)) uint64_t talk_to_oneself(struct talk *talk, uint64_t times)
{
    uint64_t right = 0, size = talk->size;
    for (uint64_t i = 0; i < times; i++) {
        unsigned char number = (unsigned char)(++talk->number % 255 + 1);
        const struct way *way = &talk->way[talk->number % 2];
        talk->out[0] = talk->out[size - 1] = number;
        way->send(way, talk->out, size);
        uint64_t bytes = way->receive(way, talk->in, size);
        right += bytes == size && talk->in[0] == number && talk->in[size - 1] == number;
    }
    return right;
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    struct talk *talk = run->state;
    probe_start(value);
    uint64_t right = talk_to_oneself(talk, operations);
    probe_stop(value);
    probe_count(value, "checked", right);
}

static void teardown(struct probe_run *run)
{
    const struct talk *talk = run->state;
    if (probe_is(run, "channel", "sysv_mq"))
        msgctl(talk->way[0].in, IPC_RMID, NULL);
}

static const struct probe own = {
    .title = "message to oneself",
    .question = "What do sending and receiving cost by themselves, without a partner?",
    .operation = "one message of `size` bytes sent and received by the same context",
    .source = "lmbench lat_ctx (McVoy & Staelin 1996), which takes such a pipe off the cost of a switch",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu,ipc,net",
    .metrics = (const struct probe_metric[]){
        {"message", "s", "lower", "wall", "operations", "time of the calls that send and receive one message"}, {0}},
    .params = (const struct probe_param[]){
        {.name = "channel", .doc = "what the message goes through",
         .choices = "pipe,eventfd,unix_stream,tcp,udp,posix_mq,sysv_mq",
         .sweep = "pipe,eventfd,unix_stream,tcp,udp,posix_mq,sysv_mq"},
        {.name = "size", .doc = "bytes of the message", .unit = "B", .sweep = "8", .min = 1, .max = 65536},
        {0}},
    .setup = setup,
    .batch = batch,
    .teardown = teardown,
};

int main(int argc, char **argv)
{
    return probe_main(&own, argc, argv);
}
