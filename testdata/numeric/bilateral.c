/*
 * Filters of floats that look at their own values: a bilateral filter of
 * 5 x 5, anisotropic diffusion, and histograms with equalisation.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "kernel.h"

enum { W = 128, H = 96, ROUNDS = 20 };

/* Near pixels of like value weigh most: space[i][j] / (1 + (difference * sharpness)^2). */
__attribute__((noinline)) void bilateral(int width, int height, const float *restrict from, float *restrict to,
                                         const float (*restrict space)[5], float sharpness) {
    for (int y = 2; y < height - 2; y++)
        for (int x = 2; x < width - 2; x++) {
            float centre = from[y * width + x], sum = 0, weights = 0;
            for (int i = 0; i < 5; i++)
                for (int j = 0; j < 5; j++) {
                    float value = from[(y + i - 2) * width + x + j - 2], difference = (value - centre) * sharpness;
                    float weight = space[i][j] / (1 + difference * difference);
                    sum += weight * value, weights += weight;
                }
            to[y * width + x] = sum / weights;
        }
}

static inline float flow(float difference, float edge) { return difference / (1 + difference * difference * edge); }

__attribute__((noinline)) void diffuse(int width, int height, const float *restrict from, float *restrict to, float edge, float rate) {
    for (int y = 1; y < height - 1; y++)
        for (int x = 1; x < width - 1; x++) {
            const float *p = from + y * width + x;
            float c = p[0];
            float straight = flow(p[-1] - c, edge) + flow(p[1] - c, edge) + flow(p[-width] - c, edge) + flow(p[width] - c, edge);
            float slanting = flow(p[-width - 1] - c, edge) + flow(p[-width + 1] - c, edge) + flow(p[width - 1] - c, edge) +
                             flow(p[width + 1] - c, edge);
            to[y * width + x] = c + rate * (straight + 0.5f * slanting);
        }
}

/* Four tables, so that equal neighbours do not wait for each other. */
__attribute__((noinline)) void equalise(int n, uint8_t *pixels) {
    uint32_t counts[4][256] = {0}, below = 0;
    uint8_t map[256];
    for (int i = 0; i < n; i += 4)
        counts[0][pixels[i]]++, counts[1][pixels[i + 1]]++, counts[2][pixels[i + 2]]++, counts[3][pixels[i + 3]]++;
    for (int value = 0; value < 256; value++) {
        below += counts[0][value] + counts[1][value] + counts[2][value] + counts[3][value];
        map[value] = (uint8_t)(below * 255u / (uint32_t)n);
    }
    for (int i = 0; i < n; i++) pixels[i] = map[pixels[i]];
}

static float image[W * H], smooth[W * H];
static uint8_t bytes[W * H];

int main(void) {
    static const float space[5][5] = {{0.1f, 0.3f, 0.4f, 0.3f, 0.1f}, {0.3f, 0.6f, 0.8f, 0.6f, 0.3f}, {0.4f, 0.8f, 1, 0.8f, 0.4f},
                                      {0.3f, 0.6f, 0.8f, 0.6f, 0.3f}, {0.1f, 0.3f, 0.4f, 0.3f, 0.1f}};
    for (int i = 0; i < W * H; i++) image[i] = smooth[i] = (float)(random_bits() % 256);
    for (int round = 0; round < ROUNDS; round++) {
        bilateral(W, H, image, smooth, space, 0.05f);
        diffuse(W, H, smooth, image, 0.01f, 0.1f);
        for (int i = 0; i < W * H; i++) bytes[i] = (uint8_t)image[i];
        equalise(W * H, bytes);
        for (int i = 0; i < W * H; i++) image[i] = 0.75f * image[i] + 0.25f * bytes[i];
    }
    printf("%016llx %016llx\n", (unsigned long long)checksum(image, sizeof image), (unsigned long long)checksum(bytes, sizeof bytes));
}
