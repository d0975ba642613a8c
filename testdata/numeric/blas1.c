/*
 * BLAS level 1 on vectors that fit the cache: axpy, dot, scaled norm, plane
 * rotation, sum of absolute values, largest element, in doubles and floats.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "kernel.h"

enum { N = 1003, ROUNDS = 1500 };

__attribute__((noinline)) void daxpy(int n, double alpha, const double *restrict x, double *restrict y) {
    for (int i = 0; i < n; i++) y[i] += alpha * x[i];
}

/* Five sums, as the reference implementation unrolls it. */
__attribute__((noinline)) double ddot(int n, const double *restrict x, const double *restrict y) {
    double sum = 0;
    int odd = n % 5;
    for (int i = 0; i < odd; i++) sum += x[i] * y[i];
    for (int i = odd; i < n; i += 5)
        sum += x[i] * y[i] + x[i + 1] * y[i + 1] + x[i + 2] * y[i + 2] + x[i + 3] * y[i + 3] + x[i + 4] * y[i + 4];
    return sum;
}

__attribute__((noinline)) float sdot(int n, const float *restrict x, const float *restrict y) {
#pragma clang fp reassociate(on)
    float sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

__attribute__((noinline)) double dnrm2(int n, const double *x) {
    double scale = 0, sum = 1;
    for (int i = 0; i < n; i++)
        if (x[i] != 0) {
            double size = fabs(x[i]);
            if (scale < size) {
                sum = 1 + sum * (scale / size) * (scale / size);
                scale = size;
            } else
                sum += (size / scale) * (size / scale);
        }
    return scale * sqrt(sum);
}

__attribute__((noinline)) void drot(int n, double *restrict x, double *restrict y, double c, double s) {
    for (int i = 0; i < n; i++) {
        double old = x[i];
        x[i] = c * old + s * y[i];
        y[i] = c * y[i] - s * old;
    }
}

__attribute__((noinline)) double dasum(int n, const double *x, int stride) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += fabs(x[i * stride]);
    return sum;
}

__attribute__((noinline)) int idamax(int n, const double *x) {
    int at = 0;
    double largest = fabs(x[0]);
    for (int i = 1; i < n; i++)
        if (fabs(x[i]) > largest) largest = fabs(x[i]), at = i;
    return at;
}

static double x[N], y[N];
static float fx[N], fy[N];

int main(void) {
    double results[6] = {0};
    for (int i = 0; i < N; i++) x[i] = random_unit() - 0.5, y[i] = random_unit(), fx[i] = (float)x[i], fy[i] = (float)y[i];
    for (int round = 0; round < ROUNDS; round++) {
        daxpy(N, 0.001, x, y);
        results[0] += ddot(N, x, y);
        results[1] += sdot(N - round % 8, fx, fy);
        results[2] += dnrm2(N, x);
        drot(N, x, y, 0.8, 0.6);
        results[3] += dasum(N / 2, y, 2);
        results[4] += idamax(N, x);
        x[round % N] += 0.25;
    }
    printf("%016llx %016llx\n", (unsigned long long)checksum(x, sizeof x), (unsigned long long)checksum(results, sizeof results));
}
