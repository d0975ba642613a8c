/*
 * Complex arithmetic as C has it, with its care for infinities: a matrix times
 * a vector, the roots of a polynomial by Durand and Kerner, and a product of
 * 2 x 2 matrices along a line of layers.
 */
#include <complex.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "kernel.h"

enum { N = 64, ROUNDS = 90, DEGREE = 12, LAYERS = 400 };

__attribute__((noinline)) void multiply(int n, const double complex *restrict matrix, const double complex *restrict x,
                                        double complex *restrict y) {
    for (int i = 0; i < n; i++) {
        double complex sum = 0;
        for (int j = 0; j < n; j++) sum += matrix[i * n + j] * x[j];
        y[i] = sum;
    }
}

__attribute__((noinline)) void improve_roots(int degree, const double complex *coefficients, double complex *roots) {
    for (int i = 0; i < degree; i++) {
        double complex value = 1, product = 1;
        for (int k = degree - 1; k >= 0; k--) value = value * roots[i] + coefficients[k];
        for (int j = 0; j < degree; j++)
            if (j != i) product *= roots[i] - roots[j];
        roots[i] -= value / product;
    }
}

/* result = m[0] m[1] ... m[n - 1], each scaled, of floats. */
__attribute__((noinline)) void chain(int n, const float complex (*restrict m)[4], float complex result[4]) {
    float complex a = 1, b = 0, c = 0, d = 1;
    for (int i = 0; i < n; i++) {
        float complex p = a * m[i][0] + b * m[i][2], q = a * m[i][1] + b * m[i][3];
        float complex r = c * m[i][0] + d * m[i][2], s = c * m[i][1] + d * m[i][3];
        a = p, b = q, c = r, d = s;
    }
    result[0] = a, result[1] = b, result[2] = c, result[3] = d;
}

static double complex matrix[N * N], x[N], y[N];
static float complex layers[LAYERS][4];

int main(void) {
    double complex coefficients[DEGREE], roots[DEGREE];
    float complex result[4];
    uint64_t sum = 0;
    for (int i = 0; i < N * N; i++) matrix[i] = (random_unit() - 0.5 + I * (random_unit() - 0.5)) / 4;
    for (int i = 0; i < N; i++) x[i] = random_unit() + I * random_unit();
    for (int i = 0; i < LAYERS; i++)
        for (int k = 0; k < 4; k++) layers[i][k] = (float)random_unit() - 0.5f + I * ((float)random_unit() - 0.5f);
    for (int k = 0; k < DEGREE; k++) coefficients[k] = random_unit() + I * random_unit();
    for (int round = 0; round < ROUNDS; round++) {
        multiply(N, matrix, x, y);
        multiply(N, matrix, y, x);
        for (int i = 0; i < N; i++) x[i] += 0.1 * i;
        for (int k = 0; k < DEGREE; k++) roots[k] = (0.4 + 0.01 * round + 0.9 * I) * (k + 1) / 4;
        for (int k = 0; k < 20; k++) improve_roots(DEGREE, coefficients, roots);
        for (int times = 0; times < 8; times++) {
            chain(LAYERS / 8, layers + LAYERS / 8 * times, result);
            layers[round][0] += 0.001f * result[1];
        }
        sum = sum * 3 + (checksum(x, sizeof x) ^ checksum(roots, sizeof roots) ^ checksum(result, sizeof result));
    }
    printf("%016llx\n", (unsigned long long)sum);
}
