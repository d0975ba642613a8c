// Loops whose phis are permutations: swaps, rotations, lost copies, cycles sharing sources, in ints, doubles and pointers.
#include <stdint.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline))

NOINLINE static long swap_problem(long n, long a, long b) {
    while (n-- > 0) { long t = a; a = b; b = t; if (n % 3 == 0) a += n; }
    return a * 1000 + b;
}
NOINLINE static long lost_copy(long x, long limit) {
    long y;
    do { y = x; x = x + 3; } while (x < limit);
    return y * 1000 + x;
}
NOINLINE static uint64_t rotation(int n, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f) {
    for (int i = 0; i < n; i++) { uint64_t t = a; a = b; b = c; c = d; d = e; e = f; f = t ^ (a + (uint64_t)i); }
    return a ^ b * 3 ^ c * 5 ^ d * 7 ^ e * 11 ^ f * 13;
}
NOINLINE static uint64_t two_cycles(int n, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e) {
    while (n--) {
        if (a & 1) { uint64_t t = a; a = b; b = t; t = c; c = d; d = e; e = t; }
        else if (a & 2) { uint64_t t = b; b = d; d = t; a = a >> 1 | c << 63; c = a; }
        else { uint64_t t = a; a = e; e = t + (uint64_t)n; b = c = d; d = t; }
        a ^= 0x9e3779b97f4a7c15ULL >> (n & 31);
    }
    return a + b * 3 + c * 5 + d * 7 + e * 9;
}
NOINLINE static double fp_rotation(int n, double a, double b, double c, float p, float q) {
    while (n--) { double t = a; a = b; b = c; c = t * 0.75 + n; float u = p; p = q; q = u; if (n & 4) { t = c; c = a; a = t; p += 1; } }
    return a + b * 10 + c * 100 + p * 3 + q;
}
NOINLINE static long mixed(const char *s, const char *e) {
    const char *p = s, *q = e;
    long n = 0, m = 1;
    while (p < q) {
        const char *t = p + 1;
        p = s; s = q - 1; q = s; s = p; p = t;
        long k = n; n = m + *p; m = k;
    }
    return n * 31 + m;
}
NOINLINE static unsigned gcd(unsigned a, unsigned b) { while (b) { unsigned t = a % b; a = b; b = t; } return a; }
NOINLINE static uint64_t fibonacci(int n) { uint64_t a = 0, b = 1; while (n--) { uint64_t t = a + b; a = b; b = t; } return a; }
// The values feed phis of several blocks, with breaks out of nested loops.
NOINLINE static long exits(long n, long a, long b, long c) {
    long r = 0;
    for (long i = 0; i < n; i++) {
        for (long j = i; j < n; j++) {
            long t = a; a = c; c = b; b = t;
            if ((a + j) % 17 == 0) { r += a; break; }
            if ((b ^ i) % 23 == 0) { r -= b; a = r; goto next; }
            b += j;
        }
        c ^= i;
    next:;
    }
    return r + a * 3 + b * 5 + c * 7;
}

int main(void) {
    static const char text[] = "permutation";
    printf("%ld %ld\n", swap_problem(1000, 1, 2), lost_copy(1, 1000));
    printf("%llx\n", (unsigned long long)rotation(1001, 1, 2, 3, 4, 5, 6));
    printf("%llx\n", (unsigned long long)two_cycles(999, 11, 22, 33, 44, 55));
    printf("%.6f %ld\n", fp_rotation(100, 1, 2, 3, 4, 5), mixed(text, text + 11));
    printf("%u %llu %ld\n", gcd(1071 * 17, 462 * 17), (unsigned long long)fibonacci(90), exits(60, 1, 2, 3) % 1000003);
    return 0;
}
