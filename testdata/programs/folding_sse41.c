// flags: -msse4.1
// Spilled values that instructions read from memory: in vector arithmetic, where an immediate can say which part of the
// operand is read; in comparisons, also with zero; in arguments that are pushed. In functions for speed and for size.
#include <smmintrin.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline))
#define UNROLL _Pragma("clang loop unroll(full)")

enum { VECTORS = 20, NUMBERS = 18 };

#define INSERT(i, where) v[i] = _mm_add_ps(_mm_insert_ps(v[i], v[(i + 7) % VECTORS], where), v[(i + 3) % VECTORS]);
#define MIX(name, attributes)                                                                                                   \
    attributes static __m128 name(const __m128 *from, int rounds) {                                                             \
        __m128 v[VECTORS];                                                                                                      \
        UNROLL for (int i = 0; i < VECTORS; i++) v[i] = from[i];                                                                \
        for (int r = 0; r < rounds; r++) {                                                                                      \
            INSERT(0, 0x10) INSERT(1, 0x50) INSERT(2, 0x92) INSERT(3, 0xd8) INSERT(4, 0x20) INSERT(5, 0x60) INSERT(6, 0xb1)     \
            INSERT(7, 0x30) INSERT(8, 0x41) INSERT(9, 0x84) INSERT(10, 0x10) INSERT(11, 0x50) INSERT(12, 0xc0)                  \
            INSERT(13, 0x70) INSERT(14, 0x20) INSERT(15, 0x93) INSERT(16, 0x10) INSERT(17, 0x40) INSERT(18, 0x10)               \
            INSERT(19, 0xe0)                                                                                                    \
            UNROLL for (int i = 0; i < VECTORS; i++) {                                                                          \
                __m128 a = v[(i + 5) % VECTORS], b = v[(i + 2) % VECTORS], c = v[(i + 9) % VECTORS];                            \
                v[i] = _mm_sub_ps(_mm_blend_ps(v[i], a, 5), _mm_movehl_ps(_mm_shuffle_ps(b, c, 0x4e), a));                      \
            }                                                                                                                   \
        }                                                                                                                       \
        __m128 sum = v[0];                                                                                                      \
        UNROLL for (int i = 1; i < VECTORS; i++) sum = _mm_add_ps(sum, v[i]);                                                   \
        return sum;                                                                                                             \
    }
MIX(mix_fast, NOINLINE)
MIX(mix_small, NOINLINE __attribute__((minsize)))

NOINLINE static int many(int a, int b, int c, int d, int e, int f, int g, int h) { return a - b + c * d - e + f * g - h; }

#define COUNT(name, attributes)                                                                                                 \
    attributes static long long name(const int *from, int rounds) {                                                             \
        int n[NUMBERS];                                                                                                         \
        long long found = 0;                                                                                                    \
        UNROLL for (int i = 0; i < NUMBERS; i++) n[i] = from[i];                                                                \
        for (int r = 0; r < rounds; r++) {                                                                                      \
            UNROLL for (int i = 0; i < NUMBERS; i++) {                                                                          \
                if (!n[(i + 5) % NUMBERS]) found += n[i];                                                                       \
                if (n[(i + 7) % NUMBERS] < r) found += 3;                                                                       \
                if ((short)n[(i + 4) % NUMBERS] == (short)n[(i + 8) % NUMBERS]) found += 5;                                     \
                n[i] = (n[i] + n[(i + 3) % NUMBERS]) % 7 - (signed char)n[(i + 11) % NUMBERS] / 64;                             \
            }                                                                                                                   \
            found += many(n[0], n[3], n[6], n[9], n[12], n[15], n[1], n[4]);                                                    \
        }                                                                                                                       \
        return found;                                                                                                           \
    }
COUNT(count_fast, NOINLINE)
COUNT(count_small, NOINLINE __attribute__((minsize)))

int main(void) {
    __m128 vectors[VECTORS];
    int numbers[NUMBERS];
    for (int i = 0; i < VECTORS; i++) vectors[i] = _mm_set_ps(i / 8.0f, i / 4.0f + 1, i / 2.0f + 2, 3.0f - i);
    for (int i = 0; i < NUMBERS; i++) numbers[i] = i * 7919 % 101 - 50;
    for (int rounds = 1; rounds < 5; rounds++) {
        __m128 fast = mix_fast(vectors, rounds), small = mix_small(vectors, rounds);
        for (int i = 0; i < 4; i++) printf("%g %g ", (double)fast[i], (double)small[i]);
        printf("%lld %lld\n", count_fast(numbers, rounds * 9), count_small(numbers, rounds * 9));
    }
    return 0;
}
