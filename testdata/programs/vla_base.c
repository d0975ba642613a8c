// beyond-stock: held to few registers, LLVM's allocators have none for the pointer to the arguments (r10 or r11).
// Frames that need a pointer to the arguments on the stack: an over-aligned local, a dynamic alloca, and inline assembly that
// names the register that would be the base pointer. (Not in static functions, to which LLVM gives a calling convention that has
// no such pointer.)
#include <alloca.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifdef __x86_64__
#define BASE "rbx"
#else
#define BASE "esi"
#endif
#define NOINLINE __attribute__((noinline))

NOINLINE static unsigned look(const unsigned *aligned, const unsigned char *bytes, unsigned n) {
    unsigned h = (unsigned)((uintptr_t)aligned % 64);
    for (unsigned i = 0; i < n; i++) h = h * 31 + bytes[i] + *aligned;
    return h;
}

NOINLINE unsigned few(unsigned n) {
    unsigned local __attribute__((aligned(64))) = n;
    unsigned char *bytes = alloca(n + 1);
    __asm__ volatile("" ::: BASE);
    memset(bytes, (int)n, n);
    return look(&local, bytes, n);
}

NOINLINE unsigned many(unsigned n, unsigned b, unsigned c, unsigned d, unsigned e, unsigned f, unsigned g, unsigned h) {
    unsigned local __attribute__((aligned(64))) = h;
    unsigned sum = 0;
    for (unsigned i = 1; i <= n; i++) {
        unsigned char *bytes = alloca(i + 1);
        __asm__ volatile("" ::: BASE);
        memset(bytes, (int)(g + b), i);
        sum = sum * 7 + look(&local, bytes, i) + c * d + e * f;
        g += h;
    }
    return sum + g + look(&local, (const unsigned char *)&local, 4);
}

int main(void) {
    for (unsigned n = 1; n < 40; n += 3) printf("%u %u\n", few(n), many(n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7));
    return 0;
}
