/* SPDX-License-Identifier: Apache-2.0
 * latency_pipe - a message goes to and fro through two pipes.
 *
 * Known answer: the message comes back byte for byte; two switches a round trip on one CPU. A bare loop of the same
 * write() and read() takes the same time, and `perf bench sched pipe` pinned to one CPU the same within its 4 bytes.
 * Overhead: timing single messages, at most 1 %; stamping and checking a message, about 2 ns for each 4096 bytes.
 * Limits: a pipe holds 64 KiB, so no message here needs more than one turn of each side. On two CPUs the time is mostly
 * that of waking an idle CPU.
 * Assembly: round_trips contains (call|bl).*<(read|write)
 * Source: lat_pipe of lmbench (McVoy & Staelin, USENIX 1996) and of Stevens, UNIX Network Programming vol. 2 (2nd ed.,
 * 1999), appendix A; Steelyard's first seed 001. */
#include "latency_descriptors.h"

static struct channel *channel_new(const struct probe_run *run, uint64_t size)
{
    int there[2], back[2];
    (void)run, (void)size;
    if (pipe(there) != 0 || pipe(back) != 0)
        probe_skip("no pipe: %s", strerror(errno));
    return channel_of(there[1], back[0], back[1], there[0]);
}

int main(int argc, char **argv)
{
    return latency_main(&(const struct way){
        .title = "pipe",
        .question = "How long does a message take through pipes, there and back?",
        .source = "lmbench lat_pipe (McVoy & Staelin 1996); Stevens, UNIX Network Programming vol. 2 (1999), lat_pipe",
        .properties = "boundaries=no,readers=several,when full=sender waits,other side gone=told,hosts=this one",
        .placements = "same,cross,free", .uses = "cpu,sched,ipc",
        .create = channel_new, .timed = &timed,
    }, argc, argv);
}
