// High register pressure: over thirty integers, doubles, or both, live round loops and across calls and divisions.
#include <stdint.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline))

NOINLINE static long leaf(long v) { return v ^ (v >> 3); }

#define LIST(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) \
    X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31)
#define SUM(i) +v##i * (i + 1)

NOINLINE static uint64_t ints(const uint64_t *p, int n) {
#define LOAD(i) uint64_t v##i = p[i];
    LIST(LOAD)
    while (n--) {
#define STEP(i) v##i = (v##i << 7 | v##i >> 57) + p[(i * 5 + n) & 31];
        LIST(STEP)
        v0 ^= v31; v3 ^= v30; v5 += v17; v9 -= v22; v12 ^= v1;
    }
    return 0 LIST(SUM);
}

NOINLINE static double doubles(const double *p, int n) {
#define LOADD(i) double v##i = p[i];
    LIST(LOADD)
    while (n--) {
#define STEPD(i) v##i = v##i * 0.5 + p[(i * 7 + n) & 31];
        LIST(STEPD)
        v0 += v31 * 0.125; v7 -= v19 * 0.25;
    }
    return 0 LIST(SUM);
}

NOINLINE static long across_calls(const long *p, int n) {
#define LOADL(i) long v##i = p[i];
    LIST(LOADL)
    for (int k = 0; k < n; k++) {
#define STEPL(i) v##i += k ^ i;
        LIST(STEPL)
        v4 = leaf(v4); v13 = leaf(v13 + v4);
        if (k & 1) { v20 = leaf(v0) - v31; v29 ^= v20; }
    }
    return 0 LIST(SUM);
}

NOINLINE static uint32_t divisions(const uint32_t *p, uint32_t n) {
    uint32_t a = p[0], b = p[1], c = p[2], d = p[3], e = p[4], f = p[5], g = p[6], h = p[7], i = p[8], j = p[9], k = p[10], l = p[11];
    for (uint32_t t = 1; t <= n; t++) {
        a += b / (t + 2); b ^= c % (t + 3); c += d << (t & 31); d -= e >> (f & 31); e = e / (g | 1) + h; f ^= (uint32_t)((uint64_t)g * h >> 32);
        g += i % (j | 1); h = h / (t | 1) ^ k; i -= l << (a & 7); j += b; k ^= c + t; l = (l << 5 | l >> 27) + d % (e | 1);
    }
    return a ^ b ^ c ^ d ^ e ^ f ^ g ^ h ^ i ^ j ^ k ^ l;
}

NOINLINE static double both(const double *p, const long *q, int n) {
    double a = p[0], b = p[1], c = p[2], d = p[3], e = p[4], f = p[5], g = p[6], h = p[7], s = 0;
    long i = q[0], j = q[1], k = q[2], l = q[3], m = q[4], o = q[5], r = q[6], t = q[7];
    while (n--) {
        a += (double)i * 0.5; i += (long)b; b = c * 0.75 - (double)j; j ^= k; c -= (double)l; k += (long)d & 255; d = e * 0.5 + 1; l -= m;
        e = f - (double)(o & 15); m += o ^ n; f = g * 0.25; o = r - t; g = h + (double)(k & 7); r ^= i & 1023; h = a * 0.125; t += l & 3;
        s += (double)leaf(i & 63) + a + (double)(i + j + k + l + m + o + r + t) * 1e-3;
    }
    return s + a + b + c + d + e + f + g + h;
}

int main(void) {
    uint64_t u[32]; double d[32]; long l[32]; uint32_t w[32];
    for (int i = 0; i < 32; i++) u[i] = (uint64_t)i * 0x9e3779b97f4a7c15ULL, d[i] = i * 0.375, l[i] = i * 37 - 100, w[i] = (uint32_t)i * 2654435761u + 1;
    printf("%016llx\n%.9g\n%ld\n%08x\n%.9g\n", (unsigned long long)ints(u, 100), doubles(d, 50), across_calls(l, 100), divisions(w, 1000), both(d, l, 12));
    return 0;
}
