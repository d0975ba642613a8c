// flags: -O2 -mavx512f
// The low half of a vector is read where the vector is, although the instruction that reads it accepts fewer registers.
#include <immintrin.h>
__m256d sum(__m512d a) { return _mm256_add_pd(_mm512_castpd512_pd256(a), _mm512_extractf64x4_pd(a, 1)); }
int all(__m512i a) { return _mm512_reduce_or_epi32(a); }
