/*
 * The hash SHA-256 (FIPS 180-4): of one message in integer registers, and of
 * eight messages at once in vectors; CRC-32 by eight tables.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { BYTES = 16384, ROUNDS = 16 };

typedef uint32_t v8 __attribute__((vector_size(32)));

static const uint32_t initial[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

#define ROTATE(x, bits) ((x) >> (bits) | (x) << (32 - (bits)))
#define ROUND(a, b, c, d, e, f, g, h, i)                                                                                   \
    h += (ROTATE(e, 6) ^ ROTATE(e, 11) ^ ROTATE(e, 25)) + ((e & f) ^ (~e & g)) + constants[i] + w[(i) & 15],               \
    d += h, h += (ROTATE(a, 2) ^ ROTATE(a, 13) ^ ROTATE(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))
#define EIGHT_ROUNDS(i)                                                              \
    ROUND(a, b, c, d, e, f, g, h, i), ROUND(h, a, b, c, d, e, f, g, i + 1),          \
    ROUND(g, h, a, b, c, d, e, f, i + 2), ROUND(f, g, h, a, b, c, d, e, i + 3),      \
    ROUND(e, f, g, h, a, b, c, d, i + 4), ROUND(d, e, f, g, h, a, b, c, i + 5),      \
    ROUND(c, d, e, f, g, h, a, b, i + 6), ROUND(b, c, d, e, f, g, h, a, i + 7)
#define EXTEND(i)                                                                                        \
    w[i] += (ROTATE(w[(i + 1) & 15], 7) ^ ROTATE(w[(i + 1) & 15], 18) ^ w[(i + 1) & 15] >> 3) +          \
            w[(i + 9) & 15] +                                                                            \
            (ROTATE(w[(i + 14) & 15], 17) ^ ROTATE(w[(i + 14) & 15], 19) ^ w[(i + 14) & 15] >> 10)

/* The block: sixteen rounds, and three times sixteen with the message extended. */
#define COMPRESS(word)                                                                              \
    word a = hash[0], b = hash[1], c = hash[2], d = hash[3], e = hash[4], f = hash[5];              \
    word g = hash[6], h = hash[7];                                                                  \
    for (int i = 0; i < 64; i += 16) {                                                              \
        for (int k = 0; i > 0 && k < 16; k++) EXTEND(k);                                            \
        EIGHT_ROUNDS(i);                                                                            \
        EIGHT_ROUNDS(i + 8);                                                                        \
    }                                                                                               \
    hash[0] += a, hash[1] += b, hash[2] += c, hash[3] += d;                                         \
    hash[4] += e, hash[5] += f, hash[6] += g, hash[7] += h

__attribute__((noinline)) void compress(uint32_t hash[8], const uint32_t *restrict block) {
    uint32_t w[16];
    for (int i = 0; i < 16; i++) w[i] = __builtin_bswap32(block[i]);
    COMPRESS(uint32_t);
}

/* block[i] has the i-th word of each message. */
__attribute__((noinline)) void compress_eight(v8 hash[8], const v8 *restrict block) {
    v8 w[16];
    for (int i = 0; i < 16; i++) w[i] = block[i] << 24 | block[i] >> 24 | (block[i] & 0xff00) << 8 | (block[i] >> 8 & 0xff00);
    COMPRESS(v8);
}

__attribute__((noinline)) uint32_t crc(const uint32_t (*tables)[256], const uint8_t *data, int bytes) {
    uint32_t sum = ~0u, low, high;
    for (int i = 0; i < bytes; i += 8) {
        memcpy(&low, data + i, 4), memcpy(&high, data + i + 4, 4);
        low ^= sum;
        sum = tables[7][low & 255] ^ tables[6][low >> 8 & 255] ^ tables[5][low >> 16 & 255] ^ tables[4][low >> 24] ^
              tables[3][high & 255] ^ tables[2][high >> 8 & 255] ^ tables[1][high >> 16 & 255] ^ tables[0][high >> 24];
    }
    return ~sum;
}

static uint32_t text[BYTES / 4], tables[8][256];
static v8 eight[BYTES / 4];

int main(void) {
    uint32_t hash[8], sum = 0;
    v8 hashes[8];
    int wrong = 0;
    for (uint32_t i = 0; i < 256; i++) {
        tables[0][i] = i;
        for (int bit = 0; bit < 8; bit++) tables[0][i] = tables[0][i] >> 1 ^ (tables[0][i] & 1 ? 0xedb88320 : 0);
    }
    for (int k = 1; k < 8; k++)
        for (int i = 0; i < 256; i++) tables[k][i] = tables[k - 1][i] >> 8 ^ tables[0][tables[k - 1][i] & 255];
    for (int i = 0; i < BYTES / 4; i++) text[i] = (uint32_t)i * 0x9e3779b9u;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < BYTES / 4; i++) eight[i] = text[i] - (v8){0};
        for (int i = 0; i < 8; i++) hash[i] = initial[i], hashes[i] = initial[i] - (v8){0};
        for (int at = 0; at < BYTES / 4; at += 16) compress(hash, text + at), compress_eight(hashes, eight + at);
        for (int i = 0; i < 8; i++)
            for (int lane = 0; lane < 8; lane++) wrong += hashes[i][lane] != hash[i];
        for (int times = 0; times < 16; times++) sum += crc(tables, (const uint8_t *)text, BYTES);
        text[round] ^= hash[0];
    }
    for (int i = 0; i < 8; i++) printf("%08x", hash[i]);
    printf(" %08x %d wrong\n", sum, wrong);
}
