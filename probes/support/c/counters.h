/* SPDX-License-Identifier: Apache-2.0
 * counters.h - what the processor counted in a value: cycles, instructions, branch misses, cache misses.
 *
 * Counting is not free: with events open, also while they are disabled, the kernel does more at every switch, and a pipe
 * round trip takes a sixth longer (benchmarks/counting.py). So nothing is open while values are timed. When they all are,
 * the counters are opened for every thread and process of the probe, children to come included, and a few batches
 * are run again for the counts alone. The supports do all this; a probe has nothing to do. Python, Rust and Java call this
 * file as a library, so it needs nothing of the support in C.
 *
 * The environment variable STEELYARD_COUNTERS chooses what is counted: `hardware`, which is also meant when it is not
 * set, `software` (events that every kernel has: the same way for machines without counters, and for tests) or `off`. */
#ifndef STEELYARD_COUNTERS_H
#define STEELYARD_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define COUNTERS_MAX 4
/* More tasks would need more descriptors than a process usually may have, and reading them would take milliseconds. */
#define COUNTERS_TASKS 128

/* As the kernel reports it, summed over tasks: where more events were asked for than the processor can count at a time,
 * they took turns, and running_ns is less than enabled_ns. */
struct counter { uint64_t count, enabled_ns, running_ns; };

/* Opens the counters for all threads of this process and for `count` other processes. False if nothing can be counted
 * here: counters_absent() says why. */
bool counters_open(const pid_t *processes, int count);
void counters_close(void);
bool counters_are_open(void);
/* Zero for what is not open. False if a counter could not be read, with errno set. */
bool counters_read(struct counter counted[COUNTERS_MAX]);

const char *counters_name(int event); /* of those below COUNTERS_MAX; NULL if it was not opened */
const char *counters_scope(void);     /* "hardware, user and kernel" or "hardware, user only"; "" when nothing is counted */
const char *counters_absent(void);    /* why nothing is, or why some event is not; "" when all are */

#endif
