// Stack frames: large (4 KB, 64 KB, 1 MB), dynamic alloca, VLAs in loops, over-aligned, nested.
#include <alloca.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

NOINLINE static unsigned mix(unsigned *p, int n) {
    unsigned h = 1;
    for (int i = 0; i < n; i++) h = h * 31 + p[i] + (p[i] = h ^ (unsigned)i);
    return h;
}
NOINLINE static unsigned page(int a, int b) { unsigned v[1500]; for (int i = 0; i < 1500; i++) v[i] = (unsigned)(a * i + b); return mix(v, 1500) + v[700]; }
NOINLINE static unsigned large(int a, int b) { unsigned v[20000]; memset(v, a, sizeof v); v[b] = 7; return mix(v, 20000) + v[b] * (unsigned)a; }
NOINLINE static unsigned huge(int a) { unsigned v[262144], w[100]; for (int i = 0; i < 262144; i += 512) v[i] = (unsigned)(i ^ a); for (int i = 0; i < 100; i++) w[i] = v[i * 512]; return mix(w, 100) + v[512 * 300]; }

NOINLINE static unsigned vla(int n, int m) {
    unsigned h = 0;
    for (int k = 1; k <= n; k++) {
        unsigned row[k][m];
        for (int i = 0; i < k; i++) for (int j = 0; j < m; j++) row[i][j] = (unsigned)(i * j + k);
        h = h * 7 + mix(row[k - 1], m) + row[k / 2][m / 2];
    }
    return h;
}

struct link { struct link *next; unsigned value; };
NOINLINE static unsigned chain(int n, unsigned seed) {
    struct link *head = NULL;
    for (int i = 0; i < n; i++) {
        struct link *l = alloca(sizeof *l + (size_t)(i % 5) * 16);
        l->next = head;
        l->value = seed = seed * 1664525 + 1013904223;
        head = l;
    }
    unsigned h = 0;
    for (; head; head = head->next) h = (h << 5) - h + head->value;
    return h;
}

NOINLINE static unsigned aligned(int n, double d) {
    _Alignas(64) unsigned a[16];
    _Alignas(128) double b[8];
    unsigned v[n];
    for (int i = 0; i < 16; i++) a[i] = (unsigned)(i * n);
    for (int i = 0; i < 8; i++) b[i] = d * i;
    for (int i = 0; i < n; i++) v[i] = a[i & 15] + (unsigned)b[i & 7];
    return mix(v, n) + ((uintptr_t)a % 64 == 0) + ((uintptr_t)b % 128 == 0) * 2 + mix(a, 16);
}

// Dynamic alloca, spilled values, stack arguments and a call at once.
NOINLINE static long many(long a, long b, long c, long d, long e, long f, long g, long h, long i, int n) {
    char *p = alloca((size_t)n);
    memset(p, (int)a, (size_t)n);
    long s = a * b, t = c * d, u = e * f, v = g * h, w = i - a, x = b ^ e, y = c - g, z = d + h;
    unsigned q[2] = {(unsigned)p[n - 1], (unsigned)p[n / 2]};
    unsigned m = mix(q, 2);
    return s + 2 * t + 3 * u + 4 * v + 5 * w + 6 * x + 7 * y + 8 * z + a + b + c + d + e + f + g + h + i + (long)(m & 0xffff);
}

NOINLINE static unsigned recurse(int n, unsigned *up) {
    unsigned mine[50];
    for (int i = 0; i < 50; i++) mine[i] = up ? up[49 - i] + (unsigned)n : (unsigned)i;
    return n ? recurse(n - 1, mine) ^ mine[n % 50] : mix(mine, 50);
}

int main(void) {
    printf("%u %u %u\n", page(3, 4), large(5, 12345), huge(77));
    printf("%u %u %u\n", vla(20, 13), chain(500, 42), aligned(33, 2.5));
    printf("%ld %u\n", many(1, 2, 3, 4, 5, 6, 7, 8, 9, 1000), recurse(200, NULL));
    return 0;
}
