/*
 * Orthogonal transformations: QR by Householder's reflections with least
 * squares, and eigenvalues of small symmetric matrices by Jacobi's rotations.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "kernel.h"

enum { ROWS = 96, COLUMNS = 40, SMALL = 10, ROUNDS = 80 };

/* a is stored by columns. R replaces its upper triangle; the reflections are below, factors[k] times each. */
__attribute__((noinline)) void householder(int rows, int columns, double *a, double *factors) {
#pragma clang fp reassociate(on)
    for (int k = 0; k < columns; k++) {
        double *v = a + k * rows, square = 0;
        for (int i = k; i < rows; i++) square += v[i] * v[i];
        double size = v[k] > 0 ? -sqrt(square) : sqrt(square), head = v[k] - size;
        factors[k] = -head / size;
        for (int i = k + 1; i < rows; i++) v[i] /= head;
        v[k] = size;
        for (int j = k + 1; j < columns; j++) {
            double *w = a + j * rows, product = w[k];
            for (int i = k + 1; i < rows; i++) product += v[i] * w[i];
            product *= factors[k];
            w[k] -= product;
            for (int i = k + 1; i < rows; i++) w[i] -= product * v[i];
        }
    }
}

__attribute__((noinline)) void least_squares(int rows, int columns, const double *restrict a, const double *restrict factors,
                                             double *restrict b) {
    for (int k = 0; k < columns; k++) {
        const double *v = a + k * rows;
        double product = b[k];
        for (int i = k + 1; i < rows; i++) product += v[i] * b[i];
        product *= factors[k];
        b[k] -= product;
        for (int i = k + 1; i < rows; i++) b[i] -= product * v[i];
    }
    for (int k = columns - 1; k >= 0; k--) {
        b[k] /= a[k * rows + k];
        for (int i = 0; i < k; i++) b[i] -= a[k * rows + i] * b[k];
    }
}

/* One sweep over all pairs; the eigenvalues appear on the diagonal. */
__attribute__((noinline)) void jacobi_sweep(int n, double *a, double *vectors) {
    for (int p = 0; p < n; p++)
        for (int q = p + 1; q < n; q++) {
            double off = a[p * n + q];
            if (fabs(off) < 1e-14) continue;
            double theta = (a[q * n + q] - a[p * n + p]) / (2 * off);
            double t = 1 / (fabs(theta) + sqrt(theta * theta + 1)), c, s;
            if (theta < 0) t = -t;
            c = 1 / sqrt(t * t + 1), s = t * c;
            for (int k = 0; k < n; k++) {
                double kp = a[k * n + p], kq = a[k * n + q];
                a[k * n + p] = c * kp - s * kq, a[k * n + q] = s * kp + c * kq;
            }
            for (int k = 0; k < n; k++) {
                double pk = a[p * n + k], qk = a[q * n + k], vp = vectors[p * n + k], vq = vectors[q * n + k];
                a[p * n + k] = c * pk - s * qk, a[q * n + k] = s * pk + c * qk;
                vectors[p * n + k] = c * vp - s * vq, vectors[q * n + k] = s * vp + c * vq;
            }
        }
}

static double matrix[ROWS * COLUMNS], right[ROWS], factors[COLUMNS], small[SMALL * SMALL], vectors[SMALL * SMALL];

int main(void) {
    uint64_t sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < ROWS * COLUMNS; i++) matrix[i] = random_unit() - 0.5;
        for (int i = 0; i < ROWS; i++) right[i] = random_unit();
        householder(ROWS, COLUMNS, matrix, factors);
        least_squares(ROWS, COLUMNS, matrix, factors, right);
        for (int i = 0; i < SMALL; i++)
            for (int j = 0; j <= i; j++) {
                small[i * SMALL + j] = small[j * SMALL + i] = random_unit() + right[i];
                vectors[i * SMALL + j] = vectors[j * SMALL + i] = i == j;
            }
        for (int sweep = 0; sweep < 6; sweep++) jacobi_sweep(SMALL, small, vectors);
        sum = sum * 3 + (checksum(right, sizeof right) ^ checksum(vectors, sizeof vectors) ^ checksum(small, sizeof small));
    }
    printf("%016llx\n", (unsigned long long)sum);
}
