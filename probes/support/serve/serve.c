/* SPDX-License-Identifier: Apache-2.0
 * serve.c - see serve.h. */
#define _GNU_SOURCE
#include "serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "crc.h"

const char serve_refusal[] = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

static double steps_per_ns;
static pthread_mutex_t *the_lock;
static const char *asked_port;

/* --- a request and its answer ---------------------------------------------------------------------------------- */

static int number(const char **at, const char *end, uint32_t most, uint32_t *into)
{
    uint64_t value = 0;
    const char *first = *at;
    while (*at < end && **at >= '0' && **at <= '9' && value <= most)
        value = value * 10 + (uint64_t)(*(*at)++ - '0');
    *into = (uint32_t)value;
    return *at > first && value <= most;
}

/* The number after Content-Length, 0 if there is none, -1 if it is no number. */
static long length_of(const char *head, const char *end)
{
    static const char name[] = "\ncontent-length:";
    for (const char *at = head; (at = (const char *)memchr(at, '\n', (size_t)(end - at))); at++) {
        if ((size_t)(end - at) > sizeof name && strncasecmp(at, name, sizeof name - 1) == 0) {
            uint32_t length;
            const char *digits = at + sizeof name - 1;
            while (digits < end && *digits == ' ')
                digits++;
            return number(&digits, end, SERVE_MOST_BODY, &length) && *digits == '\r' ? (long)length : -1;
        }
    }
    return 0;
}

long serve_parse(const char *data, size_t size, struct request *request)
{
    const char *end = (const char *)memmem(data, size, "\r\n\r\n", 4);
    if (!end)
        return size < SERVE_MOST_HEAD ? 0 : -1;
    const char *target = (const char *)memchr(data, ' ', (size_t)(end - data));
    if (!target || end - data > SERVE_MOST_HEAD)
        return -1;
    const char *at = ++target;
    uint32_t *const fields[] = {&request->work_ns, &request->wait_us, &request->depth, &request->lock, &request->answer};
    static const uint32_t most[] = {1000000000, 60000000, SERVE_MOST_DEPTH, 1, SERVE_MOST_BODY};
    for (size_t field = 0; field < 5; field++) {
        if (*at++ != '/' || !number(&at, end, most[field], fields[field]))
            return -1;
    }
    if (memcmp(at, " HTTP/1.1\r", 10) != 0 || request->depth < 1 || request->answer < SERVE_LEAST)
        return -1;
    long length = length_of(data, end + 2);
    if (length < 0)
        return -1;
    request->size = (size_t)(end + 4 - data) + (size_t)length;
    if (size < request->size)
        return 0;
    request->crc = crc32_of(crc32_of(0, target, (size_t)(at - target)), end + 4, (size_t)length);
    return (long)request->size;
}

size_t serve_answer(char *into, const struct request *request, uint32_t steps, uint32_t state)
{
    int head = sprintf(into, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %u\r\n\r\n", request->answer);
    int said = sprintf(into + head, "%08x %08x %08x\n", request->crc, steps, state);
    memset(into + head + said, '.', request->answer - (size_t)said);
    return (size_t)head + request->answer;
}

/* --- work ------------------------------------------------------------------------------------------------------- */

uint32_t serve_work(uint32_t state, uint32_t steps)
{
    while (steps--) {
        state = state * 1664525u + 1013904223u;
        __asm__ volatile("" : "+r"(state)); /* each step, as it stands */
    }
    return state;
}

/* Each call keeps its frame: something of it is used after the next one. */
static __attribute__((noinline)) uint32_t deep_work(uint32_t state, uint32_t steps, uint32_t depth)
{
    volatile uint32_t level = depth;
    uint32_t result = depth > 1 ? deep_work(state, steps, depth - 1) : serve_work(state, steps);
    return level == depth ? result : 0;
}

uint32_t serve_first_half(const struct request *request, uint32_t steps)
{
    return deep_work(request->crc, steps / 2, request->depth);
}

uint32_t serve_second_half(const struct request *request, uint32_t steps, uint32_t state)
{
    if (request->lock)
        serve_lock();
    uint32_t result = deep_work(state, steps - steps / 2, request->depth);
    if (request->lock)
        serve_unlock();
    return result;
}

uint32_t serve_steps(const struct request *request)
{
    return (uint32_t)((double)request->work_ns * steps_per_ns);
}

/* The fastest of many short stretches: whoever takes the CPU away for a while doesn't count. */
static void calibrate(void)
{
    enum { STEPS = 20000, STRETCHES = 500 };
    uint64_t shortest = UINT64_MAX;
    uint32_t state = 1;
    for (int stretch = 0; stretch < STRETCHES; stretch++) {
        uint64_t began = serve_now();
        state = serve_work(state, STEPS);
        uint64_t took = serve_now() - began;
        if (took < shortest)
            shortest = took;
    }
    steps_per_ns = STEPS / (double)shortest;
}

void serve_lock(void)
{
    pthread_mutex_lock(the_lock);
}

void serve_unlock(void)
{
    pthread_mutex_unlock(the_lock);
}

/* --- blocking calls ---------------------------------------------------------------------------------------------- */

static int send_all(int connection, const char *data, size_t size)
{
    while (size) {
        ssize_t sent = send(connection, data, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return -1;
        data += sent;
        size -= (size_t)sent;
    }
    return 0;
}

/* Without an answer there is nothing to go on with: the client sees the end of the whole service. */
static void ask(const struct request *request, struct incoming *incoming)
{
    char text[SERVE_QUESTION + 1];
    if (!incoming->asked)
        incoming->asked = serve_dial_asked(0);
    serve_question(text, request);
    if (incoming->asked < 0 || send_all(incoming->asked, text, SERVE_QUESTION) != 0 ||
        recv(incoming->asked, text, SERVE_QUESTION, MSG_WAITALL) != SERVE_QUESTION) {
        fprintf(stderr, "the service that requests wait for does not answer: %s\n", strerror(errno));
        exit(1);
    }
}

static uint32_t whole(const struct request *request, uint32_t steps, struct incoming *incoming)
{
    uint32_t state = serve_work(request->crc, steps / 2);
    if (request->wait_us && serve_asks()) {
        ask(request, incoming);
    } else if (request->wait_us) {
        struct timespec left = {request->wait_us / 1000000, request->wait_us % 1000000 * 1000L};
        while (nanosleep(&left, &left) != 0)
            ;
    }
    if (request->lock)
        serve_lock();
    state = serve_work(state, steps - steps / 2);
    if (request->lock)
        serve_unlock();
    return state;
}

/* Each call keeps its frame: something of it is used after the next one. */
static __attribute__((noinline)) uint32_t deep(const struct request *request, uint32_t steps, uint32_t depth,
                                               struct incoming *incoming)
{
    volatile uint32_t level = depth;
    uint32_t state = depth > 1 ? deep(request, steps, depth - 1, incoming) : whole(request, steps, incoming);
    return level == depth ? state : 0;
}

int serve_room(struct incoming *incoming)
{
    if (incoming->room - incoming->have >= 1024)
        return 0;
    size_t room = incoming->room ? 2 * incoming->room : 2048;
    char *larger = realloc(incoming->data, room);
    if (!larger)
        return -1;
    incoming->data = larger;
    incoming->room = room;
    return 0;
}

int serve_read(int connection, struct incoming *incoming)
{
    ssize_t came;
    if (serve_room(incoming) != 0)
        return -1;
    do
        came = recv(connection, incoming->data + incoming->have, incoming->room - incoming->have, 0);
    while (came < 0 && errno == EINTR);
    if (came < 0)
        return errno == EAGAIN ? 0 : -1;
    incoming->have += (size_t)came;
    return came ? 1 : -1;
}

void serve_forget(struct incoming *incoming, size_t size)
{
    incoming->have -= size;
    memmove(incoming->data, incoming->data + size, incoming->have);
}

void serve_done(struct incoming *incoming)
{
    if (incoming->asked > 0)
        close(incoming->asked);
    free(incoming->data);
}

int serve_whole(int connection, struct incoming *incoming)
{
    struct request request;
    long used;
    while ((used = serve_parse(incoming->data, incoming->have, &request)) > 0) {
        uint32_t steps = serve_steps(&request), state = deep(&request, steps, request.depth, incoming);
        char small[1024], *answer = small;
        if (SERVE_ANSWER_HEAD + request.answer > sizeof small && !(answer = malloc(SERVE_ANSWER_HEAD + request.answer)))
            return -1;
        int failed = send_all(connection, answer, serve_answer(answer, &request, steps, state));
        if (answer != small)
            free(answer);
        if (failed)
            return -1;
        serve_forget(incoming, (size_t)used);
    }
    if (used < 0)
        send_all(connection, serve_refusal, strlen(serve_refusal));
    return (int)used;
}

void serve_blocking(int connection)
{
    struct incoming incoming = {0};
    while (serve_read(connection, &incoming) > 0 && serve_whole(connection, &incoming) == 0)
        ;
    serve_done(&incoming);
    close(connection);
}

/* --- main -------------------------------------------------------------------------------------------------------- */

static void make_lock(void)
{
    the_lock = mmap(NULL, sizeof *the_lock, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t shared;
    if (the_lock == MAP_FAILED || pthread_mutexattr_init(&shared) != 0 ||
        pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED) != 0 || pthread_mutex_init(the_lock, &shared) != 0) {
        fprintf(stderr, "cannot make a lock that processes share\n");
        exit(1);
    }
}

static int at_port(const char *port, struct sockaddr_in *address)
{
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)),
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

int serve_asks(void)
{
    return asked_port != NULL;
}

int serve_dial_asked(int nonblocking)
{
    struct sockaddr_in address;
    int one = 1, asked = at_port(asked_port, &address);
    if (asked < 0 || connect(asked, (struct sockaddr *)&address, sizeof address) != 0 ||
        setsockopt(asked, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) != 0 ||
        (nonblocking && fcntl(asked, F_SETFL, O_NONBLOCK) != 0))
        return -1;
    return asked;
}

void serve_question(char into[SERVE_QUESTION + 1], const struct request *request)
{
    snprintf(into, SERVE_QUESTION + 1, "%08x", request->wait_us);
}

/* On a port of the loopback interface, or at a path: what has a slash in it. */
static int listening(const char *where, int nonblocking)
{
    struct sockaddr_un path = {.sun_family = AF_UNIX};
    struct sockaddr_in port;
    int one = 1, local = strchr(where, '/') != NULL;
    int listener = local ? socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) : at_port(where, &port);
    snprintf(path.sun_path, sizeof path.sun_path, "%s", where);
    if (nonblocking)
        fcntl(listener, F_SETFL, O_NONBLOCK);
    if (!local) {
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one); /* connections inherit it */
    }
    const struct sockaddr *address = local ? (const struct sockaddr *)&path : (const struct sockaddr *)&port;
    if (listener < 0 || bind(listener, address, local ? sizeof path : sizeof port) != 0 || listen(listener, SOMAXCONN) != 0) {
        fprintf(stderr, "cannot listen on %s: %s\n", where, strerror(errno));
        exit(1);
    }
    return listener;
}

/* The instrument lies at ../support/serve from the folder of the program. */
static int instrument(int argc, char **argv)
{
    char self[PATH_MAX], drive[PATH_MAX + 32];
    ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
    if (size < 0)
        return 1;
    self[size] = '\0';
    char *folder = strdup(self);
    *strrchr(folder, '/') = '\0';
    snprintf(drive, sizeof drive, "%s/../support/serve/drive.py", folder);
    const char *named = getenv("STEELYARD_PYTHON"), *python = named ? named : "python3";
    const char **words = (const char **)calloc((size_t)argc + 3, sizeof *words);
    words[0] = python;
    words[1] = drive;
    words[2] = self;
    memcpy(words + 3, argv + 1, (size_t)argc * sizeof *words);
    execvp(python, (char *const *)words);
    fprintf(stderr, "%s: %s cannot be started: %s\n", argv[0], python, strerror(errno));
    return 77;
}

int serve_main(int argc, char **argv, const struct serve_model *model)
{
    if (argc >= 2 && strcmp(argv[1], "--about") == 0) {
        const char *lacks = model->lacks ? model->lacks() : NULL;
        printf("{\"title\":\"%s\",\"source\":\"%s\",\"threads\":%d,\"each\":\"%s\",\"ends\":%s,\"lacks\":\"%s\",\"version\":\"\"}\n",
               model->title, model->source, model->threads, model->each ? model->each : "", model->ends ? "true" : "false",
               lacks ? lacks : "");
        return 0;
    }
    if (argc < 4 || strcmp(argv[1], "--serve") != 0)
        return instrument(argc, argv);
    signal(SIGPIPE, SIG_IGN);
    asked_port = getenv("STEELYARD_SERVE_ASKED");
    calibrate();
    make_lock();
    model->serve(listening(argv[2], model->nonblocking), atoi(argv[3]));
    return 1;
}
