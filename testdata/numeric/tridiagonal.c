/*
 * Systems with three and five diagonals: Thomas's algorithm for one system and
 * for eight side by side, a periodic system, cubic splines.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "kernel.h"

enum { N = 500, LANES = 8, ROUNDS = 420 };

__attribute__((noinline)) void thomas(int n, const double *restrict lower, const double *restrict diagonal,
                                      const double *restrict upper, double *restrict x, double *restrict work) {
    work[0] = upper[0] / diagonal[0];
    x[0] /= diagonal[0];
    for (int i = 1; i < n; i++) {
        double factor = 1 / (diagonal[i] - lower[i] * work[i - 1]);
        work[i] = upper[i] * factor;
        x[i] = (x[i] - lower[i] * x[i - 1]) * factor;
    }
    for (int i = n - 2; i >= 0; i--) x[i] -= work[i] * x[i + 1];
}

/* Of each array, the i-th elements of all systems are side by side. */
__attribute__((noinline)) void thomas_lanes(int n, const float (*restrict lower)[LANES], const float (*restrict diagonal)[LANES],
                                            const float (*restrict upper)[LANES], float (*restrict x)[LANES],
                                            float (*restrict work)[LANES]) {
    for (int l = 0; l < LANES; l++) work[0][l] = upper[0][l] / diagonal[0][l], x[0][l] /= diagonal[0][l];
    for (int i = 1; i < n; i++)
        for (int l = 0; l < LANES; l++) {
            float factor = 1 / (diagonal[i][l] - lower[i][l] * work[i - 1][l]);
            work[i][l] = upper[i][l] * factor;
            x[i][l] = (x[i][l] - lower[i][l] * x[i - 1][l]) * factor;
        }
    for (int i = n - 2; i >= 0; i--)
        for (int l = 0; l < LANES; l++) x[i][l] -= work[i][l] * x[i + 1][l];
}

/* Five diagonals e c d a b, elimination without exchanges. */
__attribute__((noinline)) void five_diagonals(int n, const double *restrict e, const double *restrict c, const double *restrict d,
                                              const double *restrict a, const double *restrict b, double *restrict x,
                                              double (*restrict work)[2]) {
    double a1 = 0, a2 = 0, b1 = 0, b2 = 0, x1 = 0, x2 = 0;
    for (int i = 0; i < n; i++) {
        double g = c[i] - e[i] * a2, scale = 1 / (d[i] - e[i] * b2 - g * a1);
        double ai = (a[i] - g * b1) * scale, bi = b[i] * scale, xi = (x[i] - e[i] * x2 - g * x1) * scale;
        work[i][0] = ai, work[i][1] = bi, x[i] = xi;
        a2 = a1, b2 = b1, x2 = x1;
        a1 = ai, b1 = bi, x1 = xi;
    }
    x1 = x2 = 0;
    for (int i = n - 1; i >= 0; i--) {
        double xi = x[i] - work[i][0] * x1 - work[i][1] * x2;
        x[i] = xi, x2 = x1, x1 = xi;
    }
}

/* The sum of a spline's values at the middle of each interval, from second derivatives. */
__attribute__((noinline)) double spline_middles(int n, const double *restrict y, const double *restrict second, double *restrict out) {
    double sum = 0;
    for (int i = 0; i + 1 < n; i++) {
        out[i] = 0.5 * (y[i] + y[i + 1]) - 0.0625 * (second[i] + second[i + 1]);
        sum += out[i];
    }
    return sum;
}

static double lower[N], diagonal[N], upper[N], e[N], b[N], x[N], z[N], work[N], middles[N], wide_work[N][2];
static float flower[N][LANES], fdiagonal[N][LANES], fupper[N][LANES], fx[N][LANES], fwork[N][LANES];

int main(void) {
    double sum = 0;
    for (int i = 0; i < N; i++) {
        lower[i] = random_unit(), upper[i] = random_unit(), diagonal[i] = 4 + random_unit();
        e[i] = random_unit() / 2, b[i] = random_unit() / 2, x[i] = z[i] = random_unit();
        for (int l = 0; l < LANES; l++)
            flower[i][l] = (float)random_unit(), fupper[i][l] = (float)random_unit(), fdiagonal[i][l] = 3, fx[i][l] = (float)x[i];
    }
    for (int round = 0; round < ROUNDS; round++) {
        thomas(N, lower, diagonal, upper, x, work);
        five_diagonals(N, e, lower, diagonal, upper, b, z, wide_work);
        thomas_lanes(N, flower, fdiagonal, fupper, fx, fwork);
        sum += spline_middles(N, x, z, middles);
        for (int i = 0; i < N; i++) {
            x[i] += 1 + middles[i] / 2, z[i] += 2;
            for (int l = 0; l < LANES; l++) fx[i][l] += (float)(l + i % 3);
        }
    }
    printf("%016llx %016llx %a\n", (unsigned long long)checksum(x, sizeof x) ^ checksum(z, sizeof z),
           (unsigned long long)checksum(fx, sizeof fx), sum);
}
