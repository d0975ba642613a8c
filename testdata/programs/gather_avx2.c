// flags: -mavx2 -mfma -mbmi2
// AVX2: gathers, blends, permutes, FMA, YMM values live across calls, BMI2 scalar instructions.
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline))

NOINLINE float sum8(__m256 v) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_hadd_ps(s, s);
    return _mm_cvtss_f32(_mm_hadd_ps(s, s));
}

NOINLINE float gathered(const float *table, const int *index, int n) {
    __m256 acc = _mm256_setzero_ps();
    float scalar = 0;
    for (int i = 0; i < n; i += 8) {
        __m256i ix = _mm256_loadu_si256((const __m256i *)(index + i));
        __m256 v = _mm256_i32gather_ps(table, ix, 4);
        __m256 m = _mm256_castsi256_ps(_mm256_cmpgt_epi32(ix, _mm256_set1_epi32(20)));
        v = _mm256_mask_i32gather_ps(v, table, _mm256_srli_epi32(ix, 1), m, 4);
        acc = _mm256_fmadd_ps(v, _mm256_set1_ps(0.5f), acc);
        scalar += sum8(acc);
    }
    return scalar + sum8(acc);
}

NOINLINE void sort8(int *p) {
    __m256i v = _mm256_loadu_si256((__m256i *)p);
    for (int k = 0; k < 8; k++) {
        __m256i odd = _mm256_permutevar8x32_epi32(v, k & 1 ? _mm256_setr_epi32(0, 2, 1, 4, 3, 6, 5, 7) : _mm256_setr_epi32(1, 0, 3, 2, 5, 4, 7, 6));
        __m256i lo = _mm256_min_epi32(v, odd), hi = _mm256_max_epi32(v, odd);
        v = k & 1 ? _mm256_blend_epi32(lo, hi, 0x54) : _mm256_blend_epi32(lo, hi, 0xaa);
    }
    _mm256_storeu_si256((__m256i *)p, v);
}

NOINLINE double poly(const double *x, int n) {
    __m256d c[12], s = _mm256_setzero_pd();
    for (int i = 0; i < 12; i++) c[i] = _mm256_set1_pd(1.0 / (i + 1));
    for (int i = 0; i < n; i += 8) {
        __m256d a = _mm256_loadu_pd(x + i), b = _mm256_loadu_pd(x + i + 4), r = c[11], q = c[10];
        for (int k = 10; k >= 0; k--) r = _mm256_fmadd_pd(r, a, c[k]), q = _mm256_fnmadd_pd(q, b, c[k]);
        s = _mm256_add_pd(s, _mm256_add_pd(r, q));
    }
    double t[4];
    _mm256_storeu_pd(t, s);
    return t[0] + t[1] + t[2] + t[3];
}

NOINLINE uint32_t bits(uint32_t a, uint32_t mask) {
    uint32_t hi, lo = _mulx_u32(a, mask, &hi);
    return _pext_u32(a, mask) ^ _pdep_u32(a, ~mask) ^ _bzhi_u32(lo, 20) ^ hi ^ (a >> (mask & 31)) ^ (a << (hi & 31));
}

int main(void) {
    float table[64];
    int index[64], p[8] = {5, -3, 9, 0, 7, 7, -8, 2};
    double x[64];
    for (int i = 0; i < 64; i++) table[i] = i * 0.75f, index[i] = i * 37 % 64, x[i] = i / 100.0;
    printf("%.3f %.9f\n", gathered(table, index, 64), poly(x, 64));
    sort8(p);
    for (int i = 0; i < 8; i++) printf("%d ", p[i]);
    printf("%08x %08x\n", bits(0xdeadbeef, 0x00ff0f0f), bits(12345678, 0xf0f0f0f0));
    return 0;
}
