// flags: -O2
// Inline assembly that jumps ends a block: what lives into its labels stays in registers.
// Both ways leave together.
int joined(int a, int b) {
    int r = a * 3;
    __asm__ goto("cmpl %1, %0\n\tje %l[same]" : : "r"(a), "r"(b) : "cc" : same);
    r += b;
same:
    return r ^ a;
}

// Several assemblies share a label that jumps reach too.
long shared(long a, long b, long c, long d) {
    long s = a * b;
    if (a == 7)
        goto fail;
    __asm__ goto("testq %0, %0\n\tjz %l[fail]" : : "r"(b) : "cc" : fail);
    s += c;
    __asm__ goto("testq %0, %0\n\tjz %l[fail]" : : "r"(c) : "cc" : fail);
    s ^= d;
    __asm__ goto("testq %0, %0\n\tjz %l[fail]" : : "r"(d) : "cc" : fail);
    return s;
fail:
    return s - a + b * c;
}

// Out of a loop to the head of another one around it.
unsigned retried(unsigned *p, unsigned n) {
    unsigned tries = 0, sum = 0;
again:
    tries++;
    for (unsigned i = 0; i < n; i++) {
        __asm__ goto("btl $3, %0\n\tjc %l[again]" : : "r"(p[i] + tries) : "cc" : again);
        sum += p[i] * tries;
    }
    return sum + tries;
}

// More values than registers live past the assembly, in a loop.
long crowded(long *p, long n) {
    long a = p[0], b = p[1], c = p[2], d = p[3], e = p[4], f = p[5], g = p[6], h = p[7], i = p[8], j = p[9], k = p[10], l = p[11];
    for (; n; n--) {
        __asm__ goto("bt %1, %0\n\tjc %l[odd]" : : "r"(a), "r"(b) : "cc" : odd);
        a += b; b += c; c += d; d += e; e += f; f ^= g; g += h; h -= i; i += j; j ^= k; k += l; l += a;
        continue;
    odd:
        a -= l; b ^= a; c += e; l += n;
    }
    return a + b * c + d * e + f * g + h * i + j * k + l;
}

// Outputs that are wanted on three ways.
long outputs(long a, long b) {
    long x, y;
    __asm__ goto("lea (%2,%3), %0\n\tmov %2, %1\n\ttest %0, %0\n\tjs %l[neg]\n\tjz %l[zero]"
               : "=&r"(x), "=&r"(y) : "r"(a), "r"(b) : "cc" : neg, zero);
    return x * y;
neg:
    return y - x;
zero:
    return y + b;
}

// Outputs in registers that the assembly names.
unsigned named(unsigned a, unsigned b) {
    unsigned lo, hi;
    __asm__ goto("mull %3\n\tjo %l[wide]" : "=a"(lo), "=d"(hi) : "0"(a), "r"(b) : "cc" : wide);
    return lo + b;
wide:
    return hi ^ lo ^ a;
}

// An operand that is read and written, around a loop.
unsigned updated(unsigned v, unsigned step) {
    unsigned n = 0;
    for (;;) {
        n++;
        __asm__ goto("subl %1, %0\n\tjc %l[done]" : "+r"(v) : "r"(step) : "cc" : done);
    }
done:
    return v + n;
}

// An output that both ways bring to one place.
int merged(int a, int b) {
    int r;
    __asm__ goto("movl %1, %0\n\taddl %2, %0\n\tjo %l[out]" : "=&r"(r) : "r"(a), "r"(b) : "cc" : out);
    r -= b * 3;
out:
    return r + a;
}

int use(int);

// Values live over calls on both ways.
int called(int a, int b) {
    int r;
    __asm__ goto("leal (%1,%2), %0\n\tjz %l[out]" : "=r"(r) : "r"(a), "r"(b) : "cc" : out);
    r += use(a) + b;
out:
    return use(r) + a * b + r;
}

// A static key around a slow call in a loop.
long keyed(long *p, int n) {
    long s = 0;
    for (int i = 0; i < n; i++) {
        __asm__ goto(".byte 0x0f, 0x1f, 0x44, 0, 0" : : : : slow);
        s += p[i];
        continue;
    slow:
        s += use(i) + p[i];
    }
    return s;
}

// Accesses that may fault, two for one label.
int copy_words(unsigned long *d, const unsigned long *s, int n) {
    int i = 0, done = 0;
    for (i = 0; i + 1 < n; i += 2) {
        unsigned long v, w;
        __asm__ goto("movq %1, %0" : "=r"(v) : "m"(s[i]) : : fault);
        done++;
        __asm__ goto("movq %1, %0" : "=r"(w) : "m"(s[i + 1]) : : fault);
        d[i] = v;
        d[i + 1] = w;
        done++;
    }
    return done;
fault:
    return -done - i;
}

// Floating point, in a loop.
double floats(double x, double y, int n) {
    double s = x;
    while (n--) {
        double r;
        __asm__ goto("movapd %1, %0\n\taddsd %2, %0\n\tjp %l[nan]" : "=&x"(r) : "x"(s), "x"(y) : "cc" : nan);
        s = r * x;
        continue;
    nan:
        s = s * y - r;
    }
    return s;
}

// More outputs, and values beside them, than there are registers.
long many(long *p) {
    long a, b, c, d, e, f;
    long u = p[6], v = p[7], w = p[8], x = p[9], y = p[10], z = p[11];
    __asm__ goto("mov %6,%0; mov %6,%1; mov %6,%2; mov %6,%3; mov %6,%4; mov %6,%5; jz %l[out]"
               : "=&r"(a), "=&r"(b), "=&r"(c), "=&r"(d), "=&r"(e), "=&r"(f) : "r"(p) : "cc" : out);
    return a * b + c * d + e * f + u * v + w * x + y * z;
out:
    return a + b + c + d + e + f + u + v + w + x + y + z;
}

// The label is what follows anyway.
int same_label(int a, int b) {
    __asm__ goto("cmpl %1, %0\n\tje %l[next]" : : "r"(a), "r"(b) : "cc" : next);
next:
    return a * b;
}

int same_label_output(int a, int b) {
    int r;
    __asm__ goto("movl %1, %0\n\taddl %2, %0\n\tje %l[next]" : "=&r"(r) : "r"(a), "r"(b) : "cc" : next);
next:
    return r * b;
}

// From an inner loop to the end of an outer one's body.
unsigned nested(unsigned *p, unsigned n) {
    unsigned s = 0, t = 0;
    for (unsigned i = 0; i < n; i++) {
        for (unsigned j = i; j < n; j++) {
            unsigned o;
            __asm__ goto("bsfl %1, %0\n\tjz %l[skip]" : "=r"(o) : "r"(p[j] ^ i) : "cc" : skip);
            s += o * j;
        }
        t += s;
    skip:
        t ^= i;
    }
    return s * 31 + t;
}

