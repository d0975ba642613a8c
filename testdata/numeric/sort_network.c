/*
 * Sorting networks: sixteen vectors sorted lane by lane by Batcher's odd-even
 * merge sort, eight integers at a time in scalars, and a bitonic sort of an
 * array.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "kernel.h"

enum { N = 4096, ROUNDS = 24 };

typedef int32_t v8 __attribute__((vector_size(32), aligned(4)));

/* Each 128 integers, as sixteen rows of eight: the columns are sorted. */
__attribute__((noinline)) void sort_columns(int n, int32_t *data) {
    for (int at = 0; at < n; at += 128) {
        v8 row[16];
        for (int i = 0; i < 16; i++) row[i] = *(v8 *)(data + at + 8 * i);
#pragma clang loop unroll(full)
        for (int p = 1; p < 16; p *= 2)
#pragma clang loop unroll(full)
            for (int k = p; k >= 1; k /= 2)
#pragma clang loop unroll(full)
                for (int j = k % p; j + k < 16; j += 2 * k)
#pragma clang loop unroll(full)
                    for (int i = 0; i < k; i++)
                        if (i + j + k < 16 && (i + j) / (2 * p) == (i + j + k) / (2 * p)) {
                            v8 low = row[i + j], high = row[i + j + k];
                            row[i + j] = __builtin_elementwise_min(low, high);
                            row[i + j + k] = __builtin_elementwise_max(low, high);
                        }
        for (int i = 0; i < 16; i++) *(v8 *)(data + at + 8 * i) = row[i];
    }
}

#define EXCHANGE(a, b) do { int32_t low = a < b ? a : b; b = a < b ? b : a; a = low; } while (0)

__attribute__((noinline)) void sort_eights(int n, int32_t *data) {
    for (int at = 0; at < n; at += 8) {
        int32_t *p = data + at;
        int32_t a = p[0], b = p[1], c = p[2], d = p[3], e = p[4], f = p[5], g = p[6], h = p[7];
        EXCHANGE(a, c); EXCHANGE(b, d); EXCHANGE(e, g); EXCHANGE(f, h);
        EXCHANGE(a, e); EXCHANGE(b, f); EXCHANGE(c, g); EXCHANGE(d, h);
        EXCHANGE(a, b); EXCHANGE(c, d); EXCHANGE(e, f); EXCHANGE(g, h);
        EXCHANGE(c, e); EXCHANGE(d, f); EXCHANGE(b, e); EXCHANGE(d, g);
        EXCHANGE(b, c); EXCHANGE(d, e); EXCHANGE(f, g);
        p[0] = a, p[1] = b, p[2] = c, p[3] = d, p[4] = e, p[5] = f, p[6] = g, p[7] = h;
    }
}

__attribute__((noinline)) void bitonic(int n, int32_t *data) {
    for (int size = 2; size <= n; size *= 2)
        for (int stride = size / 2; stride > 0; stride /= 2)
            for (int i = 0; i < n; i++) {
                int partner = i ^ stride;
                if (partner > i) {
                    int32_t low = data[i], high = data[partner];
                    int swap = (low > high) == ((i & size) == 0);
                    data[i] = swap ? high : low, data[partner] = swap ? low : high;
                }
            }
}

static int32_t columns[N], eights[N], integers[N];

int main(void) {
    uint64_t sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < N; i++) integers[i] = eights[i] = columns[i] = (int32_t)random_bits();
        for (int times = 0; times < 40; times++) {
            sort_columns(N, columns);
            sort_eights(N, eights);
            for (int i = 0; i < N; i++) columns[i] ^= i * 77777, eights[i] ^= i * 55555;
        }
        bitonic(N / 4, integers);
        sum = sum * 3 + (checksum(columns, sizeof columns) ^ checksum(eights, sizeof eights) ^ checksum(integers, sizeof integers));
    }
    printf("%016llx\n", (unsigned long long)sum);
}
