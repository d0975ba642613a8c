// flags: -O2 -fno-slp-vectorize
// Numbers that are computed long before they are stored wait until then: no callee-saved register has to be saved for them.
void multiples(volatile long *to, long x) {
    long a = x * 11, b = x * 13, c = x * 17, d = x * 19, e = x * 23, f = x * 29, g = x * 31, h = x * 37, i = x * 41, j = x * 43;
    *to = a, *to = b, *to = c, *to = d, *to = e, *to = f, *to = g, *to = h, *to = i, *to = j;
}
