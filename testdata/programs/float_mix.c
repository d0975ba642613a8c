// flags32: -msse2
// float, double and integer conversions, comparisons, selection and min/max in every direction.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

NOINLINE double mix(float f, double d, int i, unsigned u, int64_t l, uint64_t ul, short s, unsigned char c) {
    return f * d + i / 3.0f + (double)u * f - (double)l + (double)ul * 0.25 + s * c + (float)l;
}
NOINLINE uint64_t to_unsigned(double d) { return (uint64_t)d + (uint32_t)(d / 7) + (uint64_t)(float)d; }
NOINLINE int64_t to_signed(double d) { return (int64_t)d - (int)(d / 1e6) + (int8_t)(int)(d / 1e9); }
NOINLINE double clamp(double v, double lo, double hi) { return v < lo ? lo : v > hi ? hi : v; }
NOINLINE int order(float a, double b) { return (a < b) | (a <= b) << 1 | (a == b) << 2 | (a != b) << 3 | (a > b) << 4 | !(a >= b) << 5; }
NOINLINE uint32_t bits(float f) { uint32_t u; memcpy(&u, &f, 4); return u; }
NOINLINE float inverse_sqrt(float x) {
    uint32_t i = 0x5f3759df - (bits(x) >> 1);
    float y;
    memcpy(&y, &i, 4);
    for (int k = 0; k < 3; k++) y = y * (1.5f - x * 0.5f * y * y);
    return y;
}

NOINLINE double simpson(double (*f)(double), double a, double b, int n) {
    double h = (b - a) / n, s = f(a) + f(b);
    for (int i = 1; i < n; i++) s += f(a + i * h) * (i % 2 ? 4 : 2);
    return s * h / 3;
}
static double curve(double x) { return x * x * x - 2 * x + 1 / (1 + x * x); }

// Twenty doubles live across the loop and across a call.
NOINLINE double live_across(const double *v, double (*f)(double)) {
    double s[20];
    for (int i = 0; i < 20; i++) s[i] = v[i];
    double a = s[0], b = s[1], c = s[2], d = s[3], e = s[4], g = s[5], h = s[6], k = s[7], l = s[8], m = s[9];
    double n = s[10], o = s[11], p = s[12], q = s[13], r = s[14], t = s[15], u = s[16], w = s[17], x = s[18], y = s[19];
    for (int i = 0; i < 10; i++) {
        double z = f(a - i);
        a += b * 0.5; b += c * 0.25; c -= d * 0.5; d += e; e -= g * 0.125; g += h; h -= k * 0.5; k += l; l -= m; m += n * 0.25;
        n -= o; o += p * 0.5; p -= q; q += r * 0.25; r -= t; t += u * 0.5; u -= w; w += x * 0.125; x -= y; y += z * 1e-3;
    }
    return a + b + c + d + e + g + h + k + l + m + n + o + p + q + r + t + u + w + x + y;
}

int main(void) {
    double v[20];
    for (int i = 0; i < 20; i++) v[i] = (i * 7 % 11) / 8.0;
    printf("%.6f\n", mix(1.5f, 2.25, -7, 4000000000u, -(1LL << 40), 1ULL << 50, -300, 200));
    printf("%llu %lld\n", (unsigned long long)to_unsigned(1e15), (long long)to_signed(-123456789012.5));
    printf("%llu\n", (unsigned long long)to_unsigned(3e9));
    printf("%g %g %g\n", clamp(5, 0, 1), clamp(-5, 0, 1), clamp(0.5, 0, 1));
    printf("%d %d %d %d\n", order(1, 2), order(2, 1), order(1, 1), order(NAN, 1));
    printf("%08x %.6f %.6f\n", bits(-1.25f), inverse_sqrt(2), inverse_sqrt(1234.5f));
    printf("%.9f\n", simpson(curve, -1, 3, 1000));
    printf("%.6f\n", live_across(v, curve));
    printf("%g %g %g %g\n", fmod(10.5, 3), floor(-2.5), copysign(3, -0.0), (double)fmaxf(1, NAN));
    return 0;
}
