// flags: -mbmi2
// Shifts by amounts of 32 bits, of which BMI2's instructions read the low byte in a register of 64: the insertion of a value's part into
// an undefined register. The amount lives on, so that it is told apart whether the part was copied or the whole.
#include <stdint.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline))

NOINLINE uint64_t kept_while_replaced(const unsigned *n, const uint64_t *v, int k) {
    unsigned count = 5, total = 0;
    uint64_t bits = 0;
    for (int i = 0; i < k; i++) {
        unsigned c = count;
        bits ^= v[i] << c;
        count = n[i];
        __asm__ volatile("" : "+r"(count) : : "memory");
        bits += v[i + 1] << c;
        total += c;
        __asm__ volatile("" : "+r"(total));
        bits ^= total >> (c & 31);
        total ^= c;
    }
    return bits + total;
}

NOINLINE uint64_t exchanged(const unsigned *n, const uint64_t *v, int k) {
    unsigned a = 1, b = 2, total = 0;
    uint64_t bits = 0;
    for (int i = 0; i < k; i++) {
        bits ^= v[i] << a;
        unsigned t = a;
        a = b;
        b = t + n[i];
        bits += v[i + 1] >> t;
        __asm__ volatile("" : "+r"(b) : : "memory");
        total += t * 3 + a;
        bits ^= (uint64_t)total << (t + 1);
    }
    return bits + total;
}

NOINLINE uint64_t over_calls(unsigned n, uint64_t v, uint64_t (*f)(unsigned)) {
    uint64_t r = v << (uint8_t)n;
    r += f(n);
    r ^= v >> (uint8_t)n;
    r += f(n + 1);
    r ^= v << (uint8_t)(n);
    return r + n * 5;
}

static uint64_t times(unsigned x) { return x * 77ull; }

int main(void) {
    static unsigned n[300];
    static uint64_t v[301];
    unsigned seed = 7;
    for (int i = 0; i < 300; i++) {
        seed = seed * 1103515245u + 12345u;
        n[i] = seed >> 9;
        v[i] = seed * 0x123456789abcdull;
    }
    uint64_t (*volatile f)(unsigned) = times;
    printf("%llx\n", (long long)kept_while_replaced(n, v, 300));
    printf("%llx\n", (long long)exchanged(n, v, 300));
    printf("%llx\n", (long long)over_calls(0x12345, 0x123456789abcdull, f));
    return 0;
}
