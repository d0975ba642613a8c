/*
 * Elementary functions by polynomials: exp by Horner's scheme, sin and cos
 * together by Estrin's, log by a rational function, and a Chebyshev series by
 * Clenshaw's recurrence.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "kernel.h"

enum { N = 2048, ROUNDS = 160, TERMS = 12 };

static double from_bits(uint64_t bits) {
    double value;
    memcpy(&value, &bits, 8);
    return value;
}

static uint64_t to_bits(double value) {
    uint64_t bits;
    memcpy(&bits, &value, 8);
    return bits;
}

__attribute__((noinline)) void exponential(int n, const double *restrict x, double *restrict y) {
    for (int i = 0; i < n; i++) {
        /* x = k log 2 + r; adding 3 * 2^51 leaves k, rounded, in the low bits. */
        double shifted = x[i] * 1.4426950408889634 + 0x1.8p52, k = shifted - 0x1.8p52;
        double r = x[i] - k * 0.6931471805599453;
        double p = 2.48015873015873e-5;
        p = p * r + 1.984126984126984e-4, p = p * r + 1.388888888888889e-3, p = p * r + 8.333333333333333e-3;
        p = p * r + 4.1666666666666664e-2, p = p * r + 0.16666666666666666, p = p * r + 0.5;
        p = p * r + 1, p = p * r + 1;
        y[i] = p * from_bits((to_bits(shifted) + 1023) << 52);
    }
}

__attribute__((noinline)) void sine_cosine(int n, const double *restrict x, double *restrict sine, double *restrict cosine) {
    for (int i = 0; i < n; i++) {
        double k = x[i] * 0.6366197723675814 + 0x1.8p52;
        uint64_t quadrant = to_bits(k);
        double r = x[i] - (k - 0x1.8p52) * 1.5707963267948966, r2 = r * r, r4 = r2 * r2, r8 = r4 * r4;
        double s = r * ((1 - r2 * 0.16666666666666666) + r4 * (8.333333333333333e-3 - r2 * 1.984126984126984e-4) +
                        r8 * ((2.7557319223985893e-6 - r2 * 2.505210838544172e-8) + r4 * 1.605904383682161e-10));
        double c = (1 - r2 * 0.5) + r4 * (4.1666666666666664e-2 - r2 * 1.388888888888889e-3) +
                   r8 * ((2.48015873015873e-5 - r2 * 2.755731922398589e-7) + r4 * 2.08767569878681e-9);
        double first = quadrant & 1 ? c : s, second = quadrant & 1 ? s : c;
        sine[i] = quadrant & 2 ? -first : first;
        cosine[i] = (quadrant + 1) & 2 ? -second : second;
    }
}

__attribute__((noinline)) void logarithm(int n, const double *restrict x, double *restrict y) {
    for (int i = 0; i < n; i++) {
        uint64_t bits = to_bits(x[i]), exponent = bits >> 52;
        double m = from_bits((bits & 0xfffffffffffffu) | 0x3fe0000000000000u);
        double e = from_bits(0x4330000000000000u | exponent) - 0x1p52 - 1022;
        double t = (m - 0.7071067811865476) / (m + 0.7071067811865476), t2 = t * t;
        double top = ((-0.78 * t2 + 8.2) * t2 - 17.7) * t2 + 10.3, bottom = ((t2 - 8.7) * t2 + 20.1) * t2 - 15.2;
        y[i] = e * 0.6931471805599453 + 2 * t + t * t2 * (top / bottom) - 0.34657359027997264;
    }
}

__attribute__((noinline)) void chebyshev(int n, const double *restrict x, double *restrict y, int terms,
                                         const double *restrict coefficients) {
    for (int i = 0; i < n; i++) {
        double b1 = 0, b2 = 0, twice = 2 * x[i];
        for (int k = terms - 1; k > 0; k--) {
            double b0 = twice * b1 - b2 + coefficients[k];
            b2 = b1, b1 = b0;
        }
        y[i] = x[i] * b1 - b2 + coefficients[0];
    }
}

static double x[N], y[N], sine[N], cosine[N];

int main(void) {
    double coefficients[TERMS];
    uint64_t sum = 0;
    for (int k = 0; k < TERMS; k++) coefficients[k] = random_unit() / (k + 1);
    for (int i = 0; i < N; i++) x[i] = 8 * random_unit() - 4;
    for (int round = 0; round < ROUNDS; round++) {
        exponential(N, x, y);
        logarithm(N, y, x);
        sine_cosine(N, x, sine, cosine);
        chebyshev(N, sine, y, TERMS, coefficients);
        for (int i = 0; i < N; i++) x[i] = 0.5 * x[i] + cosine[i] + 0.1 * y[i];
    }
    sum = checksum(x, sizeof x) ^ checksum(y, sizeof y);
    printf("%016llx\n", (unsigned long long)sum);
}
