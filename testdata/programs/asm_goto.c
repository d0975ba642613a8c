// beyond-regalloc2: inline assembly that jumps defines values
// asm goto, without and with outputs; outputs and other values live on every way out. Labels that several jumps share, that follow
// anyway, or whose address is taken; in loops, with more values than registers.
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

NOINLINE int shared(int a, int b, int c) {
    int s = a * b;
    if (a == 7)
        goto fail;
    __asm__ goto("testl %0, %0\n\tjz %l[fail]" : : "r"(b) : "cc" : fail);
    s += c;
    __asm__ goto("testl %0, %0\n\tjz %l[fail]" : : "r"(c) : "cc" : fail);
    return s ^ b;
fail:
    return s - a + b * c;
}

NOINLINE int joined(int a, int b) {
    int r;
    __asm__ goto("movl %1, %0\n\taddl %2, %0\n\tjo %l[out]" : "=&r"(r) : "r"(a), "r"(b) : "cc" : out);
    r -= b * 3;
out:
    return r + a;
}

NOINLINE int next(int a, int b) {
    int r;
    __asm__ goto("movl %1, %0\n\taddl %2, %0\n\tje %l[next]" : "=&r"(r) : "r"(a), "r"(b) : "cc" : next);
next:
    return r * b;
}

NOINLINE unsigned retried(const unsigned *p, unsigned n) {
    unsigned tries = 0, sum = 0;
again:
    tries++;
    for (unsigned i = 0; i < n; i++) {
        __asm__ goto("btl $3, %0\n\tjc %l[again]" : : "r"(p[i] + tries) : "cc" : again);
        sum += p[i] * tries;
    }
    return sum + tries;
}

NOINLINE unsigned long crowded(const unsigned long *p, unsigned long n) {
    unsigned long a = p[0], b = p[1], c = p[2], d = p[3], e = p[4], f = p[5], g = p[6], h = p[7], i = p[8], j = p[9], k = p[10], l = p[11];
    for (; n; n--) {
        // (With an output, LLVM's greedy allocator would store it on one of two ways only.)
        __asm__ goto("bt %1, %0\n\tjc %l[odd]" : : "r"(a), "r"(b) : "cc" : odd);
        a += b, b += c, c += d, d += e, e += f, f ^= g, g += h, h -= i, i += j, j ^= k, k += l, l += a;
        continue;
    odd:
        a -= l, b ^= a, c += e, l += n;
    }
    return a + b * c + d * e + f * g + h * i + j * k + l;
}

NOINLINE int taken(int a, int b) {
    static void *const labels[] = {&&one, &&two};
    __asm__ goto("cmpl %1, %0\n\tje %l[two]" : : "r"(a), "r"(b) : "cc" : two);
    goto *labels[a & 1];
one:
    a += b;
two:
    return a * b;
}

#ifdef __SSE2__
NOINLINE double sum(double x, double y, int n) {
    double s = x;
    while (n--) {
        double r;
        __asm__ goto("movapd %1, %0\n\taddsd %2, %0\n\tcomisd %1, %0\n\tja %l[more]" : "=&x"(r) : "x"(s), "x"(y) : "cc" : more);
        s = r * x;
        continue;
    more:
        s = y - r;
    }
    return s;
}
#endif

int main(void) {
    int r, o;
    printf("%d %d\n", test_bit(0x50, 4), test_bit(0x50, 5));
    printf("%d %d %d\n", three_way(1, 2, 3), three_way(2, 2, 3), three_way(3, 2, 3));
    o = add_overflows(2000000000, 2000000000, &r);
    printf("%d %d\n", o, r);
    o = add_overflows(20, -30, &r);
    printf("%d %d\n", o, r);
    printf("%u\n", loop(10000, 2654435761u));
    printf("%d %d %d %d\n", shared(7, 2, 3), shared(3, 0, 5), shared(3, 5, 0), shared(3, 5, 6));
    printf("%d %d %d\n", joined(2000000000, 2000000000), joined(20, 30), next(3, -3) + next(4, 5));
    printf("%u\n", retried((const unsigned[]){1, 6, 0x20, 5, 0x17}, 5));
    printf("%lu\n", crowded((const unsigned long[]){1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 1000));
    printf("%d %d %d\n", taken(4, 4), taken(4, 5), taken(5, 4));
#ifdef __SSE2__
    printf("%g\n", sum(0.5, 3, 25));
#endif
    return 0;
}
