// flags: -O2
// A constant in memory is loaded, and overwritten in place of a value that lives on.
#include <immintrin.h>
__m128i either(__m128i a) {
    __m128i one = _mm_cmpeq_epi32(a, _mm_set_epi32(1, 2, 3, 4)), other = _mm_cmpeq_epi32(a, _mm_set_epi32(5, 6, 7, 8));
    return _mm_or_si128(one, other);
}
