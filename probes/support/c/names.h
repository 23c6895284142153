/* SPDX-License-Identifier: Apache-2.0
 * names.h - names and keys under which the launcher finds what a killed run left behind (protocol, "What a run may
 * leave behind"). A probe removes them itself as soon as nobody has to open them any more; the sweep is for SIGKILL.
 *
 * Typed by hand, without STEELYARD_RUN_ID, a run is called by its process number, and what it leaves when it is killed
 * stays until a run of the same number starts. */
#ifndef STEELYARD_NAMES_H
#define STEELYARD_NAMES_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#define PROBE_IPC_NAMES 16        /* index 0 … 15 */
#define PROBE_IPC_NAME_BYTES 128  /* room for a name, its end included */
#define PROBE_RUN_ID_BYTES 100

static inline void probe_run_id(char *id)
{
    const char *given = getenv("STEELYARD_RUN_ID");
    if (given && *given)
        snprintf(id, PROBE_RUN_ID_BYTES, "%s", given);
    else
        snprintf(id, PROBE_RUN_ID_BYTES, "pid%d", (int)getpid());
}

/* /steelyard-<run id>-<index>, for POSIX queues, semaphores and shared memory. */
static inline void probe_ipc_name(char *buffer, int index)
{
    char id[PROBE_RUN_ID_BYTES];
    probe_run_id(id);
    snprintf(buffer, PROBE_IPC_NAME_BYTES, "/steelyard-%s-%d", id, index);
}

/* For System V queues, semaphores and segments: 0x53000000 + 16 * (FNV-1a of the run id mod 2^20) + index. */
static inline key_t probe_ipc_key(int index)
{
    char id[PROBE_RUN_ID_BYTES];
    probe_run_id(id);
    uint32_t hash = 2166136261u;
    for (const char *c = id; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 16777619u;
    return (key_t)(0x53000000u | (hash & 0xfffffu) << 4 | (uint32_t)index);
}

#endif
