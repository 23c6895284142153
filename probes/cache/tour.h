/* SPDX-License-Identifier: Apache-2.0
 * tour.h - one closed round trip through memory in random order, each load waiting for the one before. */
#ifndef STEELYARD_CACHE_TOUR_H
#define STEELYARD_CACHE_TOUR_H

#include "memory.h"

/* A station of a round trip through memory: where the next one is, and the how manieth this one is. */
struct station {
    struct station *next;
    uint64_t number;
};

/* Where station number `index` lies; shared by those that chase. */
typedef struct station *station_place(unsigned char *memory, uint64_t index);

/* One closed tour of all stations in random order: neither prefetcher nor processor knows where it goes next. */
static inline struct station *tour_new(unsigned char *memory, uint64_t stations, station_place *place)
{
    struct order order = order_of(stations);
    for (uint64_t i = 0; i < stations; i++) {
        struct station *station = place(memory, i);
        station->number = order_rank(&order, i);
        station->next = place(memory, order_place(&order, (station->number + 1) % stations));
    }
    return place(memory, order_place(&order, 0));
}

/* The timed part of those that chase: each load waits for the one before. */
static __attribute__((noinline)) struct station *chase(struct station *at, uint64_t steps)
{
    for (uint64_t i = 0; i < steps; i++) {
        at = at->next;
        __asm__ volatile("" : "+r"(at));
    }
    return at;
}

#endif
