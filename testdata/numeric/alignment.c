/*
 * Dynamic programming: local alignment of two sequences with affine gaps
 * (Smith, Waterman, Gotoh), edit distance by bits (Myers), shortest paths
 * between all pairs (Floyd, Warshall).
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "kernel.h"

enum { LENGTH = 700, NODES = 90, ROUNDS = 3 };

typedef struct {
    int score, row, column;
} Place;

__attribute__((noinline)) Place align(const uint8_t *a, int m, const uint8_t *b, int n, const int8_t (*restrict scores)[4], int open,
                                      int extend, int *restrict best, int *restrict gap) {
    Place place = {0, 0, 0};
    for (int j = 0; j <= n; j++) best[j] = 0, gap[j] = -10000;
    for (int i = 1; i <= m; i++) {
        const int8_t *row = scores[a[i - 1]];
        int diagonal = 0, left = -10000;
        for (int j = 1; j <= n; j++) {
            int open_left = best[j - 1] - open, open_up = best[j] - open;
            left = left - extend > open_left ? left - extend : open_left;
            gap[j] = gap[j] - extend > open_up ? gap[j] - extend : open_up;
            int score = diagonal + row[b[j - 1]];
            score = score > left ? score : left;
            score = score > gap[j] ? score : gap[j];
            score = score > 0 ? score : 0;
            diagonal = best[j];
            best[j] = score;
            if (score > place.score) place = (Place){score, i, j};
        }
    }
    return place;
}

/* Sixty-four rows a word; peq[word][letter] has the rows where the letter is. */
__attribute__((noinline)) int edit_distance(int words, int rows, const uint64_t (*restrict peq)[4], const uint8_t *b, int n,
                                            uint64_t *restrict plus, uint64_t *restrict minus) {
    int distance = rows;
    uint64_t last = 1ull << ((rows - 1) % 64);
    for (int w = 0; w < words; w++) plus[w] = ~0ull, minus[w] = 0;
    for (int j = 0; j < n; j++) {
        uint64_t in_plus = 1, in_minus = 0;
        for (int w = 0; w < words; w++) {
            uint64_t pv = plus[w], mv = minus[w], eq = peq[w][b[j]], xv = eq | mv;
            eq |= in_minus;
            uint64_t xh = (((eq & pv) + pv) ^ pv) | eq, ph = mv | ~(xh | pv), mh = pv & xh;
            if (w == words - 1) distance += ((ph & last) != 0) - ((mh & last) != 0);
            uint64_t out_plus = ph >> 63, out_minus = mh >> 63;
            ph = ph << 1 | in_plus, mh = mh << 1 | in_minus;
            plus[w] = mh | ~(xv | ph), minus[w] = ph & xv;
            in_plus = out_plus, in_minus = out_minus;
        }
    }
    return distance;
}

__attribute__((noinline)) void shortest_paths(int n, int32_t *distance, int16_t *restrict via) {
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++) {
            int32_t to_k = distance[i * n + k];
            for (int j = 0; j < n; j++) {
                int32_t through = to_k + distance[k * n + j];
                if (through < distance[i * n + j]) distance[i * n + j] = through, via[i * n + j] = (int16_t)k;
            }
        }
}

static uint8_t a[LENGTH], b[LENGTH];
static int best[LENGTH + 1], gap[LENGTH + 1];
static uint64_t peq[LENGTH / 64 + 1][4], plus[LENGTH / 64 + 1], minus[LENGTH / 64 + 1];
static int32_t distance[NODES * NODES];
static int16_t via[NODES * NODES];

int main(void) {
    static const int8_t scores[4][4] = {{5, -4, -3, -4}, {-4, 5, -4, -3}, {-3, -4, 5, -4}, {-4, -3, -4, 5}};
    uint64_t sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < LENGTH; i++) a[i] = random_bits() % 4;
        for (int i = 0; i < LENGTH; i++) b[i] = random_bits() % 5 ? a[(i * 9 / 10 + round * 20) % LENGTH] : random_bits() % 4;
        memset(peq, 0, sizeof peq);
        for (int i = 0; i < LENGTH; i++) peq[i / 64][a[i]] |= 1ull << i % 64;
        for (int i = 0; i < NODES * NODES; i++) distance[i] = random_bits() % 8 ? 1000000 : (int32_t)(random_bits() % 1000), via[i] = -1;
        Place place = align(a, LENGTH, b, LENGTH, scores, 10, 2, best, gap);
        int edits = edit_distance((LENGTH + 63) / 64, LENGTH, peq, b, LENGTH, plus, minus);
        for (int times = 0; times < 10; times++) edits += edit_distance(4, 256, peq, b, LENGTH, plus, minus);
        shortest_paths(NODES, distance, via);
        printf("%d at %d, %d; %d\n", place.score, place.row, place.column, edits);
        sum = sum * 3 + (checksum(distance, sizeof distance) ^ checksum(via, sizeof via) ^ checksum(best, sizeof best));
    }
    printf("%016llx\n", (unsigned long long)sum);
}
