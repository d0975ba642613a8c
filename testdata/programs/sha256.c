// SHA-256, CRC-32 and MD5-like rounds over generated text.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))
static uint32_t K[64];

static uint32_t ror(uint32_t v, int n) { return v >> n | v << (32 - n); }

NOINLINE static void block(uint32_t s[8], const uint8_t *p) {
    uint32_t w[64], a = s[0], b = s[1], c = s[2], d = s[3], e = s[4], f = s[5], g = s[6], h = s[7];
    for (int i = 0; i < 16; i++) w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 | (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
    for (int i = 16; i < 64; i++)
        w[i] = w[i - 16] + w[i - 7] + (ror(w[i - 15], 7) ^ ror(w[i - 15], 18) ^ w[i - 15] >> 3) + (ror(w[i - 2], 17) ^ ror(w[i - 2], 19) ^ w[i - 2] >> 10);
    for (int i = 0; i < 64; i++) {
        uint32_t t1 = h + (ror(e, 6) ^ ror(e, 11) ^ ror(e, 25)) + ((e & f) ^ (~e & g)) + K[i] + w[i];
        uint32_t t2 = (ror(a, 2) ^ ror(a, 13) ^ ror(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g; g = f; f = e; e = d + t1; d = c; c = b; b = a; a = t1 + t2;
    }
    s[0] += a; s[1] += b; s[2] += c; s[3] += d; s[4] += e; s[5] += f; s[6] += g; s[7] += h;
}

// The constants: fractional bits of cube and square roots of the first primes, by integer search.
static uint32_t root_fraction(uint32_t prime, int power) {
    uint64_t lo = 0, hi = 1ULL << 37;
    while (hi - lo > 1) {
        uint64_t mid = (lo + hi) / 2, ip = mid >> 32, fp = mid & 0xffffffff;
        long double v = (long double)ip + (long double)fp / 4294967296.0L, q = power == 2 ? v * v : v * v * v;
        if (q <= (long double)prime) lo = mid; else hi = mid;
    }
    return (uint32_t)lo;
}

NOINLINE static uint32_t crc32(const uint8_t *p, size_t n) {
    static uint32_t table[256];
    for (uint32_t i = 0; i < 256; i++) { uint32_t c = i; for (int k = 0; k < 8; k++) c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1; table[i] = c; }
    uint32_t c = ~0u;
    while (n--) c = table[(c ^ *p++) & 255] ^ c >> 8;
    return ~c;
}

int main(void) {
    uint32_t state[8], n = 0;
    static uint8_t data[64 * 200];
    for (uint32_t v = 2; n < 64; v++) {
        int prime = 1;
        for (uint32_t d = 2; d * d <= v; d++) if (v % d == 0) prime = 0;
        if (!prime) continue;
        K[n] = root_fraction(v, 3);
        if (n < 8) state[n] = root_fraction(v, 2);
        n++;
    }
    uint32_t start[8];
    memcpy(start, state, sizeof start);
    uint8_t abc[64] = "abc\x80";
    abc[63] = 24;
    block(state, abc);
    for (int i = 0; i < 8; i++) printf("%08x", state[i]);
    for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)(i * i / 7 + i);
    memcpy(state, start, sizeof state);
    for (size_t i = 0; i < sizeof data; i += 64) block(state, data + i);
    printf("\n");
    for (int i = 0; i < 8; i++) printf("%08x", state[i]);
    printf("\n%08x %08x\n", crc32((const uint8_t *)"123456789", 9), crc32(data, sizeof data));
    return 0;
}
