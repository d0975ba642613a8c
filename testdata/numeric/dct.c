/*
 * The discrete cosine transform of 8 x 8 pixels: in integers as JPEG libraries
 * do it, with quantisation and zigzag, and in floats by matrices.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "kernel.h"

enum { BLOCKS = 256, ROUNDS = 40 };

/* Loeffler, Ligtenberg and Moschytz, scaled by 2^13; first or second pass. */
static inline void forward_eight(int32_t *restrict p, int stride, int second) {
    int32_t t0 = p[0] + p[7 * stride], t7 = p[0] - p[7 * stride], t1 = p[stride] + p[6 * stride], t6 = p[stride] - p[6 * stride];
    int32_t t2 = p[2 * stride] + p[5 * stride], t5 = p[2 * stride] - p[5 * stride];
    int32_t t3 = p[3 * stride] + p[4 * stride], t4 = p[3 * stride] - p[4 * stride];
    int32_t t10 = t0 + t3, t13 = t0 - t3, t11 = t1 + t2, t12 = t1 - t2;
    int shift = second ? 15 : 11;
    int32_t round = 1 << (shift - 1);
    p[0] = second ? (t10 + t11 + 2) >> 2 : (t10 + t11) * 4;
    p[4 * stride] = second ? (t10 - t11 + 2) >> 2 : (t10 - t11) * 4;
    int32_t z1 = (t12 + t13) * 4433;
    p[2 * stride] = (z1 + t13 * 6270 + round) >> shift;
    p[6 * stride] = (z1 - t12 * 15137 + round) >> shift;
    z1 = (t4 + t7) * -7373;
    int32_t z2 = (t5 + t6) * -20995, z3 = t4 + t6, z4 = t5 + t7, z5 = (z3 + z4) * 9633;
    z3 = z3 * -16069 + z5, z4 = z4 * -3196 + z5;
    p[7 * stride] = (t4 * 2446 + z1 + z3 + round) >> shift;
    p[5 * stride] = (t5 * 16819 + z2 + z4 + round) >> shift;
    p[3 * stride] = (t6 * 25172 + z2 + z3 + round) >> shift;
    p[stride] = (t7 * 12299 + z1 + z4 + round) >> shift;
}

__attribute__((noinline)) void forward(int32_t *block) {
    for (int i = 0; i < 8; i++) forward_eight(block + 8 * i, 1, 0);
    for (int i = 0; i < 8; i++) forward_eight(block + i, 8, 1);
}

/* Returns how many coefficients are not zero. */
__attribute__((noinline)) int quantise(const int32_t *restrict block, const uint16_t *restrict divisors, const uint8_t *restrict zigzag,
                                       int16_t *restrict out) {
    int used = 0;
    for (int i = 0; i < 64; i++) {
        int value = block[zigzag[i]], divisor = divisors[i] * 8, half = divisor / 2;
        int quotient = value < 0 ? -((half - value) / divisor) : (value + half) / divisor;
        out[i] = (int16_t)quotient;
        used += quotient != 0;
    }
    return used;
}

/* out = C in C' */
__attribute__((noinline)) void by_matrix(const float (*restrict c)[8], const float *restrict in, float *restrict out) {
    float half[64];
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) {
            float sum = 0;
            for (int k = 0; k < 8; k++) sum += c[i][k] * in[8 * k + j];
            half[8 * i + j] = sum;
        }
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) {
            float sum = 0;
            for (int k = 0; k < 8; k++) sum += half[8 * i + k] * c[j][k];
            out[8 * i + j] = sum;
        }
}

static int32_t pixels[BLOCKS][64], blocks[BLOCKS][64];
static int16_t coefficients[BLOCKS][64];
static float reals[BLOCKS][64], transformed[BLOCKS][64];

int main(void) {
    static const float cosines[8] = {0.5f, 0.49039264f, 0.46193977f, 0.41573481f, 0.35355339f, 0.27778512f, 0.19134172f, 0.09754516f};
    uint16_t divisors[64];
    uint8_t zigzag[64];
    float matrix[8][8];
    int used = 0;
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < 8; k++) {
            int angle = i * (2 * k + 1) % 32; /* in sixteenths of pi */
            int folded = angle > 16 ? 32 - angle : angle;
            float cosine = folded <= 8 ? (folded == 8 ? 0 : cosines[folded]) : -cosines[16 - folded];
            matrix[i][k] = i == 0 ? 0.35355339f : cosine;
        }
    for (int i = 0, x = 0, y = 0; i < 64; i++) {
        divisors[i] = (uint16_t)(3 + i / 2), zigzag[i] = (uint8_t)(8 * y + x);
        if ((x + y) % 2 == 0) {
            if (x == 7) y++; else if (y == 0) x++; else x++, y--;
        } else {
            if (y == 7) x++; else if (x == 0) y++; else x--, y++;
        }
    }
    for (int k = 0; k < BLOCKS; k++)
        for (int i = 0; i < 64; i++) {
            pixels[k][i] = (int32_t)(random_bits() % 64 + (uint32_t)(k + i * 2) % 192) - 128;
            reals[k][i] = (float)pixels[k][i];
        }
    for (int round = 0; round < ROUNDS; round++)
        for (int k = 0; k < BLOCKS; k++) {
            pixels[k][round % 64] ^= round;
            memcpy(blocks[k], pixels[k], sizeof pixels[k]);
            forward(blocks[k]);
            used += quantise(blocks[k], divisors, zigzag, coefficients[k]);
            by_matrix(matrix, reals[k], transformed[k]);
        }
    printf("%016llx %016llx %d\n", (unsigned long long)checksum(coefficients, sizeof coefficients),
           (unsigned long long)checksum(transformed, sizeof transformed), used);
}
