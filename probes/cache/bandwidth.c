/* SPDX-License-Identifier: Apache-2.0
 * bandwidth - bytes a second that one CPU reads, writes or copies, in a working set that fits a cache or none.
 *
 * 16 bytes an instruction, from the first byte to the last and again. The ways that end in _streaming store past the
 * caches: an ordinary store to a line that is not in the cache reads the line first, only to overwrite it.
 *
 * Known answer: the sum of the first 16 bytes of each line that was read; after the last pass the last pass's number stands in every word, and a copy
 * has carried it over.
 * Overhead: a turn of the loop for each 64 bytes, of a read for each 128.
 * Limits: one CPU, which alone need not fill the memory's bandwidth; wider instructions than 16 bytes get more out of
 * the first cache, and of nothing beyond it. A copy counts its bytes once, though they are read and written. Streaming
 * stores are those of x86-64, and end with a fence once a pass.
 * Assembly: load_pass contains mov(dq|ap)\w?\s+0x70\(|\bldp|\bldr
 * Assembly: write_pass contains mov[au]ps|movdq|\bst[pr]
 * Assembly: copy_pass contains mov[au]ps|movdq|\bst[pr]
 * Assembly: copy_pass_streaming contains movnt|\bst[pr]
 * Source: STREAM (McCalpin); bw_mem of lmbench (McVoy & Staelin, USENIX 1996). */
#include "passes.h"

enum way { READ, WRITE, WRITE_STREAMING, COPY, COPY_STREAMING };

struct arrays {
    words *from, *to;
    uint64_t size, pass;
    enum way way;
};

static enum way way_of(const struct probe_run *run)
{
    static const char *const names[] = {"read", "write", "write_streaming", "copy", "copy_streaming"};
    unsigned way = 0;
    while (!probe_is(run, "way", names[way]))
        way++;
    return (enum way)way;
}

static void setup(struct probe_run *run)
{
    static struct arrays arrays;
    arrays.way = way_of(run);
    arrays.size = (uint64_t)probe_integer(run, "size") / PROBE_CACHE_LINE * PROBE_CACHE_LINE;
    if (arrays.way == WRITE_STREAMING || arrays.way == COPY_STREAMING)
        require_streaming();
    bool copies = arrays.way == COPY || arrays.way == COPY_STREAMING;
    if (copies) { /* the two together are the working set */
        arrays.size = arrays.size / 2 / PROBE_CACHE_LINE * PROBE_CACHE_LINE;
        arrays.to = memory_for_caches(arrays.size);
    }
    arrays.from = memory_for_caches(arrays.size);
    write_pass(arrays.from, arrays.size, 1);
    run->state = &arrays;
}

/* The timed part. Returns the sum of what was read. */
static uint64_t make_passes(struct arrays *arrays, uint64_t passes)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < passes; i++) {
        arrays->pass++;
        switch (arrays->way) {
        case READ:
            sum += load_pass(arrays->from, arrays->size);
            break;
        case WRITE:
            write_pass(arrays->from, arrays->size, arrays->pass);
            break;
        case WRITE_STREAMING:
            write_pass_streaming(arrays->from, arrays->size, arrays->pass);
            break;
        case COPY:
        case COPY_STREAMING:
            arrays->from[0][0] = arrays->pass;
            (arrays->way == COPY ? copy_pass : copy_pass_streaming)(arrays->to, arrays->from, arrays->size);
            sum += arrays->to[0][0] == arrays->pass;
            break;
        }
    }
    return sum;
}

static bool passes_are_proven(const struct arrays *arrays, uint64_t passes, uint64_t sum)
{
    uint64_t words_of_all = arrays->size / sizeof(uint64_t);
    switch (arrays->way) {
    case READ:
        return sum == passes * (arrays->size / PROBE_CACHE_LINE) * (sizeof(words) / sizeof(uint64_t));
    case WRITE:
    case WRITE_STREAMING:
        return read_pass(arrays->from, arrays->size) == words_of_all * arrays->pass;
    default:
        return sum == passes && memcmp(arrays->from, arrays->to, arrays->size) == 0;
    }
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    struct arrays *arrays = run->state;
    if (arrays->way == COPY || arrays->way == COPY_STREAMING)
        memset(arrays->to, 0, arrays->size); /* what an earlier batch copied proves nothing */
    probe_start(value);
    uint64_t sum = make_passes(arrays, operations);
    probe_stop(value);
    probe_count(value, "checked", passes_are_proven(arrays, operations, sum) ? operations : 0);
    probe_count(value, "bytes", operations * arrays->size);
}

static const struct probe bandwidth_probe = {
    .title = "reading, writing, copying memory",
    .question = "How many bytes a second does one CPU read, write or copy, by the size of the memory?",
    .operation = "one pass over the working set; a copy from one half of it to the other",
    .source = "STREAM (McCalpin); lmbench bw_mem (McVoy & Staelin, USENIX 1996)",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .value_ms = 2,
    .metrics = (const struct probe_metric[]){
        {"bandwidth", "B/s", "higher", "bytes", "wall", "bytes read, written or copied in a second, each counted once"},
        {"pass", "s", "lower", "wall", "operations", "time of one pass"},
        {0}},
    .params = (const struct probe_param[]){
        {.name = "way", .doc = "what is done with the memory",
         .choices = "read,write,write_streaming,copy,copy_streaming",
         .sweep = "read,write,write_streaming,copy,copy_streaming", .brief = "read,write,copy"},
        {.name = "size", .doc = "bytes of the working set", .unit = "B",
         .sweep = "16384,262144,4194304,134217728", .brief = "16384,134217728", .min = 1024, .max = INT64_C(1) << 33},
        {0}},
    .setup = setup,
    .batch = batch,
};

int main(int argc, char **argv)
{
    return probe_main(&bandwidth_probe, argc, argv);
}
