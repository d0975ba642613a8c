/*
 * BLAS level 2: a matrix times a vector by four rows and by four columns, a
 * rank-2 update, a symmetric product of one triangle, a triangular solution.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "kernel.h"

enum { N = 150, ROUNDS = 220 };

/* y += alpha A x */
__attribute__((noinline)) void by_rows(int n, double alpha, const double *restrict a, const double *restrict x, double *restrict y) {
    int i = 0;
    for (; i + 4 <= n; i += 4) {
        const double *a0 = a + i * n, *a1 = a0 + n, *a2 = a1 + n, *a3 = a2 + n;
        double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
        for (int j = 0; j < n; j++) s0 += a0[j] * x[j], s1 += a1[j] * x[j], s2 += a2[j] * x[j], s3 += a3[j] * x[j];
        y[i] += alpha * s0, y[i + 1] += alpha * s1, y[i + 2] += alpha * s2, y[i + 3] += alpha * s3;
    }
    for (; i < n; i++)
        for (int j = 0; j < n; j++) y[i] += alpha * a[i * n + j] * x[j];
}

/* y += alpha A' x */
__attribute__((noinline)) void by_columns(int n, double alpha, const double *restrict a, const double *restrict x, double *restrict y) {
    int i = 0;
    for (; i + 4 <= n; i += 4) {
        const double *a0 = a + i * n, *a1 = a0 + n, *a2 = a1 + n, *a3 = a2 + n;
        double x0 = alpha * x[i], x1 = alpha * x[i + 1], x2 = alpha * x[i + 2], x3 = alpha * x[i + 3];
        for (int j = 0; j < n; j++) y[j] += x0 * a0[j] + x1 * a1[j] + x2 * a2[j] + x3 * a3[j];
    }
    for (; i < n; i++)
        for (int j = 0; j < n; j++) y[j] += alpha * x[i] * a[i * n + j];
}

/* A += alpha (x y' + y x') */
__attribute__((noinline)) void rank_two(int n, double alpha, const double *restrict x, const double *restrict y, double *restrict a) {
    for (int i = 0; i < n; i++) {
        double xi = alpha * x[i], yi = alpha * y[i];
        for (int j = 0; j < n; j++) a[i * n + j] += xi * y[j] + yi * x[j];
    }
}

/* y = A x, where only the lower triangle of A is read. */
__attribute__((noinline)) void symmetric(int n, const float *restrict a, const float *restrict x, float *restrict y) {
#pragma clang fp reassociate(on)
    for (int i = 0; i < n; i++) {
        float sum = a[i * n + i] * x[i], xi = x[i];
        for (int j = 0; j < i; j++) {
            sum += a[i * n + j] * x[j];
            y[j] += a[i * n + j] * xi;
        }
        y[i] = sum;
    }
}

/* x = L^-1 x, with ones on the diagonal. */
__attribute__((noinline)) void solve_lower(int n, const double *restrict l, double *restrict x) {
    for (int i = 0; i < n; i++) {
        double sum = x[i];
        for (int j = 0; j < i; j++) sum -= l[i * n + j] * x[j];
        x[i] = sum;
    }
}

static double a[N * N], x[N], y[N], z[N];
static float fa[N * N], fx[N], fy[N];

int main(void) {
    for (int i = 0; i < N * N; i++) a[i] = (random_unit() - 0.5) / N, fa[i] = (float)a[i];
    for (int i = 0; i < N; i++) x[i] = random_unit(), fx[i] = (float)x[i];
    for (int round = 0; round < ROUNDS; round++) {
        memcpy(y, x, sizeof y);
        by_rows(N, 0.5, a, x, y);
        memcpy(z, y, sizeof z);
        by_columns(N, -0.25, a, y, z);
        rank_two(N, 1e-6, x, z, a);
        solve_lower(N, a, z);
        symmetric(N, fa, fx, fy);
        for (int i = 0; i < N; i++) x[i] = 0.9 * x[i] + 0.01 * z[i], fx[i] = 0.5f * fx[i] + 0.25f * fy[i] + 0.1f;
    }
    printf("%016llx %016llx\n", (unsigned long long)checksum(a, sizeof a), (unsigned long long)checksum(fx, sizeof fx));
}
