/* SPDX-License-Identifier: Apache-2.0
 * alignment - a turn of a small loop, by where in a cache line its code begins.
 *
 * The tuning advice: align code as data is aligned.
 *
 * offset: bytes from the start of a line to the first of 10 instructions of four bytes each, which with a jump of six
 * take 42 bytes: from 24 bytes on they lie in two lines.
 *
 * Known answer: the loop counts its turns down to zero.
 * Overhead: a call through a pointer a batch.
 * Limits: a loop that is in the cache of decoded instructions is not fetched from its lines at all; written into memory
 * by the probe, for x86-64 and aarch64.
 * Assembly: run_turns contains (call|jmp)\s+\*|\bbl?r\b
 * Source: the tuning article on caches of wzxue.com (2012); Drepper, What Every Programmer Should Know About Memory
 * (2007), section 6.2.2. */
#include "generated.h"

#define INSTRUCTIONS 10

static turn_loop *loop;

static void setup(struct probe_run *run)
{
    loop = generate_loop(INSTRUCTIONS, (uint64_t)probe_integer(run, "offset"));
}

static __attribute__((noinline)) uint64_t run_turns(turn_loop *turns_of, uint64_t turns)
{
    return turns_of(turns);
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    (void)run;
    probe_start(value);
    uint64_t left = run_turns(loop, operations);
    probe_stop(value);
    probe_count(value, "checked", operations - left);
}

static const struct probe alignment_probe = {
    .title = "small loop, by its address",
    .question = "Does a small loop care where in a cache line its code begins?",
    .operation = "one turn of ten instructions that do nothing but count the turn",
    .source = "the tuning article on caches of wzxue.com (2012); Drepper, What Every Programmer Should Know About "
              "Memory (2007), section 6.2.2",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .value_ms = 1,
    .metrics = (const struct probe_metric[]){{"turn", "s", "lower", "wall", "operations", "time of one turn"}, {0}},
    .params = (const struct probe_param[]){
        {.name = "offset", .doc = "bytes from the start of a cache line to the loop", .unit = "B",
         .sweep = "0,16,24,32,40,48,56,60", .brief = "0,60", .min = 0, .max = 63},
        {0}},
    .setup = setup,
    .batch = batch,
};

int main(int argc, char **argv)
{
    return probe_main(&alignment_probe, argc, argv);
}
