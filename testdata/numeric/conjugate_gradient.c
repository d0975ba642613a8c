/*
 * Sparse linear systems: conjugate gradients with rows compressed, and sweeps
 * of Gauss and Seidel, forwards and backwards, on the same matrix.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "kernel.h"

enum { SIDE = 40, N = SIDE * SIDE, ENTRIES = 5 * N, STEPS = 120, RELAXATIONS = 80 };

typedef struct {
    int n;
    int starts[N + 1], columns[ENTRIES];
    double values[ENTRIES];
} Matrix;

/* Returns x . (A x). */
__attribute__((noinline)) double multiply(const Matrix *a, const double *restrict x, double *restrict y) {
    double product = 0;
    for (int i = 0; i < a->n; i++) {
        double sum = 0;
        for (int k = a->starts[i]; k < a->starts[i + 1]; k++) sum += a->values[k] * x[a->columns[k]];
        y[i] = sum;
        product += sum * x[i];
    }
    return product;
}

/* One step: moves x along p, and returns the square of the residual. */
__attribute__((noinline)) double move(int n, double alpha, double *restrict x, double *restrict r, const double *restrict p,
                                      const double *restrict ap) {
#pragma clang fp reassociate(on)
    double square = 0;
    for (int i = 0; i < n; i++) {
        x[i] += alpha * p[i];
        r[i] -= alpha * ap[i];
        square += r[i] * r[i];
    }
    return square;
}

__attribute__((noinline)) void turn(int n, double beta, double *restrict p, const double *restrict r) {
    for (int i = 0; i < n; i++) p[i] = r[i] + beta * p[i];
}

__attribute__((noinline)) void gauss_seidel(const Matrix *a, const double *restrict b, double *restrict x, int first, int last, int step) {
    for (int i = first; i != last; i += step) {
        double sum = b[i], diagonal = 1;
        for (int k = a->starts[i]; k < a->starts[i + 1]; k++) {
            int j = a->columns[k];
            if (j == i)
                diagonal = a->values[k];
            else
                sum -= a->values[k] * x[j];
        }
        x[i] = sum / diagonal;
    }
}

static Matrix matrix;
static double x[N], r[N], p[N], ap[N], b[N];

static void set(int *entry, int column, double value) {
    matrix.columns[*entry] = column;
    matrix.values[(*entry)++] = value;
}

int main(void) {
    int entry = 0;
    matrix.n = N;
    for (int i = 0; i < N; i++) {
        matrix.starts[i] = entry;
        if (i >= SIDE) set(&entry, i - SIDE, -1);
        if (i % SIDE > 0) set(&entry, i - 1, -1);
        set(&entry, i, 4.05);
        if (i % SIDE < SIDE - 1) set(&entry, i + 1, -1);
        if (i < N - SIDE) set(&entry, i + SIDE, -1);
        b[i] = random_unit();
    }
    matrix.starts[N] = entry;
    memcpy(r, b, sizeof b);
    memcpy(p, b, sizeof b);
    double square = 0;
    for (int i = 0; i < N; i++) square += r[i] * r[i];
    for (int step = 0; step < STEPS; step++) {
        double next = move(N, square / multiply(&matrix, p, ap), x, r, p, ap);
        turn(N, next / square, p, r);
        square = next;
    }
    for (int times = 0; times < RELAXATIONS; times++) {
        gauss_seidel(&matrix, b, ap, 0, N, 1);
        gauss_seidel(&matrix, b, ap, N - 1, -1, -1);
    }
    printf("%016llx %016llx\n", (unsigned long long)checksum(x, sizeof x), (unsigned long long)checksum(ap, sizeof ap));
}
