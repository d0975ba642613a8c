// flags: -O2 -mavx2 -mfma
// Accumulators of fused multiplications and additions: one multiplicand is read by two, so that neither may overwrite it.
#include <immintrin.h>
void two(float *c, const float *a, const float *b, long n) {
    __m256 s = _mm256_loadu_ps(c), t = _mm256_loadu_ps(c + 8);
    for (long i = 0; i < n; i++) {
        __m256 x = _mm256_loadu_ps(b + 8 * i);
        s = _mm256_fmadd_ps(_mm256_broadcast_ss(a + i), x, s);
        t = _mm256_fmadd_ps(x, _mm256_broadcast_ss(a + n + i), t);
    }
    _mm256_storeu_ps(c, s);
    _mm256_storeu_ps(c + 8, t);
}
float straight(float x, float y, float z) { return __builtin_fmaf(y, z, x); }
