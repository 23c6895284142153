/* SPDX-License-Identifier: Apache-2.0
 * strlen_loop - a text copied by a loop that asks for its length once, or in each turn.
 *
 * The tuning advice: in `for (i = 0; i < strlen(s); i++) d[i] = s[i];` move the call before the loop. The compiler will
 * not, because a store through d may change s. Where `restrict` says that it does not, the compiler may.
 *
 * way=hoisted: asked once. each_turn: asked in each turn. each_turn_told: the same, with `restrict`.
 *
 * Known answer: the copy, which is cleared before each batch.
 * Overhead: a call through a pointer for each text.
 * Limits: one length of text decides how much is to be gained: a turn that asks costs as much as the text is long.
 * Variants: compiler=gcc,clang level=2,0,3
 * Assembly: hoisted__* contains (call|bl)\s.*strlen
 * Loop: hoisted__* lacks strlen
 * Loop: each_turn__* contains strlen
 * Source: the tuning article on code of wzxue.com (2012); Bryant and O'Hallaron, Computer Systems: A Programmer's
 * Perspective, section 5.4. */
#include "variants.h"

typedef void copy_text(char *to, const char *from);

#ifdef VARIANT

TIMED(void, hoisted, (char *to, const char *from))
{
    size_t length = strlen(from);
    for (size_t i = 0; i < length; i++)
        to[i] = from[i];
}

TIMED(void, each_turn, (char *to, const char *from))
{
    for (size_t i = 0; i < strlen(from); i++)
        to[i] = from[i];
}

TIMED(void, each_turn_told, (char *restrict to, const char *restrict from))
{
    for (size_t i = 0; i < strlen(from); i++)
        to[i] = from[i];
}

#else

#define LONGEST 65536

static struct {
    copy_text *copy;
    uint64_t length;
    char from[LONGEST + 1], to[LONGEST];
} texts;

static void setup(struct probe_run *run)
{
    texts.copy = (copy_text *)timed_find(run, probe_choice(run, "way"));
    texts.length = (uint64_t)probe_integer(run, "length");
    for (uint64_t i = 0; i < texts.length; i++)
        texts.from[i] = (char)('a' + i % 26);
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    (void)run;
    uint64_t copies = (operations + texts.length - 1) / texts.length;
    memset(texts.to, 0, texts.length);
    probe_start(value);
    for (uint64_t i = 0; i < copies; i++)
        texts.copy(texts.to, texts.from);
    probe_stop(value);
    value->operations = copies * texts.length;
    probe_count(value, "checked", memcmp(texts.to, texts.from, texts.length) == 0 ? value->operations : 0);
}

static const struct probe strlen_loop_probe = {
    .title = "strlen in each turn of a loop",
    .question = "Does it cost to ask for the length of a text in each turn of a loop over it?",
    .operation = "one character copied",
    .source = "the tuning article on code of wzxue.com (2012); Bryant and O'Hallaron, Computer Systems: A "
              "Programmer's Perspective, section 5.4",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .value_ms = 1,
    .metrics = (const struct probe_metric[]){
        {"character", "s", "lower", "wall", "operations", "time of one character"}, {0}},
    .params = (const struct probe_param[]){
        {.name = "way", .doc = "how often the length is asked for", .choices = "hoisted,each_turn,each_turn_told",
         .sweep = "hoisted,each_turn,each_turn_told", .brief = "hoisted,each_turn"},
        TIMED_PARAMS,
        {.name = "length", .doc = "characters of the text", .unit = "1", .sweep = "256", .min = 1, .max = LONGEST},
        {0}},
    .setup = setup,
    .batch = batch,
    .selftest = timed_selftest,
};

int main(int argc, char **argv)
{
    return probe_main(&strlen_loop_probe, argc, argv);
}

#endif
