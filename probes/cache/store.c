/* SPDX-License-Identifier: Apache-2.0
 * store - memory is written by ordinary stores or past the caches, in whole lines or a word of each, and then left or
 * read.
 *
 * What advice on streaming stores comes down to: they save the reading of lines that are overwritten, as long as whole
 * lines are written and nobody wants them soon. then=read wants them at once; part=word writes 8 bytes of each line.
 *
 * Known answer: after a pass its number stands in each word that it wrote.
 * Overhead: a turn of the loop for each line.
 * Limits: one CPU. Streaming stores are those of x86-64, 16 bytes at a time (8 for part=word), with a fence a pass.
 * Assembly: write_pass contains mov[au]ps|movdq|\bst[pr]
 * Assembly: write_pass_streaming contains movnt|\bst[pr]
 * Assembly: write_words_streaming contains movnti|\bstr
 * Source: Drepper, What Every Programmer Should Know About Memory (2007), section 6.1; Intel 64 and IA-32
 * Architectures Optimization Reference Manual, non-temporal stores. */
#include "passes.h"

#define WORDS_OF_LINE (PROBE_CACHE_LINE / sizeof(uint64_t))

struct written {
    words *memory;
    uint64_t size, pass;
    bool streaming, whole_lines, reads;
};

static __attribute__((noinline)) void write_words(uint64_t *at, uint64_t size, uint64_t number)
{
    for (uint64_t *end = at + size / sizeof *at; at < end; at += WORDS_OF_LINE) {
        *at = number;
        __asm__ volatile("" : : : "memory");
    }
}

static __attribute__((noinline)) void write_words_streaming(uint64_t *at, uint64_t size, uint64_t number)
{
    for (uint64_t *end = at + size / sizeof *at; at < end; at += WORDS_OF_LINE) {
#if defined(__x86_64__)
        _mm_stream_si64((long long *)at, (long long)number);
#else
        *at = number;
#endif
        __asm__ volatile("" : : : "memory");
    }
    stream_end();
}

static __attribute__((noinline)) uint64_t read_words(const uint64_t *at, uint64_t size)
{
    uint64_t sum = 0;
    for (const uint64_t *end = at + size / sizeof *at; at < end; at += WORDS_OF_LINE)
        sum += *at;
    return sum;
}

static void write_once(struct written *written)
{
    written->pass++;
    if (written->whole_lines)
        (written->streaming ? write_pass_streaming : write_pass)(written->memory, written->size, written->pass);
    else
        (written->streaming ? write_words_streaming : write_words)((uint64_t *)written->memory, written->size,
                                                                   written->pass);
}

static uint64_t read_once(const struct written *written)
{
    return written->whole_lines ? read_pass(written->memory, written->size)
                                : read_words((const uint64_t *)written->memory, written->size);
}

static uint64_t words_of_pass(const struct written *written)
{
    return written->size / (written->whole_lines ? sizeof(uint64_t) : PROBE_CACHE_LINE);
}

static void setup(struct probe_run *run)
{
    static struct written written;
    written.size = (uint64_t)probe_integer(run, "size") / PROBE_CACHE_LINE * PROBE_CACHE_LINE;
    written.streaming = probe_is(run, "stores", "streaming");
    written.whole_lines = probe_is(run, "part", "line");
    written.reads = probe_is(run, "then", "read");
    if (written.streaming)
        require_streaming();
    written.memory = memory_for_caches(written.size);
    run->state = &written;
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    struct written *written = run->state;
    uint64_t right = 0;
    probe_start(value);
    for (uint64_t i = 0; i < operations; i++) {
        write_once(written);
        if (written->reads)
            right += read_once(written) == written->pass * words_of_pass(written);
    }
    probe_stop(value);
    if (!written->reads && read_once(written) == written->pass * words_of_pass(written))
        right = operations;
    probe_count(value, "checked", right);
    probe_count(value, "lines", operations * (written->size / PROBE_CACHE_LINE));
}

static const struct probe store_probe = {
    .title = "stores, ordinary or past the caches",
    .question = "Does writing past the caches pay, if what was written is left and if it is read soon?",
    .operation = "one pass that writes to each line of the memory, and with then=read reads it again",
    .source = "Drepper, What Every Programmer Should Know About Memory (2007), section 6.1",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .value_ms = 2,
    .metrics = (const struct probe_metric[]){
        {"line", "s", "lower", "wall", "lines", "time of a line: written, and read if it is"},
        {"pass", "s", "lower", "wall", "operations", "time of one pass"},
        {0}},
    .params = (const struct probe_param[]){
        {.name = "stores", .doc = "to the cache or past it", .choices = "ordinary,streaming",
         .sweep = "ordinary,streaming"},
        {.name = "then", .doc = "what becomes of what was written", .choices = "nothing,read",
         .sweep = "nothing,read"},
        {.name = "part", .doc = "what is written of each line: all of it, or 8 bytes", .choices = "line,word",
         .sweep = "line,word", .brief = "line"},
        {.name = "size", .doc = "bytes of the memory", .unit = "B", .sweep = "262144,134217728", .brief = "134217728",
         .min = 1024, .max = INT64_C(1) << 33},
        {0}},
    .setup = setup,
    .batch = batch,
};

int main(int argc, char **argv)
{
    return probe_main(&store_probe, argc, argv);
}
