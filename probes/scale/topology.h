/* SPDX-License-Identifier: Apache-2.0
 * topology.h - in which order contexts take the CPUs of the machine: a core each, core by core, or socket by socket. */
#ifndef STEELYARD_SCALE_TOPOLOGY_H
#define STEELYARD_SCALE_TOPOLOGY_H

#include "probe.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/* A CPU and what it belongs to, each called by the smallest number of a CPU that belongs to it as well. */
struct cpu_place {
    int cpu, core, cluster, socket;
    int sibling, rank; /* which of its core's CPUs it is; how many cores of its socket come before its own */
    uint64_t key;
};

/* The first number of a list such as "0-3,8-11" of the kernel; `otherwise` where it keeps none. */
static inline int first_of(int cpu, const char *list, int otherwise)
{
    char path[112];
    int first = otherwise;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/%s", cpu, list);
    FILE *file = fopen(path, "re");
    if (file) {
        if (fscanf(file, "%d", &first) != 1)
            first = otherwise;
        fclose(file);
    }
    return first;
}

static inline struct cpu_place place_of(int cpu)
{
    int socket = first_of(cpu, "package_cpus_list", first_of(cpu, "core_siblings_list", 0));
    return (struct cpu_place){.cpu = cpu, .core = first_of(cpu, "thread_siblings_list", cpu), .socket = socket,
                              .cluster = first_of(cpu, "cluster_cpus_list", socket)};
}

static inline int by_key(const void *a, const void *b)
{
    const struct cpu_place *first = a, *second = b;
    return first->key < second->key ? -1 : first->key > second->key;
}

static inline uint64_t key_of(const struct cpu_place *place, const char *order)
{
    /* A CPU's number has 10 bits. Of words that are alike the first letter tells which one it is. */
    const uint64_t sibling = (uint64_t)place->sibling, core = (uint64_t)place->core, rank = (uint64_t)place->rank,
                   cluster = (uint64_t)place->cluster, socket = (uint64_t)place->socket;
    switch (*order) {
    case 'c': return sibling << 48 | socket << 32 | cluster << 16 | core;   /* cores */
    case 't': return socket << 48 | cluster << 32 | core << 16 | sibling;   /* threads */
    default: return sibling << 32 | rank << 16 | socket;                    /* sockets */
    }
}

/* Sorted in the order in which contexts take them:
 * cores    a core each, those of a cluster and of a socket first; second CPUs of cores when all cores are taken
 * threads  the CPUs of one core, then those of the next
 * sockets  as cores, with the sockets in turn */
static inline void order_places(struct cpu_place *places, int count, const char *order)
{
    for (int i = 0; i < count; i++) {
        places[i].sibling = places[i].rank = 0;
        for (int other = 0; other < count; other++)
            places[i].sibling += places[other].core == places[i].core && places[other].cpu < places[i].cpu;
    }
    for (int i = 0; i < count; i++) {
        for (int other = 0; other < count; other++) /* each core is counted by its first CPU */
            places[i].rank += places[other].sibling == 0 && places[other].socket == places[i].socket &&
                              places[other].core < places[i].core;
        places[i].key = key_of(&places[i], order);
    }
    qsort(places, (size_t)count, sizeof *places, by_key);
}

/* How many cores, clusters or sockets there are among the first `count`; `member` is where the place has the number. */
static inline uint64_t different_among(const struct cpu_place *places, int count, size_t member)
{
    uint64_t different = 0;
    for (int i = 0; i < count; i++) {
        int before = 0;
        while (before < i && *(const int *)((const char *)&places[before] + member) !=
                                 *(const int *)((const char *)&places[i] + member))
            before++;
        different += before == i;
    }
    return different;
}

/* 512 CPUs of two sockets, 16 cores a cluster and two CPUs a core, numbered as Linux does: the second ones last. */
static inline void order_selftest(void)
{
    enum { ALL = 512, CORES = 256, OF_SOCKET = 128, OF_CLUSTER = 16 };
    static struct cpu_place places[ALL];
    static const struct { const char *order; int taken; uint64_t cores, clusters, sockets; } known[] = {
        {"cores", 2, 2, 1, 1},       {"cores", OF_CLUSTER, 16, 1, 1}, {"cores", OF_SOCKET, 128, 8, 1},
        {"cores", CORES, 256, 16, 2}, {"threads", 2, 1, 1, 1},         {"threads", 32, 16, 1, 1},
        {"threads", CORES, 128, 8, 1}, {"sockets", 2, 2, 2, 2},         {"sockets", 4, 4, 2, 2}};
    for (unsigned k = 0; k < sizeof known / sizeof *known; k++) {
        for (int cpu = 0; cpu < ALL; cpu++) {
            int core = cpu % CORES;
            places[cpu] = (struct cpu_place){.cpu = cpu, .core = core, .cluster = core / OF_CLUSTER * OF_CLUSTER,
                                             .socket = core / OF_SOCKET * OF_SOCKET};
        }
        order_places(places, ALL, known[k].order);
        uint64_t cores = different_among(places, known[k].taken, offsetof(struct cpu_place, core)),
                 clusters = different_among(places, known[k].taken, offsetof(struct cpu_place, cluster)),
                 sockets = different_among(places, known[k].taken, offsetof(struct cpu_place, socket));
        if (cores != known[k].cores || clusters != known[k].clusters || sockets != known[k].sockets)
            probe_fail("pinned by %s, %d contexts of a machine of 512 CPUs are on %llu cores of %llu clusters of %llu "
                       "sockets", known[k].order, known[k].taken, (unsigned long long)cores,
                       (unsigned long long)clusters, (unsigned long long)sockets);
    }
}

#endif
