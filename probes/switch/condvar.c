/* SPDX-License-Identifier: Apache-2.0
 * condvar - two contexts hand a number to and fro by a mutex and a condition variable in each direction.
 *
 * Known answer: two switches a round trip on one CPU; more would mean that the woken one finds the mutex still held,
 * which is why the sender signals after it has let go of it.
 * Overhead: two clock reads a batch, checking the number about 1 ns a round trip.
 * Limits: one waiter; the cost of waking many is not the subject.
 * Assembly: round_trips contains (call|bl).*<pthread_cond_(wait|signal)
 * Source: Stevens, UNIX Network Programming vol. 2 (2nd ed., 1999), 7.5, and 7.7 for both in shared memory. */
#include "handoff.h"

#include <pthread.h>

struct line {
    pthread_mutex_t mutex;
    pthread_cond_t filled;
    uint32_t number; /* 0: taken */
};

static struct line *line_new(bool processes)
{
    struct line *line = probe_share(sizeof *line);
    int shared = processes ? PTHREAD_PROCESS_SHARED : PTHREAD_PROCESS_PRIVATE;
    pthread_mutexattr_t mutex;
    pthread_condattr_t condition;
    pthread_mutexattr_init(&mutex);
    pthread_condattr_init(&condition);
    if (pthread_mutexattr_setpshared(&mutex, shared) != 0 || pthread_condattr_setpshared(&condition, shared) != 0)
        probe_skip("no condition variables between processes");
    if (pthread_mutex_init(&line->mutex, &mutex) != 0 || pthread_cond_init(&line->filled, &condition) != 0)
        probe_fail("no mutex or condition variable");
    return line;
}

static inline void line_send(struct line *line, uint32_t number)
{
    pthread_mutex_lock(&line->mutex);
    line->number = number;
    pthread_mutex_unlock(&line->mutex);
    pthread_cond_signal(&line->filled);
}

static inline uint32_t line_receive(struct line *line)
{
    pthread_mutex_lock(&line->mutex);
    while (line->number == 0)
        pthread_cond_wait(&line->filled, &line->mutex);
    uint32_t number = line->number;
    line->number = 0;
    pthread_mutex_unlock(&line->mutex);
    return number;
}

HANDOFF(line_new, line_send, line_receive)

static const struct probe condvar_probe = {
    .title = "condition variable",
    .question = "What does a handoff between two contexts by condition variable cost?",
    .source = "Stevens, UNIX Network Programming vol. 2 (1999), 7.5 and 7.7",
    HANDOFF_DESCRIPTION,
};

int main(int argc, char **argv)
{
    return probe_main(&condvar_probe, argc, argv);
}
