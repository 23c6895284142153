/* SPDX-License-Identifier: Apache-2.0
 * bandwidth_vmsplice - one context lends the pages of its messages to a pipe, another reads them: one copy, not two.
 *
 * Known answer: each message arrives byte for byte although the sender's pages are used again: that is right only if
 * none is written to while the pipe still has it.
 * Overhead: a store and a comparison every 4096 bytes, by the sender and by the receiver.
 * Limits: the pipe holds 16 pieces, of a page or less each: messages of 1 KiB fill it with 16 KiB. The sender goes
 * round in as many places as the pipe may still hold, so its messages are colder in the cache than those of
 * message/bandwidth_pipe. A receiver that spliced on without a copy would never have had the bytes.
 * Assembly: send_messages contains (call|bl).*<vmsplice
 * Assembly: receive_messages contains (call|bl).*<read
 * Source: vmsplice(2) of Linux 2.6.17 (Jens Axboe, 2006); after lmbench bw_pipe (McVoy & Staelin, USENIX 1996). */
#define _GNU_SOURCE
#include "bandwidth_stream.h"

#include <fcntl.h>
#include <sys/uio.h>

#define PIPE_PIECES 16 /* the kernel's default */

/* All that the pipe holds, the message that is read, and the one that is written next. */
static uint64_t places(const struct probe_run *run)
{
    uint64_t size = (uint64_t)probe_integer(run, "size");
    uint64_t pages = (size + PAGE_BYTES - 1) / PAGE_BYTES;
    return PIPE_PIECES / pages + 2;
}

static struct channel *channel_new(const struct probe_run *run, uint64_t size)
{
    (void)run, (void)size;
    return stream_of_pipe();
}

static inline void channel_send(struct channel *channel, const struct buffer *out, uint64_t number)
{
    struct iovec rest = {buffer_place(out, number), out->size};
    while (rest.iov_len > 0) {
        ssize_t bytes = vmsplice(channel->sending, &rest, 1, 0);
        if (bytes <= 0)
            probe_fail("cannot lend pages to the pipe: %s", strerror(errno));
        rest.iov_base = (unsigned char *)rest.iov_base + bytes;
        rest.iov_len -= (size_t)bytes;
    }
}

BANDWIDTH_TIMED(channel_send, nothing_to_finish, stream_receive)

int main(int argc, char **argv)
{
    return bandwidth_main(&(const struct way){
        .title = "pipe with lent pages, by vmsplice",
        .question = "How many bytes a second go through a pipe that is lent the sender's pages?",
        .source = "vmsplice(2), Linux 2.6.17 (2006); after lmbench bw_pipe (McVoy & Staelin 1996)",
        .uses = "cpu,sched,ipc",
        .create = channel_new, .timed = &timed, .places = places,
    }, argc, argv);
}
