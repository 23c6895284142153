/* SPDX-License-Identifier: Apache-2.0
 * crc.h - CRC-32 as zlib, gzip and Ethernet have it (IEEE 802.3), eight bytes at a time (Kounavis & Berry 2005). */
#ifndef STEELYARD_CRC_H
#define STEELYARD_CRC_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static uint32_t crc32_table[8][256];

__attribute__((constructor)) static void crc32_fill(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xEDB88320) : 0);
        crc32_table[0][byte] = crc;
    }
    for (int slice = 1; slice < 8; slice++) {
        for (int byte = 0; byte < 256; byte++) {
            uint32_t before = crc32_table[slice - 1][byte];
            crc32_table[slice][byte] = before >> 8 ^ crc32_table[0][before & 255];
        }
    }
}

/* The CRC of what came before and `data` together; 0 of nothing. */
static inline uint32_t crc32_of(uint32_t before, const char *data, size_t size)
{
    uint32_t crc = ~before;
    for (; size >= 8; data += 8, size -= 8) {
        uint64_t eight;
        memcpy(&eight, data, 8); /* the machines that this runs on are little-endian */
        eight ^= crc;
        crc = 0;
        for (int slice = 0; slice < 8; slice++)
            crc ^= crc32_table[7 - slice][eight >> 8 * slice & 255];
    }
    while (size--)
        crc = crc >> 8 ^ crc32_table[0][(crc ^ (unsigned char)*data++) & 255];
    return ~crc;
}

#endif
