/*
 * Ordinary differential equations: three bodies in a plane by the classical
 * method of fourth order, Lorenz's equations by Dormand and Prince's pair with
 * steps of adapted size, a chain of springs by leapfrog.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "kernel.h"

enum { STEPS = 24000, SPRINGS = 200, SWINGS = 6000 };

/* Places of three bodies, then their velocities. */
typedef struct {
    double at[6], v[6];
} State;

static inline State slope(const State *s, const double *mass) {
    State d = {{0}, {0}};
    for (int i = 0; i < 6; i++) d.at[i] = s->v[i];
    for (int i = 0; i < 3; i++)
        for (int j = i + 1; j < 3; j++) {
            double x = s->at[2 * j] - s->at[2 * i], y = s->at[2 * j + 1] - s->at[2 * i + 1];
            double square = x * x + y * y + 0.01, cube = square * __builtin_elementwise_sqrt(square);
            d.v[2 * i] += mass[j] * x / cube, d.v[2 * i + 1] += mass[j] * y / cube;
            d.v[2 * j] -= mass[i] * x / cube, d.v[2 * j + 1] -= mass[i] * y / cube;
        }
    return d;
}

static inline State moved(const State *s, const State *d, double h) {
    State result;
    for (int i = 0; i < 6; i++) result.at[i] = s->at[i] + h * d->at[i], result.v[i] = s->v[i] + h * d->v[i];
    return result;
}

__attribute__((noinline)) void classical(State *s, const double *mass, double h) {
    State a = slope(s, mass), next = moved(s, &a, h / 2), b = slope(&next, mass);
    next = moved(s, &b, h / 2);
    State c = slope(&next, mass);
    next = moved(s, &c, h);
    State d = slope(&next, mass);
    for (int i = 0; i < 6; i++) {
        s->at[i] += h / 6 * (a.at[i] + 2 * b.at[i] + 2 * c.at[i] + d.at[i]);
        s->v[i] += h / 6 * (a.v[i] + 2 * b.v[i] + 2 * c.v[i] + d.v[i]);
    }
}

static inline void lorenz(const double *s, double *d) {
    d[0] = 10 * (s[1] - s[0]), d[1] = s[0] * (28 - s[2]) - s[1], d[2] = s[0] * s[1] - 2.6666666666666665 * s[2];
}

/* Until the end of time; returns the number of steps, tried or taken. */
__attribute__((noinline)) int dormand_prince(double *s, double end, double tolerance) {
    double t = 0, h = 0.01, k[7][3], next[3];
    int steps = 0;
    lorenz(s, k[0]);
    while (t < end) {
        steps++;
        for (int i = 0; i < 3; i++) next[i] = s[i] + h * (1.0 / 5 * k[0][i]);
        lorenz(next, k[1]);
        for (int i = 0; i < 3; i++) next[i] = s[i] + h * (3.0 / 40 * k[0][i] + 9.0 / 40 * k[1][i]);
        lorenz(next, k[2]);
        for (int i = 0; i < 3; i++) next[i] = s[i] + h * (44.0 / 45 * k[0][i] - 56.0 / 15 * k[1][i] + 32.0 / 9 * k[2][i]);
        lorenz(next, k[3]);
        for (int i = 0; i < 3; i++)
            next[i] = s[i] + h * (19372.0 / 6561 * k[0][i] - 25360.0 / 2187 * k[1][i] + 64448.0 / 6561 * k[2][i] - 212.0 / 729 * k[3][i]);
        lorenz(next, k[4]);
        for (int i = 0; i < 3; i++)
            next[i] = s[i] + h * (9017.0 / 3168 * k[0][i] - 355.0 / 33 * k[1][i] + 46732.0 / 5247 * k[2][i] + 49.0 / 176 * k[3][i] -
                                  5103.0 / 18656 * k[4][i]);
        lorenz(next, k[5]);
        for (int i = 0; i < 3; i++)
            next[i] = s[i] + h * (35.0 / 384 * k[0][i] + 500.0 / 1113 * k[2][i] + 125.0 / 192 * k[3][i] - 2187.0 / 6784 * k[4][i] +
                                  11.0 / 84 * k[5][i]);
        lorenz(next, k[6]);
        double error = 0;
        for (int i = 0; i < 3; i++)
            error += fabs(h * (71.0 / 57600 * k[0][i] - 71.0 / 16695 * k[2][i] + 71.0 / 1920 * k[3][i] - 17253.0 / 339200 * k[4][i] +
                               22.0 / 525 * k[5][i] - 1.0 / 40 * k[6][i]));
        if (error < tolerance) {
            t += h;
            for (int i = 0; i < 3; i++) s[i] = next[i], k[0][i] = k[6][i];
        }
        h *= error < tolerance / 32 ? 1.9 : error < tolerance / 2 ? 1.1 : error < tolerance ? 0.9 : 0.5;
    }
    return steps;
}

__attribute__((noinline)) void leapfrog(int n, float *restrict at, float *restrict v, float stiffness, float damping, float h) {
    for (int i = 1; i < n - 1; i++) {
        float left = at[i - 1] - at[i], right = at[i + 1] - at[i];
        v[i] = (v[i] + h * stiffness * (left + right + 0.2f * (left * left * left + right * right * right))) * damping;
    }
    for (int i = 1; i < n - 1; i++) at[i] += h * v[i];
}

static float at[SPRINGS], velocity[SPRINGS];

int main(void) {
    static const double mass[3] = {3, 2, 1};
    State bodies = {{1, 3, -2, -1, 1, -1}, {0.1, 0, 0, -0.2, 0, 0.3}};
    double weather[3] = {1, 1, 20};
    for (int step = 0; step < STEPS; step++) classical(&bodies, mass, 0.001);
    int steps = dormand_prince(weather, 300, 1e-6);
    for (int i = 1; i < SPRINGS - 1; i++) at[i] = (float)random_unit();
    for (int swing = 0; swing < SWINGS; swing++) leapfrog(SPRINGS, at, velocity, 4, 0.9999f, 0.05f);
    printf("%016llx %016llx %016llx %d\n", (unsigned long long)checksum(&bodies, sizeof bodies),
           (unsigned long long)checksum(weather, sizeof weather), (unsigned long long)checksum(at, sizeof at), steps);
}
