/* SPDX-License-Identifier: Apache-2.0
 * select - many descriptors in a set of bits, which the kernel walks through and writes over at each call.
 *
 * Known answer: each call says how many are ready, and the set then says which.
 * Overhead: the copy of the set that each call needs, 128 bytes, some nanoseconds.  Limits: a set holds the descriptors
 * below 1024 (FD_SETSIZE), so that 1000 are the most; nobody waits, so no wait queue is entered.
 * Assembly: select_all contains (call|bl)\s.*<select
 * Source: select and select big of LEBench (Ren et al., SOSP 2019), where all are ready; lat_select of lmbench. */
#define _GNU_SOURCE
#include <sys/select.h>

#include "watched.h"

struct state {
    struct watched *watched;
    int highest;
    fd_set asked, said; /* of the last call */
};

static __attribute__((noinline)) uint64_t select_all(struct state *state, uint64_t times)
{
    const int ready = state->watched->ready;
    uint64_t right = 0;
    for (uint64_t i = 0; i < times; i++) {
        struct timeval none = {0, 0};
        state->said = state->asked;
        right += select(state->highest + 1, &state->said, NULL, NULL, &none) == ready;
    }
    return right;
}

static bool says_which(const struct state *state)
{
    for (int i = 0; i < state->watched->count; i++)
        if ((FD_ISSET(state->watched->fd[i], &state->said) != 0) != watched_is_ready(state->watched, i))
            return false;
    return true;
}

static void setup(struct probe_run *run)
{
    struct state *state = calloc(1, sizeof *state);
    if (!state)
        probe_fail("out of memory");
    state->watched = watched_new(run);
    FD_ZERO(&state->asked);
    for (int i = 0; i < state->watched->count; i++) {
        const int fd = state->watched->fd[i];
        if (fd >= FD_SETSIZE)
            probe_skip("descriptor %d does not fit into a set of %d: start the probe with fewer open files", fd,
                       FD_SETSIZE);
        FD_SET(fd, &state->asked);
        state->highest = fd > state->highest ? fd : state->highest;
    }
    run->state = state;
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    struct state *state = run->state;
    probe_start(value);
    uint64_t right = select_all(state, operations);
    probe_stop(value);
    probe_count(value, "checked", says_which(state) ? right : 0);
    probe_count(value, "asked", operations * (uint64_t)state->watched->count);
}

static void teardown(struct probe_run *run)
{
    struct state *state = run->state;
    watched_free(state->watched);
    free(state);
}

static const struct probe select_probe = {
    .title = "select",
    .source = "LEBench, select and select big (Ren et al., SOSP 2019); lmbench, lat_select (McVoy & Staelin 1996)",
    WATCHED_DESCRIPTION("select()", "10,30,100,300,1000", 1000),
    .setup = setup,
    .batch = batch,
    .teardown = teardown,
};

int main(int argc, char **argv)
{
    return probe_main(&select_probe, argc, argv);
}
