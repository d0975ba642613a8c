// beyond-regalloc2: it jumps from inline assembly
// asm goto, without and with outputs; outputs and other values live on every way out.
#include <stdio.h>

#define NOINLINE __attribute__((noinline))

NOINLINE int test_bit(unsigned v, unsigned bit) {
    __asm__ goto("btl %1, %0\n\tjc %l[set]" : : "r"(v), "r"(bit) : "cc" : set);
    return 0;
set:
    return 1;
}

NOINLINE int three_way(int a, int b, int c) {
    int x = a * 3 + c, y = b - c;
    __asm__ goto("cmpl %1, %0\n\tjl %l[less]\n\tjg %l[greater]" : : "r"(a), "r"(b) : "cc" : less, greater);
    return x + y;
less:
    return x - y * c;
greater:
    return x * y + c;
}

NOINLINE int add_overflows(int a, int b, int *out) {
    int r = a;
    __asm__ goto("addl %1, %0\n\tjo %l[overflow]" : "+r"(r) : "r"(b) : "cc" : overflow);
    *out = r;
    return 0;
overflow:
    *out = r + 1;
    return 1;
}

NOINLINE unsigned loop(unsigned n, unsigned seed) {
    unsigned hi = 0, lo = seed, steps = 0, odd = 0, even = 0;
    while (n--) {
        unsigned q, r;
        __asm__ goto("mull %3\n\ttestl $1, %0\n\tjnz %l[odd_product]" : "=a"(q), "=d"(r) : "0"(lo), "r"(seed | 1) : "cc" : odd_product);
        even += q >> 4;
        hi ^= r;
        lo = q + 12345;
        continue;
    odd_product:
        odd += r >> 3;
        hi += q;
        lo = r ^ q;
        steps++;
    }
    return hi ^ (odd * 31) ^ (even * 17) ^ steps;
}

int main(void) {
    int r, o;
    printf("%d %d\n", test_bit(0x50, 4), test_bit(0x50, 5));
    printf("%d %d %d\n", three_way(1, 2, 3), three_way(2, 2, 3), three_way(3, 2, 3));
    o = add_overflows(2000000000, 2000000000, &r);
    printf("%d %d\n", o, r);
    o = add_overflows(20, -30, &r);
    printf("%d %d\n", o, r);
    printf("%u\n", loop(10000, 2654435761u));
    return 0;
}
