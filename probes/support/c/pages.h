/* SPDX-License-Identifier: Apache-2.0
 * pages.h - what probes of memory share: its pages, the faults that the kernel counts, a file of known contents. */
#ifndef STEELYARD_PAGES_H
#define STEELYARD_PAGES_H

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "probe.h"

static inline uint64_t page_bytes(void)
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

static inline uint64_t minor_faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_minflt;
}

/* What the kernel can give without swapping; UINT64_MAX where it does not say. */
static inline uint64_t available_mebibytes(void)
{
    char line[128];
    uint64_t kibibytes = UINT64_MAX;
    FILE *file = fopen("/proc/meminfo", "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %" SCNu64, &kibibytes) == 1)
            break;
    if (file)
        fclose(file);
    return kibibytes == UINT64_MAX ? kibibytes : kibibytes / 1024;
}

static inline uint64_t round_up(uint64_t number, uint64_t to)
{
    return (number + to - 1) / to * to;
}

static inline uint64_t fewer(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Fails on a kernel without huge pages, where it isn't needed. */
static inline void small_pages(void *memory, uint64_t bytes)
{
    madvise(memory, bytes, MADV_NOHUGEPAGE);
}

/* What stands at a byte of a file of known contents: never 0, and another in the next page. */
static inline unsigned char file_byte(uint64_t offset, uint64_t page)
{
    return (unsigned char)(1 + (offset + offset / page) % 251);
}

/* A file of known contents in the working folder. It has no name any more, so nothing is left of it. */
static inline int file_of(uint64_t bytes)
{
    static const char name[] = "steelyard-contents";
    const uint64_t page = page_bytes();
    unsigned char *contents = malloc(bytes);
    int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        probe_skip("no file can be made in the working folder: %s; start the probe in another", strerror(errno));
    unlink(name);
    if (!contents)
        probe_fail("out of memory");
    for (uint64_t i = 0; i < bytes; i++)
        contents[i] = file_byte(i, page);
    for (uint64_t done = 0; done < bytes;) {
        ssize_t more = write(fd, contents + done, bytes - done);
        if (more <= 0)
            probe_skip("a file of %" PRIu64 " bytes cannot be written in the working folder: %s", bytes,
                       more < 0 ? strerror(errno) : "the disk is full");
        done += (uint64_t)more;
    }
    free(contents);
    return fd;
}

/* Bytes of a transparent huge page; ends the probe with the reason where the kernel has none. */
static inline uint64_t huge_bytes(void)
{
    uint64_t bytes = 0;
    FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "re");
    if (!file || fscanf(file, "%" SCNu64, &bytes) != 1 || bytes == 0)
        probe_skip("this kernel has no transparent huge pages");
    fclose(file);
    return bytes;
}

/* Whether the kernel mapped the whole huge page at `memory`, which has been touched, at once: then its last byte takes
 * no further fault. Ends the probe with the command where it did not. */
static inline void expect_huge(volatile unsigned char *memory, uint64_t bytes)
{
    uint64_t before = minor_faults();
    memory[bytes - 1] = memory[bytes - 1];
    if (minor_faults() != before)
        probe_skip("the kernel maps small pages though asked for huge ones; as root: echo madvise > "
                   "/sys/kernel/mm/transparent_hugepage/enabled, and free memory that lies together");
}

#endif
