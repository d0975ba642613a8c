// flags: -msse2
// SSE2 intrinsics, with the ones that tie operands or fix registers.
#include <emmintrin.h>
#include <stdint.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline))

NOINLINE int find_byte(const char *text, int n, char c) {
    __m128i needle = _mm_set1_epi8(c);
    for (int i = 0; i < n; i += 16) {
        int mask = _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(text + i)), needle));
        if (mask) return i + __builtin_ctz((unsigned)mask);
    }
    return -1;
}

NOINLINE double dot(const double *a, const double *b, int n) {
    __m128d s0 = _mm_setzero_pd(), s1 = s0, s2 = s0, s3 = s0;
    for (int i = 0; i < n; i += 8) {
        s0 = _mm_add_pd(s0, _mm_mul_pd(_mm_loadu_pd(a + i), _mm_loadu_pd(b + i)));
        s1 = _mm_add_pd(s1, _mm_mul_pd(_mm_loadu_pd(a + i + 2), _mm_loadu_pd(b + i + 2)));
        s2 = _mm_sub_pd(s2, _mm_mul_pd(_mm_loadu_pd(a + i + 4), _mm_loadu_pd(b + i + 4)));
        s3 = _mm_max_pd(s3, _mm_mul_pd(_mm_loadu_pd(a + i + 6), _mm_loadu_pd(b + i + 6)));
    }
    s0 = _mm_add_pd(_mm_add_pd(s0, s1), _mm_add_pd(s2, s3));
    return _mm_cvtsd_f64(_mm_add_sd(s0, _mm_unpackhi_pd(s0, s0)));
}

NOINLINE uint32_t adler(const uint8_t *p, int n) {
    __m128i a = _mm_setzero_si128(), b = a, zero = a;
    for (int i = 0; i < n; i += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(p + i));
        a = _mm_add_epi64(a, _mm_sad_epu8(v, zero));
        __m128i lo = _mm_unpacklo_epi8(v, zero), hi = _mm_unpackhi_epi8(v, zero);
        b = _mm_add_epi32(b, _mm_madd_epi16(lo, _mm_set_epi16(8, 7, 6, 5, 4, 3, 2, 1)));
        b = _mm_add_epi32(b, _mm_madd_epi16(hi, _mm_set_epi16(1, 3, 5, 7, 9, 11, 13, 15)));
    }
    b = _mm_add_epi32(b, _mm_shuffle_epi32(b, 0x4e));
    b = _mm_add_epi32(b, _mm_shuffle_epi32(b, 0xb1));
    a = _mm_add_epi64(a, _mm_srli_si128(a, 8));
    return (uint32_t)_mm_cvtsi128_si32(a) * 65521u + (uint32_t)_mm_cvtsi128_si32(b);
}

NOINLINE void transpose(int16_t *m) {
    __m128i r[8], t[8];
    for (int i = 0; i < 8; i++) r[i] = _mm_loadu_si128((__m128i *)(m + 8 * i));
    for (int i = 0; i < 4; i++) t[2 * i] = _mm_unpacklo_epi16(r[2 * i], r[2 * i + 1]), t[2 * i + 1] = _mm_unpackhi_epi16(r[2 * i], r[2 * i + 1]);
    for (int i = 0; i < 2; i++) {
        r[4 * i] = _mm_unpacklo_epi32(t[4 * i], t[4 * i + 2]), r[4 * i + 1] = _mm_unpackhi_epi32(t[4 * i], t[4 * i + 2]);
        r[4 * i + 2] = _mm_unpacklo_epi32(t[4 * i + 1], t[4 * i + 3]), r[4 * i + 3] = _mm_unpackhi_epi32(t[4 * i + 1], t[4 * i + 3]);
    }
    for (int i = 0; i < 4; i++) {
        _mm_storeu_si128((__m128i *)(m + 16 * i), _mm_unpacklo_epi64(r[i], r[i + 4]));
        _mm_storeu_si128((__m128i *)(m + 16 * i + 8), _mm_unpackhi_epi64(r[i], r[i + 4]));
    }
}

int main(void) {
    static char text[256];
    static double a[64], b[64];
    int16_t m[64];
    for (int i = 0; i < 256; i++) text[i] = (char)('a' + i % 23);
    text[201] = '!';
    for (int i = 0; i < 64; i++) a[i] = i / 4.0, b[i] = (i * 5 % 13) - 6, m[i] = (int16_t)(i * i);
    transpose(m);
    printf("%d %d %.4f %u\n", find_byte(text, 256, '!'), find_byte(text, 256, '?'), dot(a, b, 64), adler((uint8_t *)text, 256));
    for (int i = 0; i < 64; i++) printf("%d%c", m[i], i % 16 == 15 ? '\n' : ' ');
    __m128i masked = _mm_setzero_si128();
    char out[17] = "................";
    masked = _mm_cmplt_epi8(_mm_loadu_si128((__m128i *)text), _mm_set1_epi8('h'));
    _mm_maskmoveu_si128(_mm_set1_epi8('#'), masked, out);
    _mm_mfence();
    printf("%s %d %d\n", out, _mm_comilt_sd(_mm_set_sd(1), _mm_set_sd(2)), _mm_cvttsd_si32(_mm_sqrt_sd(_mm_set_sd(0), _mm_set_sd(50))));
    return 0;
}
