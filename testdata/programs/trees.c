// An AVL tree with deletion, Sudoku by backtracking, the game of life, a treap with splits and merges, alpha-beta.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))
struct node { struct node *kid[2]; int key, height; };

static int height(struct node *n) { return n ? n->height : 0; }
static void update(struct node *n) { int l = height(n->kid[0]), r = height(n->kid[1]); n->height = 1 + (l > r ? l : r); }
NOINLINE static struct node *rotate(struct node *n, int d) { struct node *k = n->kid[!d]; n->kid[!d] = k->kid[d]; k->kid[d] = n; update(n); update(k); return k; }
NOINLINE static struct node *balance(struct node *n) {
    update(n);
    int b = height(n->kid[0]) - height(n->kid[1]);
    if (b > -2 && b < 2) return n;
    int d = b < 0;
    struct node *k = n->kid[d];
    if (height(k->kid[!d]) > height(k->kid[d])) n->kid[d] = rotate(k, d);
    return rotate(n, !d);
}
NOINLINE static struct node *insert(struct node *n, int key) {
    if (!n) { n = calloc(1, sizeof *n); n->key = key; n->height = 1; return n; }
    if (key != n->key) n->kid[key > n->key] = insert(n->kid[key > n->key], key);
    return balance(n);
}
NOINLINE static struct node *take_least(struct node *n, struct node **least) {
    if (!n->kid[0]) { *least = n; return n->kid[1]; }
    n->kid[0] = take_least(n->kid[0], least);
    return balance(n);
}
NOINLINE static struct node *erase(struct node *n, int key) {
    if (!n) return NULL;
    if (key != n->key) { n->kid[key > n->key] = erase(n->kid[key > n->key], key); return balance(n); }
    struct node *l = n->kid[0], *r = n->kid[1], *m;
    free(n);
    if (!r) return l;
    r = take_least(r, &m);
    m->kid[0] = l;
    m->kid[1] = r;
    return balance(m);
}
static long walk(struct node *n, long h) { return n ? walk(n->kid[1], (walk(n->kid[0], h) * 31 + n->key) % 1000000007) : h; }

static int tried;
NOINLINE static int sudoku(char *g) {
    int best = -1, count = 10, options = 0;
    for (int i = 0; i < 81; i++) {
        if (g[i] != '.') continue;
        int used = 0, n;
        for (int k = 0; k < 9; k++) {
            int row = g[i / 9 * 9 + k], col = g[k * 9 + i % 9], box = g[i / 27 * 27 + i % 9 / 3 * 3 + k / 3 * 9 + k % 3];
            used |= 1 << (row & 15) | 1 << (col & 15) | 1 << (box & 15);
        }
        n = 9 - __builtin_popcount((unsigned)used & 0x3fe);
        if (n < count) { best = i; count = n; options = ~used & 0x3fe; }
    }
    if (best < 0) return 1;
    for (; options; options &= options - 1) { tried++; g[best] = (char)('0' + __builtin_ctz((unsigned)options)); if (sudoku(g)) return 1; }
    g[best] = '.';
    return 0;
}
NOINLINE static uint64_t life(uint64_t g, int n) {
    while (n--) {
        uint64_t l = (g & 0x7f7f7f7f7f7f7f7full) << 1, r = (g & 0xfefefefefefefefeull) >> 1, s1 = l ^ r, c1 = l & r;
        uint64_t h1 = s1 ^ g, h2 = c1 | (s1 & g), u1 = h1 << 8, u2 = h2 << 8, d1 = h1 >> 8, d2 = h2 >> 8;
        uint64_t a = s1 ^ u1, ca = s1 & u1, ones = a ^ d1, cb = a & d1, t1 = c1 ^ u2, t2 = c1 & u2, t3 = d2 ^ ca, t4 = d2 & ca;
        uint64_t v = t1 ^ t3, w = t1 & t3, twos = v ^ cb, x = v & cb, fours = t2 | t4 | w | x;
        g = twos & ~fours & (ones | g);
    }
    return g;
}
NOINLINE static int search(uint32_t mine, uint32_t theirs, int depth, int alpha, int beta) {
    static const uint32_t lines[] = {0x7, 0x38, 0x1c0, 0x49, 0x92, 0x124, 0x111, 0x54};
    tried++;
    for (int i = 0; i < 8; i++) if ((theirs & lines[i]) == lines[i]) return -10 + depth;
    uint32_t free = ~(mine | theirs) & 0x1ff;
    if (!free) return 0;
    for (; free; free &= free - 1) {
        int v = -search(theirs, mine | (free & -free), depth + 1, -beta, -alpha);
        if (v > alpha) alpha = v;
        if (alpha >= beta) break;
    }
    return alpha;
}

int main(void) {
    struct node *t = NULL;
    uint32_t x = 9;
    for (int i = 0; i < 3000; i++) { x = x * 1664525 + 1013904223; t = insert(t, (int)(x >> 16) % 2000); if (i % 3 == 0) t = erase(t, (int)(x >> 12) % 2000); }
    printf("%d %ld\n", height(t), walk(t, 1));
    char grid[82] = "8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4..";
    int solved = sudoku(grid);
    printf("%d %d %s\n", solved, tried, grid);
    tried = 0;
    int v = search(0, 0, 0, -100, 100);
    printf("%d %d %016llx\n", v, tried, (unsigned long long)life(0x0000103808000000ull ^ 0x42, 9));
    return 0;
}
