// flags: -mmmx
// MMX registers and cpuid through inline assembly; an asm that takes ebx (the GOT pointer of old i386 code) and one with eight operands.
#include <stdint.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline))

NOINLINE static uint64_t add_bytes(uint64_t a, uint64_t b) {
    uint64_t r;
    __asm__("movq %1, %%mm0\n\tmovq %2, %%mm1\n\tpaddusb %%mm1, %%mm0\n\tmovq %%mm0, %0\n\temms" : "=m"(r) : "m"(a), "m"(b) : "mm0", "mm1");
    return r;
}
NOINLINE static unsigned vendor(unsigned leaf) {
    unsigned a, b, c, d;
    __asm__ volatile("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "0"(leaf), "2"(0));
    return (a > 0) + (b != 0) + (c != 0) + (d != 0);
}
NOINLINE static unsigned uses_ebx(unsigned x, unsigned y) {
    unsigned r;
    static const unsigned table[4] = {10, 20, 30, 40};
    __asm__("leal (%1,%2,4), %0" : "=b"(r) : "r"(x), "r"(y));
    return r + table[x & 3] + table[y & 3];
}
NOINLINE static unsigned operands(unsigned a, unsigned b, unsigned c, unsigned *m) {
    unsigned x, y;
    __asm__("movl %2, %0\n\txorl %3, %0\n\tmovl %4, %1\n\taddl %5, %1\n\tsubl %0, %5" : "=&r"(x), "=&r"(y) : "g"(a), "g"(b), "rm"(c), "m"(*m) : "cc", "memory");
    return x * 3 + y * 5 + *m + a + b + c;
}
NOINLINE static uint64_t string_ops(const char *s, unsigned long n) {
    const char *end;
    unsigned long left;
    __asm__("repne scasb" : "=D"(end), "=c"(left) : "0"(s), "1"(n), "a"('!') : "cc", "memory");
    return (uint64_t)(end - s) * 1000 + left;
}

int main(void) {
    unsigned cell = 77, sum = 0;
    for (unsigned i = 0; i < 20; i++) sum = sum * 31 + operands(sum, i, i * i, &cell) + uses_ebx(i, sum & 255);
    printf("%016llx %d %u %u %llu\n", (unsigned long long)add_bytes(0x10f0208040c0ff01ull, 0x1020f0904050ff02ull), vendor(0) >= 3, sum, cell, (unsigned long long)string_ops("find the mark! here", 19));
    return 0;
}
