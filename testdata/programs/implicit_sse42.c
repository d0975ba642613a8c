// flags: -msse4.2 -mpopcnt
// SSE4: instructions with implicit registers (blendv reads xmm0; string compares fix eax, ecx, edx, xmm0), inserts, extracts.
#include <nmmintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

NOINLINE static int span(const char *s, const char *set, int n, int m) {
    __m128i b = _mm_loadu_si128((const __m128i *)set);
    for (int i = 0; i < n; i += 16) {
        __m128i a = _mm_loadu_si128((const __m128i *)(s + i));
        int left = n - i < 16 ? n - i : 16;
        int at = _mm_cmpestri(b, m, a, left, _SIDD_CMP_EQUAL_ANY | _SIDD_NEGATIVE_POLARITY);
        if (at < left) return i + at;
    }
    return n;
}
NOINLINE static int ranges(const char *s, int n, char *out) {
    const __m128i letters = _mm_setr_epi8('a', 'z', 'A', 'Z', '0', '9', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    int total = 0;
    for (int i = 0; i < n; i += 16) {
        __m128i a = _mm_loadu_si128((const __m128i *)(s + i)), x, y;
        __m128i mask = _mm_cmpistrm(letters, a, _SIDD_CMP_RANGES | _SIDD_UNIT_MASK);
        x = _mm_blendv_epi8(_mm_set1_epi8('_'), a, mask);
        y = _mm_blendv_epi8(a, x, _mm_cmpgt_epi8(a, _mm_set1_epi8('A')));
        _mm_storeu_si128((__m128i *)(out + i), _mm_blendv_epi8(x, y, _mm_slli_epi16(a, 3)));
        total += _mm_popcnt_u32((unsigned)_mm_movemask_epi8(mask)) + _mm_cmpistrz(letters, a, 0) * 100;
    }
    return total;
}
NOINLINE static double blends(const double *p, int n) {
    __m128d s = _mm_setzero_pd(), t = _mm_set1_pd(1);
    for (int i = 0; i < n; i += 2) {
        __m128d v = _mm_loadu_pd(p + i);
        s = _mm_add_pd(s, _mm_blendv_pd(v, _mm_mul_pd(v, t), _mm_cmplt_pd(v, t)));
        t = _mm_round_pd(_mm_blendv_pd(t, _mm_add_pd(s, v), s), _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    }
    return _mm_cvtsd_f64(s) * 3 + _mm_cvtsd_f64(_mm_dp_pd(s, s, 0x31)) + _mm_cvtsd_f64(t);
}
NOINLINE static uint32_t lanes(const uint32_t *p, int n) {
    __m128i v = _mm_setzero_si128();
    uint32_t crc = ~0u;
    for (int i = 0; i < n; i++) {
        v = _mm_insert_epi32(v, (int)(p[i] ^ (uint32_t)_mm_extract_epi16(v, 3)), 1);
        v = _mm_insert_epi8(_mm_shuffle_epi32(_mm_mullo_epi32(v, _mm_set1_epi32(77)), 0x93), _mm_extract_epi8(v, 6), 11);
        crc = _mm_crc32_u32(crc, (uint32_t)_mm_extract_epi32(v, 2)) ^ (uint32_t)_mm_testz_si128(v, _mm_set1_epi32(1 << (i & 31)));
    }
    return crc;
}

int main(void) {
    static char text[65] = "The quick-brown (fox) jumps over 13 lazy dogs; then it naps...!", set[17] = "Tehqu icknwob-r", out[65];
    double d[32];
    uint32_t w[64];
    for (int i = 0; i < 32; i++) d[i] = i * 0.375 - 4;
    for (int i = 0; i < 64; i++) w[i] = (uint32_t)i * 0x9e3779b9u;
    int n = ranges(text, 64, out);
    printf("%d %d %s\n%.6g %08x\n", span(text, set, 64, (int)strlen(set)), n, out, blends(d, 32), lanes(w, 64));
    return 0;
}
