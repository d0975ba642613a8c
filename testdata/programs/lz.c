// An LZ77 compressor with hash chains, an adaptive range coder over its output, and both undone.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))
enum { SIZE = 60000, WINDOW = 8192, MIN = 4, MAX = 250 };
static uint8_t input[SIZE], packed[2 * SIZE], coded[3 * SIZE], unpacked[2 * SIZE], output[SIZE];

NOINLINE static size_t lz_pack(const uint8_t *in, size_t n, uint8_t *out) {
    static int head[4096], prev[SIZE];
    size_t o = 0;
    memset(head, -1, sizeof head);
    for (size_t i = 0; i < n;) {
        size_t best = 0, from = 0;
        if (i + MIN <= n) {
            unsigned h = (in[i] * 33u ^ in[i + 1] * 1337u ^ in[i + 2] * 7u ^ in[i + 3] * 77u) & 4095;
            int tries = 32;
            for (int c = head[h]; c >= 0 && i - (size_t)c < WINDOW && tries--; c = prev[c]) {
                size_t l = 0;
                while (l < MAX && i + l < n && in[(size_t)c + l] == in[i + l]) l++;
                if (l > best) best = l, from = (size_t)c;
            }
            prev[i] = head[h];
            head[h] = (int)i;
        }
        if (best >= MIN) {
            size_t d = i - from;
            out[o++] = (uint8_t)best; out[o++] = (uint8_t)d; out[o++] = (uint8_t)(d >> 8);
            i += best;
        } else { out[o++] = 0; out[o++] = in[i++]; }
    }
    return o;
}
NOINLINE static size_t lz_unpack(const uint8_t *in, size_t n, uint8_t *out) {
    size_t o = 0;
    for (size_t i = 0; i < n;) {
        unsigned l = in[i++];
        if (!l) { out[o++] = in[i++]; continue; }
        size_t d = in[i] | (size_t)in[i + 1] << 8;
        for (i += 2; l--; o++) out[o] = out[o - d];
    }
    return o;
}

struct model { uint16_t p[256]; };
static void model_init(struct model *m) { for (int i = 0; i < 256; i++) m->p[i] = 2048; }

NOINLINE static size_t encode(const uint8_t *in, size_t n, uint8_t *out) {
    struct model m;
    uint32_t lo = 0, hi = ~0u;
    size_t o = 0;
    model_init(&m);
    for (size_t i = 0; i < n; i++)
        for (unsigned ctx = 1, bit = 0x80; bit; bit >>= 1) {
            uint32_t mid = lo + ((hi - lo) >> 12) * m.p[ctx];
            int b = (in[i] & bit) != 0;
            if (b) hi = mid, m.p[ctx] += (4096 - m.p[ctx]) >> 5; else lo = mid + 1, m.p[ctx] -= m.p[ctx] >> 5;
            ctx = ctx * 2 + (unsigned)b;
            while ((lo ^ hi) < 1u << 24) out[o++] = (uint8_t)(hi >> 24), lo <<= 8, hi = hi << 8 | 255;
        }
    for (int k = 0; k < 4; k++) out[o++] = (uint8_t)(lo >> 24), lo <<= 8;
    return o;
}
NOINLINE static void decode(const uint8_t *in, uint8_t *out, size_t n) {
    struct model m;
    uint32_t lo = 0, hi = ~0u, x = 0;
    model_init(&m);
    for (int k = 0; k < 4; k++) x = x << 8 | *in++;
    for (size_t i = 0; i < n; i++) {
        unsigned ctx = 1;
        while (ctx < 256) {
            uint32_t mid = lo + ((hi - lo) >> 12) * m.p[ctx];
            unsigned b = x <= mid;
            if (b) hi = mid, m.p[ctx] += (4096 - m.p[ctx]) >> 5; else lo = mid + 1, m.p[ctx] -= m.p[ctx] >> 5;
            ctx = ctx * 2 + b;
            while ((lo ^ hi) < 1u << 24) lo <<= 8, hi = hi << 8 | 255, x = x << 8 | *in++;
        }
        out[i] = (uint8_t)ctx;
    }
}

int main(void) {
    static const char *word[] = {"graph ", "chordal ", "register ", "spill ", "phi ", "swap ", "live ", "the ", "of ", "\n"};
    uint32_t x = 1, h = 0;
    for (size_t i = 0; i < SIZE;) {
        x = x * 1664525 + 1013904223;
        for (const char *w = word[x >> 24 & 15 ? (x >> 20) % 10 : x % 3]; *w && i < SIZE; w++) input[i++] = (uint8_t)*w;
        if ((x >> 8 & 31) == 0 && i < SIZE) input[i++] = (uint8_t)(x >> 12);
    }
    size_t p = lz_pack(input, SIZE, packed), c = encode(packed, p, coded);
    decode(coded, unpacked, p);
    size_t u = lz_unpack(unpacked, p, output);
    for (size_t i = 0; i < c; i++) h = h * 31 + coded[i];
    printf("%zu %zu %zu %08x %s\n", p, c, u, h, memcmp(input, output, SIZE) ? "differs" : "same");
    return 0;
}
