// flags: -O2
// A number and its extension: where one ends, the other begins in the same register; two equal extensions are one.
unsigned long mix(unsigned long *row, int n, unsigned long seed, int i);
unsigned long table(unsigned long *p, int width, int n, unsigned long key) {
    unsigned long sum = n;
    for (int i = 0; i < n; i++)
        sum ^= mix(p + (long)width * i, n, key, i);
    return sum;
}
