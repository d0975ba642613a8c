/*
 * A 27-point stencil in three dimensions, with a weight each for the centre,
 * faces, edges and corners: in floats, and in doubles with the sums of a column
 * reused from one point to the next.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "kernel.h"

enum { N = 40, STEPS = 12 };

__attribute__((noinline)) void smooth(int n, const float *restrict from, float *restrict to, const float *weights) {
    float centre = weights[0], face = weights[1], edge = weights[2], corner = weights[3];
    for (int z = 1; z < n - 1; z++)
        for (int y = 1; y < n - 1; y++) {
            const float *p = from + (z * n + y) * n;
            const float *n0 = p - n, *n1 = p + n, *d0 = p - n * n, *d1 = p + n * n;
            const float *d0n0 = d0 - n, *d0n1 = d0 + n, *d1n0 = d1 - n, *d1n1 = d1 + n;
            float *out = to + (z * n + y) * n;
            for (int x = 1; x < n - 1; x++)
                out[x] = centre * p[x] + face * (p[x - 1] + p[x + 1] + n0[x] + n1[x] + d0[x] + d1[x]) +
                         edge * (n0[x - 1] + n0[x + 1] + n1[x - 1] + n1[x + 1] + d0[x - 1] + d0[x + 1] + d1[x - 1] +
                                 d1[x + 1] + d0n0[x] + d0n1[x] + d1n0[x] + d1n1[x]) +
                         corner * (d0n0[x - 1] + d0n0[x + 1] + d0n1[x - 1] + d0n1[x + 1] + d1n0[x - 1] + d1n0[x + 1] +
                                   d1n1[x - 1] + d1n1[x + 1]);
        }
}

/* The sums of the columns on the left, in the middle and on the right move along. */
__attribute__((noinline)) void relax(int n, const double *restrict from, double *restrict to, const double *weights) {
    double centre = weights[0], face = weights[1], edge = weights[2], corner = weights[3];
    for (int z = 1; z < n - 1; z++)
        for (int y = 1; y < n - 1; y++) {
            const double *p = from + (z * n + y) * n;
            double *out = to + (z * n + y) * n;
            double left = 0, left_near = 0, left_far = 0, middle = 0, middle_near = 0, middle_far = 0;
            for (int x = 0; x < n; x++) {
                const double *q = p + x;
                double right = q[0], right_near = q[-n] + q[n] + q[-n * n] + q[n * n];
                double right_far = q[-n * n - n] + q[-n * n + n] + q[n * n - n] + q[n * n + n];
                if (x > 1)
                    out[x - 1] = centre * middle + face * (left + right + middle_near) +
                                 edge * (left_near + right_near + middle_far) + corner * (left_far + right_far);
                left = middle, left_near = middle_near, left_far = middle_far;
                middle = right, middle_near = right_near, middle_far = right_far;
            }
        }
}

static float f[2][N * N * N];
static double d[2][N * N * N];

int main(void) {
    static const float smoothing[] = {0.3f, 0.06f, 0.02f, 0.0125f};
    static const double relaxing[] = {-0.25, 0.11, 0.04, 0.01};
    for (int i = 0; i < N * N * N; i++) d[0][i] = d[1][i] = random_unit(), f[0][i] = f[1][i] = (float)d[0][i];
    for (int step = 0; step < STEPS; step++) {
        smooth(N, f[step % 2], f[1 - step % 2], smoothing);
        smooth(N, f[1 - step % 2], f[step % 2], smoothing);
        relax(N, d[step % 2], d[1 - step % 2], relaxing);
    }
    printf("%016llx %016llx\n", (unsigned long long)checksum(f[0], sizeof f[0]), (unsigned long long)checksum(d[0], sizeof d[0]));
}
