/* SPDX-License-Identifier: Apache-2.0
 * record - fields of records of 64, 72 or 128 bytes, aligned to a line or not, in order or at random.
 *
 * A record that fits into a line and starts with it costs one line; one of 72 bytes, or one that starts elsewhere, two.
 * The tuning advice has struct { int a; long fill[7]; int b; }, which takes 72 bytes where a long has 8, and says that
 * aligned ones are read three times as fast.
 *
 * layout=64_aligned: 64 bytes, each at the start of a line. 64_offset: the same, each 32 bytes into a line. 72: the
 * struct as the compiler lays it out, one after the other. 72_aligned: the struct, each at the start of a line, as
 * __attribute__((aligned(64))) makes it: 128 bytes. 72_offset: as far apart, but 32 bytes into a line: what alignment
 * alone is worth. 128_aligned and 128_offset: 128 bytes, at the start of a line or 32 bytes into one; in these a field in
 * the middle is read as well, so that two lines or three are needed.
 *
 * Known answer: the sum of the fields of all records that were visited.
 * Overhead: finding the next record, about 1.4 ns, the same in both orders.
 * Limits: at random the next record is known before the last has come, so that loads overlap; cache/latency has those
 * that cannot. Records are a power of two, in all orders the same ones.
 * Assembly: visit contains mov\s+\(%r\w+,%r\w+,1\)|\bldr
 * Assembly: visit_three contains mov\s+\(%r\w+,%r\w+,1\)|\bldr
 * Source: Drepper, What Every Programmer Should Know About Memory (2007), section 6.2.1; the tuning article on
 * caches of wzxue.com (2012). */
#include "memory.h"

struct layout {
    const char *name;
    /* bytes: between records, of the first, of the last field in it, of one in the middle that is read; 0: none is */
    uint64_t stride, start, last, middle;
};

static const struct layout layouts[] = {
    {"64_aligned", 64, 0, 60, 0},  {"64_offset", 64, 32, 60, 0},  {"72", 72, 0, 64, 0},
    {"72_aligned", 128, 0, 64, 0}, {"72_offset", 128, 32, 64, 0}, {"128_aligned", 128, 0, 124, 64},
    {"128_offset", 128, 32, 124, 64}};

struct records {
    unsigned char *first;
    uint64_t count, stride, last, middle;
    bool random;
    uint64_t at, sum_of_all;
};

static inline int32_t *field(const struct records *records, uint64_t index, uint64_t offset)
{
    return (int32_t *)(records->first + index * records->stride + offset);
}

/* The timed part. A generator with the full period of a power of two comes to each record once a round (Knuth, The Art
 * of Computer Programming, vol. 2, 3.2.1.2). */
static __attribute__((noinline)) uint64_t visit(const unsigned char *first, uint64_t stride, uint64_t last,
                                                uint64_t mask, uint64_t factor, uint64_t at, uint64_t times)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < times; i++) {
        const unsigned char *record = first + at * stride;
        sum += *(const uint32_t *)record + (uint64_t)*(const uint32_t *)(record + last);
        at = (at * factor + 1) & mask;
    }
    return sum;
}

/* The same with a field in the middle. */
static __attribute__((noinline)) uint64_t visit_three(const unsigned char *first, uint64_t stride, uint64_t last,
                                                      uint64_t middle, uint64_t mask, uint64_t factor, uint64_t at,
                                                      uint64_t times)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < times; i++) {
        const unsigned char *record = first + at * stride;
        sum += *(const uint32_t *)record + (uint64_t)*(const uint32_t *)(record + middle) +
               *(const uint32_t *)(record + last);
        at = (at * factor + 1) & mask;
    }
    return sum;
}

static uint64_t value_of(uint64_t index)
{
    return (index * 40503) & 0xffff;
}

static uint64_t sum_of_record(const struct records *records, uint64_t index)
{
    return (records->middle ? 7 : 3) * value_of(index);
}

static void setup(struct probe_run *run)
{
    static struct records records;
    unsigned kind = 0;
    while (!probe_is(run, "layout", layouts[kind].name))
        kind++;
    const struct layout *layout = &layouts[kind];
    records.count = UINT64_C(1) << probe_integer(run, "log2_records");
    records.stride = layout->stride;
    records.last = layout->last;
    records.middle = layout->middle;
    records.random = probe_is(run, "order", "random");
    records.first = (unsigned char *)memory_for_caches((records.count + 2) * records.stride) + layout->start;
    for (uint64_t i = 0; i < records.count; i++) {
        *field(&records, i, 0) = (int32_t)value_of(i);
        *field(&records, i, records.last) = (int32_t)(2 * value_of(i));
        if (records.middle)
            *field(&records, i, records.middle) = (int32_t)(4 * value_of(i));
        records.sum_of_all += sum_of_record(&records, i);
    }
    run->state = &records;
}

/* What the visits must add up to, from the indices alone. */
static uint64_t expected_sum(struct records *records, uint64_t factor, uint64_t times)
{
    uint64_t sum = times / records->count * records->sum_of_all;
    for (uint64_t i = 0; i < times % records->count; i++) {
        sum += sum_of_record(records, records->at);
        records->at = (records->at * factor + 1) & (records->count - 1);
    }
    return sum;
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    struct records *records = run->state;
    uint64_t factor = records->random ? UINT64_C(6364136223846793005) : 1;
    probe_start(value);
    uint64_t sum = records->middle
                       ? visit_three(records->first, records->stride, records->last, records->middle,
                                     records->count - 1, factor, records->at, operations)
                       : visit(records->first, records->stride, records->last, records->count - 1, factor, records->at,
                               operations);
    probe_stop(value);
    probe_count(value, "checked", sum == expected_sum(records, factor, operations) ? operations : 0);
}

static const struct probe record_probe = {
    .title = "record, aligned or not",
    .question = "What does it cost to visit records of 64, 72 or 128 bytes, aligned to cache lines or not?",
    .operation = "one visit of a record: its first and its last field are read, of 128 bytes one in the middle too",
    .source = "Drepper, What Every Programmer Should Know About Memory (2007), section 6.2.1; the tuning article on "
              "caches of wzxue.com (2012)",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .value_ms = 2,
    .metrics = (const struct probe_metric[]){
        {"visit", "s", "lower", "wall", "operations", "time of one visit"}, {0}},
    .params = (const struct probe_param[]){
        {.name = "layout", .doc = "bytes of a record, and where it starts",
         .choices = "64_aligned,64_offset,72,72_aligned,72_offset,128_aligned,128_offset",
         .sweep = "64_aligned,64_offset,72,72_aligned,72_offset,128_aligned,128_offset",
         .brief = "64_aligned,72,72_aligned"},
        {.name = "order", .doc = "one after the other, or at random", .choices = "sequence,random",
         .sweep = "sequence,random"},
        {.name = "log2_records", .doc = "logarithm of the number of records", .unit = "1", .sweep = "9,20",
         .brief = "20", .min = 4, .max = 26},
        {0}},
    .setup = setup,
    .batch = batch,
};

int main(int argc, char **argv)
{
    return probe_main(&record_probe, argc, argv);
}
