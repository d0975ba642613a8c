// 128-bit integers: multiplication, division, shifts, comparison, modular exponentiation.
// only: x86_64
#include <stdint.h>
#include <stdio.h>

typedef unsigned __int128 u128;
typedef __int128 i128;
#define NOINLINE __attribute__((noinline))

NOINLINE u128 multiply(u128 a, u128 b) { return a * b; }
NOINLINE u128 divide(u128 a, u128 b) { return a / b; }
NOINLINE i128 modulo(i128 a, i128 b) { return a % b; }
NOINLINE u128 rotate(u128 a, unsigned n) { return a << (n & 127) | a >> (-n & 127); }
NOINLINE i128 arithmetic_shift(i128 a, unsigned n) { return a >> n; }
NOINLINE int compare(i128 a, i128 b) { return (a > b) - (a < b); }
NOINLINE u128 select_max(u128 a, u128 b) { return a > b ? a : b; }

NOINLINE uint64_t power_mod(uint64_t base, uint64_t exponent, uint64_t m) {
    u128 result = 1, b = base % m;
    for (; exponent; exponent >>= 1) {
        if (exponent & 1) result = result * b % m;
        b = b * b % m;
    }
    return (uint64_t)result;
}

static int is_prime(uint64_t n) {
    static const uint64_t witness[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37};
    uint64_t d = n - 1;
    int r = 0;
    for (unsigned i = 0; i < 12; i++) if (n % witness[i] == 0) return n == witness[i];
    while (!(d & 1)) d >>= 1, r++;
    for (unsigned i = 0; i < 12; i++) {
        uint64_t x = power_mod(witness[i], d, n);
        int composite = x != 1 && x != n - 1;
        for (int k = 1; composite && k < r; k++) {
            x = (uint64_t)((u128)x * x % n);
            if (x == n - 1) composite = 0;
        }
        if (composite) return 0;
    }
    return 1;
}

static void print(u128 v) {
    char digits[40];
    int n = 0;
    do digits[n++] = (char)('0' + (int)(v % 10)); while (v /= 10);
    while (n) putchar(digits[--n]);
    putchar('\n');
}

int main(void) {
    u128 f = 1;
    for (int i = 2; i <= 33; i++) f = multiply(f, (u128)i);
    print(f);
    print(divide(f, 1000000007));
    print(divide(f, (u128)1 << 70));
    print((u128)-modulo(-(i128)f, 998244353));
    for (unsigned i = 0; i < 128; i += 17) print(rotate(f, i));
    print((u128)-arithmetic_shift(-(i128)(f >> 2), 67));
    printf("%d %d %d\n", compare(1, -1), compare(-((i128)1 << 100), (i128)1 << 99), compare(5, 5));
    print(select_max((u128)1 << 64, UINT64_MAX));
    int primes = 0;
    for (uint64_t n = 1000000000000000003ULL; n < 1000000000000000603ULL; n += 2) primes += is_prime(n);
    printf("%d %d\n", primes, is_prime(18446744073709551557ULL));
    return 0;
}
