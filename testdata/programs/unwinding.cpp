// Functions that save callee-saved registers on some of their ways only, left by return and by exception, from within and from
// outside of these ways: their callers' values have to survive both.
#include <cstdio>

#define NOINLINE __attribute__((noinline))

static long calls;

NOINLINE static long mix(long x) {
    asm volatile("" : "+r"(x));
    ++calls;
    return x * 31 + 7;
}

NOINLINE [[noreturn]] static void fail(int code) {
    asm volatile("" : "+r"(code));
    throw code;
}

// The same failure with registers untouched, and with registers saved: the ends of these ways look the same.
NOINLINE static long lookup(int k, const long *p) {
    if (k < 0)
        fail(1);
    long sum = mix(k);
    if (sum % 5 != 2)
        return sum + p[0];
    long b = p[1], c = p[2], d = p[3];
    do {
        sum = mix(sum + b * c);
        if (sum % 7 == 3)
            fail(1);
        b ^= c;
        c += d;
        d -= sum;
    } while (sum % 9 > 0);
    if (sum % 4 == 1)
        fail(1);
    return sum + b + c + d;
}

// Two loops on ways of their own, both left in the middle, and a call on all ways.
NOINLINE static long scan(const long *from, long key) {
    long found = mix(key);
    if (found % 3 == 0) {
        long other = from[0], more = from[1], most = from[2];
        for (int i = 0; i < 6; ++i) {
            long value = mix(*from ^ other ^ most);
            if (value % 11 == 0)
                fail(2);
            found += value;
            other += key;
            more ^= other;
            most -= more;
        }
        return found - other + most;
    }
    if (found % 3 == 1)
        return found ^ from[3];
    long a = from[4], b = from[5];
    while (mix(a + found) % 8 != b % 8) {
        if (a % 13 == 6)
            fail(2);
        a += b;
        b += 3 - found % 2;
    }
    return a * b;
}

struct Guard {
    long &log;
    long id;
    ~Guard() { log = log * 7 % 1000003 + id; }
};

// A landing pad on a seldom way: control comes there out of the middle of a block.
NOINLINE static long guarded(int k, const long *p, long &log) {
    long sum = mix(k);
    if (k & 1)
        return sum - p[2];
    long a = p[0], b = p[1];
    for (int i = 0; i < k; i += 2) {
        Guard guard{log, i + a};
        sum += lookup(k - i - 1, p + (i & 3));
        b = mix(b + sum + a);
        a ^= b;
    }
    if (sum % 4 == 3)
        fail(3);
    return sum * b;
}

// Space on the stack of a size that nobody knows before, so that there is a frame pointer.
NOINLINE static long scratch(int n, const long *p) {
    long sum = mix(n);
    if (n % 4 == 0)
        return sum + p[1];
    volatile char *space = static_cast<volatile char *>(__builtin_alloca(n));
    long a = p[2], b = p[3];
    for (int i = 0; i < n; ++i) {
        space[i] = static_cast<char>(a + i);
        sum += mix(space[i] * b);
        if (sum % 13 == 12)
            fail(4);
        b ^= sum;
    }
    return sum - a * b;
}

// Needs few registers itself, and hands the others on as it gets them back.
template <typename Call> NOINLINE static long attempt(Call call) {
    try {
        return call();
    } catch (int code) {
        return -code;
    }
}

// Keeps as many values as there are callee-saved registers, and looks at them behind each call.
template <typename Call> NOINLINE static void keeping(const char *name, int k, Call call) {
    long p = k + 1, q = k * 3 + 2, r = k ^ 5, s = k - 8, t = ~k, u = k * k;
    for (int i = 0; i < 2; ++i) {
        asm volatile("" : "+r"(p), "+r"(q), "+r"(r));
        asm volatile("" : "+r"(s), "+r"(t), "+r"(u));
        long result = attempt(call);
        asm volatile("" : "+r"(p), "+r"(q), "+r"(r));
        asm volatile("" : "+r"(s), "+r"(t), "+r"(u));
        std::printf("%s %d: %ld\n", name, k, result);
    }
    if (p != k + 1 || q != k * 3 + 2 || r != (k ^ 5) || s != k - 8 || t != ~k || u != k * k)
        std::printf("registers are lost\n");
}

int main() {
    long log = 1;
    long table[12] = {9, 4, 7, 1, 12, 5, 30, 2, 8, 3, 6, 11};
    for (int k = -2; k < 40; ++k) {
        const long *p = table + (k & 3);
        keeping("lookup", k, [=] { return lookup(k, p); });
        keeping("scan", k, [=] { return scan(p, k); });
        keeping("guarded", k, [=, &log] { return guarded(k, p, log); });
        keeping("scratch", k, [=] { return scratch(k & 15, p); });
    }
    std::printf("%ld %ld\n", calls, log);
}
