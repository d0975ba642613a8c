// Variables that are changed in memory because there are more of them than registers: by every instruction that x86 has for
// that, at every width, where somebody wants the flags, and where what is overwritten is read once more.
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline))

static unsigned state = 1;
NOINLINE static unsigned next(void) { return state = state * 1664525u + 1013904223u; }

// Each turn changes each variable once, around a call that leaves few registers to live in.
#define CHANGE(name, T, S, BITS)                                                                                                \
    NOINLINE static uint64_t name(int turns, T s) {                                                                             \
        T a = s, b = s + 1, c = s + 2, d = s + 3, e = s + 4, f = s + 5, g = s + 6, h = s + 7, i = s + 8, j = s + 9;             \
        T k = s + 10, l = s + 11, m = s + 12, n = s + 13, o = s + 14, p = s + 15, q = s + 16;                                   \
        S x = (S)s, y = (S)(s * 3);                                                                                             \
        do {                                                                                                                    \
            T r = (T)next();                                                                                                    \
            unsigned by = r % (BITS - 1) + 1;                                                                                   \
            a += r, b -= r, c &= r | 5, d |= r & 48, e ^= r;                                                                    \
            f += 1, g -= 1, h = -h, i = ~i;                                                                                     \
            j += 77, k -= 100, l ^= 85, m = m << 1 | m >> (BITS - 1);                                                           \
            n = n << 3 | n >> (BITS - 3), o = o << by | o >> (BITS - by);                                                       \
            p <<= by, p |= 3, q >>= 1, q ^= r, x >>= by, x ^= (S)r, y >>= 2, y -= (S)r;                                         \
        } while (--turns);                                                                                                      \
        uint64_t sum = 0;                                                                                                       \
        T all[] = {a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, (T)x, (T)y};                                              \
        for (unsigned at = 0; at < sizeof all / sizeof *all; at++) sum = sum * 31 + all[at];                                    \
        return sum;                                                                                                             \
    }
CHANGE(change8, uint8_t, int8_t, 8)
CHANGE(change16, uint16_t, int16_t, 16)
CHANGE(change32, uint32_t, int32_t, 32)
CHANGE(change64, uint64_t, int64_t, 64)

// Sums of two words, with what the lower ones carry.
#ifdef __x86_64__
typedef unsigned __int128 wide;
#else
typedef uint64_t wide;
#endif
NOINLINE static uint64_t carry(int turns, wide s) {
    wide a = s, b = s << 7, c = s * 3, d = ~s;
    do {
        wide r = (wide)next() << (sizeof(wide) * 4 - 8) | next();
        a += r, b -= r, c += (r << 1) + 1, d -= 1;
    } while (--turns);
    wide sum = a ^ b ^ c ^ d;
    return (uint64_t)sum ^ (uint64_t)(sum >> (sizeof(wide) * 4));
}

// What the flags say of a change decides.
NOINLINE static int decide(int turns, int a, int b, int c, int d, int e, int f) {
    int zero = 0, negative = 0, over = 0, below = 0, even = 0;
    unsigned u = (unsigned)a;
    while (turns--) {
        int r = (int)(next() >> 20);
        if (!--a) zero++, a = r;
        if ((b -= r) < 0) negative++, b += 99999;
        if (__builtin_add_overflow(c, r << 18, &c)) over++;
        if (__builtin_sub_overflow(u, (unsigned)r, &u)) below++;
        if (!((d ^= r) & 1)) even++;
        if ((e &= r | 4096) == 0) zero += 2, e = ~r;
        if (f += 7, f > 5000) over += 3, f = r;
    }
    return zero * 7 + negative * 11 + over * 13 + below * 17 + even * 19 + (a ^ b ^ c ^ d ^ e ^ f ^ (int)u);
}

// What a change overwrites is read behind it, or by it in another operand.
NOINLINE static uint64_t read_again(int turns, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    uint64_t sum = 0;
    uint32_t old = 0;
    do {
        uint32_t r = next();
        sum += old, old = a, a += r;
        sum ^= (uint64_t)b << 9, b = (b ^ r) - b;
        c += c, c |= r >> 31;
        next();
        uint8_t low = (uint8_t)d;
        d -= r, sum += low, sum += (uint16_t)d;
    } while (--turns);
    return sum + a + b + c + d;
}

// A variable that nobody changes behind setjmp keeps its value, beside others that are changed.
static jmp_buf out;
NOINLINE static void leave(unsigned r) {
    if (r % 3 == 0) longjmp(out, 1);
}
NOINLINE static int returns_twice(int turns, int a, int b, int c) {
    volatile int left = turns, came_back = 0;
    int fixed = a * 3 + b, other = c ^ b;
    if (setjmp(out)) came_back++;
    int x = a, y = b, z = c;
    while (left-- > 0) {
        x += 3, y ^= x, z -= 5;
        leave(next() >> 16);
        x <<= 1, y += 7, z = ~z;
    }
    return fixed + other * 3 + came_back * 1000 + x + y + z;
}

int main(void) {
    for (int turns = 1; turns < 40; turns += 13) {
        printf("%llx %llx", (unsigned long long)change8(turns, 200), (unsigned long long)change16(turns, 65000));
        printf(" %llx %llx", (unsigned long long)change32(turns, 4294967000u), (unsigned long long)change64(turns, -5000ull));
        printf(" %llx %d", (unsigned long long)carry(turns, ~(wide)0 - 4000), decide(turns * 10, 9, 100000, 1, 12345, -1, 17));
        printf(" %llx", (unsigned long long)read_again(turns, 1, 2, 3, 4));
        printf(" %d\n", returns_twice(turns, turns, 5, 77));
    }
    return 0;
}
