/* SPDX-License-Identifier: Apache-2.0
 * bandwidth_pipe - one context writes messages into a pipe, another reads them.
 *
 * Known answer: each message arrives byte for byte; a bare loop of the same write() and read() in two processes takes
 * the same time.
 * Overhead: a store and a comparison every 4096 bytes, by the sender and by the receiver.
 * Limits: the pipe holds what it does by default, 64 KiB: larger messages pass through it in pieces. On one CPU the
 * figure has two switches for every 64 KiB in it, on two it depends on who has to wake whom.
 * Assembly: send_messages contains (call|bl).*<write
 * Assembly: receive_messages contains (call|bl).*<read
 * Source: bw_pipe of Stevens, UNIX Network Programming vol. 2 (2nd ed., 1999), appendix A; lmbench bw_pipe (McVoy &
 * Staelin, USENIX 1996); Steelyard's first seed 001, 500 MiB in messages of 1 to 64 KiB. */
#include "bandwidth_stream.h"

static struct channel *channel_new(const struct probe_run *run, uint64_t size)
{
    (void)run, (void)size;
    return stream_of_pipe();
}

BANDWIDTH_TIMED(stream_send, nothing_to_finish, stream_receive)

int main(int argc, char **argv)
{
    return bandwidth_main(&(const struct way){
        .title = "pipe",
        .question = "How many bytes a second go through a pipe?",
        .source = "Stevens, UNIX Network Programming vol. 2 (1999), bw_pipe; lmbench bw_pipe (McVoy & Staelin 1996)",
        .uses = "cpu,sched,ipc",
        .create = channel_new, .timed = &timed,
    }, argc, argv);
}
