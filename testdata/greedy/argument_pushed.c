// flags: -O2
// What an argument's register holds is pushed from there, too, also where the push is wider.
int many(int, ...);
extern int table[];

int crowded(int a, int b, int c, int d) {
    int s = table[a] * b, t = table[b] - c, u = table[c] ^ d;
    return many(a, b, c, d, s, t, u, b, c, s) + many(t, u, s, b, a, c, d, t, u);
}

int in_loop(int n, int m) {
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += many(i, m, sum, i, 1, 2, m, sum, i, m);
    return sum;
}
