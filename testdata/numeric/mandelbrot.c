/*
 * Points that escape: the Mandelbrot set one point at a time and in vectors of
 * four points, a Julia set of z^4, and basins of Newton's method for z^3 = 1.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "kernel.h"

enum { W = 128, H = 80, LIMIT = 200 };

typedef double v4 __attribute__((vector_size(32), aligned(8)));
typedef int64_t i4 __attribute__((vector_size(32), aligned(8)));

__attribute__((noinline)) int escape(double cx, double cy, int limit) {
    double x = 0, y = 0, x2 = 0, y2 = 0;
    int n = 0;
    for (; n < limit && x2 + y2 <= 4; n++) {
        y = 2 * x * y + cy, x = x2 - y2 + cx;
        x2 = x * x, y2 = y * y;
    }
    return n;
}

/* Two vectors at a time, so that one need not wait for the other. */
__attribute__((noinline)) void escape_eight(const double *restrict cx, double cy, int limit, int64_t *restrict counts) {
    v4 ax = {0}, ay = {0}, bx = {0}, by = {0}, acx = *(v4 *)cx, bcx = *(v4 *)(cx + 4), c = cy - (v4){0};
    i4 na = {0}, nb = {0};
    for (int n = 0; n < limit; n++) {
        v4 ax2 = ax * ax, ay2 = ay * ay, bx2 = bx * bx, by2 = by * by;
        i4 a_inside = ax2 + ay2 <= 4, b_inside = bx2 + by2 <= 4, any = a_inside | b_inside;
        if (!(any[0] | any[1] | any[2] | any[3])) break;
        na -= a_inside, nb -= b_inside;
        ay = 2 * ax * ay + c, ax = ax2 - ay2 + acx;
        by = 2 * bx * by + c, bx = bx2 - by2 + bcx;
    }
    *(i4 *)counts = na, *(i4 *)(counts + 4) = nb;
}

__attribute__((noinline)) int julia(float x, float y, float cx, float cy, int limit) {
    for (int n = 0; n < limit; n++) {
        float x2 = x * x, y2 = y * y, sum = x2 + y2;
        if (sum > 16) return n;
        float square = x2 - y2, twice = 2 * x * y;
        x = square * square - twice * twice + cx, y = 2 * square * twice + cy;
    }
    return limit;
}

/* Which of the three roots is reached, and after how many steps. */
__attribute__((noinline)) int newton(double x, double y) {
    for (int n = 0; n < 60; n++) {
        double x2 = x * x, y2 = y * y, size = x2 + y2, scale = 3 * size * size;
        if (scale == 0) return 0;
        double nx = x * (2.0 / 3) + (x2 - y2) / scale, ny = y * (2.0 / 3) - 2 * x * y / scale;
        double moved = (nx - x) * (nx - x) + (ny - y) * (ny - y);
        x = nx, y = ny;
        if (moved < 1e-12) return 3 * n + (x > 0 ? 0 : y > 0 ? 1 : 2);
    }
    return 3 * 60;
}

static int64_t counts[H][W], single[H][W];
static int other[2][H][W];

int main(void) {
    double cx[W];
    for (int x = 0; x < W; x++) cx[x] = -2 + 2.6 * x / W;
    for (int y = 0; y < H; y++) {
        double cy = -1.1 + 2.2 * y / H;
        for (int x = 0; x < W; x += 8) escape_eight(cx + x, cy, LIMIT, counts[y] + x);
        for (int x = 0; x < W; x++) {
            single[y][x] = escape(cx[x], cy, LIMIT);
            other[0][y][x] = julia((float)cx[x], (float)cy, 0.5f, 0.35f, LIMIT);
            other[1][y][x] = newton(cx[x], cy);
        }
    }
    printf("%016llx %016llx %016llx\n", (unsigned long long)checksum(counts, sizeof counts),
           (unsigned long long)checksum(single, sizeof single), (unsigned long long)checksum(other, sizeof other));
}
