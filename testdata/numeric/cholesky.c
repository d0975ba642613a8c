/*
 * Factorisations of square matrices and solutions with them: Cholesky by
 * blocks of two columns, LU with row exchanges.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "kernel.h"

enum { N = 80, ROUNDS = 36 };

/* a = L L'; L replaces the lower triangle. */
__attribute__((noinline)) int cholesky(int n, double *a) {
    for (int k = 0; k < n; k += 2) {
        double *p = a + k * n, *q = p + n;
        if (p[k] <= 0) return 0;
        double first = sqrt(p[k]), across = q[k] / first, rest = q[k + 1] - across * across;
        if (rest <= 0) return 0;
        double second = sqrt(rest);
        p[k] = first, q[k] = across, q[k + 1] = second;
        for (int i = k + 2; i < n; i++) {
            a[i * n + k] /= first;
            a[i * n + k + 1] = (a[i * n + k + 1] - a[i * n + k] * across) / second;
        }
        for (int i = k + 2; i < n; i++) {
            double x = a[i * n + k], y = a[i * n + k + 1];
            for (int j = k + 2; j <= i; j++) a[i * n + j] -= x * a[j * n + k] + y * a[j * n + k + 1];
        }
    }
    return 1;
}

__attribute__((noinline)) void solve_cholesky(int n, const double *restrict l, double *restrict x) {
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) x[i] -= l[i * n + j] * x[j];
        x[i] /= l[i * n + i];
    }
    for (int i = n - 1; i >= 0; i--) {
        x[i] /= l[i * n + i];
        for (int j = 0; j < i; j++) x[j] -= l[i * n + j] * x[i];
    }
}

/* a = P L U in place; pivots[k] is the row that was exchanged with row k. */
__attribute__((noinline)) int lu(int n, double *a, int *pivots) {
    for (int k = 0; k < n; k++) {
        int pivot = k;
        for (int i = k + 1; i < n; i++)
            if (fabs(a[i * n + k]) > fabs(a[pivot * n + k])) pivot = i;
        pivots[k] = pivot;
        if (a[pivot * n + k] == 0) return 0;
        if (pivot != k)
            for (int j = 0; j < n; j++) {
                double moved = a[k * n + j];
                a[k * n + j] = a[pivot * n + j], a[pivot * n + j] = moved;
            }
        for (int i = k + 1; i < n; i++) {
            double factor = a[i * n + k] /= a[k * n + k];
            for (int j = k + 1; j < n; j++) a[i * n + j] -= factor * a[k * n + j];
        }
    }
    return 1;
}

__attribute__((noinline)) void solve_lu(int n, const double *restrict a, const int *restrict pivots, double *restrict x) {
    for (int k = 0; k < n; k++) {
        double moved = x[k];
        x[k] = x[pivots[k]], x[pivots[k]] = moved;
        for (int i = k + 1; i < n; i++) x[i] -= a[i * n + k] * x[k];
    }
    for (int k = n - 1; k >= 0; k--) {
        x[k] /= a[k * n + k];
        for (int i = 0; i < k; i++) x[i] -= a[i * n + k] * x[k];
    }
}

static double matrix[N * N], general[N * N], x[N], y[N];
static int pivots[N];

int main(void) {
    int regular = 0;
    for (int i = 0; i < N; i++) x[i] = random_unit(), y[i] = random_unit();
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < N; i++)
            for (int j = 0; j <= i; j++) matrix[i * N + j] = matrix[j * N + i] = i == j ? N : random_unit();
        for (int i = 0; i < N * N; i++) general[i] = random_unit() - 0.5;
        regular += cholesky(N, matrix);
        solve_cholesky(N, matrix, x);
        regular += lu(N, general, pivots);
        solve_lu(N, general, pivots, y);
        for (int i = 0; i < N; i++) x[i] += y[i] / 100, y[i] = random_unit() + x[i];
    }
    printf("%016llx %016llx %d\n", (unsigned long long)checksum(x, sizeof x), (unsigned long long)checksum(general, sizeof general), regular);
}
