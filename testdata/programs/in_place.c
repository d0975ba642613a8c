// What is in memory from the beginning: arguments on the stack, and constants beside the code, wanted again behind calls, where
// no register keeps them. Instructions read them where they are, as a whole or in part.
#include <stdint.h>
#include <stdio.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define NOINLINE __attribute__((noinline))

NOINLINE long next(long x) {
    __asm__ volatile("" : "+r"(x) : : "memory");
    return x + 1;
}

// Each is read behind a call, by an instruction that takes it from memory; some are read by their lower parts.
NOINLINE long integers(long a, long b, long c, long d, long e, long f, long g, long h, int i, short s, signed char t, int64_t l) {
    long sum = next(g) + a * h;
    sum = next(sum ^ g) + b * h;
    sum = next(sum + h) + c * g + (i < sum);
    sum = next(sum - h) + d * g + s;
    sum = next(sum | i) - (s == (short)sum) + t;
    sum = next(sum & ~t) + (t == (signed char)sum) + (long)(l >> 8);
    sum = next(sum + (unsigned char)g) ^ (unsigned short)h;
    return (sum & h) + (e ^ g) + f + i * s - t + (long)(l ^ sum);
}

// Overwritten by the function: the argument's place is not what it was.
NOINLINE long overwritten(long a, long b, long c, long d, long e, long f, long g) {
    long *where = &g;
    long first = next(g);
    *where += first;
    long second = next(g + a);
    *where ^= second;
    return next(g) + b + c + d + e + f + first * second;
}

NOINLINE double doubles(double x, double y) {
    double z = x * 1.5;
    z += (double)next((long)z) * 2.5;
    z -= (double)next((long)y) * 1.5;
    z = z < 1e6 ? z * 0.25 : z;
    z += next((long)z) > 3 ? 1e-3 : 2.5;
    return (z - 0.25) / 2.5;
}

NOINLINE float floats(float x, float y) {
    float z = x * 1.5f;
    z += (float)next((long)z) * 2.5f;
    z -= (float)next((long)y) * 1.5f;
    return z / 2.5f > y ? z - 1.5f : z;
}

NOINLINE long double wide(long double x, double y, float w, long double v) {
    long double z = x * 1.1L + y;
    z += (long double)next((long)z) * 1.1L - w;
    z += (long double)next((long)w) / v;
    return z * 1.1L - y + v;
}

#ifdef __SSE2__
// A mask for the sign, and vectors of numbers, are aligned in memory.
NOINLINE void vectors(double *p, int n) {
    const __m128d sign = _mm_set1_pd(-0.0), scale = _mm_set_pd(3.0, 0.5);
    const __m128i bits = _mm_set_epi32(1, 2, 4, 8);
    for (int i = 0; i < n; i++) {
        __m128d v = _mm_mul_pd(_mm_xor_pd(_mm_loadu_pd(p + 2 * i), sign), scale);
        next(i);
        v = _mm_add_pd(_mm_xor_pd(v, sign), scale);
        __m128i w = _mm_add_epi32(_mm_cvttpd_epi32(v), bits);
        next(i);
        _mm_storeu_pd(p + 2 * i, _mm_mul_pd(_mm_cvtepi32_pd(_mm_xor_si128(w, bits)), scale));
    }
}
#endif

int main(void) {
    for (long k = -3; k < 4; k++) {
        printf("%ld ", integers(k, 2, 3 - k, 4, 5, 6 * k, 7 + 300 * k, 8, (int)k, (short)(k * 77), (signed char)(50 * k), k * 1000003));
        printf("%ld ", overwritten(1, 2, 3, 4, k, 6, 7 * k));
        printf("%g %g ", doubles(k + 0.5, k * 4), floats(k * 0.75f, k));
        printf("%Lg\n", wide(k, k + 1, k * 0.5f, k + 0.5L));
    }
#ifdef __SSE2__
    double p[8] = {1, -2, 3.5, -4.25, 5, 6, -7, 8};
    vectors(p, 4);
    for (int i = 0; i < 8; i++)
        printf("%g ", p[i]);
    puts("");
#endif
    return 0;
}
