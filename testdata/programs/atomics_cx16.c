// flags: -mcx16
// only: x86_64
// Sixteen-byte compare-exchange: cmpxchg16b fixes rax, rdx, rbx and rcx.
#include <stdint.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline))
typedef unsigned __int128 u128;
struct node { struct node *next; int value; };
union head { u128 whole; struct { struct node *top; uint64_t tag; } part; };

NOINLINE void push(union head *h, struct node *n) {
    union head old, new;
    old.whole = __atomic_load_n(&h->whole, __ATOMIC_SEQ_CST);
    do {
        n->next = old.part.top;
        new.part.top = n;
        new.part.tag = old.part.tag + 1;
    } while (!__atomic_compare_exchange_n(&h->whole, &old.whole, new.whole, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
}

NOINLINE struct node *pop(union head *h) {
    union head old, new;
    old.whole = __atomic_load_n(&h->whole, __ATOMIC_SEQ_CST);
    do {
        if (!old.part.top) return NULL;
        new.part.top = old.part.top->next;
        new.part.tag = old.part.tag + 1;
    } while (!__atomic_compare_exchange_n(&h->whole, &old.whole, new.whole, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    return old.part.top;
}

NOINLINE u128 mixed(u128 *p, u128 v, int n) {
    u128 s = 0;
    for (int i = 0; i < n; i++) s += __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST) ^ __atomic_fetch_xor(p, s | (u128)i, __ATOMIC_SEQ_CST) ^ __atomic_exchange_n(p, v * (u128)i, __ATOMIC_SEQ_CST);
    return s;
}

int main(void) {
    static union head h;
    static struct node nodes[100];
    long sum = 0;
    for (int i = 0; i < 100; i++) nodes[i].value = i * i, push(&h, &nodes[i]);
    for (int i = 0; i < 60; i++) sum = sum * 3 % 1000003 + pop(&h)->value;
    printf("%ld %llu\n", sum, (unsigned long long)h.part.tag);
    static u128 cell;
    u128 r = mixed(&cell, ((u128)0x123456789abcdefULL << 64) | 0xfedcba9876543210ULL, 500);
    printf("%016llx%016llx\n", (unsigned long long)(r >> 64), (unsigned long long)r);
    while (pop(&h)) sum++;
    printf("%ld\n", sum);
    return 0;
}
