// bool, char and short arithmetic: 8-bit registers, high bytes, divisions of chars, sign and zero extension.
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline))

NOINLINE static int8_t divide8(int8_t a, int8_t b) { return (int8_t)(a / b); }
NOINLINE static uint8_t modulo8(uint8_t a, uint8_t b) { return a % b; }
NOINLINE static unsigned both(uint8_t a, uint8_t b) { return (unsigned)(a / b) << 8 | (a % b); }
NOINLINE static int16_t divide16(int16_t a, int16_t b) { return (int16_t)(a / b + a % b); }
NOINLINE static unsigned high(unsigned x, unsigned y) { return ((x >> 8) & 0xff) + ((y >> 8) & 0xff) * ((x >> 16) & 0xff) - (uint8_t)(y >> 24); }
NOINLINE static unsigned insert(unsigned x, uint8_t hi, uint8_t lo) { return (x & 0xffff0000u) | (unsigned)hi << 8 | lo; }
NOINLINE static bool logic(bool a, bool b, bool c, int x, int y) { return (a && !b) != (c || x < y) ? a ^ (x == y) : b | (x > y); }
NOINLINE static uint8_t saturate(uint8_t a, uint8_t b) { unsigned s = a + b; return s > 255 ? 255 : (uint8_t)s; }
NOINLINE static int8_t signs(int8_t a, uint8_t b, int16_t c, uint16_t d) { return (int8_t)(a * b + c / 3 - (d >> 5)); }
NOINLINE static uint16_t swap16(uint16_t v) { return (uint16_t)(v << 8 | v >> 8); }
NOINLINE static uint8_t rotate8(uint8_t v, unsigned n) { return (uint8_t)(v << (n & 7) | v >> (-n & 7)); }
NOINLINE static int mul8(int8_t a, int8_t b, uint8_t c) { int16_t p = (int16_t)(a * b); uint16_t q = (uint16_t)(c * c); return p - q; }

// One number is extended in both ways: its sign is above it in one register, and must not be in the other.
NOINLINE static uint64_t extend_both(unsigned a, unsigned b, volatile int64_t *out) {
    int x = (int)(a ^ b);
    out[0] = x;
    __asm__ volatile("" ::: "memory");
    uint64_t u = (unsigned)x;
    out[1] = (int64_t)u;
    return u;
}

// Many bytes live at once: more than i386 has byte registers.
NOINLINE static unsigned pressure(const uint8_t *p, int n) {
    uint8_t a = p[0], b = p[1], c = p[2], d = p[3], e = p[4], f = p[5], g = p[6], h = p[7], i = p[8], j = p[9];
    for (int k = 0; k < n; k++) {
        uint8_t t = (uint8_t)(a + p[k % 10]);
        bool low = t < j;
        a = b; b = (uint8_t)(c ^ t); c = low ? d : e; d = (uint8_t)(e * 3); e = (uint8_t)(f / (g | 1)); f = g; g = (uint8_t)(h % (i | 1)); h = (uint8_t)(i + low); i = (uint8_t)-j; j = (uint8_t)(t >> 1 | t << 7);
    }
    return (unsigned)a << 24 ^ (unsigned)b << 20 ^ (unsigned)c << 16 ^ (unsigned)d << 12 ^ (unsigned)e << 10 ^ (unsigned)f << 8 ^ (unsigned)g << 6 ^ (unsigned)h << 4 ^ (unsigned)i << 2 ^ j;
}

int main(void) {
    unsigned h = 0;
    uint8_t p[10];
    for (int a = -128; a < 128; a += 7)
        for (int b = -128; b < 128; b += 11) {
            int8_t x = (int8_t)a, y = (int8_t)(b ? b : 1);
            if (x != -128 || y != -1) h = h * 31 + (uint8_t)divide8(x, y);
            h = h * 31 + modulo8((uint8_t)x, (uint8_t)y) + both((uint8_t)x, (uint8_t)y) + saturate((uint8_t)x, (uint8_t)y);
            h = h * 31 + (unsigned)divide16((int16_t)(a * 200), (int16_t)(y * 3)) + (unsigned)mul8(x, y, (uint8_t)a);
            h = h * 31 + logic(a & 1, b & 1, a > b, a, b) + (unsigned)signs(x, (uint8_t)b, (int16_t)(a * b), (uint16_t)(a + b)) + rotate8((uint8_t)a, (unsigned)b);
        }
    for (int i = 0; i < 10; i++) p[i] = (uint8_t)(i * 41 + 7);
    printf("%08x %08x %08x %04x %08x\n", h, high(0x12345678, 0x9abcdef0), insert(0xaabbccdd, 1, 2), swap16(0x1234), pressure(p, 1000));
    volatile int64_t extended[2];
    uint64_t u = extend_both(0x87654321, (unsigned)p[0], extended);
    printf("%llx %llx %llx\n", (unsigned long long)u, (unsigned long long)extended[0], (unsigned long long)extended[1]);
    return 0;
}
