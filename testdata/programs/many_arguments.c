// Many arguments, on the stack and in registers, of every kind; and i386's register conventions.
#include <stdint.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline))
#ifdef __i386__
#define REGPARM __attribute__((regparm(3)))
#define FASTCALL __attribute__((fastcall))
#define STDCALL __attribute__((stdcall))
#define THISCALL __attribute__((thiscall))
#else
#define REGPARM
#define FASTCALL
#define STDCALL
#define THISCALL __attribute__((ms_abi))
#endif

NOINLINE static long ints(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k, long l) {
    return a + 2 * b + 3 * c + 5 * d + 7 * e + 11 * f + 13 * g + 17 * h + 19 * i + 23 * j + 29 * k + 31 * l;
}
NOINLINE static double reals(double a, float b, double c, float d, double e, float f, double g, float h, double i, double j, float k) {
    return a - b * c + d / e - f * g + h - i / j + k;
}
NOINLINE static int64_t kinds(char a, short b, int c, int64_t d, unsigned char e, _Bool f, float g, double h, char *i, int64_t j, short k, signed char l) {
    return a * b + c - d + e * (f ? 3 : 5) + (int64_t)(g * h) + i[1] + j * k - l;
}
NOINLINE REGPARM static int reg3(int a, int b, int c, int d, int e) { return (a << 3) + b * c - d % e; }
NOINLINE FASTCALL static int fast(int a, int b, int c, int64_t d) { return a * b - c + (int)(d >> 30); }
NOINLINE STDCALL static int standard(int a, int64_t b, short c) { return a + (int)(b / 3) - c; }
NOINLINE THISCALL static int method(const int *self, int a, int b) { return self[a & 3] * b + a; }

// The swap problem at calls: the same values in other positions each time.
NOINLINE static long rotate(long n, long a, long b, long c, long d, long e, long f) {
    if (n <= 0) return ints(a, b, c, d, e, f, a, b, c, d, e, f);
    return rotate(n - 1, f, a, b, c, d, e) + rotate(n - 2, b, a, d, c, f, e + n);
}

int main(void) {
    static const int self[] = {3, 1, 4, 1};
    printf("%ld\n", ints(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
    printf("%.6f\n", reals(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
    printf("%lld\n", (long long)kinds('a', -300, 70000, 1LL << 35, 200, 1, 1.5f, 2.5, "xyz", -5, 6, -7));
    int (REGPARM *volatile p)(int, int, int, int, int) = reg3;
    int (FASTCALL *volatile q)(int, int, int, int64_t) = fast;
    printf("%d %d %d %d\n", p(1, 2, 3, 40, 7), q(5, 6, 7, 9LL << 33), standard(1, 1LL << 20, -2), method(self, 2, 9));
    printf("%ld\n", rotate(14, 1, 2, 3, 4, 5, 6));
    return 0;
}
