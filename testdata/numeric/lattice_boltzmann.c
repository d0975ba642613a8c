/*
 * A fluid in two dimensions by the lattice Boltzmann method with nine
 * velocities: collision and streaming in one loop, obstacles bounce back.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "kernel.h"

enum { W = 96, H = 48, STEPS = 220 };

/* Of each velocity, the densities of all places are a plane of their own. */
__attribute__((noinline)) void stream(int w, int h, const float *restrict from, float *restrict to, const uint8_t *restrict solid, float rate) {
    int n = w * h;
    for (int y = 1; y < h - 1; y++)
        for (int x = 1; x < w - 1; x++) {
            int at = y * w + x;
            float f0 = from[at], f1 = from[n + at - 1], f2 = from[2 * n + at - w], f3 = from[3 * n + at + 1];
            float f4 = from[4 * n + at + w], f5 = from[5 * n + at - 1 - w], f6 = from[6 * n + at + 1 - w];
            float f7 = from[7 * n + at + 1 + w], f8 = from[8 * n + at - 1 + w];
            if (solid[at]) {
                to[at] = f0, to[n + at] = f3, to[2 * n + at] = f4, to[3 * n + at] = f1, to[4 * n + at] = f2;
                to[5 * n + at] = f7, to[6 * n + at] = f8, to[7 * n + at] = f5, to[8 * n + at] = f6;
                continue;
            }
            float density = f0 + f1 + f2 + f3 + f4 + f5 + f6 + f7 + f8;
            float u = (f1 + f5 + f8 - f3 - f6 - f7) / density, v = (f2 + f5 + f6 - f4 - f7 - f8) / density;
            float still = 1 - 1.5f * (u * u + v * v), sum = u + v, difference = u - v, part = density / 36;
            to[at] = f0 + rate * (16 * part * still - f0);
            to[n + at] = f1 + rate * (4 * part * (still + 3 * u + 4.5f * u * u) - f1);
            to[2 * n + at] = f2 + rate * (4 * part * (still + 3 * v + 4.5f * v * v) - f2);
            to[3 * n + at] = f3 + rate * (4 * part * (still - 3 * u + 4.5f * u * u) - f3);
            to[4 * n + at] = f4 + rate * (4 * part * (still - 3 * v + 4.5f * v * v) - f4);
            to[5 * n + at] = f5 + rate * (part * (still + 3 * sum + 4.5f * sum * sum) - f5);
            to[6 * n + at] = f6 + rate * (part * (still - 3 * difference + 4.5f * difference * difference) - f6);
            to[7 * n + at] = f7 + rate * (part * (still - 3 * sum + 4.5f * sum * sum) - f7);
            to[8 * n + at] = f8 + rate * (part * (still + 3 * difference + 4.5f * difference * difference) - f8);
        }
}

/* What flows out on one side comes in on the other. */
__attribute__((noinline)) void wrap(int w, int h, float *planes) {
    for (int k = 0; k < 9; k++) {
        float *p = planes + k * w * h;
        for (int y = 0; y < h; y++) p[y * w] = p[y * w + w - 2], p[y * w + w - 1] = p[y * w + 1];
        for (int x = 0; x < w; x++) p[x] = p[(h - 2) * w + x], p[(h - 1) * w + x] = p[w + x];
    }
}

static float planes[2][9 * W * H];
static uint8_t solid[W * H];

int main(void) {
    static const float weights[9] = {0.45f, 0.15f, 0.11f, 0.08f, 0.11f, 0.03f, 0.02f, 0.02f, 0.03f};
    for (int at = 0; at < W * H; at++) {
        int x = at % W - 30, y = at / W - H / 2;
        solid[at] = x * x + y * y < 40;
        for (int k = 0; k < 9; k++) planes[0][k * W * H + at] = weights[k] * (0.95f + 0.1f * (float)random_unit());
    }
    memcpy(planes[1], planes[0], sizeof planes[0]);
    for (int step = 0; step < STEPS; step++) {
        stream(W, H, planes[step % 2], planes[1 - step % 2], solid, 1.2f);
        wrap(W, H, planes[1 - step % 2]);
    }
    printf("%016llx\n", (unsigned long long)checksum(planes, sizeof planes));
}
