// flags: -O2 -mavx512f
// More masks than mask registers: what is spilled goes to general registers, of which many are free.
#include <immintrin.h>
void masks(const int *in, const int *bounds, int *out, int n) {
    __m512i limit[10];
    for (int k = 0; k < 10; k++)
        limit[k] = _mm512_set1_epi32(bounds[k]);
    for (int i = 0; i < n; i += 16) {
        __m512i v = _mm512_loadu_si512(in + i), sum = v;
        __mmask16 above[10];
        for (int k = 0; k < 10; k++)
            above[k] = _mm512_cmpgt_epi32_mask(v, limit[k]);
        for (int k = 0; k < 10; k++)
            sum = _mm512_mask_add_epi32(sum, above[k], sum, limit[9 - k]);
        for (int k = 9; k >= 0; k--)
            sum = _mm512_mask_xor_epi32(sum, above[k], sum, limit[k]);
        _mm512_storeu_si512(out + i, sum);
    }
}
