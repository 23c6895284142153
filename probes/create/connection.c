/* SPDX-License-Identifier: Apache-2.0
 * connection - a connection is made, accepted and closed, one at a time, by one process that holds both ends.
 *
 * Known answer: each accept() gives a connection, a byte goes through the first and the last of a batch, and afterwards
 * none waits to be accepted and no descriptor is left over.
 * Overhead: the loop, under 1 ns.  Limits: nobody waits, so there is no wake-up and no switch: over loopback the kernel
 * shakes hands within connect(). A TCP connection is closed by a reset (SO_LINGER of 0), which leaves no TIME_WAIT; one
 * that ends in order costs three packets more, and its port is taken for a minute.
 * Assembly: connect_all contains (call|bl)\s.*<connect_one
 * Assembly: connect_one contains (call|bl)\s.*<connect
 * Source: lat_connect of lmbench (McVoy & Staelin 1996). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>

#include "../message/sockets.h"

struct listening {
    struct address address;
    int listener; /* does not wait */
    bool tcp;
};

static __attribute__((noinline)) struct ends connect_one(const struct listening *listening)
{
    struct ends ends = {.calling = socket(listening->address.at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (ends.calling < 0)
        probe_fail("no socket: %s", strerror(errno));
    if (connect(ends.calling, (const struct sockaddr *)&listening->address.at, listening->address.length) != 0)
        probe_fail("cannot connect: %s", strerror(errno));
    ends.called = accept4(listening->listener, NULL, NULL, SOCK_CLOEXEC);
    if (ends.called < 0)
        probe_fail("cannot accept a connection that has been made: %s", strerror(errno));
    return ends;
}

/* The one that called goes first; over TCP by a reset. */
static inline bool close_both(const struct listening *listening, struct ends ends)
{
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    if (listening->tcp && setsockopt(ends.calling, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) != 0)
        return false;
    return close(ends.calling) == 0 && close(ends.called) == 0;
}

static __attribute__((noinline)) uint64_t connect_all(const struct listening *listening, uint64_t times)
{
    uint64_t right = 0;
    for (uint64_t i = 0; i < times; i++)
        right += close_both(listening, connect_one(listening));
    return right;
}

/* A connection through which a byte goes. Returns the number of its first descriptor. */
static int try_one(const struct listening *listening)
{
    struct ends ends = connect_one(listening);
    char byte = 0;
    if (write(ends.calling, "b", 1) != 1 || read(ends.called, &byte, 1) != 1 || byte != 'b')
        probe_fail("a byte does not go through the connection");
    close_both(listening, ends);
    return ends.calling;
}

static void setup(struct probe_run *run)
{
    struct listening *listening = calloc(1, sizeof *listening);
    if (!listening)
        probe_fail("out of memory");
    listening->tcp = probe_is(run, "channel", "tcp");
    listening->address = listening->tcp ? any_loopback() : any_unix();
    listening->listener = socket_at(&listening->address, SOCK_STREAM, listening->tcp ? "TCP over loopback" : "UNIX socket");
    if (listen(listening->listener, 8) != 0 || fcntl(listening->listener, F_SETFL, O_NONBLOCK) != 0)
        probe_fail("cannot listen: %s", strerror(errno));
    run->state = listening;
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    const struct listening *listening = run->state;
    int before = try_one(listening);
    probe_start(value);
    uint64_t right = connect_all(listening, operations);
    probe_stop(value);
    bool clean = try_one(listening) == before && accept(listening->listener, NULL, NULL) < 0 && errno == EAGAIN;
    probe_count(value, "checked", clean ? right : 0);
}

static void teardown(struct probe_run *run)
{
    struct listening *listening = run->state;
    close(listening->listener);
    free(listening);
}

static const struct probe connection_probe = {
    .title = "connection",
    .question = "What does it cost to make a connection, to accept it and to close it?",
    .operation = "one socket(), connect(), accept() and close() of both ends, by one process",
    .source = "lmbench, lat_connect (McVoy & Staelin 1996)",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu,net",
    .metrics = (const struct probe_metric[]){
        {"connection", "s", "lower", "wall", "operations", "time of one connection, made, accepted and closed"}, {0}},
    .params = (const struct probe_param[]){
        {.name = "channel", .doc = "what is connected", .choices = "tcp,unix", .sweep = "tcp,unix"}, {0}},
    .setup = setup,
    .batch = batch,
    .teardown = teardown,
};

int main(int argc, char **argv)
{
    return probe_main(&connection_probe, argc, argv);
}
