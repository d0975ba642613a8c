// registers: 12
// Tail calls: musttail between functions with many arguments, indirect, mutual, and deep (it would overflow otherwise).
// (Four arguments are pinned, and a jump target and its index must then be in call-clobbered registers: eight are not enough.)
#include <stdint.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline))
#define TAIL __attribute__((musttail)) return

typedef struct machine { int64_t acc; int steps; } machine;
typedef void op(machine *m, const unsigned char *pc, int a, int b);

static op add, sub, mul, jump, stop, swap;
static op *const table[] = {stop, add, sub, mul, jump, swap};
#define DISPATCH TAIL table[*pc](m, pc, a, b)

NOINLINE static void add(machine *m, const unsigned char *pc, int a, int b) { m->acc += a; a += pc[1]; pc += 2; m->steps++; DISPATCH; }
NOINLINE static void sub(machine *m, const unsigned char *pc, int a, int b) { m->acc -= b; b ^= pc[1]; pc += 2; m->steps++; DISPATCH; }
NOINLINE static void mul(machine *m, const unsigned char *pc, int a, int b) { m->acc = m->acc * pc[1] % 1000003 + a * b; pc += 2; DISPATCH; }
NOINLINE static void swap(machine *m, const unsigned char *pc, int a, int b) { pc += 1; TAIL table[*pc](m, pc, b, a); }
NOINLINE static void jump(machine *m, const unsigned char *pc, int a, int b) { if (m->steps < 300000) pc -= pc[1]; else pc += 2; a &= 1023; b &= 511; DISPATCH; }
NOINLINE static void stop(machine *m, const unsigned char *pc, int a, int b) { (void)pc; m->acc += a - b; }

NOINLINE static int even(unsigned n, int a, int b, int c);
NOINLINE static int odd(unsigned n, int a, int b, int c) { if (!n) return a - b + c; TAIL even(n - 1, b, c, a + 1); }
NOINLINE static int even(unsigned n, int a, int b, int c) { if (!n) return a + b - c; TAIL odd(n - 1, c, a, b - 1); }

#ifndef __i386__
// More arguments than registers: the stack's are rotated in place.
NOINLINE static long rotate(long n, long a, long b, long c, long d, long e, long f, long g, long h) {
    if (!n) return a + 2 * b + 3 * c + 5 * d + 7 * e + 11 * f + 13 * g + 17 * h;
    TAIL rotate(n - 1, b, c, d, e, f, g, h, a + n);
}
#else
NOINLINE static long rotate(long n, long a, long b, long c, long d, long e, long f, long g, long h) {
    for (; n; n--) { long t = a + n; a = b; b = c; c = d; d = e; e = f; f = g; g = h; h = t; }
    return a + 2 * b + 3 * c + 5 * d + 7 * e + 11 * f + 13 * g + 17 * h;
}
#endif

NOINLINE static int plain(int (*f)(unsigned, int, int, int), unsigned n, int x) { return f(n, x, x * 2, x - 3); }

int main(void) {
    static const unsigned char code[] = {1, 3, 2, 5, 3, 7, 5, 1, 9, 2, 77, 4, 11, 0};
    machine m = {1, 0};
    table[code[0]](&m, code, 2, 3);
    printf("%lld %d\n", (long long)m.acc, m.steps);
    printf("%d %d\n", even(1000000, 1, 2, 3), odd(1000001, 1, 2, 3));
    printf("%ld\n", rotate(1000, 1, 2, 3, 4, 5, 6, 7, 8));
    printf("%d %d\n", plain(even, 7, 10), plain(odd, 8, 20));
    return 0;
}
