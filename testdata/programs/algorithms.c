// Classics: quick, merge, heap and radix sort, n-queens, Floyd-Warshall, knapsack, edit distance, sieve, permutations.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))
enum { N = 3000, V = 40 };
static uint32_t state = 1;
static uint32_t next(void) { state ^= state << 13; state ^= state >> 17; state ^= state << 5; return state; }

NOINLINE static void quick(int *a, int lo, int hi) {
    while (lo < hi) {
        int p = a[lo + (hi - lo) / 2], i = lo, j = hi;
        while (i <= j) {
            while (a[i] < p) i++;
            while (a[j] > p) j--;
            if (i <= j) { int t = a[i]; a[i++] = a[j]; a[j--] = t; }
        }
        if (j - lo < hi - i) { quick(a, lo, j); lo = i; } else { quick(a, i, hi); hi = j; }
    }
}
NOINLINE static void merge(int *a, int *t, int n) {
    if (n < 2) return;
    int m = n / 2, i = 0, j = m, k = 0;
    merge(a, t, m);
    merge(a + m, t, n - m);
    while (i < m && j < n) t[k++] = a[i] <= a[j] ? a[i++] : a[j++];
    while (i < m) t[k++] = a[i++];
    while (j < n) t[k++] = a[j++];
    memcpy(a, t, (size_t)n * sizeof *a);
}
NOINLINE static void heap(int *a, int n) {
    for (int s = n / 2 - 1, e = n; e > 1;) {
        int i;
        if (s >= 0) i = s--; else { int t = a[0]; a[0] = a[--e]; a[e] = t; i = 0; }
        int v = a[i], c;
        while ((c = 2 * i + 1) < e) { if (c + 1 < e && a[c + 1] > a[c]) c++; if (a[c] <= v) break; a[i] = a[c]; i = c; }
        a[i] = v;
    }
}
NOINLINE static void radix(uint32_t *a, uint32_t *t, int n) {
    for (int s = 0; s < 32; s += 8) {
        int count[257] = {0};
        for (int i = 0; i < n; i++) count[(a[i] >> s & 255) + 1]++;
        for (int i = 0; i < 256; i++) count[i + 1] += count[i];
        for (int i = 0; i < n; i++) t[count[a[i] >> s & 255]++] = a[i];
        uint32_t *u = a; a = t; t = u;
    }
}
static int by_last_digit(const void *a, const void *b) { int x = *(const int *)a, y = *(const int *)b; return x % 10 != y % 10 ? x % 10 - y % 10 : (x > y) - (x < y); }
NOINLINE static int queens(unsigned all, unsigned cols, unsigned left, unsigned right) {
    int n = cols == all;
    for (unsigned free = all & ~(cols | left | right); free; free &= free - 1) { unsigned b = free & -free; n += queens(all, cols | b, (left | b) << 1, (right | b) >> 1); }
    return n;
}
NOINLINE static long floyd(void) {
    static int d[V][V];
    long s = 0;
    for (int i = 0; i < V; i++) for (int j = 0; j < V; j++) d[i][j] = i == j ? 0 : next() % 5 ? 1000000 : (int)(next() % 100 + 1);
    for (int k = 0; k < V; k++) for (int i = 0; i < V; i++) for (int j = 0; j < V; j++) if (d[i][k] + d[k][j] < d[i][j]) d[i][j] = d[i][k] + d[k][j];
    for (int i = 0; i < V; i++) for (int j = 0; j < V; j++) s = s * 3 % 1000003 + d[i][j];
    return s;
}
NOINLINE static int distance(const char *a, const char *b) {
    int row[64], n = (int)strlen(b);
    for (int j = 0; j <= n; j++) row[j] = j;
    for (int i = 1; a[i - 1]; i++)
        for (int j = 1, diagonal = row[0]++, up; j <= n; j++, diagonal = up) {
            up = row[j];
            int best = diagonal + (a[i - 1] != b[j - 1]);
            if (up + 1 < best) best = up + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            row[j] = best;
        }
    return row[n];
}
NOINLINE static int knapsack(int capacity) {
    int best[1001] = {0};
    for (int i = 0; i < 50; i++) { int w = (int)(next() % 60 + 5), v = (int)(next() % 100); for (int c = capacity; c >= w; c--) if (best[c - w] + v > best[c]) best[c] = best[c - w] + v; }
    return best[capacity];
}
NOINLINE static int collatz(uint32_t limit) {
    int best = 0;
    for (uint32_t i = 1; i < limit; i++) { int n = 0; for (uint64_t v = i; v != 1; n++) v = v & 1 ? 3 * v + 1 : v >> 1; if (n > best) best = n; }
    return best;
}

int main(void) {
    static int a[N], b[N], c[N], d[N], t[N];
    static uint32_t e[N], f[N];
    for (int i = 0; i < N; i++) e[i] = (uint32_t)(a[i] = b[i] = c[i] = d[i] = (int)(next() >> 4));
    quick(a, 0, N - 1); merge(b, t, N); heap(c, N); radix(e, f, N);
    qsort(d, N, sizeof *d, by_last_digit);
    int same = 1;
    for (int i = 0; i < N; i++) same &= a[i] == b[i] && b[i] == c[i] && (uint32_t)c[i] == e[i];
    printf("%d %d %d %d\n", same, a[0], a[N / 2], d[N - 1]);
    printf("%d %ld %d %d %d\n", queens(255, 0, 0, 0), floyd(), distance("register allocation", "graph colouring, live"), knapsack(1000), collatz(30000));
    return 0;
}
