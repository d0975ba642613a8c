/*
 * Hashes for tables: SipHash-2-4 of short keys, xxHash64 of long ones, and a
 * hash table with open addressing that uses both.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "kernel.h"

enum { BYTES = 32768, SLOTS = 8192, ROUNDS = 24 };

#define ROTATE(x, bits) ((x) << (bits) | (x) >> (64 - (bits)))
#define SIP_ROUND                                                                                       \
    v0 += v1, v1 = ROTATE(v1, 13), v1 ^= v0, v0 = ROTATE(v0, 32), v2 += v3, v3 = ROTATE(v3, 16),        \
    v3 ^= v2, v0 += v3, v3 = ROTATE(v3, 21), v3 ^= v0, v2 += v1, v1 = ROTATE(v1, 17), v1 ^= v2, v2 = ROTATE(v2, 32)

static inline uint64_t load(const uint8_t *from) {
    uint64_t word;
    memcpy(&word, from, 8);
    return word;
}

__attribute__((noinline)) uint64_t siphash(const uint64_t key[2], const uint8_t *data, size_t size) {
    uint64_t v0 = key[0] ^ 0x736f6d6570736575u, v1 = key[1] ^ 0x646f72616e646f6du;
    uint64_t v2 = key[0] ^ 0x6c7967656e657261u, v3 = key[1] ^ 0x7465646279746573u, last = (uint64_t)size << 56;
    size_t at = 0;
    for (; at + 8 <= size; at += 8) {
        uint64_t word = load(data + at);
        v3 ^= word;
        SIP_ROUND;
        SIP_ROUND;
        v0 ^= word;
    }
    for (int shift = 0; at < size; at++, shift += 8) last |= (uint64_t)data[at] << shift;
    v3 ^= last;
    SIP_ROUND;
    SIP_ROUND;
    v0 ^= last, v2 ^= 0xff;
    SIP_ROUND;
    SIP_ROUND;
    SIP_ROUND;
    SIP_ROUND;
    return v0 ^ v1 ^ v2 ^ v3;
}

static const uint64_t p1 = 11400714785074694791u, p2 = 14029467366897019727u, p3 = 1609587929392839161u, p4 = 9650029242287828579u,
                      p5 = 2870177450012600261u;

static inline uint64_t step(uint64_t lane, uint64_t word) {
    lane += word * p2;
    return ROTATE(lane, 31) * p1;
}

static inline uint64_t merge(uint64_t hash, uint64_t lane) { return (hash ^ step(0, lane)) * p1 + p4; }

__attribute__((noinline)) uint64_t xxhash(uint64_t seed, const uint8_t *data, size_t size) {
    uint64_t hash = seed + p5;
    size_t at = 0;
    if (size >= 32) {
        uint64_t a = seed + p1 + p2, b = seed + p2, c = seed, d = seed - p1;
        for (; at + 32 <= size; at += 32) {
            a = step(a, load(data + at)), b = step(b, load(data + at + 8));
            c = step(c, load(data + at + 16)), d = step(d, load(data + at + 24));
        }
        hash = ROTATE(a, 1) + ROTATE(b, 7) + ROTATE(c, 12) + ROTATE(d, 18);
        hash = merge(merge(merge(merge(hash, a), b), c), d);
    }
    hash += size;
    for (; at + 8 <= size; at += 8) hash ^= step(0, load(data + at)), hash = ROTATE(hash, 27) * p1 + p4;
    for (; at < size; at++) hash ^= data[at] * p5, hash = ROTATE(hash, 11) * p1;
    hash ^= hash >> 33, hash *= p2, hash ^= hash >> 29, hash *= p3;
    return hash ^ hash >> 32;
}

/* Counts how often each key occurs; keys are of 3 to 18 bytes. Returns the number of different keys. */
__attribute__((noinline)) int count(const uint64_t key[2], const uint8_t *data, int bytes, uint64_t *restrict hashes, uint32_t *restrict counts) {
    int different = 0;
    for (int at = 0, size; at + 32 < bytes; at += size) {
        size = 3 + data[at] % 16;
        uint64_t hash = siphash(key, data + at, (size_t)size);
        uint32_t slot = (uint32_t)hash % SLOTS;
        while (counts[slot] && hashes[slot] != hash) slot = (slot + 1) % SLOTS;
        different += !counts[slot]++;
        hashes[slot] = hash;
    }
    return different;
}

static uint8_t text[BYTES];
static uint64_t hashes[SLOTS];
static uint32_t counts[SLOTS];

int main(void) {
    static const uint64_t key[2] = {0x0706050403020100u, 0x0f0e0d0c0b0a0908u};
    uint64_t sum = 0;
    int different = 0;
    for (int i = 0; i < BYTES; i++) text[i] = (uint8_t)(((uint32_t)i * 2654435761u >> 20) % 96);
    for (int round = 0; round < ROUNDS; round++) {
        memset(counts, 0, sizeof counts);
        different += count(key, text, BYTES, hashes, counts);
        for (int times = 0; times < 32; times++) sum += xxhash(sum, text + times, BYTES - 100);
        for (int size = 0; size < 600; size++) sum ^= siphash(key, text + size, (size_t)size);
        text[round * 100] ^= (uint8_t)sum;
    }
    printf("%016llx %016llx %d\n", (unsigned long long)sum, (unsigned long long)checksum(counts, sizeof counts), different);
}
