/* SPDX-License-Identifier: Apache-2.0
 * fork - a process for each connection: the model of inetd and the first servers of the web.
 *
 * Known answer: checksum and result of each request.  Limits: a process is forked for each connection and ends with it.
 * Assembly: serve_work contains (imul|madd|mul )
 * Source: Stevens, UNIX Network Programming (1998), section 30.5. */
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve.h"

static void serve(int listener, int threads)
{
    (void)threads;
    signal(SIGCHLD, SIG_IGN); /* the kernel reaps */
    for (;;) {
        int connection = accept(listener, NULL, NULL);
        if (connection < 0)
            continue;
        if (fork() == 0) {
            close(listener);
            serve_blocking(connection);
            _exit(0);
        }
        close(connection); /* also where no process could be had: the client sees the end */
    }
}

int main(int argc, char **argv)
{
    const struct serve_model model = {
        .title = "process a connection", .ends = 1, .each = "process", .source = "Stevens, UNIX Network Programming (1998), 30.5", .serve = serve};
    return serve_main(argc, argv, &model);
}
