/*
 * Convolution of an image with 5 x 5 weights: floats with the weights in
 * registers, bytes with integer weights, and a separable filter in two passes.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "kernel.h"

enum { W = 160, H = 120, ROUNDS = 60 };

__attribute__((noinline)) void convolve(int width, int height, const float *restrict from, float *restrict to,
                                        const float *restrict weights) {
    for (int y = 2; y < height - 2; y++)
        for (int x = 2; x < width - 2; x++) {
            float sum = 0;
            for (int i = 0; i < 5; i++)
                for (int j = 0; j < 5; j++) sum += weights[5 * i + j] * from[(y + i - 2) * width + x + j - 2];
            to[y * width + x] = sum;
        }
}

__attribute__((noinline)) void convolve_bytes(int width, int height, const uint8_t *restrict from, uint8_t *restrict to,
                                              const int16_t *restrict weights, int shift) {
    for (int y = 2; y < height - 2; y++)
        for (int x = 2; x < width - 2; x++) {
            int sum = 1 << (shift - 1);
            for (int i = 0; i < 5; i++)
                for (int j = 0; j < 5; j++) sum += weights[5 * i + j] * from[(y + i - 2) * width + x + j - 2];
            sum >>= shift;
            to[y * width + x] = (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
        }
}

__attribute__((noinline)) void separable(int width, int height, const float *restrict from, float *restrict between,
                                         float *restrict to, const float *restrict weights) {
    float a = weights[0], b = weights[1], c = weights[2], d = weights[3], e = weights[4];
    for (int y = 0; y < height; y++)
        for (int x = 2; x < width - 2; x++) {
            const float *p = from + y * width + x;
            between[y * width + x] = a * p[-2] + b * p[-1] + c * p[0] + d * p[1] + e * p[2];
        }
    for (int y = 2; y < height - 2; y++)
        for (int x = 2; x < width - 2; x++) {
            const float *p = between + y * width + x;
            to[y * width + x] = a * p[-2 * width] + b * p[-width] + c * p[0] + d * p[width] + e * p[2 * width];
        }
}

static float image[W * H], between[W * H], result[W * H];
static uint8_t bytes[W * H], result_bytes[W * H];

int main(void) {
    static const float gauss[] = {0.06f, 0.25f, 0.38f, 0.25f, 0.06f};
    float weights[25];
    int16_t integers[25];
    uint64_t sum = 0;
    for (int i = 0; i < 25; i++) weights[i] = (float)(random_bits() % 2000) / 1000 - 0.9f, integers[i] = (int16_t)(random_bits() % 64) - 21;
    for (int i = 0; i < W * H; i++) bytes[i] = (uint8_t)random_bits(), image[i] = bytes[i];
    for (int round = 0; round < ROUNDS; round++) {
        convolve(W, H, image, result, weights);
        sum = sum * 3 + checksum(result, sizeof result);
        separable(W, H, result, between, image, gauss);
        convolve_bytes(W, H, bytes, result_bytes, integers, 6);
        memcpy(bytes, result_bytes, sizeof bytes);
        for (int i = 0; i < W * H; i++) image[i] = image[i] * 0.01f + bytes[i];
    }
    printf("%016llx %016llx\n", (unsigned long long)sum, (unsigned long long)checksum(bytes, sizeof bytes));
}
