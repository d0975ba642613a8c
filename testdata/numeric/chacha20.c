/*
 * The stream cipher ChaCha20 (RFC 8439): one block at a time in integer
 * registers, and eight at a time, one in each lane of sixteen vectors.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "kernel.h"

enum { BYTES = 32768, ROUNDS = 42 };

typedef uint32_t v8 __attribute__((vector_size(32)));

#define ROTATE(x, bits) ((x) << (bits) | (x) >> (32 - (bits)))
#define QUARTER(a, b, c, d)                        \
    a += b, d ^= a, d = ROTATE(d, 16), c += d,     \
    b ^= c, b = ROTATE(b, 12), a += b, d ^= a,     \
    d = ROTATE(d, 8), c += d, b ^= c, b = ROTATE(b, 7)
#define DOUBLE_ROUND(x)                                                                \
    QUARTER(x[0], x[4], x[8], x[12]), QUARTER(x[1], x[5], x[9], x[13]),                \
    QUARTER(x[2], x[6], x[10], x[14]), QUARTER(x[3], x[7], x[11], x[15]),              \
    QUARTER(x[0], x[5], x[10], x[15]), QUARTER(x[1], x[6], x[11], x[12]),              \
    QUARTER(x[2], x[7], x[8], x[13]), QUARTER(x[3], x[4], x[9], x[14])

/* data ^= key stream, 64 bytes a block. */
__attribute__((noinline)) void encrypt(uint32_t state[16], uint32_t *restrict data, int blocks) {
    for (; blocks > 0; blocks--, data += 16, state[12]++) {
        uint32_t x[16];
        for (int i = 0; i < 16; i++) x[i] = state[i];
        for (int round = 0; round < 10; round++) DOUBLE_ROUND(x);
        for (int i = 0; i < 16; i++) data[i] ^= x[i] + state[i];
    }
}

__attribute__((noinline)) void encrypt_eight(uint32_t state[16], uint32_t *restrict data, int blocks) {
    for (; blocks > 0; blocks -= 8, data += 128, state[12] += 8) {
        v8 x[16], first[16];
        for (int i = 0; i < 16; i++) first[i] = state[i] - (v8){};
        first[12] += (v8){0, 1, 2, 3, 4, 5, 6, 7};
        for (int i = 0; i < 16; i++) x[i] = first[i];
        for (int round = 0; round < 10; round++) DOUBLE_ROUND(x);
        for (int i = 0; i < 16; i++) {
            x[i] += first[i];
            for (int lane = 0; lane < 8; lane++) data[16 * lane + i] ^= x[i][lane];
        }
    }
}

static uint32_t text[BYTES / 4], other[BYTES / 4];

int main(void) {
    uint32_t key[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574}, counter[16];
    for (int i = 4; i < 16; i++) key[i] = 0x01020304u * (uint32_t)i;
    for (int i = 0; i < BYTES / 4; i++) text[i] = other[i] = (uint32_t)i * 0x9e3779b9u;
    for (int round = 0; round < ROUNDS; round++) {
        memcpy(counter, key, sizeof key);
        encrypt(counter, text, BYTES / 64);
        for (int again = 0; again < 3; again++) {
            memcpy(counter, key, sizeof key);
            encrypt_eight(counter, other, BYTES / 64);
        }
        key[13]++;
    }
    printf("%016llx %s\n", (unsigned long long)checksum(text, sizeof text), memcmp(text, other, sizeof text) ? "differ" : "equal");
}
