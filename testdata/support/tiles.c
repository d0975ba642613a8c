// Matrix tiles (AMX): of one shape and of several, in loops, across calls, and more of them than there are registers. (LLVM refuses
// what clang makes of them without optimisation.)
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static int8_t left[4][1024], right[4][1024];
static int32_t sums[4][256];

static void fill(void) {
    uint32_t state = 12345;
    for (int i = 0; i < 4 * 1024; ++i) {
        state = state * 1664525 + 1013904223;
        left[0][i] = (int8_t)(state >> 24);
        right[0][i] = (int8_t)(state >> 16);
    }
}

static void print(const char *name, int rows, int columns) {
    printf("%s:", name);
    for (int tile = 0; tile < 4; ++tile) {
        uint32_t hash = 2166136261u;
        for (int row = 0; row < rows; ++row)
            for (int column = 0; column < columns / 4; ++column)
                hash = (hash ^ (uint32_t)sums[tile][row * 16 + column]) * 16777619u;
        printf(" %08x", hash);
    }
    printf("\n");
}

// Four sums, two tiles of either side: all eight registers, of one shape.
NOINLINE void blocks(int n) {
    __tile1024i c0 = {16, 64}, c1 = {16, 64}, c2 = {16, 64}, c3 = {16, 64};
    __tile_zero(&c0);
    __tile_zero(&c1);
    __tile_zero(&c2);
    __tile_zero(&c3);
    for (int i = 0; i < n; ++i) {
        __tile1024i a0 = {16, 64}, a1 = {16, 64}, b0 = {16, 64}, b1 = {16, 64};
        __tile_loadd(&a0, left[i & 3], 64);
        __tile_loadd(&a1, left[(i + 1) & 3], 64);
        __tile_loadd(&b0, right[i & 3], 64);
        __tile_loadd(&b1, right[(i + 1) & 3], 64);
        __tile_dpbssd(&c0, a0, b0);
        __tile_dpbssd(&c1, a0, b1);
        __tile_dpbssd(&c2, a1, b0);
        __tile_dpbssd(&c3, a1, b1);
    }
    __tile_stored(sums[0], 64, c0);
    __tile_stored(sums[1], 64, c1);
    __tile_stored(sums[2], 64, c2);
    __tile_stored(sums[3], 64, c3);
}

// Three shapes, which nobody knows before.
NOINLINE void shapes(short rows, short columns, short depth, short quarter) {
    __tile1024i c = {rows, columns}, a = {rows, depth}, b = {quarter, columns};
    __tile_loadd(&c, sums[1], 64);
    __tile_loadd(&a, left[0], 64);
    __tile_loadd(&b, right[0], 64);
    __tile_dpbssd(&c, a, b);
    __tile_stored(sums[3], 64, c);
    __tile_loadd(&b, right[1], 64);
    __tile_dpbssd(&c, a, b);
    __tile_loadd(&a, left[1], 64);
    __tile_dpbssd(&c, a, b);
    __tile_stored(sums[0], 64, c);
}

NOINLINE int other(int x) {
    __tile1024i a = {8, 32}, b = {8, 32}, c = {8, 32};
    __tile_loadd(&a, left[x & 3], 64);
    __tile_loadd(&b, right[x & 3], 64);
    __tile_zero(&c);
    __tile_dpbssd(&c, a, b);
    __tile_stored(sums[2], 64, c);
    return sums[2][0];
}

// Calls destroy all tiles, and load tables of their own.
NOINLINE void calls(int n) {
    __tile1024i c = {16, 64}, d = {16, 64}, a = {16, 64}, b = {16, 64};
    __tile_zero(&c);
    __tile_loadd(&d, sums[1], 64);
    for (int i = 0; i < n; ++i) {
        __tile_loadd(&a, left[i & 3], 64);
        __tile_loadd(&b, right[i & 3], 64);
        __tile_dpbssd(&c, a, b);
        if (other(i) & 1)
            __tile_dpbssd(&d, a, b);
    }
    __tile_stored(sums[0], 64, c);
    __tile_stored(sums[1], 64, d);
}

// Ten tiles live at once, and sums that change places.
NOINLINE void crowded(int n) {
    __tile1024i a[4] = {{16, 64}, {16, 64}, {16, 64}, {16, 64}}, b[4] = {{16, 64}, {16, 64}, {16, 64}, {16, 64}};
    __tile1024i c = {16, 64}, d = {16, 64};
    __tile_loadd(&a[0], left[0], 64);
    __tile_loadd(&a[1], left[1], 64);
    __tile_loadd(&a[2], left[2], 64);
    __tile_loadd(&a[3], left[3], 64);
    __tile_loadd(&b[0], right[0], 64);
    __tile_loadd(&b[1], right[1], 64);
    __tile_loadd(&b[2], right[2], 64);
    __tile_loadd(&b[3], right[3], 64);
    __tile_loadd(&c, sums[2], 64);
    __tile_loadd(&d, sums[3], 64);
    for (int i = 0; i < n; ++i) {
        __tile_dpbssd(&c, a[0], b[0]);
        __tile_dpbssd(&d, a[1], b[1]);
        __tile_dpbssd(&c, a[2], b[2]);
        __tile_dpbssd(&d, a[3], b[3]);
        _tile1024i e = c.tile;
        c.tile = d.tile;
        d.tile = e;
    }
    __tile_stored(sums[0], 64, c);
    __tile_stored(sums[1], 64, d);
    __tile_stored(sums[2], 64, b[3]);
    __tile_stored(sums[3], 64, a[0]);
}

#define IN_REGISTERS __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h), "+r"(i), "+r"(j))

// Tiles that are in memory beside ten values that are in registers: none is free for the distance of rows.
NOINLINE long beside(long a, int n) {
    long b = a * 3, c = a * 5, d = a * 7, e = a * 11, f = a * 13, g = a * 17, h = a * 19, i = a * 23, j = a * 29;
    __tile1024i t[9] = {{16, 64}, {16, 64}, {16, 64}, {16, 64}, {16, 64}, {16, 64}, {16, 64}, {16, 64}, {16, 64}};
    __tile_loadd(&t[0], left[0], 64);
    __tile_loadd(&t[1], left[1], 64);
    __tile_loadd(&t[2], left[2], 64);
    __tile_loadd(&t[3], left[3], 64);
    __tile_loadd(&t[4], right[0], 64);
    __tile_loadd(&t[5], right[1], 64);
    __tile_loadd(&t[6], right[2], 64);
    __tile_loadd(&t[7], right[3], 64);
    __tile_loadd(&t[8], sums[3], 64);
    while (n--) {
        IN_REGISTERS;
        __tile_dpbssd(&t[8], t[0], t[1]);
        __tile_dpbssd(&t[2], t[3], t[4]);
        __tile_dpbssd(&t[5], t[6], t[7]);
        __tile_dpbssd(&t[0], t[8], t[2]);
        __tile_dpbssd(&t[7], t[5], t[8]);
        IN_REGISTERS;
    }
    __tile_stored(sums[0], 64, t[0]);
    __tile_stored(sums[1], 64, t[2]);
    __tile_stored(sums[2], 64, t[7]);
    __tile_stored(sums[3], 64, t[8]);
    return a ^ b ^ c ^ d ^ e ^ f ^ g ^ h ^ i ^ j;
}

int main(void) {
    // Linux gives tiles to who asks (ARCH_REQ_XCOMP_PERM).
    if (syscall(SYS_arch_prctl, 0x1023, 18)) {
        printf("no tiles\n");
        return 0;
    }
    fill();
    blocks(7);
    print("blocks", 16, 64);
    shapes(5, 36, 24, 6);
    print("shapes", 5, 36);
    calls(5);
    print("calls", 8, 32);
    crowded(5);
    print("crowded", 16, 64);
    printf("%ld\n", beside(1234567, 3));
    print("beside", 16, 64);
    return 0;
}
