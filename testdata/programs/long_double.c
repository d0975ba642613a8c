// x87: long double arithmetic, conversions, comparisons, deep expressions, arguments and results.
#include <math.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline))

NOINLINE long double horner(const long double *c, int n, long double x) {
    long double r = 0;
    while (n--) r = r * x + c[n];
    return r;
}

NOINLINE long double deep(long double a, long double b, long double c, long double d) {
    return ((a + b) * (c - d) + (a - c) / (b + d)) * ((a * b - c * d) + (a * d - b * c)) - (a / b - c / d) * (a + d);
}

NOINLINE long double newton(long double v) {
    long double x = v > 1 ? v : 1;
    for (int i = 0; i < 60; i++) x = (x + v / x) / 2;
    return x;
}

NOINLINE int classify(long double a, long double b) {
    if (a != a || b != b) return 3;
    return a < b ? -1 : a > b ? 1 : 0;
}

NOINLINE long double convert(int i, unsigned u, long long l, unsigned long long ul, float f, double d, short s) {
    return (long double)i + u + l + ul + f + d + s;
}

NOINLINE long long back(long double v) { return (long long)(int)v + (short)v + (long long)v + (long long)(unsigned long long)v; }

NOINLINE long double many(long double a, long double b, long double c, long double d, long double e, long double f, long double g, long double h, int k) {
    long double t[8] = {a, b, c, d, e, f, g, h}, s = 0;
    for (int i = 0; i < 8; i++) s += t[(i + k) & 7] * (i + 1);
    return s + a * h + b * g + c * f + d * e;
}

int main(void) {
    long double c[12], pi = 0, harmonic = 0;
    for (int i = 0; i < 12; i++) c[i] = 1.0L / (i + 1);
    printf("%.17Lg %.17Lg\n", horner(c, 12, 0.5L), horner(c, 12, -1.25L));
    printf("%.17Lg\n", deep(1.5L, 2.25L, -3.125L, 4.0625L));
    printf("%.18Lg %.18Lg\n", newton(2), newton(1e10L));
    printf("%d %d %d %d\n", classify(1, 2), classify(2, 1), classify(1, 1), classify(0.0L / (c[0] - 1), 1));
    printf("%.17Lg\n", convert(-5, 4000000000u, -(1LL << 40), 1ULL << 63, 1.5f, 2.5, -7));
    printf("%lld\n", back(12345.75L));
    printf("%.15Lg\n", many(1, 2, 3, 4, 5, 6, 7, 8, 3));
    for (int i = 0; i < 200; i++) pi += (i & 1 ? -4.0L : 4.0L) / (2 * i + 1);
    for (int i = 1; i < 3000; i++) harmonic += 1.0L / i;
    printf("%.15Lg %.15Lg %.15Lg %.15Lg\n", pi, harmonic, sqrtl(pi), fabsl(-harmonic));
    return 0;
}
