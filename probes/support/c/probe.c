/* SPDX-License-Identifier: Apache-2.0
 * probe.c - protocol 1: the command line, the search for the number of operations, the values, the JSON lines. */
#define _GNU_SOURCE
#include "probe.h"

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
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "contexts.h"
#include "histogram.h"

#define SELFTEST_OPERATIONS 23 /* a prime, so that rounding to a batch size shows */
#define DEFAULT_TARGET_NS 10000000
#define DEFAULT_VALUES 9
#define DEFAULT_DEADLINE_S 60
#define COUNTED_VALUES 3 /* counts vary little: three tell an outlier */
#define MAX_OPERATIONS (UINT64_C(1) << 40)
#define SETTLED_NS 100000000
#define MAX_CAVEATS 8
#define MAX_HISTOGRAMS 4
#define TAILS "operation" /* the histogram of operations that were timed one by one */
#define SHORTEST_TAILED_NS 1000

struct options {
    uint64_t operations, target_ns, values, deadline_s, tails_ns;
    const char *tally; /* the file in which a neighbour of other runs counts; NULL where values are measured */
};

static struct {
    char text[MAX_CAVEATS][256];
    const char *metrics[MAX_CAVEATS]; /* that it concerns; NULL for all */
    int count;
} caveats;
static struct {
    const char *name, *unit;
    double scale;
    const struct histogram *histogram;
} histograms[MAX_HISTOGRAMS];
static const struct contexts *live_contexts;
static int schedstat_fd = -1;
static struct probe_build built;
static bool one_by_one; /* of a batch nothing but the clock is read */

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
    fprintf(stderr, "%s: ", built.identity);
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

static void note(const char *metrics, const char *format, va_list arguments)
{
    char text[sizeof caveats.text[0]];
    vsnprintf(text, sizeof text, format, arguments);
    for (int i = 0; i < caveats.count; i++)
        if (strcmp(caveats.text[i], text) == 0)
            return;
    if (caveats.count < MAX_CAVEATS) {
        caveats.metrics[caveats.count] = metrics;
        strcpy(caveats.text[caveats.count++], text);
    }
}

void probe_caveat(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    note(NULL, format, arguments);
    va_end(arguments);
}

void probe_caveat_of(const char *metrics, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    note(metrics, format, arguments);
    va_end(arguments);
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

void probe_histogram(const char *name, const char *unit, double scale, const struct histogram *histogram)
{
    int i = 0;
    while (i < MAX_HISTOGRAMS && histograms[i].name)
        i++;
    if (i == MAX_HISTOGRAMS)
        probe_fail("more than %d histograms in a run", MAX_HISTOGRAMS);
    histograms[i].name = name, histograms[i].unit = unit;
    histograms[i].scale = scale, histograms[i].histogram = histogram;
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

static void read_counters(struct counter counted[COUNTERS_MAX])
{
    if (counters_are_open() && !counters_read(counted))
        probe_fail("cannot read the counters: %s", strerror(errno));
}

void probe_start(struct probe_value *value)
{
    if (!one_by_one) {
        read_usage(value, -1);
        read_counters(value->counted);
    }
    value->begin.wall = probe_now_ns();
}

void probe_stop(struct probe_value *value)
{
    struct counter end[COUNTERS_MAX];
    value->wall_ns = probe_now_ns() - value->begin.wall;
    if (one_by_one)
        return;
    read_counters(end);
    read_usage(value, +1);
    for (int e = 0; counters_are_open() && e < COUNTERS_MAX; e++)
        value->counted[e] = (struct counter){end[e].count - value->counted[e].count,
                                             end[e].enabled_ns - value->counted[e].enabled_ns,
                                             end[e].running_ns - value->counted[e].running_ns};
}

void probe_stop_parts(struct probe_value *value, uint64_t operations, uint64_t wall_ns)
{
    probe_stop(value);
    value->operations = operations;
    value->wall_ns = wall_ns;
    value->timed_in_parts = true;
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

/* One more member of an object that has been begun. */
static void print_pair(const char *key, const char *text)
{
    printf(",\"%s\":", key);
    if (text)
        print_string(text);
    else
        printf("null");
}

/* Behind a word of a comma separated list: the next one, or the end. */
static const char *next_word(const char *word)
{
    word += strcspn(word, ",");
    return word + (*word == ',');
}

/* A comma separated list as one more member; `quote` stands around each word. */
static void print_list(const char *key, const char *list, const char *quote)
{
    printf(",\"%s\":[", key);
    for (const char *word = list; *word; word = next_word(word))
        printf("%s%s%.*s%s", word == list ? "" : ",", quote, (int)strcspn(word, ","), word, quote);
    putchar(']');
}

/* An object of strings, from "name=value,name=value". */
static void print_object(const char *key, const char *pairs)
{
    printf(",\"%s\":{", key);
    for (const char *word = pairs; *word; word = next_word(word)) {
        int name = (int)strcspn(word, "="), whole = (int)strcspn(word, ",");
        printf("%s\"%.*s\":\"%.*s\"", word == pairs ? "" : ",", name, word, whole - name - 1, word + name + 1);
    }
    putchar('}');
}

static void print_parameter(const struct probe_param *p)
{
    const char *quote = p->choices ? "\"" : "";
    printf("{\"type\":\"%s\"", p->choices ? "choice" : "integer");
    print_pair("name", p->name);
    print_pair("doc", p->doc);
    if (p->choices) {
        print_list("choices", p->choices, quote);
    } else {
        print_pair("unit", p->unit);
        printf(",\"minimum\":%" PRId64 ",\"maximum\":%" PRId64, p->min, p->max);
    }
    print_list("sweep", p->sweep, quote);
    if (p->brief)
        print_list("brief", p->brief, quote);
    if (p->curves)
        print_list("curves", p->curves, "\"");
    printf("%s}", p->built ? ",\"built\":true" : "");
}

static void print_metric(const struct probe_metric *m)
{
    printf("{\"better\":\"%s\"", m->better);
    print_pair("name", m->name);
    print_pair("unit", m->unit);
    print_pair("over", m->over);
    print_pair("per", m->per);
    print_pair("doc", m->doc);
    putchar('}');
}

static void describe(const struct probe *probe)
{
    printf("{\"protocol\":%d", PROBE_PROTOCOL);
    print_pair("probe", built.identity);
    print_pair("question", probe->question);
    print_pair("operation", probe->operation);
    print_pair("source", probe->source);
    print_pair("statistic", probe->statistic);
    print_pair("baseline", probe->baseline);
    if (probe->title)
        print_pair("title", probe->title);
    if (probe->properties)
        print_object("properties", probe->properties);
    if (probe->family)
        print_pair("family", probe->family);
    if (probe->value_ms)
        printf(",\"value_ms\":%u", probe->value_ms);
    printf(",\"tails\":true");
    print_list("placements", probe->placements, "\"");
    print_list("uses", probe->uses, "\"");
    for (int i = 0; probe->metrics[i].name; i++) {
        printf("%s", i ? "," : ",\"metrics\":[");
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
    print_pair("probe", built.identity);
    printf(",\"parameters\":{");
    for (int i = 0; run->probe->params && run->probe->params[i].name; i++) {
        printf("%s\"%s\":", i ? "," : "", run->probe->params[i].name);
        if (run->probe->params[i].choices)
            print_string(run->choice[i]);
        else
            printf("%" PRId64, run->integer[i]);
    }
    printf("}");
    print_pair("placement", placement_name(run->placement));
    printf(",\"cpus\":[");
    for (int i = 0; i < run->cpus; i++)
        printf("%s%d", i ? "," : "", run->cpu[i]);
    printf("],\"operations\":%" PRIu64, operations);
    print_pair("compiler", run->compiler ? run->compiler : built.compiler);
    print_pair("flags", run->flags ? run->flags : built.flags);
    if (run->timed)
        print_pair("timed", run->timed);
    print_pair("clock", "CLOCK_MONOTONIC");
    if (*counters_scope())
        print_pair("counters", counters_scope());
    if (*counters_absent())
        print_pair("counters_absent", counters_absent());
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
        const char *separator = "";
        for (int e = 0; e < COUNTERS_MAX; e++)
            if (counters_name(e)) {
                printf("%s\"%s\":[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", separator, counters_name(e), v->counted[e].count,
                       v->counted[e].enabled_ns, v->counted[e].running_ns);
                separator = ",";
            }
        printf("}}");
    }
    printf("}\n");
}

static void print_histograms(void)
{
    for (int i = 0; i < MAX_HISTOGRAMS && histograms[i].name; i++) {
        const struct histogram *h = histograms[i].histogram;
        printf("{\"type\":\"histogram\"");
        print_pair("name", histograms[i].name);
        print_pair("unit", histograms[i].unit);
        printf(",\"scale\":%.9g,\"buckets\":[", histograms[i].scale);
        const char *separator = "";
        for (uint64_t bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++)
            if (h->bucket[bucket]) {
                printf("%s[%" PRIu64 ",%" PRIu64 "]", separator, histogram_least(bucket), h->bucket[bucket]);
                separator = ",";
            }
        printf("]}\n");
    }
}

static void print_end(uint64_t values)
{
    for (int i = 0; i < caveats.count; i++) {
        printf("{\"type\":\"caveat\"");
        print_pair("text", caveats.text[i]);
        if (caveats.metrics[i])
            print_list("metrics", caveats.metrics[i], "\"");
        printf("}\n");
    }
    printf("{\"type\":\"end\",\"values\":%" PRIu64 "}\n", values);
}

/* --- the command line ---------------------------------------------------------------------------------------- */

static uint64_t parse_count(const char *option, const char *text)
{
    uint64_t number = strtoull(text, NULL, 10); /* UINT64_MAX where it is larger */
    if (!*text || text[strspn(text, "0123456789")] || number == 0 || number > MAX_OPERATIONS)
        usage("%s takes a number from 1 to 2^40, not \"%s\"", option, text);
    return number;
}

static uint64_t parse_duration_ns(const char *option, const char *text)
{
    static const struct { const char *suffix; double ns; } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    const char *suffix = text + strspn(text, "0123456789.");
    char *rest;
    double number = strtod(text, &rest);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (rest == suffix && number > 0 && number * units[i].ns < 1e18 && strcmp(suffix, units[i].suffix) == 0)
            return (uint64_t)(number * units[i].ns);
    usage("%s takes a duration such as 10ms, not \"%s\"", option, text);
}

static bool has_word(const char *list, const char *wanted)
{
    for (const char *word = list; *word; word = next_word(word))
        if (strcspn(word, ",") == strlen(wanted) && strncmp(word, wanted, strlen(wanted)) == 0)
            return true;
    return false;
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

static void set_defaults(struct probe_run *run)
{
    for (int i = 0; run->probe->params && run->probe->params[i].name; i++) {
        if (i == PROBE_MAX_PARAMS)
            probe_fail("more than %d parameters", PROBE_MAX_PARAMS);
        set_parameter(run, i, strndup(run->probe->params[i].sweep, strcspn(run->probe->params[i].sweep, ",")));
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
            continue; /* it prints nothing else */
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
            else if (strcmp(option, "--tails") == 0)
                options->tails_ns = parse_duration_ns(option, argument);
            else if (strcmp(option, "--placement") == 0)
                set_placement(run, argument);
            else if (strcmp(option, "--tally") == 0)
                options->tally = argument;
            else
                usage("unknown option %s (--describe, --selftest, --operations, --values, --target, --deadline, --tails, "
                      "--placement, --json, key=value)", option);
        } else if (equals) {
            const char *name = strndup(argv[i], (size_t)(equals - argv[i])); /* the command line stays as it was */
            int parameter = parameter_index(run->probe, name);
            if (parameter < 0)
                usage("no parameter is called \"%s\"; --describe lists them", name);
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
    static const char text[] = ": not finished within the deadline\n";
    if (write(STDERR_FILENO, built.identity, strlen(built.identity)) < 0 || write(STDERR_FILENO, text, sizeof text - 1) < 0)
        _exit(1);
    _exit(1);
}

static struct probe_value run_batch(struct probe_run *run, uint64_t operations)
{
    struct probe_value value = {.operations = operations, .lanes = 1};
    live_contexts = run->contexts;
    run->probe->batch(run, operations, &value);
    if (value.begin.wall == 0)
        probe_fail("a batch never began its timed part");
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

static void selftest(struct probe_run *run)
{
    set_up(run);
    struct probe_value value = run_batch(run, SELFTEST_OPERATIONS);
    if (value.operations < SELFTEST_OPERATIONS)
        probe_fail("%d operations were asked for and %" PRIu64 " done", SELFTEST_OPERATIONS, value.operations);
    tear_down(run);
    if (run->probe->selftest)
        run->probe->selftest(run);
}

/* Batches as those that were timed, with the counters open: what they take now is not time's affair. */
static void count_values(struct probe_run *run, uint64_t operations, struct probe_value *values, uint64_t count)
{
    pid_t processes[COUNTERS_TASKS + 1];
    int others = contexts_processes(run->contexts);
    for (int i = 0; i < others && i <= COUNTERS_TASKS; i++)
        processes[i] = contexts_process(run->contexts, i);
    if (!counters_open(processes, others))
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

/* Batches of one operation for so long, in a histogram. Not of a probe that keeps one of its own: it knows better. */
static void time_one_by_one(struct probe_run *run, uint64_t length_ns)
{
    static struct histogram times;
    if (length_ns == 0 || histograms[0].name)
        return;
    uint64_t end_ns = probe_now_ns() + length_ns;
    uint64_t at_least = 1;
    one_by_one = true;
    while (at_least == 1 && (times.count == 0 || probe_now_ns() < end_ns)) {
        struct probe_value value = run_batch(run, 1);
        at_least = value.operations;
        histogram_add(&times, value.wall_ns);
    }
    one_by_one = false;
    if (at_least != 1) {
        probe_caveat("no operation is timed by itself: this probe does several at least");
        return;
    }
    if (histogram_quantile(&times, 0.5) < SHORTEST_TAILED_NS)
        probe_caveat("timed one by one, an operation takes less than a microsecond with two readings of the clock: their "
                     "time is much of its p50, p99 and p99_9");
    probe_histogram(TAILS, "s", 1e-9, &times);
}

/* Contexts and children that nobody pins begin on the CPU of the one that started them. The kernel spreads them over the
 * CPUs some tens of milliseconds later: a round trip over a pipe then takes ten times as long, a thread created and joined
 * twice. What was timed before that would be a mixture of both, by how long the run was. So batches go untimed until that
 * is over. */
static void settle(struct probe_run *run)
{
    const int pinned = parameter_index(run->probe, "pinned"); /* of probes that pin their contexts themselves */
    if (run->placement != PROBE_FREE || (pinned >= 0 && strcmp(run->choice[pinned], "no") != 0))
        return;
    uint64_t end_ns = probe_now_ns() + SETTLED_NS, operations = 1;
    while (probe_now_ns() < end_ns)
        if (run_batch(run, operations).wall_ns < SETTLED_NS / 100 && operations < MAX_OPERATIONS)
            operations *= 2;
}

static void measure(struct probe_run *run, const struct options *options)
{
    struct probe_value *values = calloc(options->values, sizeof *values);
    if (!values)
        probe_fail("out of memory");
    set_up(run);
    settle(run);
    uint64_t operations = options->operations, search_start = probe_now_ns(), search_ns = 0;
    if (operations)
        run_batch(run, 1 + operations / 8); /* warm-up: page faults and caches of the first batch are not the subject */
    else
        operations = find_operations(run, options->target_ns), search_ns = probe_now_ns() - search_start;
    for (uint64_t i = 0; i < options->values; i++)
        values[i] = run_batch(run, operations);
    count_values(run, operations, values, options->values);
    time_one_by_one(run, options->tails_ns);
    tear_down(run);
    print_meta(run, operations, search_ns);
    for (uint64_t i = 0; i < options->values; i++)
        print_value(&values[i]);
    print_histograms();
    print_end(options->values);
    free(values);
}

/* Batches until somebody ends the process, for whatever is measured beside it. The file is there already; it gets the
 * operations that were proven so far and the CPU time of all that this program does, in ns. */
static _Noreturn void work_beside(struct probe_run *run, const struct options *options)
{
    struct { volatile uint64_t operations, cpu_ns; } *tally;
    struct stat file;
    int fd = open(options->tally, O_RDWR | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &file) != 0)
        usage("--tally takes a file that is there, not \"%s\": %s", options->tally, strerror(errno));
    if (file.st_size < (off_t)sizeof *tally)
        usage("--tally takes a file of at least %zu bytes, and \"%s\" is shorter", sizeof *tally, options->tally);
    tally = mmap(NULL, sizeof *tally, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (tally == MAP_FAILED)
        probe_fail("cannot map %s: %s", options->tally, strerror(errno));
    set_up(run);
    settle(run);
    uint64_t operations = options->operations ? options->operations : find_operations(run, options->target_ns);
    for (;;) {
        struct probe_value value = run_batch(run, operations), now = {0};
        read_usage(&now, -1);
        tally->cpu_ns = now.begin.cpu;
        tally->operations += value.operations;
    }
}

static int written(void)
{
    if (fflush(stdout) != 0)
        probe_fail("cannot write to standard output: %s", strerror(errno));
    return 0;
}

int probe_main_of(struct probe_build build, const struct probe *probe, int argc, char **argv)
{
    built = build;
    struct probe_run run = {.probe = probe};
    struct options options = {.target_ns = DEFAULT_TARGET_NS, .values = DEFAULT_VALUES,
                              .deadline_s = DEFAULT_DEADLINE_S};
    if (argc == 2 && strcmp(argv[1], "--describe") == 0) {
        describe(probe);
        return written();
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
    if (test)
        selftest(&run);
    else if (options.tally)
        work_beside(&run, &options);
    else
        measure(&run, &options);
    return written();
}
