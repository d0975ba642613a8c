/*
 * Dense matrix products, C += A * B: a packed micro-kernel that keeps 4 x 12
 * accumulators in registers, a plain triple loop of floats, and a 4 x 4 block
 * of scalars.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "kernel.h"

enum { N = 96, ROUNDS = 24 };

typedef double v4 __attribute__((vector_size(32), aligned(8)));

/* c[4][12] += a * b, where a is packed by columns of 4, and b by rows of 12. */
__attribute__((noinline)) void micro_kernel(int depth, const double *restrict a, const double *restrict b,
                                            double *restrict c, int stride) {
    v4 sum[4][3];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 3; j++) sum[i][j] = *(v4 *)(c + i * stride + 4 * j);
    for (int k = 0; k < depth; k++, a += 4, b += 12)
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 3; j++) sum[i][j] += a[i] * *(v4 *)(b + 4 * j);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 3; j++) *(v4 *)(c + i * stride + 4 * j) = sum[i][j];
}

__attribute__((noinline)) void pack(const double *restrict from, double *restrict to, int rows, int columns,
                                    int row_stride, int column_stride) {
    for (int k = 0; k < columns; k++)
        for (int i = 0; i < rows; i++) *to++ = from[i * row_stride + k * column_stride];
}

__attribute__((noinline)) void packed_product(int n, const double *a, const double *b, double *c) {
    static double packed_a[N * N], packed_b[12 * N];
    for (int i = 0; i < n; i += 4) pack(a + i * n, packed_a + i * n, 4, n, n, 1);
    for (int j = 0; j < n; j += 12) {
        pack(b + j, packed_b, 12, n, 1, n);
        for (int i = 0; i < n; i += 4) micro_kernel(n, packed_a + i * n, packed_b, c + i * n + j, n);
    }
}

__attribute__((noinline)) void plain_product(int n, const float *restrict a, const float *restrict b, float *restrict c) {
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++) c[i * n + j] += a[i * n + k] * b[k * n + j];
}

/* c[4][4] of scalars, as it is written where nothing is known of vectors. */
__attribute__((noinline)) void scalar_block(int n, const double *restrict a, const double *restrict b, double *restrict c) {
    double c00 = 0, c01 = 0, c02 = 0, c10 = 0, c11 = 0, c12 = 0, c20 = 0, c21 = 0, c22 = 0;
    double c03 = 0, c13 = 0, c23 = 0, c30 = 0, c31 = 0, c32 = 0, c33 = 0;
    for (int k = 0; k < n; k++) {
        const double *row = b + k * n;
        double a0 = a[k], a1 = a[n + k], a2 = a[2 * n + k], a3 = a[3 * n + k];
        c00 += a0 * row[0], c01 += a0 * row[1], c02 += a0 * row[2], c03 += a0 * row[3];
        c10 += a1 * row[0], c11 += a1 * row[1], c12 += a1 * row[2], c13 += a1 * row[3];
        c20 += a2 * row[0], c21 += a2 * row[1], c22 += a2 * row[2], c23 += a2 * row[3];
        c30 += a3 * row[0], c31 += a3 * row[1], c32 += a3 * row[2], c33 += a3 * row[3];
    }
    c[0] += c00, c[1] += c01, c[2] += c02, c[3] += c03;
    c += n, c[0] += c10, c[1] += c11, c[2] += c12, c[3] += c13;
    c += n, c[0] += c20, c[1] += c21, c[2] += c22, c[3] += c23;
    c += n, c[0] += c30, c[1] += c31, c[2] += c32, c[3] += c33;
}

__attribute__((noinline)) void scalar_product(int n, const double *a, const double *b, double *c) {
    for (int i = 0; i < n; i += 4)
        for (int j = 0; j < n; j += 4) scalar_block(n, a + i * n, b + j, c + i * n + j);
}

static double a[N * N], b[N * N], c[N * N];
static float fa[N * N], fb[N * N], fc[N * N];

int main(void) {
    for (int i = 0; i < N * N; i++) {
        a[i] = random_unit(), b[i] = random_unit() - 0.5;
        fa[i] = (float)a[i], fb[i] = (float)b[i];
    }
    for (int round = 0; round < ROUNDS; round++) {
        packed_product(N, a, b, c);
        plain_product(N, fa, fb, fc);
        if (round % 4 == 0) scalar_product(N, a, b, c);
    }
    printf("%016llx %016llx\n", (unsigned long long)checksum(c, sizeof c), (unsigned long long)checksum(fc, sizeof fc));
}
