/* SPDX-License-Identifier: Apache-2.0
 * prefetch - a list, a hash table and an indexed gather that say some steps ahead which line they will want.
 *
 * In the list each node knows, beside the next one, the one `distance` steps ahead, which is what prefetching in lists
 * takes; the next node's address is in the node, so without it every step waits. The keys of the hash table and the
 * indices of the gather are known beforehand, and there the processor, which looks ahead itself, has overlapped loads
 * before anybody told it to. After each step comes a little work (WORK multiplications), for a prefetch needs something
 * to hide behind.
 *
 * Known answer: the sum of all values that were visited, from the indices alone.
 * Overhead: the work, about 4 ns.  Limits: each node is a line of its own and stands where chance put it; distance=0
 * does not prefetch. On hardware that fetches neighbours of a line nothing is gained from that here.
 * Assembly: walk_list contains prefetch|prfm
 * Assembly: look_up contains prefetch|prfm
 * Assembly: gather contains prefetch|prfm
 * Source: Luk & Mowry, Compiler-Based Prefetching for Recursive Data Structures (ASPLOS 1996), for the jump pointers;
 * Chen, Ailamaki, Gibbons & Mowry, Improving Hash Join Performance through Prefetching (ICDE 2004). */
#include "memory.h"

#define WORK 4
#define FACTOR UINT64_C(6364136223846793005)
#define HASH_FACTOR UINT64_C(0x9e3779b1)

struct node {
    _Alignas(PROBE_CACHE_LINE) struct node *next, *ahead;
    uint64_t key, value;
};

enum kind { LIST, HASH, GATHER };

struct field {
    enum kind kind;
    struct node *nodes, *at;
    const uint32_t *visits; /* keys or indices in their order, as far as anybody looks ahead */
    uint64_t count, distance, position, salt;
};

static inline uint64_t worked(uint64_t value, uint64_t salt)
{
    for (int i = 0; i < WORK; i++) {
        value = value * FACTOR + salt;
        __asm__ volatile("" : "+r"(value));
    }
    return value;
}

static __attribute__((noinline)) uint64_t walk_list(struct field *field, uint64_t steps)
{
    struct node *at = field->at;
    uint64_t sum = 0, salt = field->salt;
    bool prefetches = field->distance > 0;
    for (uint64_t i = 0; i < steps; i++) {
        if (prefetches)
            __builtin_prefetch(at->ahead);
        sum += worked(at->value, salt);
        at = at->next;
    }
    field->at = at;
    return sum;
}

/* Where a key lies: its bucket has one node, since the keys are a permutation of the buckets. */
static inline struct node *bucket_of(const struct field *field, uint64_t key)
{
    return &field->nodes[(key * HASH_FACTOR) & (field->count - 1)];
}

static uint64_t key_of(const struct field *field, uint64_t bucket)
{
    return (bucket * inverse_of(HASH_FACTOR)) & (field->count - 1);
}

/* The visits go on for `distance` beyond their end, so that looking ahead needs no test. */
static __attribute__((noinline)) uint64_t look_up(const struct field *field, uint64_t steps)
{
    uint64_t sum = 0, salt = field->salt, at = field->position, ahead = field->distance;
    for (uint64_t i = 0; i < steps; i++) {
        uint64_t key = field->visits[at];
        if (ahead)
            __builtin_prefetch(bucket_of(field, field->visits[at + ahead]));
        const struct node *node = bucket_of(field, key);
        sum += node->key == key ? worked(node->value, salt) : 0;
        at = (at + 1) & (field->count - 1);
    }
    return sum;
}

static __attribute__((noinline)) uint64_t gather(const struct field *field, uint64_t steps)
{
    uint64_t sum = 0, salt = field->salt, at = field->position, ahead = field->distance;
    for (uint64_t i = 0; i < steps; i++) {
        if (ahead)
            __builtin_prefetch(&field->nodes[field->visits[at + ahead]]);
        sum += worked(field->nodes[field->visits[at]].value, salt);
        at = (at + 1) & (field->count - 1);
    }
    return sum;
}

static uint64_t value_of(uint64_t number)
{
    return number * 2654435761u;
}

/* The order once around, and on for as far as anybody looks ahead. */
static uint32_t *visits_new(const struct order *order, uint64_t ahead)
{
    uint32_t *visits = malloc((order->count + ahead) * sizeof *visits);
    if (!visits)
        probe_fail("out of memory");
    for (uint64_t i = 0; i < order->count + ahead; i++)
        visits[i] = (uint32_t)order_place(order, i % order->count);
    return visits;
}

static struct node *node_at(const struct field *field, const struct order *order, uint64_t rank)
{
    return &field->nodes[order_place(order, rank & (field->count - 1))];
}

static void setup(struct probe_run *run)
{
    static struct field field;
    field.kind = probe_is(run, "structure", "list") ? LIST : probe_is(run, "structure", "hash") ? HASH : GATHER;
    field.count = UINT64_C(1) << probe_integer(run, "log2_nodes");
    field.distance = (uint64_t)probe_integer(run, "distance");
    field.nodes = memory_for_caches(field.count * sizeof *field.nodes);
    struct order order = order_of(field.count);
    field.visits = visits_new(&order, field.distance);
    field.salt = probe_now_ns() | 1;
    for (uint64_t i = 0; i < field.count; i++) {
        uint64_t number = field.kind == HASH ? key_of(&field, i) : i, rank = order_rank(&order, number);
        field.nodes[i] = (struct node){.next = node_at(&field, &order, rank + 1),
                                       .ahead = node_at(&field, &order, rank + field.distance),
                                       .key = number,
                                       .value = value_of(number)};
    }
    field.at = &field.nodes[field.visits[0]];
    run->state = &field;
}

static uint64_t expected_sum(const struct field *field, uint64_t steps)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < steps; i++)
        sum += worked(value_of(field->visits[(field->position + i) & (field->count - 1)]), field->salt);
    return sum;
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    struct field *field = run->state;
    uint64_t sum;
    probe_start(value);
    if (field->kind == LIST)
        sum = walk_list(field, operations);
    else
        sum = (field->kind == HASH ? look_up : gather)(field, operations);
    probe_stop(value);
    uint64_t expected = expected_sum(field, operations);
    field->position = (field->position + operations) & (field->count - 1);
    probe_count(value, "checked", sum == expected ? operations : 0);
}

static const struct probe prefetch_probe = {
    .title = "prefetch",
    .question = "What does it gain to prefetch what a list, a hash table or a gather will want some steps later?",
    .operation = "one step: a node is visited in random order, and 4 dependent multiplications are done with its value",
    .source = "Luk & Mowry (ASPLOS 1996); Chen, Ailamaki, Gibbons & Mowry (ICDE 2004)",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .value_ms = 2,
    .metrics = (const struct probe_metric[]){
        {"step", "s", "lower", "wall", "operations", "time of one step"}, {0}},
    .params = (const struct probe_param[]){
        {.name = "structure", .doc = "what is walked", .choices = "list,hash,gather", .sweep = "list,hash,gather"},
        {.name = "distance", .doc = "steps from the prefetch to the visit; 0 does not prefetch", .unit = "1",
         .sweep = "0,1,4,8,16", .brief = "0,8", .min = 0, .max = 1024},
        {.name = "log2_nodes", .doc = "logarithm of the number of nodes, of 64 bytes each", .unit = "1", .sweep = "20",
         .min = 4, .max = 26},
        {0}},
    .setup = setup,
    .batch = batch,
};

int main(int argc, char **argv)
{
    return probe_main(&prefetch_probe, argc, argv);
}
