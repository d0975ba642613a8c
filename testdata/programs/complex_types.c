// flags32: -msse2
// Complex numbers of three widths, half and quadruple precision, 8- and 16-bit bit-precise integers.
#include <complex.h>
#include <stdint.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline))

NOINLINE static double complex poly(const double complex *c, int n, double complex z) { double complex r = 0; while (n--) r = r * z + c[n]; return r; }
NOINLINE static float complex rotate(float complex z, float complex w, int n) { while (n--) z = z * w + conjf(w) / (z + 2); return z; }
NOINLINE static long double complex iterate(long double complex z, int n) { while (n--) z = (z * z + 1) / (z * 2 + 0.5L); return z; }
NOINLINE static int julia(double complex c) {
    int total = 0;
    for (int y = -12; y <= 12; y++)
        for (int x = -20; x <= 20; x++) {
            double complex z = x / 12.0 + y / 9.0 * I;
            int n = 0;
            while (n < 60 && creal(z) * creal(z) + cimag(z) * cimag(z) < 4) z = z * z + c, n++;
            total += n > 20;
        }
    return total;
}
#ifdef __SSE2__
NOINLINE static _Float16 half(const _Float16 *p, int n, _Float16 k) {
    _Float16 s = 0;
    for (int i = 0; i < n; i++) s += p[i] * k - (p[i] > (_Float16)2 ? (_Float16)1 : p[i]);
    return s;
}
#endif
NOINLINE static __float128 quad(__float128 a, __float128 b, int n) { while (n--) { __float128 t = a; a = (a + b) / 2; b = t * b < a ? b + t / 3 : b - a / 7; } return a * b - a; }
NOINLINE static unsigned precise(unsigned _BitInt(13) a, _BitInt(37) b, unsigned _BitInt(24) c) {
    for (int i = 0; i < 50; i++) { a = a * 5 + (unsigned _BitInt(13))c; b = b * 3 - (_BitInt(37))a; c = (c << 3 | c >> 21) ^ (unsigned _BitInt(24))b; }
    return (unsigned)a ^ (unsigned)b ^ (unsigned)c << 8;
}

int main(void) {
    double complex c[8], p;
    for (int i = 0; i < 8; i++) c[i] = i - 3.5 + (i % 3) * I;
    p = poly(c, 8, 0.5 - 0.25 * I);
    float complex r = rotate(1 + 2 * I, 0.6f + 0.5f * I, 20);
    long double complex q = iterate(0.25L + 0.75L * I, 8);
    printf("%.9g %.9g %.3f %.3f %.9Lg %.9Lg %d\n", creal(p), cimag(p), crealf(r), cimagf(r), creall(q), cimagl(q), julia(-0.4 + 0.6 * I));
#ifdef __SSE2__
    _Float16 h[20];
    for (int i = 0; i < 20; i++) h[i] = (_Float16)(i * 0.25f);
    printf("%g\n", (double)half(h, 20, (_Float16)1.5f));
#endif
    printf("%.12g %08x\n", (double)quad(1, 2.5Q, 30), precise(1234, -98765432, 54321));
    return 0;
}
