/* SPDX-License-Identifier: Apache-2.0
 * probe.c - protocol 1: the command line, the search for the number of operations, the values, the JSON lines. */
#define _GNU_SOURCE
#include "probe.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "contexts.h"

#ifndef PROBE_ID
#error "PROBE_ID is set by the build from the path of the source: question/way"
#endif
#ifndef PROBE_FLAGS
#define PROBE_FLAGS "unknown"
#endif
#ifndef PROBE_COMPILER /* set where the probe is not compiled by the compiler of this file */
#define PROBE_COMPILER "gcc-compatible " __VERSION__
#endif

#define SELFTEST_OPERATIONS 23 /* a prime, so that rounding to a batch size shows */
#define DEFAULT_TARGET_NS 10000000
#define DEFAULT_VALUES 9
#define DEFAULT_DEADLINE_S 60
#define COUNTED_VALUES 3 /* counts vary little: three tell an outlier */
#define MAX_OPERATIONS (UINT64_C(1) << 40)
#define MAX_CAVEATS 8

struct options {
    uint64_t operations, target_ns, values, deadline_s;
    bool json;
};

static struct {
    char text[MAX_CAVEATS][256];
    int count;
} caveats;
static const struct contexts *live_contexts;
static int schedstat_fd = -1;

/* --- what a probe calls -------------------------------------------------------------------------------------- */

uint64_t probe_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static _Noreturn void leave(int code, const char *format, va_list arguments)
{
    fflush(stdout);
    fprintf(stderr, "%s: ", PROBE_ID);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    _exit(code); /* no atexit handlers: a forked context may be the one that fails */
}

void probe_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    leave(1, format, arguments);
}

void probe_skip(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    leave(77, format, arguments);
}

static _Noreturn void usage(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    leave(2, format, arguments);
}

void probe_caveat(const char *format, ...)
{
    char text[sizeof caveats.text[0]];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (int i = 0; i < caveats.count; i++)
        if (strcmp(caveats.text[i], text) == 0)
            return;
    if (caveats.count < MAX_CAVEATS)
        strcpy(caveats.text[caveats.count++], text);
}

static int parameter_index(const struct probe *probe, const char *name)
{
    for (int i = 0; probe->params && probe->params[i].name; i++)
        if (strcmp(probe->params[i].name, name) == 0)
            return i;
    return -1;
}

int64_t probe_integer(const struct probe_run *run, const char *name)
{
    int i = parameter_index(run->probe, name);
    if (i < 0 || run->probe->params[i].choices)
        probe_fail("the probe asks for an integer parameter %s that it does not declare", name);
    return run->integer[i];
}

const char *probe_choice(const struct probe_run *run, const char *name)
{
    int i = parameter_index(run->probe, name);
    if (i < 0 || !run->probe->params[i].choices)
        probe_fail("the probe asks for a choice parameter %s that it does not declare", name);
    return run->choice[i];
}

bool probe_is(const struct probe_run *run, const char *name, const char *choice)
{
    return strcmp(probe_choice(run, name), choice) == 0;
}

int probe_cpu(const struct probe_run *run, int party)
{
    switch (run->placement) {
    case PROBE_SAME: return run->cpu[0];
    case PROBE_CROSS: return run->cpu[party % run->cpus];
    case PROBE_FREE: break;
    }
    return -1;
}

void probe_place(const struct probe_run *run, int party)
{
    int cpu = probe_cpu(run, party);
    if (cpu < 0)
        return;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((unsigned)cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        probe_fail("cannot move party %d to CPU %d: %s", party, cpu, strerror(errno));
}

void *probe_share(uint64_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        probe_fail("cannot share %" PRIu64 " bytes between contexts: %s", bytes, strerror(errno));
    return memory;
}

void probe_count(struct probe_value *value, const char *name, uint64_t count)
{
    if (value->counts == PROBE_MAX_COUNTS)
        probe_fail("more than %d counts in a value", PROBE_MAX_COUNTS);
    value->count[value->counts].name = name;
    value->count[value->counts++].count = count;
}

void probe_reading(struct probe_value *value, const char *name, double reading)
{
    if (value->readings == PROBE_MAX_COUNTS)
        probe_fail("more than %d readings in a value", PROBE_MAX_COUNTS);
    value->reading[value->readings].name = name;
    value->reading[value->readings++].reading = reading;
}

static uint64_t timeval_ns(struct timeval t)
{
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;
}

/* Second number of /proc/self/schedstat; 0 where the kernel does not keep it. */
static uint64_t run_delay_ns(void)
{
    char line[96];
    if (schedstat_fd < 0)
        return 0;
    ssize_t length = pread(schedstat_fd, line, sizeof line - 1, 0);
    if (length <= 0)
        return 0;
    line[length] = 0;
    char *second = strchr(line, ' ');
    return second ? strtoull(second, NULL, 10) : 0;
}

/* Children count once they are reaped, live process contexts by their clocks: both belong to the batch. */
static void read_usage(struct probe_value *v, int sign)
{
    struct rusage self, children;
    getrusage(RUSAGE_SELF, &self);
    getrusage(RUSAGE_CHILDREN, &children);
    uint64_t user = timeval_ns(self.ru_utime) + timeval_ns(children.ru_utime);
    uint64_t system = timeval_ns(self.ru_stime) + timeval_ns(children.ru_stime);
    uint64_t live = contexts_cpu_ns(live_contexts); /* once: thousands of clocks take milliseconds */
    uint64_t cpu = user + system + live;
    uint64_t voluntary = (uint64_t)(self.ru_nvcsw + children.ru_nvcsw);
    uint64_t involuntary = (uint64_t)(self.ru_nivcsw + children.ru_nivcsw);
    uint64_t faults = (uint64_t)(self.ru_minflt + children.ru_minflt);
    uint64_t delay = run_delay_ns();
    if (sign < 0) {
        v->begin.user = user, v->begin.system = system, v->begin.cpu = cpu;
        v->begin.voluntary = voluntary, v->begin.involuntary = involuntary;
        v->begin.faults = faults, v->begin.delay = delay;
    } else {
        v->user_ns = user - v->begin.user, v->system_ns = system - v->begin.system, v->cpu_ns = cpu - v->begin.cpu;
        v->voluntary = voluntary - v->begin.voluntary, v->involuntary = involuntary - v->begin.involuntary;
        v->minor_faults = faults - v->begin.faults, v->run_delay_ns = delay - v->begin.delay;
        v->has_user_system = live == 0;
    }
}

void probe_start(struct probe_value *value)
{
    read_usage(value, -1);
    counters_read(value->counted);
    value->begin.wall = probe_now_ns();
}

void probe_stop(struct probe_value *value)
{
    struct counter end[COUNTERS_MAX];
    value->wall_ns = probe_now_ns() - value->begin.wall;
    counters_read(end);
    read_usage(value, +1);
    for (int e = 0; counters_are_open() && e < COUNTERS_MAX; e++)
        value->counted[e] = (struct counter){end[e].count - value->counted[e].count,
                                             end[e].enabled_ns - value->counted[e].enabled_ns,
                                             end[e].running_ns - value->counted[e].running_ns};
}

/* --- printing ------------------------------------------------------------------------------------------------ */

static void print_string(const char *text)
{
    putchar('"');
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\')
            printf("\\%c", *c);
        else if (*c < 0x20)
            printf("\\u%04x", *c);
        else
            putchar(*c);
    }
    putchar('"');
}

static void print_key(const char *separator, const char *key)
{
    printf("%s\"%s\":", separator, key);
}

static void print_pair(const char *separator, const char *key, const char *text)
{
    print_key(separator, key);
    if (text)
        print_string(text);
    else
        printf("null");
}

/* Call `item` for each comma separated word of `list`. */
static void each_word(const char *list, void (*item)(const char *word, int index, void *state), void *state)
{
    char copy[512];
    if (strlen(list) >= sizeof copy)
        probe_fail("a list in the descriptor is longer than %zu characters", sizeof copy - 1);
    strcpy(copy, list);
    int index = 0;
    for (char *save, *word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save))
        item(word, index++, state);
}

static void print_word(const char *word, int index, void *state)
{
    (void)state;
    printf("%s", index ? "," : "");
    print_string(word);
}

static void print_number(const char *word, int index, void *state)
{
    (void)state;
    printf("%s%s", index ? "," : "", word);
}

static void print_words(const char *separator, const char *key, const char *list)
{
    print_key(separator, key);
    putchar('[');
    each_word(list, print_word, NULL);
    putchar(']');
}

static void print_numbers(const char *separator, const char *key, const char *list)
{
    print_key(separator, key);
    putchar('[');
    each_word(list, print_number, NULL);
    putchar(']');
}

static void print_parameter(const struct probe_param *p)
{
    void (*print_list)(const char *, const char *, const char *) = p->choices ? print_words : print_numbers;
    print_pair("{", "name", p->name);
    print_pair(",", "type", p->choices ? "choice" : "integer");
    print_pair(",", "doc", p->doc);
    if (p->choices) {
        print_words(",", "choices", p->choices);
    } else {
        print_pair(",", "unit", p->unit);
        printf(",\"minimum\":%" PRId64 ",\"maximum\":%" PRId64, p->min, p->max);
    }
    print_list(",", "sweep", p->sweep);
    if (p->brief)
        print_list(",", "brief", p->brief);
    if (p->built)
        printf(",\"built\":true");
    putchar('}');
}

static void print_metric(const struct probe_metric *m)
{
    print_pair("{", "name", m->name);
    print_pair(",", "unit", m->unit);
    print_pair(",", "better", m->better);
    print_pair(",", "over", m->over);
    print_pair(",", "per", m->per);
    print_pair(",", "doc", m->doc);
    putchar('}');
}

static void describe(const struct probe *probe)
{
    printf("{\"protocol\":%d", PROBE_PROTOCOL);
    print_pair(",", "probe", PROBE_ID);
    print_pair(",", "question", probe->question);
    print_pair(",", "operation", probe->operation);
    print_pair(",", "source", probe->source);
    print_pair(",", "statistic", probe->statistic);
    print_pair(",", "baseline", probe->baseline);
    if (probe->value_ms)
        printf(",\"value_ms\":%u", probe->value_ms);
    print_words(",", "placements", probe->placements);
    print_words(",", "uses", probe->uses);
    printf(",\"metrics\":[");
    for (int i = 0; probe->metrics[i].name; i++) {
        printf("%s", i ? "," : "");
        print_metric(&probe->metrics[i]);
    }
    printf("],\"parameters\":[");
    for (int i = 0; probe->params && probe->params[i].name; i++) {
        printf("%s", i ? "," : "");
        print_parameter(&probe->params[i]);
    }
    printf("]}\n");
}

static const char *placement_name(enum probe_placement placement)
{
    static const char *const names[] = {"same", "cross", "free"};
    return names[placement];
}

static void print_meta(const struct probe_run *run, uint64_t operations, uint64_t search_ns)
{
    printf("{\"type\":\"meta\",\"protocol\":%d", PROBE_PROTOCOL);
    print_pair(",", "probe", PROBE_ID);
    printf(",\"parameters\":{");
    for (int i = 0; run->probe->params && run->probe->params[i].name; i++) {
        print_key(i ? "," : "", run->probe->params[i].name);
        if (run->probe->params[i].choices)
            print_string(run->choice[i]);
        else
            printf("%" PRId64, run->integer[i]);
    }
    print_pair("},", "placement", placement_name(run->placement));
    printf(",\"cpus\":[");
    for (int i = 0; i < run->cpus; i++)
        printf("%s%d", i ? "," : "", run->cpu[i]);
    printf("],\"operations\":%" PRIu64, operations);
    print_pair(",", "compiler", run->compiler ? run->compiler : PROBE_COMPILER);
    print_pair(",", "flags", run->flags ? run->flags : PROBE_FLAGS);
    if (run->timed)
        print_pair(",", "timed", run->timed);
    print_pair(",", "clock", "CLOCK_MONOTONIC");
    if (*counters_scope())
        print_pair(",", "counters", counters_scope());
    if (*counters_absent())
        print_pair(",", "counters_absent", counters_absent());
    printf(",\"search_ns\":%" PRIu64 "}\n", search_ns);
}

/* What the kernel accounted from start to stop. */
static void print_accounts(const struct probe_value *v)
{
    printf(",\"cpu_ns\":%" PRIu64, v->cpu_ns);
    if (v->has_user_system)
        printf(",\"user_ns\":%" PRIu64 ",\"system_ns\":%" PRIu64, v->user_ns, v->system_ns);
    printf(",\"voluntary\":%" PRIu64 ",\"involuntary\":%" PRIu64 ",\"minor_faults\":%" PRIu64
           ",\"run_delay_ns\":%" PRIu64,
           v->voluntary, v->involuntary, v->minor_faults, v->run_delay_ns);
}

static void print_value(const struct probe_value *v)
{
    printf("{\"type\":\"value\",\"operations\":%" PRIu64 ",\"wall_ns\":%" PRIu64 ",\"lanes\":%" PRIu32,
           v->operations, v->wall_ns, v->lanes);
    if (!v->timed_in_parts)
        print_accounts(v);
    printf(",\"counts\":{");
    for (int i = 0; i < v->counts; i++)
        printf("%s\"%s\":%" PRIu64, i ? "," : "", v->count[i].name, v->count[i].count);
    printf("},\"readings\":{");
    for (int i = 0; i < v->readings; i++)
        printf("%s\"%s\":%.9g", i ? "," : "", v->reading[i].name, v->reading[i].reading);
    printf("}");
    if (v->counted_operations) {
        printf(",\"counters\":{\"operations\":%" PRIu64 ",\"events\":{", v->counted_operations);
        counters_print(v->counted);
        printf("}}");
    }
    printf("}\n");
}

static void print_end(uint64_t values)
{
    for (int i = 0; i < caveats.count; i++) {
        print_pair("{", "type", "caveat");
        print_pair(",", "text", caveats.text[i]);
        printf("}\n");
    }
    printf("{\"type\":\"end\",\"values\":%" PRIu64 "}\n", values);
}

/* --- one readable line for a person -------------------------------------------------------------------------- */

static double quantity(const struct probe_value *v, const char *name)
{
    if (strcmp(name, "wall") == 0)
        return (double)v->wall_ns * v->lanes / 1e9;
    if (strcmp(name, "cpu") == 0)
        return (double)v->cpu_ns / 1e9;
    if (strcmp(name, "user") == 0)
        return (double)v->user_ns / 1e9;
    if (strcmp(name, "system") == 0)
        return (double)v->system_ns / 1e9;
    if (strcmp(name, "operations") == 0)
        return (double)v->operations;
    if (strcmp(name, "one") == 0)
        return 1;
    for (int i = 0; i < v->counts; i++)
        if (strcmp(v->count[i].name, name) == 0)
            return (double)v->count[i].count;
    for (int i = 0; i < v->readings; i++)
        if (strcmp(v->reading[i].name, name) == 0)
            return v->reading[i].reading;
    probe_fail("a metric is made of %s, which no value reports", name);
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_figure(double figure, const char *unit)
{
    static const struct { double factor; const char *prefix; } scale[] = {{1, ""}, {1e-3, "m"}, {1e-6, "u"}, {1e-9, "n"}};
    int i = 0;
    if (strcmp(unit, "s") == 0)
        while (i < 3 && figure < scale[i].factor)
            i++;
    bool named = strcmp(unit, "1") != 0;
    printf("%.4g%s%s%s", figure / scale[i].factor, named ? " " : "", scale[i].prefix, named ? unit : "");
}

static void print_line(const struct probe_run *run, const struct probe_value *values, uint64_t count)
{
    bool quartile = strcmp(run->probe->statistic, "lower_quartile") == 0;
    double *figures = calloc(count, sizeof *figures);
    if (!figures)
        probe_fail("out of memory");
    printf("%s", PROBE_ID);
    for (int i = 0; run->probe->params && run->probe->params[i].name; i++) {
        const struct probe_param *p = &run->probe->params[i];
        if (p->choices)
            printf(" %s=%s", p->name, run->choice[i]);
        else
            printf(" %s=%" PRId64, p->name, run->integer[i]);
    }
    printf(" @%s:", placement_name(run->placement));
    for (int m = 0; run->probe->metrics[m].name; m++) {
        const struct probe_metric *metric = &run->probe->metrics[m];
        uint64_t there = 0; /* a figure does not exist where nothing happened that it could be divided by */
        for (uint64_t i = 0; i < count; i++) {
            double per = quantity(&values[i], metric->per);
            if (per > 0)
                figures[there++] = quantity(&values[i], metric->over) / per;
        }
        qsort(figures, there, sizeof *figures, compare_doubles);
        printf("%s %s ", m ? "," : "", metric->name);
        if (there)
            print_figure(figures[(there - 1) / (quartile ? 4 : 2)], metric->unit);
        else
            printf("-");
    }
    printf(" (%s of %" PRIu64 " values of %" PRIu64 " operations)\n", quartile ? "lower quartile" : "median", count,
           values[0].operations);
    for (int i = 0; i < caveats.count; i++)
        printf("  caveat: %s\n", caveats.text[i]);
    free(figures);
}

/* --- the command line ---------------------------------------------------------------------------------------- */

static uint64_t parse_count(const char *option, const char *text)
{
    char *rest;
    errno = 0;
    if (!isdigit((unsigned char)text[0]))
        usage("%s takes a positive number, not \"%s\"", option, text);
    uint64_t number = strtoull(text, &rest, 10);
    if (errno || *rest || number == 0)
        usage("%s takes a positive number, not \"%s\"", option, text);
    return number;
}

static uint64_t parse_duration_ns(const char *option, const char *text)
{
    static const struct { const char *suffix; double ns; } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    char *suffix;
    double number = strtod(text, &suffix);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (suffix != text && number > 0 && number * units[i].ns < 1e18 && strcmp(suffix, units[i].suffix) == 0)
            return (uint64_t)(number * units[i].ns);
    usage("%s takes a duration such as 10ms, not \"%s\"", option, text);
}

struct word_search { const char *wanted; const char *found; };

static void match_word(const char *word, int index, void *state)
{
    (void)index;
    struct word_search *search = state;
    if (strcmp(word, search->wanted) == 0)
        search->found = search->wanted;
}

static bool has_word(const char *list, const char *word)
{
    struct word_search search = {word, NULL};
    each_word(list, match_word, &search);
    return search.found != NULL;
}

static void set_parameter(struct probe_run *run, int i, const char *text)
{
    const struct probe_param *p = &run->probe->params[i];
    if (p->choices) {
        if (!has_word(p->choices, text))
            usage("%s is one of %s, not \"%s\"", p->name, p->choices, text);
        run->choice[i] = text;
        return;
    }
    char *rest;
    errno = 0;
    int64_t number = strtoll(text, &rest, 10);
    if (errno || rest == text || *rest || number < p->min || number > p->max)
        usage("%s is an integer from %" PRId64 " to %" PRId64 ", not \"%s\"", p->name, p->min, p->max, text);
    run->integer[i] = number;
}

static void set_first_of_sweep(const char *word, int index, void *state)
{
    struct { struct probe_run *run; int i; } *target = state;
    if (index == 0)
        set_parameter(target->run, target->i, strdup(word));
}

static void set_defaults(struct probe_run *run)
{
    for (int i = 0; run->probe->params && run->probe->params[i].name; i++) {
        if (i == PROBE_MAX_PARAMS)
            probe_fail("more than %d parameters", PROBE_MAX_PARAMS);
        struct { struct probe_run *run; int i; } target = {run, i};
        each_word(run->probe->params[i].sweep, set_first_of_sweep, &target);
    }
}

static void set_placement(struct probe_run *run, const char *name)
{
    if (!has_word(run->probe->placements, name))
        usage("--placement is one of %s, not \"%s\"", run->probe->placements, name);
    run->placement = strcmp(name, "same") == 0 ? PROBE_SAME : strcmp(name, "cross") == 0 ? PROBE_CROSS : PROBE_FREE;
}

/* Where nobody restricted the CPUs, `same` takes the last one: CPU 0 is the one that interrupts prefer. */
static void place(struct probe_run *run)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        probe_fail("cannot read the CPU affinity: %s", strerror(errno));
    for (int cpu = 0; cpu < CPU_SETSIZE && run->cpus < PROBE_MAX_CPUS; cpu++)
        if (CPU_ISSET((unsigned)cpu, &set))
            run->cpu[run->cpus++] = cpu;
    if (run->placement == PROBE_SAME) {
        run->cpu[0] = run->cpu[run->cpus - 1];
        run->cpus = 1;
    }
    if (run->placement == PROBE_CROSS && run->cpus < 2)
        probe_skip("placement cross needs two CPUs and this process may use one");
    probe_place(run, 0);
}

static void parse(struct probe_run *run, struct options *options, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        char *equals = strchr(argv[i], '=');
        if (strcmp(argv[i], "--json") == 0) {
            options->json = true;
        } else if (strncmp(argv[i], "--", 2) == 0) {
            const char *option = argv[i], *argument = argv[++i];
            if (!argument)
                usage("%s takes an argument", option);
            if (strcmp(option, "--operations") == 0)
                options->operations = parse_count(option, argument);
            else if (strcmp(option, "--values") == 0)
                options->values = parse_count(option, argument);
            else if (strcmp(option, "--target") == 0)
                options->target_ns = parse_duration_ns(option, argument);
            else if (strcmp(option, "--deadline") == 0)
                options->deadline_s = parse_duration_ns(option, argument) / 1000000000u;
            else if (strcmp(option, "--placement") == 0)
                set_placement(run, argument);
            else
                usage("unknown option %s (--describe, --selftest, --operations, --values, --target, --deadline, "
                      "--placement, --json, key=value)", option);
        } else if (equals) {
            *equals = 0;
            int parameter = parameter_index(run->probe, argv[i]);
            if (parameter < 0)
                usage("no parameter is called %s; --describe lists them", argv[i]);
            set_parameter(run, parameter, equals + 1);
        } else {
            usage("\"%s\" is neither an option nor key=value", argv[i]);
        }
    }
}

/* --- running ------------------------------------------------------------------------------------------------- */

static void out_of_time(int signal)
{
    (void)signal;
    static const char text[] = PROBE_ID ": not finished within the deadline\n";
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0)
        _exit(1);
    _exit(1);
}

static struct probe_value run_batch(struct probe_run *run, uint64_t operations)
{
    struct probe_value value = {.operations = operations, .lanes = 1};
    live_contexts = run->contexts;
    run->probe->batch(run, operations, &value);
    if (value.begin.wall == 0)
        probe_fail("a batch never called probe_start()");
    if (value.operations == 0)
        probe_fail("a batch did no operation at all");
    for (int i = 0; i < value.counts; i++)
        if (strcmp(value.count[i].name, "checked") == 0) {
            if (value.count[i].count != value.operations)
                probe_fail("%" PRIu64 " operations were timed but %" PRIu64 " were proven to have happened",
                           value.operations, value.count[i].count);
            return value;
        }
    probe_fail("a value lacks the count \"checked\"");
}

/* The number of operations whose batch takes about target_ns; grows by at most 10 so that a slow first batch
 * (cold caches, page faults) does not settle it. */
static uint64_t find_operations(struct probe_run *run, uint64_t target_ns)
{
    uint64_t operations = 1;
    for (int attempt = 0; attempt < 40; attempt++) {
        struct probe_value value = run_batch(run, operations);
        double factor = (double)target_ns / (double)(value.wall_ns ? value.wall_ns : 1);
        /* From what was done, not from what was asked for: a probe may do far more, and then the time was for that. */
        double wanted = (double)value.operations * (factor > 10 ? 10 : factor) + 0.5;
        if (wanted > (double)MAX_OPERATIONS)
            return operations;
        uint64_t next = wanted < 1 ? 1 : (uint64_t)wanted;
        bool settled = next >= operations - operations / 5 && next <= operations + operations / 5;
        bool close_enough = factor < 4 && factor > 0.25 && attempt > 20; /* a noisy machine never settles */
        operations = next;
        if (settled || close_enough)
            break;
    }
    return operations;
}

static void set_up(struct probe_run *run)
{
    if (run->probe->setup)
        run->probe->setup(run);
    live_contexts = run->contexts;
}

static void tear_down(struct probe_run *run)
{
    if (run->probe->teardown)
        run->probe->teardown(run);
}

static int selftest(struct probe_run *run)
{
    set_up(run);
    struct probe_value value = run_batch(run, SELFTEST_OPERATIONS);
    if (value.operations < SELFTEST_OPERATIONS)
        probe_fail("%d operations were asked for and %" PRIu64 " done", SELFTEST_OPERATIONS, value.operations);
    for (int i = 0; run->probe->metrics[i].name; i++) {
        quantity(&value, run->probe->metrics[i].over);
        quantity(&value, run->probe->metrics[i].per);
    }
    tear_down(run);
    if (run->probe->selftest)
        run->probe->selftest(run);
    return 0;
}

/* Batches as those that were timed, with the counters open: what they take now is not time's affair. */
static void count_values(struct probe_run *run, uint64_t operations, struct probe_value *values, uint64_t count)
{
    if (!counters_open(run->contexts))
        return;
    for (uint64_t i = 0; i < count && i < COUNTED_VALUES; i++) {
        struct probe_value again = run_batch(run, operations);
        if (again.timed_in_parts)
            break;
        values[i].counted_operations = again.operations;
        memcpy(values[i].counted, again.counted, sizeof again.counted);
    }
    counters_close();
}

static int measure(struct probe_run *run, const struct options *options)
{
    struct probe_value *values = calloc(options->values, sizeof *values);
    if (!values)
        probe_fail("out of memory");
    set_up(run);
    uint64_t operations = options->operations, search_start = probe_now_ns(), search_ns = 0;
    if (operations)
        run_batch(run, 1 + operations / 8); /* warm-up: page faults and caches of the first batch are not the subject */
    else
        operations = find_operations(run, options->target_ns), search_ns = probe_now_ns() - search_start;
    for (uint64_t i = 0; i < options->values; i++)
        values[i] = run_batch(run, operations);
    if (options->json)
        count_values(run, operations, values, options->values);
    tear_down(run);
    if (options->json) {
        print_meta(run, operations, search_ns);
        for (uint64_t i = 0; i < options->values; i++)
            print_value(&values[i]);
        print_end(options->values);
    } else {
        print_line(run, values, options->values);
    }
    free(values);
    return fflush(stdout) == 0 ? 0 : 1;
}

int probe_main(const struct probe *probe, int argc, char **argv)
{
    struct probe_run run = {.probe = probe};
    struct options options = {.target_ns = DEFAULT_TARGET_NS, .values = DEFAULT_VALUES,
                              .deadline_s = DEFAULT_DEADLINE_S, .json = !isatty(STDOUT_FILENO)};
    if (argc == 2 && strcmp(argv[1], "--describe") == 0) {
        describe(probe);
        return fflush(stdout) == 0 ? 0 : 1;
    }
    bool test = argc == 2 && strcmp(argv[1], "--selftest") == 0;
    char first_placement[16];
    snprintf(first_placement, sizeof first_placement, "%.*s", (int)strcspn(probe->placements, ","), probe->placements);
    set_placement(&run, first_placement);
    set_defaults(&run);
    if (!test)
        parse(&run, &options, argc, argv);
    place(&run);
    schedstat_fd = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
    signal(SIGALRM, out_of_time);
    alarm((unsigned)(options.deadline_s ? options.deadline_s : 1));
    return test ? selftest(&run) : measure(&run, &options);
}
