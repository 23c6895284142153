/* SPDX-License-Identifier: Apache-2.0
 * probe.h - probe protocol 1 for probes written in C; docs/reference/protocol.md is its contract.
 *
 * A probe fills a `struct probe` and hands it to probe_main(). The support does the rest: --describe,
 * --selftest, key=value, finding the number of operations, values, JSON lines, the deadline. probes/null/null.c is
 * the skeleton to copy. Identity (question/way) comes from the path of the source file: no name is typed twice.
 *
 * Exit codes: 0 right, 1 failed, 2 wrong usage, 77 cannot run here (the reason is the last line on stderr). */
#ifndef STEELYARD_PROBE_H
#define STEELYARD_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "counters.h"

#define PROBE_PROTOCOL 1
#define PROBE_MAX_PARAMS 8
#define PROBE_MAX_COUNTS 10
#define PROBE_MAX_CPUS 1024
#define PROBE_CACHE_LINE 64

/* One reported figure: quantity `over` divided by quantity `per`. A quantity is "wall" (seconds on the clock times
 * `lanes`), "cpu", "user", "system" (seconds), "operations", "one", or the name of a count or reading of the value. */
struct probe_metric {
    const char *name;
    const char *unit;   /* base unit: "s", "B", "B/s", "1" */
    const char *better; /* "lower", "higher" or "neither" */
    const char *over;
    const char *per;
    const char *doc;
};

struct probe_param {
    const char *name;
    const char *doc;
    const char *unit;    /* "1", "B", "ns", …; NULL for a choice */
    const char *choices; /* comma separated words, or NULL for an integer */
    const char *sweep;   /* comma separated default values; the first is used when nothing is said */
    const char *brief;   /* optional: those of them that a first session of a few minutes should take */
    const char *curves;  /* optional: metrics that are drawn over it beside the main one */
    int64_t min, max;    /* limits of an integer, inclusive */
    bool built;          /* it says how the timed part was compiled (variants.h), and not what is done */
};

struct probe_value {
    uint64_t operations; /* preset to what was asked for; a batch that did another number says so here */
    uint64_t wall_ns;
    uint32_t lanes; /* CPUs on which operations went on at the same time; preset to 1 */
    uint64_t cpu_ns, user_ns, system_ns;
    uint64_t voluntary, involuntary, minor_faults;
    uint64_t run_delay_ns; /* time the probe's first thread was runnable and not running */
    bool has_user_system;  /* false while contexts are live processes: only their sum can be read */
    bool timed_in_parts;   /* private: CPU times, switches and counters are of more than the timed parts */
    int counts, readings;
    struct { const char *name; uint64_t count; } count[PROBE_MAX_COUNTS];
    struct { const char *name; double reading; } reading[PROBE_MAX_COUNTS];
    struct { uint64_t wall, cpu, user, system, voluntary, involuntary, faults, delay; } begin; /* private */
    uint64_t counted_operations;           /* private: of the batch that was run again for the counters; 0 if none was */
    struct counter counted[COUNTERS_MAX];  /* private */
};

enum probe_placement { PROBE_SAME, PROBE_CROSS, PROBE_FREE };

struct probe_run {
    const struct probe *probe;
    enum probe_placement placement;
    int cpus, cpu[PROBE_MAX_CPUS]; /* where this run may go, in order */
    int64_t integer[PROBE_MAX_PARAMS];
    const char *choice[PROBE_MAX_PARAMS];
    void *state;                 /* the probe's own, made by setup */
    const char *timed, *compiler, *flags; /* of a timed part with variants (variants.h): its symbol, what compiled it */
    struct contexts *contexts;   /* live contexts, if any (contexts.h) */
};

struct probe {
    const char *title;      /* what people call it, in a few plain words */
    const char *question;   /* required: the question in a sentence */
    const char *operation;  /* required: what ONE operation is: one way or round trip, with or without creation */
    const char *source;     /* required: where the measurement comes from in the literature */
    const char *statistic;  /* required: "lower_quartile" for pure CPU cost, "median" where waiting is the subject */
    const char *placements; /* required: those of "same,cross,free" that make sense, the default first */
    const char *uses;       /* required: those of "cpu,sched,ipc,disk,net" that it loads */
    unsigned value_ms;      /* optional: a session's values need be no longer; 0: as long as it asks for */
    const char *baseline;   /* optional: "question/way" of the case that measures this one's overhead; parameters of
                               the same name are passed on to it */
    const char *properties; /* optional: what is known of it without measuring, for whoever has to choose, as
                               "name=value,name=value" */
    const char *family;     /* optional: the name under which ways of one question are drawn and tabled together */
    const struct probe_metric *metrics; /* required: ends with {0}; the first is the main figure */
    const struct probe_param *params;   /* optional: ends with {0} */
    void (*setup)(struct probe_run *run); /* optional: called once before the first batch, untimed */
    /* required: do `operations` operations between probe_start(value) and probe_stop(value), check that they happened
     * and report how many were proven by probe_count(value, "checked", n). A value whose `checked` differs from its
     * `operations` fails the run. */
    void (*batch)(struct probe_run *run, uint64_t operations, struct probe_value *value);
    void (*teardown)(struct probe_run *run);  /* optional: called once after the last batch, untimed */
    void (*selftest)(struct probe_run *run);  /* optional: a known answer beyond `checked`; probe_fail() if wrong */
};

/* What the build knows of a probe. The support is compiled once for all of them. */
struct probe_build {
    const char *identity; /* question/way, from the path of the source */
    const char *compiler, *flags;
};
#ifndef PROBE_FLAGS
#define PROBE_FLAGS "unknown"
#endif
#ifndef PROBE_COMPILER
#define PROBE_COMPILER "gcc-compatible " __VERSION__
#endif
int probe_main_of(struct probe_build build, const struct probe *probe, int argc, char **argv);
#define probe_main(probe, argc, argv) \
    probe_main_of((struct probe_build){PROBE_ID, PROBE_COMPILER, PROBE_FLAGS}, probe, argc, argv)

/* Bounds of the timed part: the clock is read last in start and first in stop. */
void probe_start(struct probe_value *value);
void probe_stop(struct probe_value *value);
/* Instead of probe_stop, of a batch that reads the clock around parts of what it does: `wall_ns` of them all, in which
 * `operations` were done. CPU times, switches and counters are left out: much of them lies between the parts. */
void probe_stop_parts(struct probe_value *value, uint64_t operations, uint64_t wall_ns);

/* Facts of a value. `name` must be a string literal. */
void probe_count(struct probe_value *value, const char *name, uint64_t count);
void probe_reading(struct probe_value *value, const char *name, double reading);

struct histogram;
/* All times of a run, printed at its end: `scale` of `unit` is one of the histogram's numbers. All three stay as they are
 * until the program ends. */
void probe_histogram(const char *name, const char *unit, double scale, const struct histogram *histogram);

/* Parameters of this run. pre: the probe declares a parameter of that name and kind. */
int64_t probe_integer(const struct probe_run *run, const char *name);
bool probe_is(const struct probe_run *run, const char *name, const char *choice);
const char *probe_choice(const struct probe_run *run, const char *name);

/* A doubt that travels with the result; printed once a run however often it is said. */
void probe_caveat(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same, of these metrics alone: a string literal of names, comma separated. */
void probe_caveat_of(const char *metrics, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* End the whole probe: exit code 1, or 77 with the reason why it can't run here. */
_Noreturn void probe_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void probe_skip(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The CPU of party number `party`: with `same` all share one, with `cross` they alternate, with `free` -1. */
int probe_cpu(const struct probe_run *run, int party);
/* Move the calling thread to the CPU of its party; does nothing with `free`. */
void probe_place(const struct probe_run *run, int party);

uint64_t probe_now_ns(void); /* CLOCK_MONOTONIC */

/* Zeroed memory shared with processes forked later. Never NULL; freed with the process. */
void *probe_share(uint64_t bytes);

#endif
