// Big integers: factorial, Fibonacci, division, decimal output, modular power; carries in wide arithmetic.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))
enum { LIMBS = 80 };
typedef struct { uint32_t d[LIMBS]; int n; } big;

NOINLINE static void multiply_small(big *a, uint32_t m) {
    uint64_t carry = 0;
    for (int i = 0; i < a->n; i++) { carry += (uint64_t)a->d[i] * m; a->d[i] = (uint32_t)carry; carry >>= 32; }
    if (carry) a->d[a->n++] = (uint32_t)carry;
}
NOINLINE static uint32_t divide_small(big *a, uint32_t m) {
    uint64_t r = 0;
    for (int i = a->n; i--;) { r = r << 32 | a->d[i]; a->d[i] = (uint32_t)(r / m); r %= m; }
    while (a->n > 1 && !a->d[a->n - 1]) a->n--;
    return (uint32_t)r;
}
NOINLINE static big add(big a, const big *b) {
    uint64_t c = 0;
    int n = a.n > b->n ? a.n : b->n;
    for (int i = 0; i < n; i++) { c += (uint64_t)(i < a.n ? a.d[i] : 0) + (i < b->n ? b->d[i] : 0); a.d[i] = (uint32_t)c; c >>= 32; }
    a.n = n;
    if (c) a.d[a.n++] = (uint32_t)c;
    return a;
}
NOINLINE static int compare(const big *a, const big *b) {
    if (a->n != b->n) return a->n < b->n ? -1 : 1;
    for (int i = a->n; i--;) if (a->d[i] != b->d[i]) return a->d[i] < b->d[i] ? -1 : 1;
    return 0;
}
NOINLINE static void subtract(big *a, const big *b) {
    int64_t c = 0;
    for (int i = 0; i < a->n; i++) { c += (int64_t)a->d[i] - (i < b->n ? b->d[i] : 0); a->d[i] = (uint32_t)c; c >>= 32; }
    while (a->n > 1 && !a->d[a->n - 1]) a->n--;
}
NOINLINE static big multiply(const big *a, const big *b) {
    big r = {{0}, a->n + b->n};
    for (int i = 0; i < a->n; i++) {
        uint64_t c = 0;
        for (int j = 0; j < b->n; j++) { c += (uint64_t)a->d[i] * b->d[j] + r.d[i + j]; r.d[i + j] = (uint32_t)c; c >>= 32; }
        r.d[i + b->n] += (uint32_t)c;
    }
    while (r.n > 1 && !r.d[r.n - 1]) r.n--;
    return r;
}
NOINLINE static void modulo(big *a, const big *m) {
    for (int shift = (a->n - m->n) * 32 + 31; shift >= 0; shift--) {
        big t = {{0}, m->n + shift / 32 + 1};
        for (int i = 0; i < m->n; i++) {
            uint64_t v = (uint64_t)m->d[i] << (shift & 31);
            t.d[i + shift / 32] |= (uint32_t)v;
            t.d[i + shift / 32 + 1] |= (uint32_t)(v >> 32);
        }
        while (t.n > 1 && !t.d[t.n - 1]) t.n--;
        if (compare(a, &t) >= 0) subtract(a, &t);
    }
}
static void print(big a) {
    uint32_t part[LIMBS * 2];
    int n = 0;
    do part[n++] = divide_small(&a, 1000000000); while (a.n > 1 || a.d[0]);
    printf("%u", part[--n]);
    while (n) printf("%09u", part[--n]);
    putchar('\n');
}

int main(void) {
    big f = {{1}, 1}, a = {{0}, 1}, b = {{1}, 1}, m = {{1}, 1}, r = {{1}, 1}, x = {{3}, 1};
    for (uint32_t i = 2; i <= 120; i++) multiply_small(&f, i);
    print(f);
    for (int i = 0; i < 500; i++) { big t = add(a, &b); a = b; b = t; }
    print(a);
    for (int i = 0; i < 9; i++) multiply_small(&m, 1000000007u + (uint32_t)i * 2);
    for (uint32_t e = 1000003; e; e >>= 1) {
        if (e & 1) { r = multiply(&r, &x); modulo(&r, &m); }
        x = multiply(&x, &x);
        modulo(&x, &m);
    }
    print(r);
    big q = multiply(&a, &f);
    printf("%d %u %d\n", q.n, divide_small(&q, 99991), compare(&q, &f));
    return 0;
}
