/*
 * Bodies that attract each other: accelerations of many bodies in separate
 * arrays, and the pairs of a few bodies in an array of structures.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "kernel.h"

enum { N = 400, STEPS = 30, PLANETS = 5, YEARS = 40000 };

typedef struct {
    double x, y, z, vx, vy, vz, mass;
} Body;

__attribute__((noinline)) void accelerate(int n, const float *restrict x, const float *restrict y, const float *restrict z,
                                          const float *restrict mass, float *restrict ax, float *restrict ay,
                                          float *restrict az) {
#pragma clang fp reassociate(on)
    for (int i = 0; i < n; i++) {
        float sx = 0, sy = 0, sz = 0, xi = x[i], yi = y[i], zi = z[i];
        for (int j = 0; j < n; j++) {
            float dx = x[j] - xi, dy = y[j] - yi, dz = z[j] - zi;
            float square = dx * dx + dy * dy + dz * dz + 0.01f;
            float force = mass[j] / (square * __builtin_elementwise_sqrt(square));
            sx += force * dx, sy += force * dy, sz += force * dz;
        }
        ax[i] = sx, ay[i] = sy, az[i] = sz;
    }
}

__attribute__((noinline)) void drift(int n, float *restrict x, float *restrict v, const float *restrict a, float dt) {
    for (int i = 0; i < n; i++) v[i] += dt * a[i], x[i] += dt * v[i];
}

__attribute__((noinline)) void advance(int n, Body *bodies, double dt) {
    for (int i = 0; i < n; i++) {
        Body *a = &bodies[i];
        for (int j = i + 1; j < n; j++) {
            Body *b = &bodies[j];
            double dx = a->x - b->x, dy = a->y - b->y, dz = a->z - b->z;
            double square = dx * dx + dy * dy + dz * dz;
            double force = dt / (square * sqrt(square));
            a->vx -= dx * b->mass * force, a->vy -= dy * b->mass * force, a->vz -= dz * b->mass * force;
            b->vx += dx * a->mass * force, b->vy += dy * a->mass * force, b->vz += dz * a->mass * force;
        }
    }
    for (int i = 0; i < n; i++) {
        Body *a = &bodies[i];
        a->x += dt * a->vx, a->y += dt * a->vy, a->z += dt * a->vz;
    }
}

__attribute__((noinline)) double energy(int n, const Body *bodies) {
    double sum = 0;
    for (int i = 0; i < n; i++) {
        const Body *a = &bodies[i];
        sum += a->mass * (a->vx * a->vx + a->vy * a->vy + a->vz * a->vz) / 2;
        for (int j = i + 1; j < n; j++) {
            double dx = a->x - bodies[j].x, dy = a->y - bodies[j].y, dz = a->z - bodies[j].z;
            sum -= a->mass * bodies[j].mass / sqrt(dx * dx + dy * dy + dz * dz);
        }
    }
    return sum;
}

static float position[3][N], velocity[3][N], acceleration[3][N], mass[N];

int main(void) {
    Body bodies[PLANETS];
    double energies[4];
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < 3; k++) position[k][i] = (float)random_unit();
        mass[i] = (float)random_unit() / N;
    }
    for (int step = 0; step < STEPS; step++) {
        accelerate(N, position[0], position[1], position[2], mass, acceleration[0], acceleration[1], acceleration[2]);
        for (int k = 0; k < 3; k++) drift(N, position[k], velocity[k], acceleration[k], 0.01f);
    }
    for (int i = 0; i < PLANETS; i++)
        bodies[i] = (Body){10 * i, 3 * i, i, 0.1 * random_unit(), 0.2 * random_unit(), random_unit(), i == 0 ? 40 : 0.1};
    for (int quarter = 0; quarter < 4; quarter++) {
        for (int year = 0; year < YEARS / 4; year++) advance(PLANETS, bodies, 0.01);
        energies[quarter] = energy(PLANETS, bodies);
    }
    printf("%016llx %016llx %016llx\n", (unsigned long long)checksum(position, sizeof position),
           (unsigned long long)checksum(bodies, sizeof bodies), (unsigned long long)checksum(energies, sizeof energies));
}
