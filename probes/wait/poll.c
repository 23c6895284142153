/* SPDX-License-Identifier: Apache-2.0
 * poll - many descriptors in a list that the kernel walks through at each call.
 *
 * Known answer: each call says how many are ready, and the list then says which.
 * Overhead: the loop, under 1 ns.  Limits: the list and the sockets stay in the cache as far as they fit; nobody waits,
 * so no wait queue is entered.
 * Assembly: poll_all contains (call|bl)\s.*<poll
 * Source: poll and poll big of LEBench (Ren et al., SOSP 2019), where all are ready; lat_select of lmbench. */
#define _GNU_SOURCE
#include <poll.h>

#include "watched.h"

struct state {
    struct watched *watched;
    struct pollfd *list;
};

static __attribute__((noinline)) uint64_t poll_all(struct pollfd *list, int count, int ready, uint64_t times)
{
    uint64_t right = 0;
    for (uint64_t i = 0; i < times; i++)
        right += poll(list, (nfds_t)count, 0) == ready;
    return right;
}

static bool says_which(const struct state *state)
{
    for (int i = 0; i < state->watched->count; i++)
        if ((state->list[i].revents != 0) != watched_is_ready(state->watched, i))
            return false;
    return true;
}

static void setup(struct probe_run *run)
{
    struct state *state = calloc(1, sizeof *state);
    if (!state)
        probe_fail("out of memory");
    state->watched = watched_new(run);
    state->list = calloc((size_t)state->watched->count, sizeof *state->list);
    if (!state->list)
        probe_fail("out of memory");
    for (int i = 0; i < state->watched->count; i++)
        state->list[i] = (struct pollfd){.fd = state->watched->fd[i], .events = POLLIN};
    run->state = state;
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    struct state *state = run->state;
    const int count = state->watched->count;
    probe_start(value);
    uint64_t right = poll_all(state->list, count, state->watched->ready, operations);
    probe_stop(value);
    probe_count(value, "checked", says_which(state) ? right : 0);
    probe_count(value, "asked", operations * (uint64_t)count);
}

static void teardown(struct probe_run *run)
{
    struct state *state = run->state;
    watched_free(state->watched);
    free(state->list);
    free(state);
}

static const struct probe poll_probe = {
    .title = "poll",
    .source = "LEBench, poll and poll big (Ren et al., SOSP 2019); lmbench, lat_select (McVoy & Staelin 1996)",
    WATCHED_DESCRIPTION("poll()", "10,30,100,300,1000,3000,10000", 1000000),
    .setup = setup,
    .batch = batch,
    .teardown = teardown,
};

int main(int argc, char **argv)
{
    return probe_main(&poll_probe, argc, argv);
}
