// flags: -mavx512f -mavx512bw -mavx512dq -mavx512vl
// beyond-regalloc2: on i386, values in four register banks
// AVX-512: ZMM values, mask registers with arithmetic on masks, compress and expand.
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline))

NOINLINE int filter(const int *in, int n, int lo, int hi, int *out) {
    int k = 0;
    for (int i = 0; i < n; i += 16) {
        __mmask16 tail = (__mmask16)(n - i >= 16 ? 0xffff : (1 << (n - i)) - 1);
        __m512i v = _mm512_maskz_loadu_epi32(tail, in + i);
        __mmask16 a = _mm512_mask_cmpge_epi32_mask(tail, v, _mm512_set1_epi32(lo));
        __mmask16 b = _mm512_cmple_epi32_mask(v, _mm512_set1_epi32(hi));
        __mmask16 odd = _mm512_test_epi32_mask(v, _mm512_set1_epi32(1));
        __mmask16 m = _kor_mask16(_kand_mask16(a, b), _kandn_mask16(odd, _kxor_mask16(a, b))) & tail;
        _mm512_mask_compressstoreu_epi32(out + k, m, v);
        k += __builtin_popcount(m);
    }
    return k;
}

NOINLINE double masked(const double *x, int n) {
    __m512d s = _mm512_setzero_pd(), t = s;
    for (int i = 0; i < n; i += 8) {
        __m512d v = _mm512_loadu_pd(x + i);
        __mmask8 neg = _mm512_cmp_pd_mask(v, t, _CMP_LT_OQ);
        s = _mm512_mask_sub_pd(_mm512_add_pd(s, v), neg, s, v);
        t = _mm512_mask_mov_pd(t, (__mmask8)~neg, _mm512_mul_pd(v, _mm512_set1_pd(0.5)));
    }
    return _mm512_reduce_add_pd(s) + _mm512_reduce_max_pd(t);
}

// More than seven masks live at once.
NOINLINE uint64_t many_masks(const uint8_t *p, int n) {
    uint64_t r = 0;
    for (int i = 0; i < n; i += 64) {
        __m512i v = _mm512_loadu_si512(p + i);
        __mmask64 m[10];
        for (int k = 0; k < 10; k++) m[k] = _mm512_cmplt_epu8_mask(v, _mm512_set1_epi8((char)(k * 25 + 3)));
        __mmask64 x = _kxor_mask64(m[0], _kadd_mask64(m[1], m[2])), y = _kand_mask64(_kor_mask64(m[3], m[4]), _knot_mask64(m[5]));
        v = _mm512_mask_add_epi8(v, m[6], v, _mm512_maskz_set1_epi8(m[7], 5));
        v = _mm512_mask_blend_epi8(m[8] ^ m[9], v, _mm512_set1_epi8(7));
        r = r * 31 + x + y * 3 + _kshiftri_mask64(m[9], 5) + (uint64_t)_mm512_reduce_add_epi64(v);
    }
    return r;
}

NOINLINE float many_zmm(const float *x) {
    __m512 v[34];
    for (int i = 0; i < 34; i++) v[i] = _mm512_loadu_ps(x + i);
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 34; i++) v[i] = _mm512_fmadd_ps(v[i], _mm512_set1_ps(0.25f), v[(i + 11) % 34]);
    __m512 s = v[0];
    for (int i = 1; i < 34; i++) s = _mm512_add_ps(s, v[i]);
    return _mm512_reduce_add_ps(s);
}

int main(void) {
    static int in[100], out[116];
    static double x[64];
    static float f[64];
    static uint8_t bytes[256];
    for (int i = 0; i < 100; i++) in[i] = i * 73 % 101;
    for (int i = 0; i < 64; i++) x[i] = (i * 29 % 31) - 12.5, f[i] = i / 8.0f;
    for (int i = 0; i < 256; i++) bytes[i] = (uint8_t)(i * i + i);
    int n = filter(in, 100, 20, 60, out), h = 0;
    for (int i = 0; i < n; i++) h = h * 31 + out[i];
    printf("%d %d %.4f %016llx %.2f\n", n, h, masked(x, 64), (unsigned long long)many_masks(bytes, 256), many_zmm(f));
    return 0;
}
