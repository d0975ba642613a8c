// Structures by value: in registers, in memory (byval), returned (sret), mixed, copied, nested, through pointers.
#include <stdio.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

struct tiny { char c; short s; };
struct ints { int a, b, c; };
struct real { double x, y; };
struct mixed { int i; double d; };
struct floats { float a, b, c; };
struct large { long v[12]; char name[20]; };
struct nested { struct tiny t; struct real r; struct { int k; } in; };
union either { double d; long long l; };
struct bits { unsigned a : 3, b : 13, c : 16; signed d : 7; };

NOINLINE static struct tiny make_tiny(struct tiny t, int k) { t.c = (char)(t.c + k); t.s = (short)(t.s * k); return t; }
NOINLINE static struct ints make_ints(struct ints a, struct ints b) { return (struct ints){a.a + b.c, a.b - b.b, a.c * b.a}; }
NOINLINE static struct real add(struct real a, struct real b, double k) { return (struct real){a.x + b.x * k, a.y - b.y * k}; }
NOINLINE static struct mixed make_mixed(struct mixed m, struct mixed n) { return (struct mixed){m.i - n.i, m.d * n.d}; }
NOINLINE static struct floats scale(struct floats f, float k) { return (struct floats){f.a * k, f.b / k, f.c - k}; }
NOINLINE static struct large update(struct large l, int at, long v) {
    l.v[at] += v;
    for (int i = 1; i < 12; i++) l.v[i] ^= l.v[i - 1] << 1;
    snprintf(l.name, sizeof l.name, "%s+%d", l.name[0] ? "n" : "0", at);
    return l;
}
NOINLINE static struct nested turn(struct nested n, struct large l, struct tiny t) {
    n.t = t;
    n.r.x += (double)l.v[3];
    n.in.k += (int)l.v[11];
    return n;
}
NOINLINE static union either flip(union either e) { e.l ^= 1LL << 52; return e; }
NOINLINE static struct bits shuffle(struct bits b) { unsigned t = b.a; b.a = b.b & 7; b.b = (b.c >> 3) & 0x1fff; b.c = (t * 9999) & 0xffff; b.d = (-b.d) & 0x3f; return b; }
NOINLINE static long sum(struct large a, int k, struct large b, double d, struct ints i) {
    long s = k + (long)d + i.a - i.b + i.c;
    for (int j = 0; j < 12; j++) s = s * 3 % 1000003 + a.v[j] - b.v[j];
    return s;
}
static void swap(struct large *a, struct large *b) { struct large t = *a; *a = *b; *b = t; }

int main(void) {
    struct large l = {{0}, ""}, m;
    struct nested n = {{1, 2}, {3, 4}, {5}};
    struct tiny t = {1, 2};
    struct ints i = {1, 2, 3};
    struct real r = {1, 1};
    struct mixed x = {1, 1.5};
    struct floats f = {1, 2, 3};
    union either e = {.d = 1.0};
    struct bits b = {5, 4000, 60000, -20};
    for (int k = 0; k < 10; k++) {
        t = make_tiny(t, k | 1);
        i = make_ints(i, (struct ints){k, 2, -1});
        r = add(r, (struct real){k, 0.5}, 1.25);
        x = make_mixed(x, (struct mixed){k, 1.125});
        f = scale(f, 1.5f);
        m = update(l, k, k * k + 1);
        swap(&l, &m);
        n = turn(n, l, t);
        b = shuffle(b);
    }
    e = flip(e);
    printf("%d %d | %d %d %d | %g %g | %d %g | %g %g %g\n", t.c, t.s, i.a, i.b, i.c, r.x, r.y, x.i, x.d, f.a, f.b, f.c);
    printf("%ld %ld %s | %d %g %g %d | %g | %u %u %u %d\n", l.v[5] % 9999, m.v[11] % 9999, l.name, n.t.c, n.r.x, n.r.y, n.in.k % 7919, e.d, b.a, b.b, b.c, b.d);
    printf("%ld\n", sum(l, 4, m, 5.5, i));
    return 0;
}
