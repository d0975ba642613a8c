// Calling conventions and attributes that change which registers a call keeps, and code that needs a frame pointer.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline))

static long calls;
#ifdef __x86_64__
NOINLINE __attribute__((preserve_most)) static void count(long by) { calls += by; }
NOINLINE __attribute__((preserve_all)) static double scale(double v) { calls++; return v * 1.5; }
NOINLINE __attribute__((ms_abi)) static long windows(long a, double b, long c, double d, long e, long f) { return a + (long)(b * 2) + c * 3 + (long)(d * 4) + e * 5 + f * 6; }
NOINLINE __attribute__((vectorcall)) static double vector(double a, double b, double c, double d, double e, double f, int k) { return a - b + c * d - e / f + k; }
NOINLINE __attribute__((regcall)) static long regs(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j) { return a + b * 2 + c * 3 + d * 4 + e * 5 + f * 6 + g * 7 + h * 8 + i * 9 + j * 10; }
#else
NOINLINE static void count(long by) { calls += by; }
NOINLINE static double scale(double v) { calls++; return v * 1.5; }
NOINLINE __attribute__((stdcall)) static long windows(long a, double b, long c, double d, long e, long f) { return a + (long)(b * 2) + c * 3 + (long)(d * 4) + e * 5 + f * 6; }
NOINLINE __attribute__((fastcall)) static double vector(double a, double b, double c, double d, double e, double f, int k) { return a - b + c * d - e / f + k; }
NOINLINE __attribute__((regcall)) static long regs(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j) { return a + b * 2 + c * 3 + d * 4 + e * 5 + f * 6 + g * 7 + h * 8 + i * 9 + j * 10; }
#endif

NOINLINE __attribute__((noreturn, cold)) static void finish(int code) { printf("finished with %d after %ld\n", code, calls); exit(code); }
NOINLINE static void *frame(int depth) { return depth ? frame(depth - 1) : __builtin_frame_address(0); }
NOINLINE static int returns(void) { return __builtin_return_address(0) != NULL && __builtin_extract_return_addr(__builtin_return_address(0)) != (void *)1; }

NOINLINE static long live(long a, long b, long c, long d, long e, long f, double x, double y, double z) {
    long s = 0;
    for (long i = 0; i < 50; i++) {
        long g = a + i, h = b ^ i, j = c - i;
        double u = x * 0.5, v = y + (double)i;
        if (i % 3 == 0) count(i);
        x = scale(v) - u; y = z; z = u + 1;
        if (i % 7 == 0) s += windows(g, 1.5, h, 2.5, j, i) + regs(a, b, c, d, e, f, g, h, j, i);
        s += g * d - h * e + j * f + (long)vector(u, v, 1, 2, 3, 4, (int)i);
        if (__builtin_expect(s < -1000000000L, 0)) finish((int)s);
        a = b; b = c; c = d; d = e & 1023; e = f; f = (s & 511) + g;
    }
    return s * 3 + a + b + c + d + e + f + (long)(x + y + z);
}

int main(void) {
    printf("%ld %d\n", live(1, 2, 3, 4, 5, 6, 0.5, 1.5, 2.5), (char *)frame(5) < (char *)__builtin_frame_address(0));
    printf("%d %ld\n", returns(), calls);
    fflush(stdout);
    finish(0);
}
