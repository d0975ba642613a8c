// A hash table with chaining and resizing, string functions, function pointers, a tree, callbacks, memory functions.
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))
struct entry { struct entry *next; uint32_t hash; int count; char key[]; };
struct table { struct entry **slot; uint32_t size, used; };
typedef uint32_t hasher(const char *, size_t);

NOINLINE static uint32_t fnv(const char *s, size_t n) { uint32_t h = 2166136261u; while (n--) h = (h ^ (uint8_t)*s++) * 16777619u; return h; }
NOINLINE static uint32_t murmur(const char *s, size_t n) {
    uint32_t h = 42, k;
    for (; n >= 4; n -= 4, s += 4) { memcpy(&k, s, 4); k *= 0xcc9e2d51u; k = k << 15 | k >> 17; h ^= k * 0x1b873593u; h = (h << 13 | h >> 19) * 5 + 0xe6546b64u; }
    for (k = 0; n; n--) k = k << 8 | (uint8_t)s[n - 1];
    h ^= k * 0xcc9e2d51u; h ^= h >> 16; h *= 0x85ebca6bu; h ^= h >> 13; return h;
}
NOINLINE static void grow(struct table *t) {
    uint32_t size = t->size ? t->size * 2 : 8;
    struct entry **slot = calloc(size, sizeof *slot);
    for (uint32_t i = 0; i < t->size; i++)
        for (struct entry *e = t->slot[i], *n; e; e = n) { n = e->next; e->next = slot[e->hash & (size - 1)]; slot[e->hash & (size - 1)] = e; }
    free(t->slot);
    t->slot = slot;
    t->size = size;
}
NOINLINE static struct entry *find(struct table *t, const char *key, size_t n, hasher *hash, int create) {
    uint32_t h = hash(key, n);
    if (t->size) for (struct entry *e = t->slot[h & (t->size - 1)]; e; e = e->next) if (e->hash == h && !strncmp(e->key, key, n) && !e->key[n]) return e;
    if (!create) return NULL;
    if (t->used >= t->size) grow(t);
    struct entry *e = malloc(sizeof *e + n + 1), **s = &t->slot[h & (t->size - 1)];
    *e = (struct entry){*s, h, 0};
    memcpy(e->key, key, n);
    e->key[n] = 0;
    *s = e;
    t->used++;
    return e;
}
static int by_count(const void *a, const void *b) {
    const struct entry *x = *(struct entry *const *)a, *y = *(struct entry *const *)b;
    return x->count != y->count ? y->count - x->count : strcmp(x->key, y->key);
}
NOINLINE static long each(struct table *t, long (*f)(struct entry *, long, void *), void *context) {
    long r = 0;
    for (uint32_t i = 0; i < t->size; i++) for (struct entry *e = t->slot[i]; e; e = e->next) r = f(e, r, context);
    return r;
}
static long total(struct entry *e, long r, void *c) { return r + e->count * *(int *)c; }
static long longest(struct entry *e, long r, void *c) { long n = (long)strlen(e->key); (void)c; return n > r ? n : r; }
static long collect(struct entry *e, long r, void *c) { ((struct entry **)c)[r] = e; return r + 1; }

NOINLINE static char *transform(char *out, const char *in, int (*f)(int)) { char *p = out; while (*in) *p++ = (char)f((unsigned char)*in++); *p = 0; return out; }
static int rot13(int c) { return isalpha(c) ? (c & 32) + (((c & 31) + 12) % 26 + 65) : c; }

int main(void) {
    static const char text[] = "it was the best of times it was the worst of times it was the age of wisdom it was the age of foolishness "
        "it was the epoch of belief it was the epoch of incredulity it was the season of light it was the season of darkness";
    hasher *hash[] = {fnv, murmur};
    for (int k = 0; k < 2; k++) {
        struct table t = {0};
        int weight = k + 2;
        for (const char *p = text; *p;) { size_t n = strcspn(p, " "); find(&t, p, n, hash[k], 1)->count++; p += n; p += strspn(p, " "); }
        for (int i = 0; i < 2000; i++) { char key[24]; int n = snprintf(key, sizeof key, "key-%d-%x", i % 700, i * 31 % 97); find(&t, key, (size_t)n, hash[k], 1)->count += i & 3; }
        struct entry **all = malloc(t.used * sizeof *all);
        long n = each(&t, collect, all);
        qsort(all, (size_t)n, sizeof *all, by_count);
        printf("%u %u %ld %ld %d:", t.used, t.size, each(&t, total, &weight), each(&t, longest, NULL), find(&t, "nothing", 7, hash[k], 0) != NULL);
        for (int i = 0; i < 6; i++) printf(" %s=%d", all[i]->key, all[i]->count);
        putchar('\n');
    }
    char a[400], b[400];
    printf("%s\n", transform(a, text + 60, rot13));
    printf("%s %d\n", transform(b, transform(a, a, rot13), toupper) + 80, memcmp(a, text + 60, strlen(a)));
    memmove(a + 3, a, 20); memset(a, '-', 3); a[23] = 0;
    printf("%s %s %zu %ld\n", a, strrchr(a, 'o'), strspn(a, "-tihe "), strtol("-0x1fz", NULL, 16));
    return 0;
}
