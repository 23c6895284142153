/* SPDX-License-Identifier: Apache-2.0
 * serve.h - the service of serve/, for models in C and C++: what is asked, the work, the answer. docs/reference/serve.md
 *
 * A request is POST /WORK_NS/WAIT_US/DEPTH/LOCK/ANSWER HTTP/1.1 with a body. The service works for half of WORK_NS, waits,
 * works for the other half (under the one lock of the service if LOCK is 1), DEPTH calls deep, and answers ANSWER bytes
 * that begin with the CRC-32 of target and body, the steps of work, and what they make of the CRC. A step is one of a
 * generator of random numbers, which the client can jump over and the service cannot. */
#ifndef STEELYARD_SERVE_H
#define STEELYARD_SERVE_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SERVE_LEAST 27              /* bytes of an answer's three numbers */
#define SERVE_MOST_HEAD 4096        /* of a request's head */
#define SERVE_MOST_BODY (1 << 20)   /* of a request's and of an answer's body */
#define SERVE_MOST_DEPTH 1000
#define SERVE_ANSWER_HEAD 128       /* bytes that suffice for an answer's head */

struct request {
    uint32_t work_ns, wait_us, depth, lock, answer;
    uint32_t crc;
    size_t size; /* bytes, head included */
};

/* Nanoseconds of CLOCK_MONOTONIC. */
static inline uint64_t serve_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* Where the first request of `data` ends: its bytes, 0 if it is not whole yet, -1 if it is none. */
long serve_parse(const char *data, size_t size, struct request *request);

/* So many steps are `work_ns` on this machine; found out before the first connection is taken. */
uint32_t serve_steps(const struct request *request);

/* The state after so many steps. */
uint32_t serve_work(uint32_t state, uint32_t steps);

/* Its work before and after the wait, each as deep as asked for, the second half under the lock where that is asked for:
 * for state machines, whose calls return before they wait. */
uint32_t serve_first_half(const struct request *request, uint32_t steps);
uint32_t serve_second_half(const struct request *request, uint32_t steps, uint32_t state);

/* Writes an answer, SERVE_ANSWER_HEAD + request->answer bytes at most; returns how many. */
size_t serve_answer(char *into, const struct request *request, uint32_t steps, uint32_t state);

/* What stands for an answer where no request came. */
extern const char serve_refusal[];

/* The lock, one for all threads and processes of the service. */
void serve_lock(void);
void serve_unlock(void);

/* What has come of a connection and not been answered yet. */
struct incoming {
    char *data;
    size_t have, room;
    int asked; /* its connection to the service that requests wait for, 0 if there is none yet */
};

/* Makes room for 1024 bytes more. 0, or -1 if there is no memory. */
int serve_room(struct incoming *incoming);

/* Reads what has come. 1: something, 0: nothing yet (of a socket that doesn't block), -1: the connection has ended. */
int serve_read(int connection, struct incoming *incoming);

/* Forgets the first `size` bytes. */
void serve_forget(struct incoming *incoming, size_t size);

/* Answers all whole requests that have come, with blocking calls. 0, or -1 if the connection is to be closed. */
int serve_whole(int connection, struct incoming *incoming);

/* Frees what belongs to a connection, and closes what was asked for it. */
void serve_done(struct incoming *incoming);

/* Whether requests wait for another service (STEELYARD_SERVE_ASKED is its port), which is asked by SERVE_QUESTION bytes,
 * the us to wait as hexadecimal digits, and answers the same bytes after that time. */
#define SERVE_QUESTION 8
int serve_asks(void);

/* A connection to it, -1 if there is none. */
int serve_dial_asked(int nonblocking);

/* Writes the question of a request. */
void serve_question(char into[SERVE_QUESTION + 1], const struct request *request);

/* Serves one connection with blocking calls until it ends, and closes it: for models that give it a thread or process. */
void serve_blocking(int connection);

/* What a model is: serves connections of `listener`, a socket that listens, for ever. `threads` as asked for, 0 if not. */
struct serve_model {
    const char *title;    /* as people call it */
    const char *source;   /* where it is described */
    int threads;          /* as many as it has when nobody says how many; 0 if that is not the model's to choose */
    const char *each;     /* "thread" or "process" if it keeps one for each open connection, "CPU" for a thread each, or NULL */
    int ends;             /* whether its processes end with their connections */
    int nonblocking;      /* whether the listener is to be so */
    const char *(*lacks)(void); /* why it cannot run here, NULL if it can; may be left out */
    void (*serve)(int listener, int threads);
};

/* A model's whole main(): it serves after --serve, and else starts the instrument, which starts it again so. */
int serve_main(int argc, char **argv, const struct serve_model *model);

#ifdef __cplusplus
}
#endif
#endif
