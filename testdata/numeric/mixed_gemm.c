/*
 * Matrix products in mixed precision, as neural networks need them: bytes with
 * 32-bit sums, scaled, biased and rounded to bytes; floats with sums in
 * doubles; halves of floats kept as 16 bits (bfloat16).
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "kernel.h"

enum { ROWS = 48, COLUMNS = 64, DEPTH = 128, ROUNDS = 24 };

/* out[i][j] = clamp(round((sum of a[i][k] b[j][k]) * scale[j] + bias[j])) */
__attribute__((noinline)) void bytes(int rows, int columns, int depth, const int8_t *restrict a, const int8_t *restrict b,
                                     const float *restrict scale, const int32_t *restrict bias, int8_t *restrict out) {
    for (int i = 0; i < rows; i += 2)
        for (int j = 0; j < columns; j += 2) {
            const int8_t *a0 = a + i * depth, *a1 = a0 + depth, *b0 = b + j * depth, *b1 = b0 + depth;
            int32_t s00 = bias[j], s01 = bias[j + 1], s10 = s00, s11 = s01;
            for (int k = 0; k < depth; k++)
                s00 += a0[k] * b0[k], s01 += a0[k] * b1[k], s10 += a1[k] * b0[k], s11 += a1[k] * b1[k];
            int32_t sums[4] = {s00, s01, s10, s11};
            for (int k = 0; k < 4; k++) {
                float scaled = (float)sums[k] * scale[j + k % 2] + (sums[k] < 0 ? -0.5f : 0.5f);
                scaled = scaled < -128 ? -128 : scaled > 127 ? 127 : scaled;
                out[(i + k / 2) * columns + j + k % 2] = (int8_t)scaled;
            }
        }
}

__attribute__((noinline)) void double_sums(int rows, int columns, int depth, const float *restrict a, const float *restrict b,
                                           float *restrict out) {
#pragma clang fp reassociate(on)
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            double sum = 0;
            for (int k = 0; k < depth; k++) sum += (double)a[i * depth + k] * b[j * depth + k];
            out[i * columns + j] = (float)sum;
        }
}

static float widen(uint16_t half) {
    uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

static uint16_t narrow(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* b and out have `columns` columns. */
__attribute__((noinline)) void halves(int rows, int columns, int depth, const uint16_t *restrict a, const uint16_t *restrict b,
                                      uint16_t *restrict out) {
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j += 16) {
            float sums[16] = {0};
            for (int k = 0; k < depth; k++) {
                float factor = widen(a[i * depth + k]);
                for (int l = 0; l < 16; l++) sums[l] += factor * widen(b[k * columns + j + l]);
            }
            for (int l = 0; l < 16; l++) out[i * columns + j + l] = narrow(sums[l]);
        }
}

static int8_t ba[ROWS * DEPTH], bb[COLUMNS * DEPTH], bout[ROWS * COLUMNS];
static float fa[ROWS * DEPTH], fb[COLUMNS * DEPTH], fout[ROWS * COLUMNS], scale[COLUMNS];
static uint16_t ha[ROWS * DEPTH], hb[COLUMNS * DEPTH], hout[ROWS * COLUMNS];
static int32_t bias[COLUMNS];

int main(void) {
    uint64_t sum = 0;
    for (int i = 0; i < COLUMNS; i++) scale[i] = 0.001f + 0.00001f * (float)i, bias[i] = 100 * i;
    for (int i = 0; i < COLUMNS * DEPTH; i++) bb[i] = (int8_t)random_bits(), fb[i] = bb[i] * 0.01f, hb[i] = narrow(fb[i]);
    for (int i = 0; i < ROWS * DEPTH; i++) ba[i] = (int8_t)random_bits(), fa[i] = ba[i] * 0.01f, ha[i] = narrow(fa[i]);
    for (int round = 0; round < ROUNDS; round++) {
        bytes(ROWS, COLUMNS, DEPTH, ba, bb, scale, bias, bout);
        double_sums(ROWS, COLUMNS, DEPTH, fa, fb, fout);
        halves(ROWS, COLUMNS, DEPTH, ha, hb, hout);
        for (int i = 0; i < ROWS * COLUMNS; i++) ba[i] ^= bout[i], fa[i] = 0.1f * fout[i] + widen(hout[i]) * 0.01f, ha[i] = hout[i];
        sum = sum * 3 + (checksum(bout, sizeof bout) ^ checksum(fout, sizeof fout) ^ checksum(hout, sizeof hout));
    }
    printf("%016llx\n", (unsigned long long)sum);
}
