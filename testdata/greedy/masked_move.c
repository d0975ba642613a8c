// flags: -O2 -mavx512f
// A masked move becomes a blend, which need not overwrite what it keeps.
#include <immintrin.h>
__m512i kept(__m512i a, __m512i b, const __m512i *p) { return _mm512_mask_mov_epi32(b, _mm512_cmpeq_epi32_mask(a, *p), a); }
__m512 low(__m512 a, __m512 b, const __m512 *p) { return _mm512_mask_mov_ps(b, _mm512_cmplt_ps_mask(a, *p), a); }
