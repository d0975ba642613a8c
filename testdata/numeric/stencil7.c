/*
 * Seven-point stencils in three dimensions: heat that flows with a coefficient
 * of its own in each direction, a wave of fourth order, and the curl of a field.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "kernel.h"

enum { N = 36, STEPS = 26 };

__attribute__((noinline)) void heat(int nx, int ny, int nz, const double *restrict from, double *restrict to, const double *restrict c) {
    for (int z = 1; z < nz - 1; z++)
        for (int y = 1; y < ny - 1; y++)
            for (int x = 1; x < nx - 1; x++) {
                int at = (z * ny + y) * nx + x;
                to[at] = c[0] * from[at] + c[1] * from[at - 1] + c[2] * from[at + 1] + c[3] * from[at - nx] + c[4] * from[at + nx] +
                         c[5] * from[at - nx * ny] + c[6] * from[at + nx * ny];
            }
}

/* In time of second order, in space of fourth; what is old becomes new. */
__attribute__((noinline)) void wave(int n, float *restrict old, const float *restrict now, const float *restrict speed) {
    int nn = n * n;
    for (int z = 2; z < n - 2; z++)
        for (int y = 2; y < n - 2; y++)
            for (int x = 2; x < n - 2; x++) {
                const float *p = now + z * nn + y * n + x;
                float far = p[-2] + p[2] + p[-2 * n] + p[2 * n] + p[-2 * nn] + p[2 * nn];
                float near = p[-1] + p[1] + p[-n] + p[n] + p[-nn] + p[nn];
                float *o = old + z * nn + y * n + x;
                *o = 2 * *p - *o + speed[z * nn + y * n + x] * (1.3333333f * near - 0.083333336f * far - 7.5f * *p);
            }
}

__attribute__((noinline)) void curl(int n, const float *restrict fx, const float *restrict fy, const float *restrict fz,
                                    float *restrict gx, float *restrict gy, float *restrict gz, float scale) {
    for (int z = 1; z < n - 1; z++)
        for (int y = 1; y < n - 1; y++)
            for (int x = 1; x < n - 1; x++) {
                int at = (z * n + y) * n + x;
                gx[at] += scale * ((fz[at + n] - fz[at - n]) - (fy[at + n * n] - fy[at - n * n]));
                gy[at] += scale * ((fx[at + n * n] - fx[at - n * n]) - (fz[at + 1] - fz[at - 1]));
                gz[at] += scale * ((fy[at + 1] - fy[at - 1]) - (fx[at + n] - fx[at - n]));
            }
}

static double temperature[2][N * N * N];
static float height[2][N * N * N], speed[N * N * N], field[6][N * N * N];

int main(void) {
    static const double coefficients[7] = {0.4, 0.11, 0.09, 0.12, 0.08, 0.13, 0.07};
    for (int i = 0; i < N * N * N; i++) {
        temperature[0][i] = temperature[1][i] = random_unit();
        height[0][i] = height[1][i] = (float)random_unit(), speed[i] = 0.05f + 0.1f * (float)random_unit();
        for (int k = 0; k < 6; k++) field[k][i] = (float)random_unit();
    }
    for (int step = 0; step < STEPS; step++) {
        heat(N, N, N, temperature[step % 2], temperature[1 - step % 2], coefficients);
        wave(N, height[step % 2], height[1 - step % 2], speed);
        curl(N, field[0], field[1], field[2], field[3], field[4], field[5], 0.1f);
        curl(N, field[3], field[4], field[5], field[0], field[1], field[2], -0.1f);
    }
    printf("%016llx %016llx %016llx\n", (unsigned long long)checksum(temperature, sizeof temperature),
           (unsigned long long)checksum(height, sizeof height), (unsigned long long)checksum(field, sizeof field));
}
