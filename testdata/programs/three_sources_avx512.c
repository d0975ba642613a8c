// flags: -mavx512f -mavx512vl -mavx512bw -mavx512dq
// Instructions of three sources that are written in another form when another source is overwritten: ternary logic, whose
// immediate changes, and permutations of two tables, whose opcode does.
#include <immintrin.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline))

NOINLINE int opaque(int x) { return x ^ 5; }

NOINLINE __m256i logic(__m256i a, __m256i b, __m256i c, int n) {
    for (int i = 0; i < n; i++) {
        __m256i t = _mm256_ternarylogic_epi32(a, b, c, 0xca);
        __m256i u = _mm256_ternarylogic_epi32(b, t, a, 0x1e);
        c = _mm256_ternarylogic_epi32(u, c, t, 0xd8);
        a = _mm256_add_epi32(u, _mm256_set1_epi32(opaque(i)));
        b = _mm256_ternarylogic_epi64(t, a, u, 0x47);
    }
    return _mm256_ternarylogic_epi32(a, b, c, 0x96);
}

NOINLINE __m512i permuted(__m512i a, __m512i b, __m512i index, int n) {
    for (int i = 0; i < n; i++) {
        __m512i t = _mm512_permutex2var_epi32(a, index, b);
        __m512i u = _mm512_permutex2var_epi32(b, t, a);
        index = _mm512_add_epi32(_mm512_permutex2var_epi32(index, a, u), _mm512_set1_epi32(i));
        a = _mm512_xor_si512(t, b);
        b = _mm512_mask_permutex2var_epi32(u, (__mmask16)(0x5a5a + i), index, a);
    }
    return _mm512_add_epi32(_mm512_add_epi32(a, b), index);
}

NOINLINE __m512d fused(__m512d a, __m512d b, __m512d c, __mmask8 m, int n) {
    for (int i = 0; i < n; i++) {
        __m512d t = _mm512_mask_fmadd_pd(a, m, b, c);
        __m512d u = _mm512_mask3_fmsub_pd(a, t, b, (__mmask8)(m >> 1));
        c = _mm512_maskz_fnmadd_pd((__mmask8)~m, t, u, c);
        a = _mm512_fmaddsub_pd(u, _mm512_set1_pd(0.25), t);
        b = _mm512_fmadd_pd(b, _mm512_set1_pd(-0.5), a);
    }
    return _mm512_add_pd(_mm512_add_pd(a, b), c);
}

int main(void) {
    int words[48];
    double numbers[24];
    for (int i = 0; i < 48; i++) words[i] = i * 2654435761u >> 3;
    for (int i = 0; i < 24; i++) numbers[i] = i * 0.375 - 4;
    __m256i l = logic(_mm256_loadu_si256((void *)words), _mm256_loadu_si256((void *)(words + 8)),
                      _mm256_loadu_si256((void *)(words + 16)), 7);
    __m512i p = permuted(_mm512_loadu_si512(words), _mm512_loadu_si512(words + 16), _mm512_loadu_si512(words + 32), 5);
    __m512d f = fused(_mm512_loadu_pd(numbers), _mm512_loadu_pd(numbers + 8), _mm512_loadu_pd(numbers + 16), 0x6d, 6);
    _mm256_storeu_si256((void *)words, l);
    _mm512_storeu_si512(words + 8, p);
    _mm512_storeu_pd(numbers, f);
    for (int i = 0; i < 24; i++) printf("%08x ", (unsigned)words[i]);
    for (int i = 0; i < 8; i++) printf("%.10g ", numbers[i]);
    printf("\n");
    return 0;
}
