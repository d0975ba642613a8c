// Inline assembly: fixed, tied, early-clobber, memory, byte and clobbered registers.
#include <stdint.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline))

NOINLINE uint32_t mul_high(uint32_t a, uint32_t b, uint32_t *lo) {
    uint32_t hi;
    __asm__("mull %3" : "=a"(*lo), "=d"(hi) : "0"(a), "r"(b) : "cc");
    return hi;
}
NOINLINE uint32_t divide(uint64_t n, uint32_t d, uint32_t *rest) {
    uint32_t q, r;
    __asm__("divl %4" : "=a"(q), "=d"(r) : "0"((uint32_t)n), "1"((uint32_t)(n >> 32)), "rm"(d) : "cc");
    *rest = r;
    return q;
}
NOINLINE unsigned tied(unsigned x, unsigned y) {
    __asm__("addl %1, %0\n\troll $7, %0" : "+r"(x) : "r"(y) : "cc");
    return x + y;
}
// The output is written before the last input is read.
NOINLINE unsigned early(unsigned a, unsigned b, unsigned c) {
    unsigned r;
    __asm__("movl %1, %0\n\timull %2, %0\n\tsubl %3, %0" : "=&r"(r) : "r"(a), "r"(b), "r"(c) : "cc");
    return r + a * 2 + b * 3 + c * 5;
}
// The output is written before the other operand is read, and both have the same value at first.
NOINLINE unsigned early_and_tied(unsigned x) {
    unsigned y = x;
    __asm__("addl %1, %0\n\timull %1, %0" : "+&r"(y) : "r"(x) : "cc");
    return y;
}
NOINLINE unsigned early_and_tied_twice(unsigned x, unsigned n) {
    unsigned y = x, z = x;
    for (unsigned i = 0; i < n; i++) {
        __asm__("addl %2, %0\n\tsubl %0, %1\n\tincl %0\n\taddl %2, %1" : "+&r"(y), "+&r"(z) : "r"(x) : "cc");
        x += y ^ z;
        y = x;
    }
    return x + y * 3 + z * 5;
}
NOINLINE unsigned memory(unsigned *cell, unsigned v) {
    unsigned local = v * 3;
    __asm__("addl %2, %0\n\tincl %1" : "+m"(*cell), "+m"(local) : "ri"(v) : "cc");
    return local;
}
NOINLINE int bytes(int a, int b) {
    unsigned char r, q;
    __asm__("cmpl %3, %2\n\tsetl %0\n\tsete %1" : "=q"(r), "=&q"(q) : "r"(a), "r"(b) : "cc");
    return r * 2 + q;
}
NOINLINE unsigned high_byte(unsigned x) {
    unsigned r;
    __asm__("movl %1, %0\n\txchgb %b0, %h0" : "=&Q"(r) : "r"(x));
    return r;
}
NOINLINE uint64_t pair(uint32_t lo, uint32_t hi) {
#ifdef __i386__
    uint64_t v = (uint64_t)hi << 32 | lo;
    __asm__("addl $5, %%eax\n\tadcl $7, %%edx" : "+A"(v) : : "cc");
    return v;
#else
    uint32_t a = lo, d = hi;
    __asm__("addl $5, %0\n\tadcl $7, %1" : "+a"(a), "+d"(d) : : "cc");
    return (uint64_t)d << 32 | a;
#endif
}
NOINLINE unsigned shift(unsigned v, unsigned n) {
    __asm__("shll %%cl, %0" : "+r"(v) : "c"(n) : "cc");
    return v;
}
NOINLINE void copy(void *to, const void *from, unsigned long n) {
    __asm__ volatile("cld\n\trep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory", "cc");
}
// Clobbers all but a few registers while values are live across.
NOINLINE int clobbers(int a, int b, int c, int d, int e) {
    int s = a * b + c, t = d - e, u = a ^ d;
    __asm__ volatile("xorl %%eax, %%eax\n\tmovl %%eax, %%ecx\n\tmovl %%eax, %%edx\n\tmovl %%eax, %%edi" : : : "eax", "ecx", "edx", "edi", "cc", "memory");
    return s * 3 + t * 5 + u * 7 + a + b + c + d + e;
}
NOINLINE unsigned checksum(const unsigned *p, int n) {
    unsigned sum = 0;
    for (int i = 0; i < n; i++) {
        unsigned t;
        __asm__("movl %2, %1\n\tbswapl %1\n\taddl %1, %0\n\tadcl $0, %0" : "+r"(sum), "=&r"(t) : "m"(p[i]) : "cc");
    }
    return sum;
}
NOINLINE double sse(double a, double b) {
    double r;
#ifdef __SSE2__
    __asm__("movapd %1, %0\n\tmulsd %2, %0\n\taddsd %1, %0" : "=&x"(r) : "x"(a), "x"(b));
#else
    __asm__("fmul %%st, %%st(1)\n\tfaddp" : "=t"(r) : "0"(a), "u"(b) : "st(1)");
#endif
    return r;
}
NOINLINE int flags(unsigned a, unsigned b) {
    int carry, zero;
    __asm__("subl %3, %2" : "=@ccc"(carry), "=@ccz"(zero), "+r"(a) : "r"(b));
    return carry * 2 + zero;
}

int main(void) {
    uint32_t lo, hi = mul_high(0xdeadbeef, 0xcafebabe, &lo), rest, q = divide(123456789012345ull, 987654, &rest);
    unsigned cell = 10, r = memory(&cell, 4), data[16];
    char text[20] = "", source[] = "copied by rep movsb";
    for (unsigned i = 0; i < 16; i++) data[i] = i * 0x9e3779b9u;
    copy(text, source, sizeof source);
    printf("%08x %08x %u %u\n", hi, lo, q, rest);
    printf("%u %u %u %u\n", tied(5, 1u << 30), early(3, 4, 5), cell, r);
    printf("%d %d %d %08x %016llx %x\n", bytes(1, 2), bytes(2, 2), bytes(3, 2), high_byte(0x11223344), (unsigned long long)pair(0xfffffffe, 1), shift(3, 9));
    printf("%u %u\n", early_and_tied(7), early_and_tied_twice(3, 5));
    printf("%s %d %08x %g %d %d\n", text, clobbers(1, 2, 3, 4, 5), checksum(data, 16), sse(2.5, 4), flags(1, 2), flags(2, 2));
    return 0;
}
