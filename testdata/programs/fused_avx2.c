// flags: -mavx2 -mfma
// Fused multiplications and additions, which can overwrite any of three operands and read any of the others from memory.
#include <immintrin.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline))

NOINLINE double twice(double x) { return x + x; }

// One multiplicand is read by several accumulators.
NOINLINE void accumulate(float *c, const float *a, const float *b, int n) {
    __m256 s = _mm256_loadu_ps(c), t = _mm256_loadu_ps(c + 8), d = _mm256_setzero_ps();
    for (int i = 0; i < n; i++) {
        __m256 x = _mm256_loadu_ps(b + 8 * i);
        s = _mm256_fmadd_ps(_mm256_broadcast_ss(a + 2 * i), x, s);
        t = _mm256_fnmadd_ps(_mm256_broadcast_ss(a + 2 * i + 1), x, t);
        d = _mm256_fmsub_ps(x, d, s);
    }
    _mm256_storeu_ps(c, s);
    _mm256_storeu_ps(c + 8, _mm256_fnmsub_ps(t, d, s));
}

// Each of the three operands dies, or lives on, and is in memory across the call.
NOINLINE double orders(double x, double y, double z, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) {
        double u = twice(x + i), a = __builtin_fma(x, y, u), b = __builtin_fma(u, x, y), c = __builtin_fma(z, u, x);
        sum += twice(a) - b * c;
        x = __builtin_fma(x, -0.5, y);
        y = __builtin_fma(-y, 0.25, z);
        z = -__builtin_fma(z, 0.125, -x);
    }
    return sum + __builtin_fma(x, x, y) + __builtin_fma(y, z, z);
}

// More accumulators than registers.
NOINLINE double many(const double *p, int n) {
    double s[20];
    for (int k = 0; k < 20; k++) s[k] = k;
#pragma clang loop unroll(disable)
    for (int i = 0; i < n; i++)
#pragma clang loop unroll(full)
        for (int k = 0; k < 20; k++) s[k] = __builtin_fma(p[(i + k) & 15], s[(k + 7) % 20], s[k] * 0.5);
    double sum = 0;
    for (int k = 0; k < 20; k++) sum += s[k] / (k + 1);
    return sum;
}

// A commutative instruction whose operands are in memory, in either order.
NOINLINE double halves(double a, int n, int swap) {
    double x = a / 3.0, r = 0;
    for (int i = 0; i < n; i++) {
        double y = twice(i) * 0.5;
        r = swap ? twice(x + y) : twice(y + x);
        r = __builtin_fmin(r, x) * y;
    }
    return r;
}

int main(void) {
    float a[16], b[64], c[16];
    double p[16];
    for (int i = 0; i < 64; i++) b[i] = (i * 7 % 13) * 0.25f - 1;
    for (int i = 0; i < 16; i++) a[i] = i * 0.125f - 1, c[i] = i, p[i] = i * 0.0625 - 0.5;
    accumulate(c, a, b, 8);
    for (int i = 0; i < 16; i++) printf("%.6g ", c[i]);
    printf("\n%.12g\n", orders(1.5, -2.25, 0.75, 9));
    printf("%.12g\n", many(p, 11));
    printf("%.12g %.12g\n", halves(10, 7, 0), halves(-3, 5, 1));
    return 0;
}
