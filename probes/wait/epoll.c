/* SPDX-License-Identifier: Apache-2.0
 * epoll - many descriptors that the kernel was told of before; a call looks at those that are ready.
 *
 * Known answer: each call says how many are ready, and the events then say which.
 * Overhead: the loop, under 1 ns.  Limits: a descriptor that was reported and stays ready goes back into the list of the
 * ready ones (level-triggered), so that its check is in the figure; nobody waits. Telling the kernel of a descriptor,
 * epoll_ctl(), is not in it: of one that changes hands with each request it would be.
 * Assembly: epoll_all contains (call|bl)\s.*<epoll_wait
 * Source: epoll and epoll big of LEBench (Ren et al., SOSP 2019), where all are ready. */
#define _GNU_SOURCE
#include <sys/epoll.h>

#include "watched.h"

struct state {
    struct watched *watched;
    int epoll;
    struct epoll_event *events;
    bool *seen;
};

static __attribute__((noinline)) uint64_t epoll_all(const struct state *state, uint64_t times)
{
    const int count = state->watched->count, ready = state->watched->ready;
    uint64_t right = 0;
    for (uint64_t i = 0; i < times; i++)
        right += epoll_wait(state->epoll, state->events, count, 0) == ready;
    return right;
}

/* Each that is ready once, and no other. */
static bool says_which(const struct state *state)
{
    memset(state->seen, 0, (size_t)state->watched->count * sizeof *state->seen);
    for (int i = 0; i < state->watched->ready; i++) {
        const int number = (int)state->events[i].data.u32;
        if (number < 0 || number >= state->watched->count || state->seen[number] ||
            !watched_is_ready(state->watched, number))
            return false;
        state->seen[number] = true;
    }
    return true;
}

static void setup(struct probe_run *run)
{
    struct state *state = calloc(1, sizeof *state);
    if (!state)
        probe_fail("out of memory");
    state->watched = watched_new(run);
    const int count = state->watched->count;
    state->events = calloc((size_t)count, sizeof *state->events);
    state->seen = calloc((size_t)count, sizeof *state->seen);
    state->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (!state->events || !state->seen)
        probe_fail("out of memory");
    if (state->epoll < 0)
        probe_skip("no epoll: %s", strerror(errno));
    for (int i = 0; i < count; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)i};
        if (epoll_ctl(state->epoll, EPOLL_CTL_ADD, state->watched->fd[i], &event) != 0)
            probe_skip("descriptor %d of %d cannot be watched: %s; see fs.epoll.max_user_watches", i + 1, count,
                       strerror(errno));
    }
    run->state = state;
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    const struct state *state = run->state;
    probe_start(value);
    uint64_t right = epoll_all(state, operations);
    probe_stop(value);
    probe_count(value, "checked", says_which(state) ? right : 0);
    probe_count(value, "asked", operations * (uint64_t)state->watched->count);
}

static void teardown(struct probe_run *run)
{
    struct state *state = run->state;
    close(state->epoll);
    watched_free(state->watched);
    free(state->events);
    free(state->seen);
    free(state);
}

static const struct probe epoll_probe = {
    .title = "epoll",
    .source = "LEBench, epoll and epoll big (Ren et al., SOSP 2019)",
    WATCHED_DESCRIPTION("epoll_wait()", "10,30,100,300,1000,3000,10000", 1000000),
    .setup = setup,
    .batch = batch,
    .teardown = teardown,
};

int main(int argc, char **argv)
{
    return probe_main(&epoll_probe, argc, argv);
}
