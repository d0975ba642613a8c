/*
 * Block ciphers: AES-128 by tables in counter mode, Serpent's and Speck's kind
 * of rounds on several blocks at once, the authenticator Poly1305.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "kernel.h"

enum { BYTES = 16384, ROUNDS = 40 };

static uint8_t box[256];
static uint32_t tables[4][256];

#define ROTATE(x, bits) ((x) << (bits) | (x) >> (32 - (bits)))

static uint8_t twice(uint8_t x) { return (uint8_t)(x << 1 ^ (x & 0x80 ? 0x1b : 0)); }

/* The inverses in the field of 256 elements by a generator and its inverse. */
static void make_tables(void) {
    uint8_t p = 1, q = 1;
    do {
        p ^= twice(p);
        q ^= (uint8_t)(q << 1), q ^= (uint8_t)(q << 2), q ^= (uint8_t)(q << 4);
        if (q & 0x80) q ^= 9;
        uint32_t wide = q | (uint32_t)q << 8;
        box[p] = (uint8_t)(q ^ wide >> 7 ^ wide >> 6 ^ wide >> 5 ^ wide >> 4 ^ 0x63);
    } while (p != 1);
    box[0] = 0x63;
    for (int i = 0; i < 256; i++) {
        uint32_t s = box[i], d = twice(box[i]);
        tables[0][i] = d << 24 | s << 16 | s << 8 | (d ^ s);
        for (int k = 1; k < 4; k++) tables[k][i] = ROTATE(tables[k - 1][i], 24);
    }
}

__attribute__((noinline)) void expand(const uint32_t key[4], uint32_t round_keys[44]) {
    uint8_t constant = 1;
    memcpy(round_keys, key, 16);
    for (int i = 4; i < 44; i++) {
        uint32_t word = round_keys[i - 1];
        if (i % 4 == 0) {
            word = ROTATE(word, 8);
            word = (uint32_t)box[word >> 24] << 24 | (uint32_t)box[word >> 16 & 255] << 16 | (uint32_t)box[word >> 8 & 255] << 8 | box[word & 255];
            word ^= (uint32_t)constant << 24;
            constant = twice(constant);
        }
        round_keys[i] = round_keys[i - 4] ^ word;
    }
}

static inline uint32_t mix(uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t key) {
    return tables[0][a >> 24] ^ tables[1][b >> 16 & 255] ^ tables[2][c >> 8 & 255] ^ tables[3][d & 255] ^ key;
}

static inline uint32_t substitute(uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t key) {
    return ((uint32_t)box[a >> 24] << 24 | (uint32_t)box[b >> 16 & 255] << 16 | (uint32_t)box[c >> 8 & 255] << 8 | box[d & 255]) ^ key;
}

__attribute__((noinline)) void counter_mode(const uint32_t round_keys[44], const uint32_t nonce[3], uint32_t *data, int blocks) {
    for (int block = 0; block < blocks; block++, data += 4) {
        const uint32_t *key = round_keys;
        uint32_t a = nonce[0] ^ key[0], b = nonce[1] ^ key[1], c = nonce[2] ^ key[2], d = (uint32_t)block ^ key[3];
        for (int round = 1; round < 10; round++) {
            key += 4;
            uint32_t e = mix(a, b, c, d, key[0]), f = mix(b, c, d, a, key[1]), g = mix(c, d, a, b, key[2]), h = mix(d, a, b, c, key[3]);
            a = e, b = f, c = g, d = h;
        }
        key += 4;
        data[0] ^= __builtin_bswap32(substitute(a, b, c, d, key[0]));
        data[1] ^= __builtin_bswap32(substitute(b, c, d, a, key[1]));
        data[2] ^= __builtin_bswap32(substitute(c, d, a, b, key[2]));
        data[3] ^= __builtin_bswap32(substitute(d, a, b, c, key[3]));
    }
}

/* Speck128/128 of four blocks side by side, the keys made along the way. */
__attribute__((noinline)) void speck(const uint64_t key[2], uint64_t *data, int blocks) {
    for (; blocks >= 4; blocks -= 4, data += 8) {
        uint64_t k = key[0], l = key[1], x[4], y[4];
        for (int i = 0; i < 4; i++) y[i] = data[2 * i], x[i] = data[2 * i + 1];
        for (uint64_t round = 0; round < 32; round++) {
            for (int i = 0; i < 4; i++) x[i] = ((x[i] >> 8 | x[i] << 56) + y[i]) ^ k, y[i] = (y[i] << 3 | y[i] >> 61) ^ x[i];
            l = ((l >> 8 | l << 56) + k) ^ round, k = (k << 3 | k >> 61) ^ l;
        }
        for (int i = 0; i < 4; i++) data[2 * i] = y[i], data[2 * i + 1] = x[i];
    }
}

/* Limbs of 44, 44 and 42 bits; the sum of all blocks times powers of r, modulo 2^130 - 5. */
__attribute__((noinline)) void poly1305(const uint64_t r[3], const uint64_t *data, int blocks, uint64_t sum[3]) {
    const uint64_t low = 0xfffffffffff;
    uint64_t h0 = 0, h1 = 0, h2 = 0, r0 = r[0], r1 = r[1], r2 = r[2], s1 = 20 * r1, s2 = 20 * r2;
    for (int block = 0; block < blocks; block++, data += 2) {
        h0 += data[0] & low;
        h1 += (data[0] >> 44 | data[1] << 20) & low;
        h2 += (data[1] >> 24 & 0x3ffffffffff) | 1ull << 40;
        unsigned __int128 d0 = (unsigned __int128)h0 * r0 + (unsigned __int128)h1 * s2 + (unsigned __int128)h2 * s1;
        unsigned __int128 d1 = (unsigned __int128)h0 * r1 + (unsigned __int128)h1 * r0 + (unsigned __int128)h2 * s2;
        unsigned __int128 d2 = (unsigned __int128)h0 * r2 + (unsigned __int128)h1 * r1 + (unsigned __int128)h2 * r0;
        h0 = (uint64_t)d0 & low, d1 += (uint64_t)(d0 >> 44);
        h1 = (uint64_t)d1 & low, d2 += (uint64_t)(d1 >> 44);
        h2 = (uint64_t)d2 & 0x3ffffffffff, h0 += (uint64_t)(d2 >> 42) * 5;
        h1 += h0 >> 44, h0 &= low;
    }
    sum[0] = h0, sum[1] = h1, sum[2] = h2;
}

static uint32_t text[BYTES / 4];
static uint64_t words[BYTES / 8];

int main(void) {
    static const uint32_t key[4] = {0x2b7e1516, 0x28aed2a6, 0xabf71588, 0x09cf4f3c};
    static const uint64_t speck_key[2] = {0x0706050403020100u, 0x0f0e0d0c0b0a0908u}, r[3] = {0x00ffc0fffff, 0xfffc0fffc0f, 0x0ffffffc0f};
    uint32_t round_keys[44], nonce[3] = {1, 2, 3};
    uint64_t tag[3] = {0}, sum = 0;
    make_tables();
    for (int i = 0; i < BYTES / 4; i++) text[i] = (uint32_t)i * 0x9e3779b9u;
    for (int i = 0; i < BYTES / 8; i++) words[i] = (uint64_t)i;
    expand(key, round_keys);
    for (int round = 0; round < ROUNDS; round++) {
        nonce[0]++;
        counter_mode(round_keys, nonce, text, BYTES / 16);
        speck(speck_key, words, BYTES / 16);
        for (int times = 0; times < 4; times++) {
            poly1305(r, words + 2 * times, BYTES / 16 - times, tag);
            sum = sum * 3 + (tag[0] ^ tag[1] ^ tag[2]);
        }
    }
    printf("%016llx %016llx %016llx\n", (unsigned long long)sum, (unsigned long long)checksum(text, sizeof text),
           (unsigned long long)checksum(words, sizeof words));
}
