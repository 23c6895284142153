/* SPDX-License-Identifier: Apache-2.0
 * words.h - the words of a choice, written once.
 *
 * A probe lists them as a macro, `#define STEPS(X) X(add) X(plain)`. From the list come the text that the descriptor
 * holds, and the enumerators in the same order. */
#ifndef STEELYARD_CACHE_WORDS_H
#define STEELYARD_CACHE_WORDS_H

#include "probe.h"

#include <string.h>

#define WORD_AFTER_COMMA(word) "," #word
#define WORDS(LIST) (&LIST(WORD_AFTER_COMMA)[1])

/* The place of the run's choice in the list. */
static unsigned word_number(const struct probe_run *run, const char *parameter, const char *words)
{
    const char *choice = probe_choice(run, parameter);
    unsigned number = 0;
    for (const char *word = words; *word; number++) {
        uint64_t length = strcspn(word, ",");
        if (length == strlen(choice) && memcmp(word, choice, length) == 0)
            return number;
        word += length + (word[length] == ',');
    }
    probe_fail("the probe has no code for %s=%s: add the word to its list", parameter, choice);
}

#endif
