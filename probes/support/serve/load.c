/* SPDX-License-Identifier: Apache-2.0
 * load.c - the client of serve/: asks over some connections, at intended times or as fast as answers come.
 *
 * A request's latency counts from the time for which it was intended, whatever kept it from being sent then (Tene: no
 * coordinated omission); how much later than intended this program itself sent it stands beside. Every answer is checked:
 * its checksum, and the result of the work, which the client finds by jumping over the steps.
 *
 * Commands on standard input, a line of JSON each on standard output:
 *     open PORT|PATH CONNECTIONS
 *     load SECONDS RATE ARRIVALS SEED WORK_NS WAIT_US DEPTH LOCKED_SHARE BYTES ANSWER
 * RATE 0: each connection asks again when it is answered, and with ARRIVALS `together` all ask at once and no more.
 * ARRIVALS else: constant, poisson, or burst (100 at a time).
 * Latencies and how late this program was are histograms: pairs of the least ns of a bucket and how many are in it.
 * Source: Schroeder, Wierman & Harchol-Balter, Open versus closed (NSDI 2006); wrk2. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "crc.h"
#include "histogram.h"
#include "serve.h"

/* The first connections are closed in order, and whether the service notices is looked at. Further ones are reset in the end:
 * each closed one would be in the kernel's list for a minute more, and whoever looks into that list reads all of it. */
enum { EVENTS = 256, MOST_HEAD = 512, COUNTER = 8, BURST = 100, DRAIN_S = 3, CLOSED_IN_ORDER = 20 };
#define SPIN_NS UINT64_C(60000) /* a wait shorter than this is not slept through */

struct connection {
    int fd, busy, dead;
    uint64_t intended;
    uint32_t crc;
    char *request, *answer;
    size_t size, sent, have;
};

struct demand {
    double seconds, rate, locked;
    char arrivals[16];
    uint64_t seed;
    unsigned work_ns, wait_us, depth, size, answer;
};

static struct connection *connections;
static int count, poller;
static char where[108]; /* a port of the loopback interface, or the path of a UNIX socket */
static int *idle, idles;       /* connections that nobody uses */
static struct histogram latency, lateness;
static uint64_t answered, wrong, broken, longest, sent_number;
static uint64_t first_answer, last_answer; /* CLOCK_MONOTONIC; 0 if there was none */
static uint64_t random_state;
static char reason[160];

/* SplitMix64 (Steele, Lea & Flood 2014), as a share of 1 without 0. */
static double uniform(void)
{
    uint64_t z = random_state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return ((double)((z ^ z >> 31) >> 11) + 1) * 0x1p-53;
}

static uint32_t jump(uint32_t state, uint32_t steps)
{
    uint32_t a = 1664525u, c = 1013904223u, all_a = 1, all_c = 0;
    for (; steps; steps >>= 1) {
        if (steps & 1) {
            all_a *= a;
            all_c = all_c * a + c;
        }
        c *= a + 1;
        a *= a;
    }
    return state * all_a + all_c;
}

/* --- connections ------------------------------------------------------------------------------------------------- */

static void mistake(const char *said)
{
    if (!reason[0])
        snprintf(reason, sizeof reason, "%s", said);
}

static void lose(struct connection *connection, const char *why)
{
    mistake(why);
    broken += connection->busy != 0;
    close(connection->fd);
    connection->dead = 1;
    connection->busy = 0;
}

static int dial(struct connection *connection)
{
    struct sockaddr_in port = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(where)),
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_un path = {.sun_family = AF_UNIX};
    memcpy(path.sun_path, where, sizeof where);
    int one = 1, local = strchr(where, '/') != NULL, fd = socket(local ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const struct sockaddr *address = local ? (const struct sockaddr *)&path : (const struct sockaddr *)&port;
    struct linger reset = {.l_onoff = connection - connections >= CLOSED_IN_ORDER};
    struct epoll_event wanted = {.events = EPOLLIN, .data.ptr = connection};
    if (fd < 0 || connect(fd, address, local ? sizeof path : sizeof port) != 0 ||
        (!local && setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) != 0) ||
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset) != 0 || epoll_ctl(poller, EPOLL_CTL_ADD, fd, &wanted) != 0)
        return -1;
    connection->fd = fd;
    connection->dead = 0;
    connection->have = 0;
    return 0;
}

static void open_all(int wanted)
{
    for (int i = 0; i < count; i++)
        close(connections[i].fd);
    free(connections);
    free(idle);
    connections = calloc((size_t)wanted, sizeof *connections);
    idle = calloc((size_t)wanted, sizeof *idle);
    count = 0;
    for (int i = 0; i < wanted; i++, count++) {
        if (dial(&connections[i]) != 0) {
            printf("{\"open\":%d,\"error\":\"connection %d of %d: %s\"}\n", i, i + 1, wanted, strerror(errno));
            return;
        }
    }
    printf("{\"open\":%d}\n", count);
}

static void send_on(struct connection *connection)
{
    while (connection->sent < connection->size) {
        ssize_t sent = send(connection->fd, connection->request + connection->sent, connection->size - connection->sent,
                            MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EAGAIN) {
            lose(connection, "a connection was closed by the service");
            return;
        }
        if (sent < 0 || connection->sent) { /* there is no room, or there was none */
            int whole = sent > 0 && connection->sent + (size_t)sent == connection->size;
            struct epoll_event wanted = {.events = EPOLLIN | (whole ? 0 : EPOLLOUT), .data.ptr = connection};
            epoll_ctl(poller, EPOLL_CTL_MOD, connection->fd, &wanted);
        }
        if (sent < 0)
            return;
        connection->sent += (size_t)sent;
    }
}

/* Any of those that nobody uses: each is to have its turns. */
static struct connection *take_idle(void)
{
    int at = (int)(uniform() * (idles - 1)), taken = idle[at];
    idle[at] = idle[--idles];
    return &connections[taken];
}

static void ask(const struct demand *demand, struct connection *connection, uint64_t intended, int own_fault)
{
    int locked = demand->locked > 0 && uniform() <= demand->locked;
    connection->request = realloc(connection->request, MOST_HEAD + demand->size + COUNTER + 1);
    connection->answer = realloc(connection->answer, MOST_HEAD + demand->answer);
    if (!connection->request || !connection->answer) {
        fprintf(stderr, "not enough memory\n");
        exit(1);
    }
    char target[64];
    int length = snprintf(target, sizeof target, "/%u/%u/%u/%d/%u", demand->work_ns, demand->wait_us, demand->depth, locked,
                          demand->answer);
    int head = snprintf(connection->request, MOST_HEAD, "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %u\r\n\r\n",
                        target, demand->size);
    char *body = connection->request + head;
    memset(body, 'x', demand->size);
    if (demand->size >= COUNTER) {
        char number[COUNTER + 1];
        snprintf(number, sizeof number, "%08x", (unsigned)sent_number);
        memcpy(body, number, COUNTER);
    }
    connection->crc = crc32_of(crc32_of(0, target, (size_t)length), body, demand->size);
    connection->size = (size_t)head + demand->size;
    connection->sent = connection->have = 0;
    connection->busy = 1;
    connection->intended = intended;
    sent_number++;
    if (own_fault)
        histogram_add(&lateness, serve_now() - intended);
    send_on(connection);
}

/* Whether the answer is whole; and right, or it is counted as wrong. */
static int is_whole(const struct demand *demand, struct connection *connection)
{
    char *end = memmem(connection->answer, connection->have, "\r\n\r\n", 4);
    if (!end)
        return 0;
    size_t head = (size_t)(end + 4 - connection->answer);
    if (connection->have < head + demand->answer)
        return 0;
    unsigned crc = 0, steps = 0, state = 0;
    int right = memcmp(connection->answer, "HTTP/1.1 200", 12) == 0 && connection->have == head + demand->answer &&
                sscanf(end + 4, "%8x %8x %8x\n", &crc, &steps, &state) == 3 && crc == connection->crc &&
                state == jump(crc, steps) && (steps > 0 || demand->work_ns == 0);
    if (!right) {
        wrong++;
        mistake(memcmp(connection->answer, "HTTP/1.1 200", 12) != 0 ? "an answer's status is not 200"
                : crc != connection->crc                             ? "an answer's checksum is not that of its request"
                : state != jump(crc, steps)                          ? "an answer's work was not done"
                                                                     : "an answer is not what was asked for");
    }
    return 1;
}

/* Reads what has come; 1 when a request is answered. */
static int receive(const struct demand *demand, struct connection *connection)
{
    for (;;) {
        ssize_t came = recv(connection->fd, connection->answer + connection->have,
                            MOST_HEAD + demand->answer - connection->have, MSG_DONTWAIT);
        if (came < 0 && errno == EAGAIN)
            return 0;
        if (came <= 0) {
            lose(connection, came ? strerror(errno) : "a connection was closed by the service");
            return 0;
        }
        connection->have += (size_t)came;
        if (is_whole(demand, connection))
            break;
        if (connection->have == MOST_HEAD + demand->answer) {
            lose(connection, "an answer is longer than what was asked for");
            return 0;
        }
    }
    last_answer = serve_now();
    if (!first_answer)
        first_answer = last_answer;
    uint64_t took = last_answer - connection->intended;
    histogram_add(&latency, took);
    if (took > longest)
        longest = took;
    connection->busy = 0;
    answered++;
    return 1;
}

/* --- a load ------------------------------------------------------------------------------------------------------ */

struct arrivals {
    const struct demand *demand;
    double next;      /* ns since the beginning */
    uint64_t of_burst;
};

static void step(struct arrivals *arrivals)
{
    double mean = 1e9 / arrivals->demand->rate;
    if (strcmp(arrivals->demand->arrivals, "poisson") == 0)
        arrivals->next -= mean * log(uniform());
    else if (strcmp(arrivals->demand->arrivals, "burst") != 0)
        arrivals->next += mean;
    else if (++arrivals->of_burst % BURST == 0)
        arrivals->next += mean * BURST;
}

static void print_histogram(const char *name, const struct histogram *histogram)
{
    const char *between = "";
    printf("\"%s\":[", name);
    for (uint64_t bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++)
        if (histogram->bucket[bucket]) {
            printf("%s[%lu,%lu]", between, histogram_least(bucket), histogram->bucket[bucket]);
            between = ",";
        }
    printf("],");
}

static void load(const struct demand *demand)
{
    memset(&latency, 0, sizeof latency);
    memset(&lateness, 0, sizeof lateness);
    answered = wrong = broken = longest = first_answer = last_answer = 0;
    int together = strcmp(demand->arrivals, "together") == 0;
    reason[0] = '\0';
    random_state = demand->seed;
    idles = 0;
    for (int i = count; i--;) {
        if (connections[i].dead && dial(&connections[i]) != 0)
            continue;
        idle[idles++] = i;
    }
    uint64_t begin = serve_now(), end = begin + (uint64_t)(demand->seconds * 1e9), offered = 0;
    struct arrivals arrivals = {.demand = demand};
    /* Times at which no connection was free. */
    uint64_t *queue = NULL;
    size_t first = 0, last = 0, room = 0;
    if (demand->rate > 0)
        step(&arrivals);
    else
        while (idles) {
            offered++;
            ask(demand, take_idle(), serve_now(), 0);
        }
    for (;;) {
        uint64_t time = serve_now();
        int ending = together || time >= end;
        /* Also after the end: what was due before it is offered, however late this program comes to it. */
        while (demand->rate > 0 && begin + (uint64_t)arrivals.next <= time && begin + (uint64_t)arrivals.next < end) {
            uint64_t intended = begin + (uint64_t)arrivals.next;
            offered++;
            if (idles && first == last) {
                ask(demand, take_idle(), intended, 1);
            } else {
                if (last == room && first > room / 2) {
                    memmove(queue, queue + first, (last - first) * sizeof *queue);
                    last -= first;
                    first = 0;
                } else if (last == room) {
                    room = room ? 2 * room : 1024;
                    if (!(queue = realloc(queue, room * sizeof *queue)))
                        exit(1);
                }
                queue[last++] = intended;
            }
            step(&arrivals);
        }
        /* Those that are still in the queue at the end were never sent; they are offered and not answered. */
        while (!ending && idles && first < last)
            ask(demand, take_idle(), queue[first++], 0);
        uint64_t until = ending ? end + DRAIN_S * UINT64_C(1000000000) : end;
        if (ending && (idles == count || time >= until))
            break;
        if (!ending && demand->rate > 0 && begin + (uint64_t)arrivals.next < until)
            until = begin + (uint64_t)arrivals.next;
        struct timespec wait = {0};
        if (until > time + SPIN_NS) {
            uint64_t left = until - time - SPIN_NS;
            wait = (struct timespec){(time_t)(left / 1000000000u), (long)(left % 1000000000u)};
        }
        struct epoll_event events[EVENTS];
        if (wait.tv_sec || wait.tv_nsec) /* to the nanosecond, which epoll_wait() can't */
            ppoll(&(struct pollfd){.fd = poller, .events = POLLIN}, 1, &wait, NULL);
        int came = epoll_wait(poller, events, EVENTS, 0);
        for (int i = 0; i < came; i++) {
            struct connection *connection = events[i].data.ptr;
            if (!connection->busy) { /* nobody asked: it has ended */
                if (!connection->dead)
                    lose(connection, "a connection was closed by the service");
                continue;
            }
            if (events[i].events & EPOLLOUT)
                send_on(connection);
            if (connection->busy && events[i].events & ~(uint32_t)EPOLLOUT && receive(demand, connection) && demand->rate == 0 &&
                !together && serve_now() < end) {
                offered++;
                ask(demand, connection, serve_now(), 0);
            }
            if (!connection->busy && (!connection->dead || dial(connection) == 0))
                idle[idles++] = (int)(connection - connections);
        }
    }
    uint64_t unanswered = 0;
    for (int i = 0; i < count; i++) {
        if (connections[i].busy) { /* its answer would come into the next load */
            unanswered++;
            close(connections[i].fd);
            connections[i].dead = 1;
            connections[i].busy = 0;
        }
    }
    free(queue);
    printf("{");
    print_histogram("latency", &latency);
    print_histogram("late", &lateness);
    printf("\"answered\":%lu,\"wrong\":%lu,\"broken\":%lu,\"unanswered\":%lu,\"offered\":%lu,\"seconds\":%.9f,\"sum\":%.9f,"
           "\"longest\":%.9f,\"first_ns\":%lu,\"last_ns\":%lu,\"reason\":\"%s\"}\n",
           answered, wrong, broken, unanswered, offered, demand->seconds, (double)latency.total / 1e9, (double)longest / 1e9,
           first_answer, last_answer, reason);
}

int main(void)
{
    char line[512];
    prctl(PR_SET_TIMERSLACK, 1UL);
    prctl(PR_SET_PDEATHSIG, 9);
    poller = epoll_create1(EPOLL_CLOEXEC);
    setvbuf(stdout, NULL, _IOLBF, 0);
    while (fgets(line, sizeof line, stdin)) {
        struct demand demand = {0};
        int wanted;
        if (sscanf(line, "open %107s %d", where, &wanted) == 2)
            open_all(wanted);
        else if (sscanf(line, "load %lf %lf %15s %lu %u %u %u %lf %u %u", &demand.seconds, &demand.rate, demand.arrivals,
                        &demand.seed, &demand.work_ns, &demand.wait_us, &demand.depth, &demand.locked, &demand.size,
                        &demand.answer) == 10)
            load(&demand);
        else {
            fprintf(stderr, "not a command: %s", line);
            return 2;
        }
    }
    return 0;
}
