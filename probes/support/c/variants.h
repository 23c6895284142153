/* SPDX-License-Identifier: Apache-2.0
 * variants.h - a timed part that is compiled several times: by several compilers, at several levels of optimisation,
 * with and without a profile. A probe whose head comment has a line
 *
 *   Variants: compiler=gcc,clang level=2,0,3
 *
 * is compiled as it stands, and once more for each combination with VARIANT defined. What is timed stands between
 * #ifdef VARIANT and #else, each function of it defined by TIMED(); the rest is the probe, which has the parameters of
 * TIMED_PARAMS and finds the function that a run asks for by timed_find(). */
#ifndef STEELYARD_VARIANTS_H
#define STEELYARD_VARIANTS_H

#include "probe.h"

#include <stdio.h>
#include <string.h>

typedef void timed_function(void); /* any function: cast it back to what it is */

struct timed {
    const char *name, *compiler, *level, *profile; /* of the function, and the choices that stand for its variant */
    const char *symbol, *version, *flags;
    timed_function *function;
};

#define TIMED_TEXT_OF(text) #text
#define TIMED_TEXT(text) TIMED_TEXT_OF(text)
#define TIMED_JOINED(name, variant) name##__##variant
#define TIMED_SYMBOL(name, variant) TIMED_JOINED(name, variant)

#ifdef VARIANT

#if defined(__clang__)
#define TIMED_VERSION                                                                                                  \
    "clang " TIMED_TEXT(__clang_major__) "." TIMED_TEXT(__clang_minor__) "." TIMED_TEXT(__clang_patchlevel__)
#else
#define TIMED_VERSION "gcc " TIMED_TEXT(__GNUC__) "." TIMED_TEXT(__GNUC_MINOR__) "." TIMED_TEXT(__GNUC_PATCHLEVEL__)
#endif

/* Begins the definition of a timed function: `TIMED(void, copy, (char *to, const char *from)) { … }`. Its symbol is
 * copy__gcc_O2. The linker gathers a pointer to each, so that no list of them is kept. */
#define TIMED(result, name, arguments)                                                                                 \
    result TIMED_SYMBOL(name, VARIANT) arguments;                                                                      \
    static struct timed timed_##name = {                                                                               \
        #name, VARIANT_COMPILER, VARIANT_LEVEL, VARIANT_PROFILE, TIMED_TEXT(TIMED_SYMBOL(name, VARIANT)),              \
        TIMED_VERSION, VARIANT_FLAGS, (timed_function *)TIMED_SYMBOL(name, VARIANT)};                                  \
    static struct timed *const timed_entry_##name __attribute__((used, section("steelyard_timed"))) = &timed_##name;   \
    __attribute__((noinline, aligned(PROBE_CACHE_LINE))) result TIMED_SYMBOL(name, VARIANT) arguments

#else

/* The parameters of a probe with variants, to stand in its list; TIMED_PROFILE where there are profiles. */
#define TIMED_PARAMS                                                                                                   \
    {.name = "compiler", .doc = "compiler of the timed part", .choices = TIMED_COMPILERS, .sweep = TIMED_COMPILERS,    \
     .brief = "gcc", .built = true},                                                                                   \
    {.name = "level", .doc = "its optimisation, -O", .choices = TIMED_LEVELS, .sweep = TIMED_LEVELS,                   \
     .brief = TIMED_BRIEF, .built = true}
#define TIMED_PROFILE                                                                                                  \
    {.name = "profile", .doc = "compiled again with a profile", .choices = TIMED_PROFILES, .sweep = TIMED_PROFILES,    \
     .built = true}

extern struct timed *const __start_steelyard_timed[] __attribute__((weak, visibility("hidden")));
extern struct timed *const __stop_steelyard_timed[] __attribute__((weak, visibility("hidden")));

/* The function of this name, or any with NULL, in the variant that the run asks for; NULL if that was not built. */
static inline const struct timed *timed_if_built(const struct probe_run *run, const char *name)
{
    bool profiled = strchr(TIMED_PROFILES, ',') != NULL;
    for (struct timed *const *at = __start_steelyard_timed; at < __stop_steelyard_timed; at++)
        if ((!name || strcmp((*at)->name, name) == 0) && probe_is(run, "compiler", (*at)->compiler) &&
            probe_is(run, "level", (*at)->level) && (!profiled || probe_is(run, "profile", (*at)->profile)))
            return *at;
    return NULL;
}

/* Why the variant that a run asks for was not built; `what` is a compiler, or a compiler and "+profile". */
static inline bool timed_lacks(const char *what, char *reason, size_t room)
{
    static const char lacks[] = "|" TIMED_LACKS;
    char key[64];
    snprintf(key, sizeof key, "|%s=", what);
    const char *found = strstr(lacks, key);
    if (found) {
        found += strlen(key);
        snprintf(reason, room, "%.*s", (int)strcspn(found, "|"), found);
    }
    return found != NULL;
}

/* The function of this name in the variant that the run asks for; ends the run with the reason where it was not built.
 * The run's meta line then says what was timed. */
static inline timed_function *timed_find(struct probe_run *run, const char *name)
{
    const struct timed *timed = timed_if_built(run, name);
    if (!timed) {
        char reason[256], profile[32];
        const char *compiler = probe_choice(run, "compiler");
        snprintf(profile, sizeof profile, "%s+profile", compiler);
        if (timed_lacks(compiler, reason, sizeof reason) || timed_lacks(profile, reason, sizeof reason))
            probe_skip("%s", reason);
        probe_fail("no variant of this probe has the function %s", name);
    }
    run->timed = timed->symbol;
    run->compiler = timed->version;
    run->flags = timed->flags;
    return timed->function;
}

static inline void timed_try(struct probe_run *run)
{
    struct probe_value value = {.operations = 23, .lanes = 1};
    if (run->probe->setup)
        run->probe->setup(run);
    run->probe->batch(run, value.operations, &value);
    for (int i = 0; i < value.counts; i++)
        if (strcmp(value.count[i].name, "checked") == 0 && value.count[i].count != value.operations)
            probe_fail("%s did not do its work", run->timed);
    if (run->probe->teardown)
        run->probe->teardown(run);
}

static inline void timed_try_from(struct probe_run *run, int parameter)
{
    const struct probe_param *p = &run->probe->params[parameter];
    if (!p->name) {
        if (timed_if_built(run, NULL))
            timed_try(run);
    } else if (!p->choices) {
        timed_try_from(run, parameter + 1);
    } else {
        char words[256], *save;
        snprintf(words, sizeof words, "%s", p->choices);
        for (char *word = strtok_r(words, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
            run->choice[parameter] = word;
            timed_try_from(run, parameter + 1);
        }
    }
}

/* The selftest of a probe with variants: every combination of its choices that was built has to do its work. Setup is
 * called for each of them. */
static inline void timed_selftest(struct probe_run *run)
{
    timed_try_from(run, 0);
}

#endif
#endif
