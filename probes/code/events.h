/* SPDX-License-Identifier: Apache-2.0
 * events.h - numbers of two kinds, of which one is rare, handled by a loop with a branch: what hints and profiles are
 * about. */
#ifndef STEELYARD_CODE_EVENTS_H
#define STEELYARD_CODE_EVENTS_H

#include "variants.h"

#define EVENTS UINT64_C(16384)
#define ONE_IN 64 /* events that are of the rare kind, at random */

typedef uint32_t handle_events(const uint32_t *events, uint64_t count);

/* The lowest bit tells the kind. Each kind has work of its own, too much for the compiler to do both and choose. `HINT`
 * is put around the condition of the kind that has the bit. */
#define HANDLE(HINT, events, count, sum)                                                                               \
    for (uint64_t i = 0; i < (count); i++) {                                                                           \
        uint32_t event = (events)[i];                                                                                  \
        if (HINT(event & 1)) {                                                                                         \
            (sum) = ((sum) << 7 | (sum) >> 25) + event;                                                                \
            (sum) ^= event >> 5;                                                                                       \
            (sum) += (event >> 9) * 3;                                                                                 \
            (sum) ^= (sum) >> 11;                                                                                      \
        } else {                                                                                                       \
            (sum) += event;                                                                                            \
            (sum) ^= event >> 1;                                                                                       \
        }                                                                                                              \
    }

#define NO_HINT(condition) (condition)

#ifndef VARIANT

struct events {
    handle_events *handle;
    uint32_t list[EVENTS], sum;
};

/* With `bit_rare` few events have the bit, else few lack it. */
static void events_make(struct events *events, bool bit_rare)
{
    uint64_t random = UINT64_C(88172645463325252);
    for (uint64_t i = 0; i < EVENTS; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        bool rare = (random >> 33) % ONE_IN == 0;
        events->list[i] = (uint32_t)(random >> 32) << 1 | (rare == bit_rare);
    }
    events->sum = 0;
    HANDLE(NO_HINT, events->list, EVENTS, events->sum)
}

static void events_batch(const struct events *events, uint64_t operations, struct probe_value *value)
{
    uint64_t passes = (operations + EVENTS - 1) / EVENTS, right = 0;
    probe_start(value);
    for (uint64_t i = 0; i < passes; i++)
        right += events->handle(events->list, EVENTS) == events->sum;
    probe_stop(value);
    value->operations = passes * EVENTS;
    probe_count(value, "checked", right * EVENTS);
}

#endif
#endif
