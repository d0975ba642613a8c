// What a call preserves may differ from call to call: with regcall, arguments are in registers that are preserved otherwise, so
// that LLVM makes a mask for each call, in memory that the next function's mask may be in, too.
#include <stdio.h>

#ifdef __x86_64__
#define DESTROY __asm__ volatile("xorl %%r12d, %%r12d\n\txorl %%r14d, %%r14d\n\txorl %%r15d, %%r15d" ::: "r12", "r14", "r15")
#else
#define DESTROY __asm__ volatile("xorl %%esi, %%esi\n\txorl %%edi, %%edi" ::: "esi", "edi")
#endif
#define CALLEE __attribute__((regcall, noinline)) static long

CALLEE one(long a) { DESTROY; return a + 1; }
CALLEE two(long a, long b) { DESTROY; return a - 2 * b; }
CALLEE five(long a, long b, long c, long d, long e) { long s = a + 2 * b + 3 * c + 4 * d + 5 * e; DESTROY; return s; }
CALLEE many(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k) {
    long s = a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j + 11 * k;
    DESTROY;
    return s;
}

// As many values live across the call as may be in registers that it preserves.
#define CALLER(name, call)                                                                                                        \
    __attribute__((noinline)) static long name(const long *p) {                                                                   \
        long a = p[0] * 3, b = p[1] ^ 5, c = p[2] + 7, d = p[3] * 11, e = p[4] - 1, f = p[5] ^ 9, g = p[6] * 2, h = p[7] + 4;     \
        long r = call;                                                                                                            \
        return r + a * 2 + b * 3 + c * 5 + d * 7 + e * 11 + f * 13 + g * 17 + h * 19;                                             \
    }

#define MANY many(p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[0], p[1], p[2])
CALLER(first, two(p[0], p[1]))
CALLER(second, MANY)
CALLER(third, five(p[0], p[1], p[2], p[3], p[4]))
CALLER(fourth, MANY)
CALLER(fifth, one(p[0]))
CALLER(sixth, MANY)
CALLER(seventh, two(p[0], p[1]))
CALLER(eighth, MANY)
CALLER(ninth, one(p[3]))

int main(void) {
    long p[8];
    for (int i = 0; i < 8; i++) p[i] = i * i + 3;
    long (*const callers[])(const long *) = {first, second, third, fourth, fifth, sixth, seventh, eighth, ninth};
    for (unsigned i = 0; i < sizeof callers / sizeof *callers; i++) printf("%ld\n", callers[i](p));
    return 0;
}
