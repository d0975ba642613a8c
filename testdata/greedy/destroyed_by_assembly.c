// flags: -O2 -mssse3
// Assembly destroys most registers, and defines a value that nobody reads: what is not needed before waits behind it.
#include <immintrin.h>
long combined(long a, long b) {
    __m128i x = _mm_cvtsi64_si128(a), y = _mm_cvtsi64_si128(b), unread;
    asm volatile("nop" : "=x"(unread) : : "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
                 "xmm12", "xmm13", "xmm14", "xmm15");
    return _mm_cvtsi128_si64(_mm_shuffle_epi8(x, y));
}
