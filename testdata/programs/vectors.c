// flags32: -msse2
// Generic vectors: arithmetic, shuffles, comparisons, conversions, arguments, loops with many live.
#include <stdint.h>
#include <stdio.h>

typedef float f4 __attribute__((vector_size(16)));
typedef double d2 __attribute__((vector_size(16)));
typedef int32_t i4 __attribute__((vector_size(16)));
typedef uint8_t b16 __attribute__((vector_size(16)));
typedef int16_t s8 __attribute__((vector_size(16)));
typedef int64_t l2 __attribute__((vector_size(16)));
typedef int32_t i8 __attribute__((vector_size(32)));
#define NOINLINE __attribute__((noinline))

NOINLINE f4 blend(f4 a, f4 b, i4 mask) { return (f4)(((i4)a & mask) | ((i4)b & ~mask)); }
NOINLINE i4 select_larger(i4 a, i4 b) { i4 m = a > b; return (a & m) | (b & ~m); }
NOINLINE f4 cross(f4 a, f4 b) {
    f4 a1 = __builtin_shufflevector(a, a, 1, 2, 0, 3), b1 = __builtin_shufflevector(b, b, 2, 0, 1, 3);
    f4 a2 = __builtin_shufflevector(a, a, 2, 0, 1, 3), b2 = __builtin_shufflevector(b, b, 1, 2, 0, 3);
    return a1 * b1 - a2 * b2;
}
NOINLINE void wide(i8 *out, const i8 *a, const i8 *b) { *out = (*a + *b) * *b - (*a >> 3) + (*b << 2); }
NOINLINE b16 bytes(b16 a, b16 b) { return (a / 3 + b) ^ (a * b); }
NOINLINE s8 shorts(s8 a, s8 b) { return a * b - (a >> 2) + (b == a); }
NOINLINE d2 convert(i4 v) { d2 r = {v[0] + 0.5, v[3] - 0.5}; return r * r; }
NOINLINE l2 longs(l2 a, l2 b) { return a * b + (a << 5) - (b > a); }
NOINLINE int at(i4 v, int i) { return v[i & 3]; }
NOINLINE i4 put(i4 v, int i, int x) { v[i & 3] = x; return v; }

// A 4x4 matrix product with both matrices, the result and temporaries in registers.
NOINLINE void matrix(f4 *out, const f4 *a, const f4 *b, int times) {
    f4 r0 = a[0], r1 = a[1], r2 = a[2], r3 = a[3], b0 = b[0], b1 = b[1], b2 = b[2], b3 = b[3];
    while (times--) {
#define ROW(r) (b0 * __builtin_shufflevector(r, r, 0, 0, 0, 0) + b1 * __builtin_shufflevector(r, r, 1, 1, 1, 1) + \
                b2 * __builtin_shufflevector(r, r, 2, 2, 2, 2) + b3 * __builtin_shufflevector(r, r, 3, 3, 3, 3))
        f4 t0 = ROW(r0), t1 = ROW(r1), t2 = ROW(r2), t3 = ROW(r3);
        r0 = t1; r1 = t2; r2 = t3; r3 = t0;
    }
    out[0] = r0; out[1] = r1; out[2] = r2; out[3] = r3;
}

int main(void) {
    f4 a = {1, 2, 3, 4}, b = {-0.5f, 0.25f, 2, 1}, c = cross(a, b), d = blend(a, b, (i4){-1, 0, -1, 0});
    i4 x = {5, -6, 7, -8}, y = {3, 3, 30, -30}, z = select_larger(x, y);
    printf("%g %g %g %g | %g %g %g %g\n", c[0], c[1], c[2], c[3], d[0], d[1], d[2], d[3]);
    printf("%d %d %d %d %d\n", z[0], z[1], z[2], z[3], at(put(z, 2, 99), 2));
    i8 p = {1, -2, 3, -4, 5, -6, 7, -8}, q = {10, 20, 30, 40, -50, -60, -70, -80}, r;
    wide(&r, &p, &q);
    for (int i = 0; i < 8; i++) printf("%d ", r[i]);
    b16 u, v;
    for (int i = 0; i < 16; i++) u[i] = (uint8_t)(i * 17), v[i] = (uint8_t)(255 - i * 3);
    u = bytes(u, v);
    for (int i = 0; i < 16; i++) printf("%d ", u[i]);
    s8 s = shorts((s8){1, 2, 3, 4, 5, 6, 7, 8}, (s8){100, 2, -300, 4, 5000, 6, -7, 8});
    for (int i = 0; i < 8; i++) printf("%d ", s[i]);
    d2 e = convert(x);
    l2 l = longs((l2){1LL << 33, -5}, (l2){3, 7});
    printf("\n%g %g %lld %lld\n", e[0], e[1], (long long)l[0], (long long)l[1]);
    f4 m[4] = {{.1f, .2f, .3f, .4f}, {.5f, .1f, .2f, .2f}, {.3f, .3f, .1f, .3f}, {.25f, .25f, .25f, .25f}}, o[4];
    matrix(o, m, m, 5);
    for (int i = 0; i < 4; i++) printf("%.5f %.5f %.5f %.5f\n", o[i][0], o[i][1], o[i][2], o[i][3]);
    return 0;
}
