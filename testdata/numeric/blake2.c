/*
 * The hash BLAKE2b (RFC 7693): sixteen words of state and sixteen of message in
 * integer registers, and the same for four messages at once in vectors.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { BYTES = 16384, ROUNDS = 60 };

typedef uint64_t v4 __attribute__((vector_size(32)));

static const uint64_t initial[8] = {
    0x6a09e667f3bcc908u, 0xbb67ae8584caa73bu, 0x3c6ef372fe94f82bu, 0xa54ff53a5f1d36f1u,
    0x510e527fade682d1u, 0x9b05688c2b3e6c1fu, 0x1f83d9abfb41bd6bu, 0x5be0cd19137e2179u};

#define ROTATE(x, bits) ((x) >> (bits) | (x) << (64 - (bits)))
#define MIX(a, b, c, d, x, y)                             \
    a += b + (x), d ^= a, d = ROTATE(d, 32), c += d,      \
    b ^= c, b = ROTATE(b, 24), a += b + (y), d ^= a,      \
    d = ROTATE(d, 16), c += d, b ^= c, b = ROTATE(b, 63)
#define ROUND(s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, sa, sb, sc, sd, se, sf)                    \
    MIX(v[0], v[4], v[8], v[12], m[s0], m[s1]), MIX(v[1], v[5], v[9], v[13], m[s2], m[s3]),      \
    MIX(v[2], v[6], v[10], v[14], m[s4], m[s5]), MIX(v[3], v[7], v[11], v[15], m[s6], m[s7]),    \
    MIX(v[0], v[5], v[10], v[15], m[s8], m[s9]), MIX(v[1], v[6], v[11], v[12], m[sa], m[sb]),    \
    MIX(v[2], v[7], v[8], v[13], m[sc], m[sd]), MIX(v[3], v[4], v[9], v[14], m[se], m[sf])
#define TWELVE_ROUNDS                                                 \
    ROUND(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);      \
    ROUND(14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3);      \
    ROUND(11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4);      \
    ROUND(7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8);      \
    ROUND(9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13);      \
    ROUND(2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9);      \
    ROUND(12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11);      \
    ROUND(13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10);      \
    ROUND(6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5);      \
    ROUND(10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0);      \
    ROUND(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);      \
    ROUND(14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3)

__attribute__((noinline)) void compress(uint64_t hash[8], const uint64_t *restrict message, uint64_t length, int last) {
    uint64_t v[16], m[16];
    for (int i = 0; i < 8; i++) v[i] = hash[i], v[i + 8] = initial[i];
    for (int i = 0; i < 16; i++) m[i] = message[i];
    v[12] ^= length;
    if (last) v[14] = ~v[14];
    TWELVE_ROUNDS;
    for (int i = 0; i < 8; i++) hash[i] ^= v[i] ^ v[i + 8];
}

/* Four messages of equal length: message[i] has the i-th word of each. */
__attribute__((noinline)) void compress_four(v4 hash[8], const v4 *restrict m, uint64_t length, int last) {
    v4 v[16];
    for (int i = 0; i < 8; i++) v[i] = hash[i], v[i + 8] = initial[i] - (v4){};
    v[12] ^= length;
    if (last) v[14] = ~v[14];
    TWELVE_ROUNDS;
    for (int i = 0; i < 8; i++) hash[i] ^= v[i] ^ v[i + 8];
}

static uint64_t text[BYTES / 8];
static v4 four[BYTES / 8];

int main(void) {
    uint64_t hash[8];
    v4 hashes[8];
    int wrong = 0;
    for (int i = 0; i < BYTES / 8; i++) text[i] = (uint64_t)i * 0x9e3779b97f4a7c15u;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < BYTES / 8; i++) four[i] = text[i] - (v4){};
        for (int i = 0; i < 8; i++) hash[i] = initial[i], hashes[i] = initial[i] - (v4){};
        hash[0] ^= 0x01010040, hashes[0] ^= 0x01010040;
        for (int at = 0; at < BYTES; at += 128) {
            compress(hash, text + at / 8, (uint64_t)at + 128, at + 128 == BYTES);
            compress_four(hashes, four + at / 8, (uint64_t)at + 128, at + 128 == BYTES);
        }
        for (int i = 0; i < 8; i++)
            for (int lane = 0; lane < 4; lane++) wrong += hashes[i][lane] != hash[i];
        text[round] ^= hash[0];
    }
    for (int i = 0; i < 8; i++) printf("%016llx", (unsigned long long)__builtin_bswap64(hash[i]));
    printf(" %d wrong\n", wrong);
}
