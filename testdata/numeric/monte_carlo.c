/*
 * Monte Carlo with generators of its own: points in a circle by xorshift128+,
 * an Asian option by a normal distribution's inverse, Ising's model by
 * Metropolis, k-means of random points.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "kernel.h"

enum { POINTS = 500000, PATHS = 4000, DAYS = 64, SIDE = 64, SWEEPS = 60, SAMPLES = 4000, CENTRES = 7, ROUNDS = 12 };

typedef struct {
    uint64_t a, b;
} Generator;

static inline uint64_t next(Generator *g) {
    uint64_t x = g->a, y = g->b;
    g->a = y;
    x ^= x << 23;
    g->b = x ^ y ^ x >> 17 ^ y >> 26;
    return g->b + y;
}

static inline double unit(Generator *g) { return (double)(int64_t)(next(g) >> 11) * 0x1p-53; }

__attribute__((noinline)) int circle(Generator *g, int n) {
    int inside = 0;
    for (int i = 0; i < n; i++) {
        double x = unit(g), y = unit(g);
        inside += x * x + y * y < 1;
    }
    return inside;
}

/* Acklam's approximation: one rational function in the middle, one in the tails. */
static inline double normal(double p) {
    double q = p - 0.5, r = q * q;
    if (fabs(q) <= 0.47575)
        return q * (((((-39.69683028665376 * r + 220.9460984245205) * r - 275.9285104469687) * r + 138.357751867269) * r - 30.66479806614716) * r +
                    2.506628277459239) /
               (((((-54.47609879822406 * r + 161.5858368580409) * r - 155.6989798598866) * r + 66.80131188771972) * r - 13.28068155288572) * r + 1);
    double size = 2.5 + 20 * (fabs(q) - 0.47575);
    return q < 0 ? -size * (1 + 0.01 * size) : size * (1 + 0.01 * size);
}

/* The mean of what the option pays at the end of paths and of their mirrored ones. */
__attribute__((noinline)) double option(Generator *g, int paths, int days, double price, double strike, double drift, double swing) {
    double sum = 0;
    for (int path = 0; path < paths; path++) {
        double up = price, down = price, up_sum = 0, down_sum = 0;
        for (int day = 0; day < days; day++) {
            double x = swing * normal(unit(g) * 0.9998 + 0.0001), square = x * x / 2;
            up *= 1 + drift + x + square, down *= 1 + drift - x + square;
            up_sum += up, down_sum += down;
        }
        double a = up_sum / days - strike, b = down_sum / days - strike;
        sum += (a > 0 ? a : 0) + (b > 0 ? b : 0);
    }
    return sum / (2 * paths);
}

/* Spins in rows with a border that repeats the other side. */
__attribute__((noinline)) int metropolis(Generator *g, int side, int8_t *spins, const uint32_t *chances) {
    int row = side + 2, flips = 0;
    for (int y = 1; y <= side; y++) {
        spins[y * row] = spins[y * row + side], spins[y * row + side + 1] = spins[y * row + 1];
        for (int x = 1; x <= side; x++) {
            int8_t *s = spins + y * row + x;
            int energy = *s * (s[-1] + s[1] + s[-row] + s[row]);
            if (energy <= 0 || (uint32_t)next(g) < chances[energy]) *s = (int8_t)-*s, flips++;
        }
    }
    memcpy(spins, spins + side * row, (size_t)row);
    memcpy(spins + (side + 1) * row, spins + row, (size_t)row);
    return flips;
}

__attribute__((noinline)) void nearest(int n, int k, const float (*restrict points)[3], float (*restrict centres)[3], int *restrict counts) {
    float sums[CENTRES][3] = {{0}};
    for (int c = 0; c < k; c++) counts[c] = 0;
    for (int i = 0; i < n; i++) {
        int best = 0;
        float least = 1e30f, x = points[i][0], y = points[i][1], z = points[i][2];
        for (int c = 0; c < k; c++) {
            float dx = x - centres[c][0], dy = y - centres[c][1], dz = z - centres[c][2], square = dx * dx + dy * dy + dz * dz;
            if (square < least) least = square, best = c;
        }
        sums[best][0] += x, sums[best][1] += y, sums[best][2] += z, counts[best]++;
    }
    for (int c = 0; c < k; c++)
        for (int d = 0; d < 3 && counts[c]; d++) centres[c][d] = sums[c][d] / (float)counts[c];
}

static int8_t spins[(SIDE + 2) * (SIDE + 2)];
static float points[SAMPLES][3], centres[CENTRES][3];

int main(void) {
    Generator g = {0x9e3779b97f4a7c15u, 0xd1342543de82ef95u};
    uint32_t chances[5] = {0, 0, 0x40000000, 0, 0x10000000};
    int counts[CENTRES], flips = 0;
    int inside = circle(&g, POINTS);
    double value = option(&g, PATHS, DAYS, 100, 101, 0.0001, 0.015);
    for (int i = 0; i < (SIDE + 2) * (SIDE + 2); i++) spins[i] = next(&g) >> 63 ? 1 : -1;
    for (int sweep = 0; sweep < SWEEPS; sweep++) flips += metropolis(&g, SIDE, spins, chances);
    for (int i = 0; i < SAMPLES; i++)
        for (int d = 0; d < 3; d++) points[i][d] = (float)unit(&g) + (float)(i % CENTRES * (d + 1) % 5);
    memcpy(centres, points, sizeof centres);
    for (int round = 0; round < ROUNDS; round++) nearest(SAMPLES, CENTRES, points, centres, counts);
    printf("%d %a %d %016llx %016llx\n", inside, value, flips, (unsigned long long)checksum(spins, sizeof spins),
           (unsigned long long)checksum(centres, sizeof centres));
}
