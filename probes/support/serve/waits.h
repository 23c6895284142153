/* SPDX-License-Identifier: Apache-2.0
 * waits.h - what a state machine waits for: a heap of times, the first due first, and one timer of the kernel. */
#ifndef STEELYARD_WAITS_H
#define STEELYARD_WAITS_H

#include <stdint.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "serve.h"

/* Belongs to what waits, which is found from it. */
struct wait {
    uint64_t due; /* ns of CLOCK_MONOTONIC */
};

struct waits {
    struct wait **heap;
    size_t count, room;
    int timer; /* of waits_timer() */
};

static inline int waits_timer(void)
{
    return timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
}

static inline void waits_set_timer(const struct waits *waits)
{
    uint64_t due = waits->count ? waits->heap[0]->due : 0;
    struct itimerspec at = {.it_value = {(time_t)(due / 1000000000u), (long)(due % 1000000000u)}};
    timerfd_settime(waits->timer, TFD_TIMER_ABSTIME, &at, NULL);
}

static inline void waits_add(struct waits *waits, struct wait *wait, uint32_t us)
{
    wait->due = serve_now() + us * UINT64_C(1000);
    if (waits->count == waits->room) {
        waits->room = waits->room ? 2 * waits->room : 64;
        waits->heap = realloc(waits->heap, waits->room * sizeof(struct wait *));
        if (!waits->heap)
            abort();
    }
    size_t at = waits->count++;
    for (; at && waits->heap[(at - 1) / 2]->due > wait->due; at = (at - 1) / 2)
        waits->heap[at] = waits->heap[(at - 1) / 2];
    waits->heap[at] = wait;
    if (at == 0)
        waits_set_timer(waits);
}

/* Takes out the first if it was due at `now`; NULL if none was. Ask until it is NULL, then set the timer. */
static inline struct wait *waits_take(struct waits *waits, uint64_t now)
{
    if (!waits->count || waits->heap[0]->due > now)
        return NULL;
    struct wait *first = waits->heap[0], *last = waits->heap[--waits->count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < waits->count; at = child) {
        if (child + 1 < waits->count && waits->heap[child + 1]->due < waits->heap[child]->due)
            child++;
        if (waits->heap[child]->due >= last->due)
            break;
        waits->heap[at] = waits->heap[child];
    }
    waits->heap[at] = last;
    return first;
}

#endif
