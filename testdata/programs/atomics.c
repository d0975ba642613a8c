// flags: -pthread
// Atomics of every size and operation, with contention from two threads.
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline))

static atomic_int hits;
static _Atomic uint64_t wide;
static _Atomic uint8_t small;
static _Atomic uint16_t medium;
static _Atomic double real;
static atomic_flag lock = ATOMIC_FLAG_INIT;
static int guarded;

NOINLINE int fetch_max(atomic_int *p, int v) {
    int old = atomic_load(p);
    while (old < v && !atomic_compare_exchange_weak(p, &old, v)) {}
    return old;
}
NOINLINE uint8_t byte_exchange(_Atomic uint8_t *p, uint8_t expected, uint8_t v) {
    atomic_compare_exchange_strong(p, &expected, v);
    return (uint8_t)(expected + atomic_fetch_or(p, 0x40) + atomic_fetch_and(p, 0xf7) + atomic_exchange(p, 3));
}
NOINLINE uint16_t short_ops(_Atomic uint16_t *p) {
    return (uint16_t)(atomic_fetch_xor(p, 0x5555) + atomic_fetch_sub(p, 100) + atomic_fetch_add(p, 7) * 3);
}
NOINLINE uint64_t nand(_Atomic uint64_t *p, uint64_t v) { return atomic_fetch_and_explicit(p, ~v, memory_order_acq_rel) ^ atomic_fetch_xor(p, v >> 3); }
NOINLINE int bit_and_zero(atomic_int *p) {
    return (atomic_fetch_sub(p, 1) == 1) | (atomic_fetch_or(p, 1 << 5) & (1 << 5) ? 2 : 0) | (atomic_fetch_and(p, ~(1 << 5)) & (1 << 5) ? 4 : 0);
}

static void *worker(void *arg) {
    int id = (int)(intptr_t)arg;
    for (int i = 0; i < 20000; i++) {
        atomic_fetch_add_explicit(&hits, 1, memory_order_relaxed);
        atomic_fetch_add(&wide, (uint64_t)id << 32 | 1);
        double d = atomic_load(&real);
        while (!atomic_compare_exchange_weak(&real, &d, d + 0.5 * id)) {}
        while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire)) {}
        guarded += id;
        atomic_flag_clear_explicit(&lock, memory_order_release);
    }
    return NULL;
}

int main(void) {
    pthread_t t[2];
    for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, worker, (void *)(intptr_t)(i + 1));
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    printf("%d %llx %g %d\n", hits, (unsigned long long)wide, real, guarded);
    int m = fetch_max(&hits, 50000);
    printf("%d %d %d\n", m, fetch_max(&hits, 7), hits);
    small = 9;
    medium = 1000;
    unsigned a = byte_exchange(&small, 9, 0x2a), b = byte_exchange(&small, 9, 1);
    printf("%u %u %u %u\n", a, b, small, short_ops(&medium));
    printf("%u %llx %llx\n", medium, (unsigned long long)nand(&wide, 0xff00ff), (unsigned long long)wide);
    hits = 1;
    a = (unsigned)bit_and_zero(&hits);
    atomic_thread_fence(memory_order_seq_cst);
    printf("%u %d\n", a, hits);
    return 0;
}
