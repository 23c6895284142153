/* SPDX-License-Identifier: Apache-2.0
 * footprint - one instruction of a loop, by the number of instructions in the loop: loop buffer, caches of decoded and
 * of raw instructions.
 *
 * The tuning advice: a loop of fewer than 18 instructions runs 16 times as fast, on an Intel Core 2, which keeps them
 * behind the fetching; and code should be small, so that it stays in the first cache.
 *
 * instructions: of four bytes each, in a straight line; two of them count the turns and jump back.
 *
 * Known answer: the loop counts its turns down to zero.
 * Overhead: a call through a pointer a batch; the last instruction of a turn is a jump, which in loops of few
 * instructions is a good part of them.
 * Limits: the instructions do nothing but be there, so that only fetching and decoding is weighed; written into memory
 * by the probe, for x86-64 and aarch64.
 * Assembly: run_turns contains (call|jmp)\s+\*|\bbl?r\b
 * Source: the tuning article on caches of wzxue.com (2012); Drepper, What Every Programmer Should Know About Memory
 * (2007), section 6.2.2. */
#include "generated.h"

static turn_loop *loop;

static void setup(struct probe_run *run)
{
    loop = generate_loop((uint64_t)probe_integer(run, "instructions"), 0);
}

static __attribute__((noinline)) uint64_t run_turns(turn_loop *turns_of, uint64_t turns)
{
    return turns_of(turns);
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    uint64_t instructions = (uint64_t)probe_integer(run, "instructions");
    uint64_t turns = (operations + instructions - 1) / instructions;
    probe_start(value);
    uint64_t left = run_turns(loop, turns);
    probe_stop(value);
    value->operations = turns * instructions;
    probe_count(value, "checked", left == 0 ? value->operations : 0);
}

static const struct probe footprint_probe = {
    .title = "instruction of a long loop",
    .question = "What does an instruction of a loop cost, by the number of instructions in the loop?",
    .operation = "one instruction of four bytes that does nothing",
    .source = "the tuning article on caches of wzxue.com (2012); Drepper, What Every Programmer Should Know About "
              "Memory (2007), section 6.2.2",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .value_ms = 1,
    .metrics = (const struct probe_metric[]){
        {"instruction", "s", "lower", "wall", "operations", "time of one instruction"}, {0}},
    .params = (const struct probe_param[]){
        {.name = "instructions", .doc = "of a turn", .unit = "1",
         .sweep = "8,16,32,64,256,1024,4096,8192,16384,65536,262144", .brief = "16,32,4096,16384", .min = 3,
         .max = 262144},
        {0}},
    .setup = setup,
    .batch = batch,
};

int main(int argc, char **argv)
{
    return probe_main(&footprint_probe, argc, argv);
}
