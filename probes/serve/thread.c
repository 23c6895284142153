/* SPDX-License-Identifier: Apache-2.0
 * thread - a thread for each connection, blocking calls: the model that Apache's worker and most of Java had.
 *
 * Known answer: checksum and result of each request.  Limits: a thread is created for each connection and ends with it.
 * Assembly: serve_work contains (imul|madd|mul )
 * Source: Stevens, UNIX Network Programming (1998), section 26. */
#include <pthread.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve.h"

static void *one(void *connection)
{
    serve_blocking((int)(intptr_t)connection);
    return NULL;
}

static void serve(int listener, int threads)
{
    (void)threads;
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    for (;;) {
        int connection = accept(listener, NULL, NULL);
        pthread_t thread;
        if (connection >= 0 && pthread_create(&thread, &detached, one, (void *)(intptr_t)connection) != 0)
            close(connection); /* no more threads can be had */
    }
}

int main(int argc, char **argv)
{
    const struct serve_model model = {
        .title = "thread a connection", .each = "thread", .source = "Stevens, UNIX Network Programming (1998), 26", .serve = serve};
    return serve_main(argc, argv, &model);
}
