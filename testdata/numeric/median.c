/*
 * Filters of bytes by order: medians of 3 x 3 by a network and of 5 x 5 by
 * forgetting the smallest and the largest, and edges by Sobel's operator.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "kernel.h"

enum { W = 260, H = 128, ROUNDS = 60 };

static inline void exchange(uint8_t *a, uint8_t *b) {
    uint8_t low = *a < *b ? *a : *b, high = *a < *b ? *b : *a;
    *a = low, *b = high;
}

__attribute__((noinline)) void median3(int width, int height, const uint8_t *restrict from, uint8_t *restrict to) {
    static const uint8_t network[19][2] = {{1, 2}, {4, 5}, {7, 8}, {0, 1}, {3, 4}, {6, 7}, {1, 2}, {4, 5}, {7, 8}, {0, 3},
                                           {5, 8}, {4, 7}, {3, 6}, {1, 4}, {2, 5}, {4, 7}, {4, 2}, {6, 4}, {4, 2}};
    for (int y = 1; y < height - 1; y++)
        for (int x = 1; x < width - 1; x++) {
            uint8_t p[9];
            for (int i = 0; i < 9; i++) p[i] = from[(y + i / 3 - 1) * width + x + i % 3 - 1];
#pragma clang loop unroll(full)
            for (int i = 0; i < 19; i++) exchange(&p[network[i][0]], &p[network[i][1]]);
            to[y * width + x] = p[4];
        }
}

typedef uint8_t v32 __attribute__((vector_size(32), aligned(1)));

static inline void exchange_vectors(v32 *a, v32 *b) {
    v32 low = __builtin_elementwise_min(*a, *b), high = __builtin_elementwise_max(*a, *b);
    *a = low, *b = high;
}

/* Of more than half of the pixels, neither the smallest nor the largest is the median. Of 32 pixels at a time. */
__attribute__((noinline)) void median5(int width, int height, const uint8_t *restrict from, uint8_t *restrict to) {
    for (int y = 2; y < height - 2; y++)
        for (int x = 2; x + 34 <= width; x += 32) {
            v32 p[14];
            for (int i = 0; i < 14; i++) p[i] = *(const v32 *)(from + (y + i / 5 - 2) * width + x + i % 5 - 2);
#pragma clang loop unroll(full)
            for (int kept = 14; kept > 2; kept--) {
#pragma clang loop unroll(full)
                for (int i = 1; i < kept; i++) exchange_vectors(&p[0], &p[i]);
#pragma clang loop unroll(full)
                for (int i = 1; i < kept - 1; i++) exchange_vectors(&p[i], &p[kept - 1]);
                int next = 14 + 14 - kept;
                p[0] = next < 25 ? *(const v32 *)(from + (y + next / 5 - 2) * width + x + next % 5 - 2) : p[1];
            }
            *(v32 *)(to + y * width + x) = p[0];
        }
}

__attribute__((noinline)) void sobel(int width, int height, const uint8_t *restrict from, uint8_t *restrict to) {
    for (int y = 1; y < height - 1; y++)
        for (int x = 1; x < width - 1; x++) {
            const uint8_t *p = from + y * width + x;
            int a = p[-width - 1], b = p[-width], c = p[-width + 1], d = p[-1], e = p[1], f = p[width - 1], g = p[width], h = p[width + 1];
            int across = c - a + 2 * (e - d) + h - f, down = f - a + 2 * (g - b) + h - c;
            int size = (across < 0 ? -across : across) + (down < 0 ? -down : down);
            to[y * width + x] = (uint8_t)(size > 255 ? 255 : size);
        }
}

static uint8_t image[W * H], smooth[W * H], edges[W * H];

int main(void) {
    uint64_t sum = 0;
    for (int i = 0; i < W * H; i++) image[i] = (uint8_t)((random_bits() & 63) + (uint32_t)(i % W / 2) + (uint32_t)(i / W));
    for (int round = 0; round < ROUNDS; round++) {
        median3(W, H, image, smooth);
        median5(W, H, smooth, image);
        sobel(W, H, image, edges);
        for (int i = 0; i < W * H; i++) image[i] += edges[i] / 16;
        sum = sum * 3 + (checksum(image, sizeof image) ^ checksum(edges, sizeof edges));
    }
    printf("%016llx\n", (unsigned long long)sum);
}
