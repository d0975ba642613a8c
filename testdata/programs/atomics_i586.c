// flags: -march=i586 -mno-sse -pthread
// only: i386
// beyond-regalloc2: a value of a class whose registers all hold operands of cmpxchg8b can only be computed again later
// Eight-byte compare-exchange on i386 (cmpxchg8b fixes four of the registers), x87 only.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline))
typedef uint64_t __attribute__((aligned(8))) cell;
static cell counter;

NOINLINE uint64_t add(cell *p, uint64_t v) { return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST); }
NOINLINE uint64_t swap(cell *p, uint64_t v) { return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST); }
NOINLINE int replace(cell *p, uint64_t *expected, uint64_t v) { return __atomic_compare_exchange_n(p, expected, v, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED); }
NOINLINE uint64_t load(cell *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }

NOINLINE uint64_t mixed(cell *p, int n, uint64_t a, uint64_t b) {
    uint64_t sum = 0;
    for (int i = 0; i < n; i++) {
        uint64_t old = __atomic_load_n(p, __ATOMIC_RELAXED), next;
        do next = old * 3 + a + (uint64_t)i; while (!__atomic_compare_exchange_n(p, &old, next, 1, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
        sum += __atomic_fetch_xor(p, b, __ATOMIC_SEQ_CST) ^ __atomic_fetch_and(p, ~(a << 3), __ATOMIC_SEQ_CST);
    }
    return sum;
}

static void *worker(void *arg) {
    for (int i = 0; i < 20000; i++) add(&counter, (uint64_t)(uintptr_t)arg << 20 | 1);
    return NULL;
}

int main(void) {
    pthread_t t[2];
    for (uintptr_t i = 0; i < 2; i++) pthread_create(&t[i], NULL, worker, (void *)(i + 1));
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    printf("%llx\n", (unsigned long long)load(&counter));
    uint64_t expected = 5;
    cell x = 5;
    printf("%d ", replace(&x, &expected, 1ull << 40));
    printf("%d %llx\n", replace(&x, &expected, 7), (unsigned long long)expected);
    printf("%llx %llx\n", (unsigned long long)swap(&x, 99), (unsigned long long)x);
    printf("%llx\n", (unsigned long long)mixed(&x, 1000, 12345, 0xf0f0f0f0f0f0f0f0ull));
    return 0;
}
