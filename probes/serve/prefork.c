/* SPDX-License-Identifier: Apache-2.0
 * prefork - processes that were forked before and take a connection at a time: Apache's first model.
 *
 * Known answer: checksum and result of each request.
 * Limits: a connection that is kept open keeps its process; more connections than processes wait.
 * Assembly: serve_work contains (imul|madd|mul )
 * Source: Stevens, UNIX Network Programming (1998), section 30.6; Apache httpd, mpm_prefork. */
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve.h"

static void serve(int listener, int threads)
{
    for (int process = 1; process < threads; process++) {
        pid_t pid = fork();
        if (pid < 0)
            exit(1);
        if (pid == 0)
            break;
    }
    for (;;) {
        int connection = accept(listener, NULL, NULL);
        if (connection >= 0)
            serve_blocking(connection);
    }
}

int main(int argc, char **argv)
{
    const struct serve_model model = {.title = "pre-forked processes", .threads = 1,
                                      .each = "process", .source = "Stevens, UNIX Network Programming (1998), 30.6", .serve = serve};
    return serve_main(argc, argv, &model);
}
