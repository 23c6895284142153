/* SPDX-License-Identifier: Apache-2.0
 * loaded_latency - a load that waits for the one before, while other threads stream through memory: latency by bandwidth.
 *
 * One thread follows a closed tour of all cache lines, as cache/latency does. The others read or write memory of their own
 * from end to end, a piece of 4 KiB at a time, and turn an empty loop after each piece: the longer it is, the less they
 * move. The bandwidth that they had meanwhile is counted, so that the points of a sweep of `delay` make a curve of the
 * latency by the bandwidth; its left end is the latency of a machine that does nothing else.
 *
 * Known answer: after n steps the tour is at its station number n; the sum of each piece that was read is that of what was
 * written there, and each piece that was written has its number at both ends.
 * Overhead: none that shows in the load. The streams add up or store a word for each 8 bytes.
 * Limits: the streams take their memory by ordinary loads and stores, so that a write also reads the line. Each is on
 * another CPU than the tour: with `cross` there is one of them. In a virtual machine neighbours load the memory as well,
 * and the unloaded end is theirs. One stream does not fill the memory of a machine with many channels.
 * Assembly: chase contains mov\s+\(%r\w+\),%r\w+|ldr
 * Assembly: read_pass contains paddq|\bldp|\bldr
 * Source: loaded latencies of Intel's Memory Latency Checker (mlc --loaded_latency); multiload of multichase (Google). */
#include "contexts.h"
#include "passes.h"
#include "tour.h"

#define PIECE UINT64_C(4096)
#define MOST_STREAMS 255
#define LEAST_MEMORY (UINT64_C(1) << 26)
#define LEAST_IN_CACHE (UINT64_C(1) << 16)

struct stream {
    words *memory;
    struct tally *tally; /* pieces */
};

struct loaded {
    struct station *at;
    uint64_t lines, bytes, delay; /* bytes of each stream's memory; turns of the empty loop */
    bool writes;
    int streams;
    struct stream stream[MOST_STREAMS];
    struct tally *tallies;
    struct gate *gate;
    struct contexts *contexts;
};

static struct station *in_line(unsigned char *memory, uint64_t index)
{
    return (struct station *)(memory + index * PROBE_CACHE_LINE);
}

static inline void turn(uint64_t times)
{
    for (uint64_t i = 0; i < times; i++)
        __asm__ volatile("");
}

/* Whether a piece was read or written as it should be. */
static bool move_piece(words *piece, bool writes, uint64_t number)
{
    if (!writes)
        return read_pass(piece, PIECE) == PIECE / sizeof(uint64_t);
    write_pass(piece, PIECE, number);
    return piece[0][0] == number && piece[PIECE / sizeof *piece - 1][1] == number;
}

static void keep_streaming(struct probe_run *run, int index, void *shared)
{
    struct loaded *loaded = shared;
    struct stream *mine = &loaded->stream[index - 1];
    const uint64_t pieces = loaded->bytes / PIECE, words_a_piece = PIECE / sizeof(words);
    (void)run;
    mine->memory = memory_new(loaded->bytes, HUGE_PAGES); /* by its own thread, so that it lies near that one's CPU */
    write_pass(mine->memory, loaded->bytes, 1);
    gate_pass(loaded->gate);
    for (uint64_t number = 1; !loaded->gate->stop; number++) {
        words *piece = mine->memory + number % pieces * words_a_piece;
        if (!move_piece(piece, loaded->writes, number))
            mine->tally->failures++;
        mine->tally->operations++;
        turn(loaded->delay);
    }
}

/* Of the tour, and of each stream: so little that all of them find room in the last cache, or so much that none does. */
static uint64_t bytes_of(const struct probe_run *run)
{
    const uint64_t last_level = last_level_bytes(), parties = (uint64_t)probe_integer(run, "streams") + 1;
    uint64_t bytes = probe_is(run, "level", "memory") ? 4 * last_level : last_level / 2 / parties;
    if (probe_is(run, "level", "memory") && bytes < LEAST_MEMORY)
        bytes = LEAST_MEMORY;
    return (bytes > LEAST_IN_CACHE ? bytes : LEAST_IN_CACHE) / PIECE * PIECE;
}

static void setup(struct probe_run *run)
{
    static struct loaded loaded;
    loaded.streams = (int)probe_integer(run, "streams");
    loaded.delay = (uint64_t)probe_integer(run, "delay");
    loaded.bytes = bytes_of(run);
    loaded.writes = probe_is(run, "way", "write");
    loaded.lines = loaded.bytes / PROBE_CACHE_LINE;
    if (loaded.streams >= run->cpus)
        probe_skip("%d streams beside the tour need %d CPUs and %d may be used", loaded.streams, loaded.streams + 1,
                   run->cpus);
    loaded.tallies = probe_share((uint64_t)(loaded.streams + 1) * sizeof *loaded.tallies);
    loaded.gate = probe_share(sizeof *loaded.gate);
    for (int i = 0; i < loaded.streams; i++)
        loaded.stream[i].tally = &loaded.tallies[i];
    loaded.at = tour_new(memory_for_caches(loaded.bytes), loaded.lines, in_line);
    loaded.contexts = contexts_start(run, false, 1, loaded.streams, keep_streaming, &loaded);
    gate_open(loaded.gate, loaded.streams);
    run->state = &loaded;
}

static bool all_have_moved(const struct loaded *loaded, const uint64_t *before)
{
    for (int i = 0; i < loaded->streams; i++)
        if (loaded->tallies[i].operations == before[i])
            return false;
    return true;
}

/* The tour goes on until each stream has moved a piece: of a batch that is over sooner no bandwidth could be told. */
static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    struct loaded *loaded = run->state;
    uint64_t before[MOST_STREAMS], done = operations, pieces = 0;
    const uint64_t first = loaded->at->number;
    for (int i = 0; i < loaded->streams; i++)
        before[i] = loaded->tallies[i].operations;
    probe_start(value);
    loaded->at = chase(loaded->at, operations);
    for (; !all_have_moved(loaded, before); done += 64)
        loaded->at = chase(loaded->at, 64);
    probe_stop(value);
    for (int i = 0; i < loaded->streams; i++) {
        pieces += loaded->tallies[i].operations - before[i];
        if (loaded->tallies[i].failures)
            probe_fail("stream %d did not find in its memory what was written there", i + 1);
    }
    value->operations = done;
    probe_count(value, "checked", loaded->at->number == (first + done) % loaded->lines ? done : 0);
    probe_count(value, "bytes", pieces * PIECE);
}

static void teardown(struct probe_run *run)
{
    struct loaded *loaded = run->state;
    loaded->gate->stop = true;
    contexts_join(run, loaded->contexts);
}

static const struct probe_param params[] = {
    {.name = "way", .doc = "what the streams do with their memory", .choices = "read,write", .sweep = "read,write",
     .brief = "read"},
    {.name = "streams", .doc = "threads that stream, each on a CPU of its own", .unit = "1", .sweep = "1", .min = 0,
     .max = MOST_STREAMS},
    {.name = "level", .doc = "what the tour and the streams go through: half of the last cache together, or each four times it",
     .choices = "last_cache,memory", .sweep = "last_cache,memory", .brief = "memory"},
    {.name = "delay", .doc = "turns of an empty loop after each 4 KiB that a stream has moved", .unit = "1",
     .sweep = "0,300,1000,3000,10000,100000", .brief = "0,1000,100000", .curves = "bandwidth", .min = 0, .max = 100000000},
    {0}};

static const struct probe loaded_latency_probe = {
    .title = "dependent load under load",
    .question = "How long does a load take while others stream through memory, by the bandwidth that they have?",
    .operation = "one load of an address that the load before has brought, in random order, while the streams go on",
    .source = "Intel Memory Latency Checker, --loaded_latency; multichase, multiload (Google)",
    .statistic = "median",
    .placements = "cross,free",
    .uses = "cpu",
    .metrics = (const struct probe_metric[]){
        {"load", "s", "lower", "wall", "operations", "time from one load to the next that waits for it"},
        {"bandwidth", "B/s", "neither", "bytes", "wall", "bytes that all streams together read or write in a second"},
        {0}},
    .params = params,
    .setup = setup,
    .batch = batch,
    .teardown = teardown,
};

int main(int argc, char **argv)
{
    return probe_main(&loaded_latency_probe, argc, argv);
}
