// What a debugger shows of this program's variables, at the twenty lines marked `here`: scripts/debugging.py.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    struct entry *next;
    unsigned key, count;
};

struct table {
    struct entry *buckets[16];
    unsigned size;
};

struct point {
    double x, y;
};

__attribute__((noinline)) static unsigned hash(const char *text, unsigned length) {
    unsigned value = 2166136261u;
    for (unsigned i = 0; i < length; i++) {
        value ^= (unsigned char)text[i];
        value *= 16777619u; // here
    }
    return value; // here
}

__attribute__((noinline)) static struct entry *find(struct table *table, unsigned key) {
    unsigned bucket = key % 16;
    for (struct entry *entry = table->buckets[bucket]; entry; entry = entry->next)
        if (entry->key == key) // here
            return entry;
    struct entry *fresh = malloc(sizeof *fresh); // here
    fresh->key = key;
    fresh->count = 0;
    fresh->next = table->buckets[bucket];
    table->buckets[bucket] = fresh;
    table->size++; // here
    return fresh;
}

__attribute__((noinline)) static unsigned count_words(struct table *table, const char *text) {
    unsigned words = 0, longest = 0;
    const char *start = text;
    for (const char *at = text;; at++) {
        if (*at != ' ' && *at) continue;
        unsigned length = (unsigned)(at - start);
        if (length) {
            struct entry *entry = find(table, hash(start, length)); // here
            entry->count++; // here
            words++;
            if (length > longest) longest = length; // here
        }
        if (!*at) break;
        start = at + 1;
    }
    printf("%u words, the longest of %u letters\n", words, longest); // here
    return words;
}

__attribute__((noinline)) static long mix(long a, long b, long c, long d) {
    long e = a * b + c, f = b * c + d, g = c * d + a, h = d * a + b;
    long i = e ^ f, j = f ^ g, k = g ^ h, l = h ^ e;
    for (long n = 0; n < a; n++) {
        long t = e + n;
        e = f * 3 + t;
        f = g * 5 - i;
        g = h * 7 + j; // here
        h = i * 9 - k;
        i = j + l;
        j = k ^ t;
        k = l + n;
        l = t * 11; // here
    }
    printf("%ld\n", e + f + g); // here
    return e + f + g + h + i + j + k + l;
}

__attribute__((noinline)) static double length(struct point a, struct point b) {
    double dx = a.x - b.x;
    double dy = a.y - b.y; // here
    double square = dx * dx + dy * dy;
    double root = square / 2;
    for (int step = 0; step < 6; step++)
        root = (root + square / root) / 2; // here
    return root; // here
}

__attribute__((noinline)) static void multiply(double *out, const double *a, const double *b, int n) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int k = 0; k < n; k++)
                sum += a[i * n + k] * b[k * n + j]; // here
            out[i * n + j] = sum; // here
        }
}

__attribute__((noinline)) static int compare(const void *left, const void *right) {
    int a = *(const int *)left, b = *(const int *)right;
    return a < b ? -1 : a > b; // here
}

__attribute__((noinline)) static long fibonacci(long n) {
    if (n < 2) return n;
    long before = fibonacci(n - 1);
    long last = fibonacci(n - 2); // here
    return before + last;         // here
}

int main(int argc, char **argv) {
    struct table table = {0};
    const char *text = argc > 1 ? argv[1] : "a rose is a rose is a rose";
    unsigned words = count_words(&table, text);
    long mixed = mix(words, 3, 5, 7);                                          // here
    struct point a = {1, 2}, b = {4, 6};
    double far = length(a, b);
    double left[9] = {0}, right[9] = {0}, out[9] = {0};
    for (int i = 0; i < 9; i++) left[i] = i, right[i] = 9 - i;
    multiply(out, left, right, 3);
    int numbers[] = {5, 2, 8, 1};
    qsort(numbers, 4, sizeof *numbers, compare);
    printf("%u %ld %.3f %.1f %d %ld\n", words, mixed, far, out[4], numbers[0], fibonacci(12)); // here
    return table.size == 3 ? 0 : 1;
}
