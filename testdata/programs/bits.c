// Bit-twiddling: population counts, leading and trailing zeros, byte swaps, overflow builtins, wide rotates and shifts.
#include <stdint.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline))

NOINLINE static unsigned counts(uint64_t v) {
    return (unsigned)__builtin_popcountll(v) * 10000 + (unsigned)(v ? __builtin_clzll(v) : 64) * 100 + (unsigned)(v ? __builtin_ctzll(v) : 64)
        + (unsigned)__builtin_parityll(v) * 1000000 + (unsigned)__builtin_ffs((int)v) * 2000000;
}
NOINLINE static uint64_t swaps(uint64_t v) { return __builtin_bswap64(v) ^ __builtin_bswap32((uint32_t)v) ^ __builtin_bswap16((uint16_t)v) ^ __builtin_bitreverse64(v); }
NOINLINE static int overflows(int a, int b, int64_t c, int64_t d, unsigned e, unsigned f, short g, short h) {
    int r; int64_t s; unsigned t; short u;
    int n = __builtin_add_overflow(a, b, &r) | __builtin_sub_overflow(a, b, &r) << 1 | __builtin_mul_overflow(a, b, &r) << 2;
    n |= __builtin_add_overflow(c, d, &s) << 3 | __builtin_sub_overflow(c, d, &s) << 4 | __builtin_mul_overflow(c, d, &s) << 5;
    n |= __builtin_add_overflow(e, f, &t) << 6 | __builtin_sub_overflow(e, f, &t) << 7 | __builtin_mul_overflow(e, f, &t) << 8;
    n |= __builtin_add_overflow(g, h, &u) << 9 | __builtin_mul_overflow(g, h, &u) << 10;
    return n ^ (r & 0x1000) ^ (int)(s & 0x2000) ^ (int)(t & 0x4000) ^ (u & 0x8000);
}
NOINLINE static uint64_t shifts(uint64_t v, unsigned n) {
    return (v << (n & 63)) ^ (v >> (-n & 63)) ^ (uint64_t)((int64_t)v >> (n & 31)) ^ ((uint32_t)v >> (n & 31)) ^ ((uint64_t)((uint32_t)v << (n & 31)) << 32);
}
NOINLINE static uint64_t add_carry(const uint64_t *a, const uint64_t *b, uint64_t *out, int n) {
    unsigned long long carry = 0;
    for (int i = 0; i < n; i++) {
        unsigned long long c;
        out[i] = __builtin_addcll(a[i], b[i], carry, &c);
        carry = c;
    }
    return carry;
}
NOINLINE static uint64_t morton(uint32_t x, uint32_t y) {
    uint64_t r = 0;
    for (int i = 0; i < 32; i++) r |= (uint64_t)(x >> i & 1) << (2 * i) | (uint64_t)(y >> i & 1) << (2 * i + 1);
    return r;
}
NOINLINE static uint32_t isqrt(uint64_t v) {
    uint64_t r = 0, bit = 1ULL << 62;
    while (bit > v) bit >>= 2;
    for (; bit; bit >>= 2) if (v >= r + bit) v -= r + bit, r = (r >> 1) + bit; else r >>= 1;
    return (uint32_t)r;
}
NOINLINE static int64_t divisions(int64_t a, int64_t b) { return a / b + a % b * 3 + (int64_t)((uint64_t)a / (uint64_t)b) + a / 7 - a % 10 + a / 1024 + (uint32_t)a / 10u; }

int main(void) {
    uint64_t x = 0x0123456789abcdefULL, h = 0, a[4] = {~0ULL, ~0ULL, 5, 1ULL << 63}, b[4] = {1, 0, 7, 1ULL << 63}, c[4];
    for (int i = 0; i < 200; i++) {
        x ^= x << 13; x ^= x >> 7; x ^= x << 17;
        h = h * 31 + counts(x >> (i & 63)) + swaps(x) + shifts(x, (unsigned)i);
        h ^= (uint64_t)overflows((int)x, (int)(x >> 32), (int64_t)x, (int64_t)(x << 3), (unsigned)x, (unsigned)(x >> 20), (short)x, (short)(x >> 16));
        h += morton((uint32_t)x, (uint32_t)(x >> 32)) + isqrt(x) + (uint64_t)divisions((int64_t)x, (int64_t)(x >> 40) + 1);
    }
    printf("%016llx %u %llu", (unsigned long long)h, counts(0), (unsigned long long)add_carry(a, b, c, 4));
    for (int i = 0; i < 4; i++) printf(" %llx", (unsigned long long)c[i]);
    printf("\n%d\n", overflows(2147483647, 1, INT64_MIN, -1, 4000000000u, 500000000u, 30000, 3000));
    return 0;
}
