// Exceptions: by type and base, nested, rethrown, through cleanups; values live into landing pads; try in loops.
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#define NOINLINE __attribute__((noinline))

struct Base { virtual ~Base() {} virtual int code() const { return 1; } };
struct Derived : Base { int v; explicit Derived(int v) : v(v) {} int code() const override { return v; } };
struct Trace {
    long &log;
    int id;
    Trace(long &log, int id) : log(log), id(id) {}
    ~Trace() { log = log * 7 % 1000003 + id; }
};

NOINLINE static int thrower(int k) {
    switch (k % 7) {
    case 0: throw k;
    case 1: throw Derived(k * 2);
    case 2: throw std::runtime_error("runtime " + std::to_string(k));
    case 3: throw 2.5 * k;
    case 4: throw std::out_of_range("range");
    case 5: throw "literal";
    }
    return k;
}

// Everything computed before the call is used in every handler and after.
NOINLINE static long handlers(int k, long a, long b, long c, double d) {
    long log = 1, x = a * b, y = b - c, z = a ^ c;
    double e = d * 1.5;
    try {
        Trace t1(log, k);
        try {
            Trace t2(log, k + 1);
            x += thrower(k);
            y -= thrower(k + 3);
        } catch (const Derived &v) {
            x += v.code();
            if (k % 2) throw;
            z += log;
        } catch (double v) {
            e += v;
            throw static_cast<int>(v) + 1;
        }
        z *= 2;
    } catch (const Base &v) {
        y += v.code() * 3;
    } catch (int v) {
        z += v * x;
    } catch (const std::exception &v) {
        x ^= (long)std::string(v.what()).size() * 1000;
    } catch (...) {
        y = -y + (long)e;
    }
    return x * 3 + y * 5 + z * 7 + log * 11 + (long)(e * 2) + a + b + c;
}

// Loop-carried values that change inside the try, and a phi at the landing pad.
NOINLINE static long loop(int n) {
    long a = 1, b = 2, c = 3, caught = 0;
    for (int i = 0; i < n; i++) {
        long t = a;
        try {
            a = b;
            b += thrower(i);
            c ^= thrower(i + 2);
            a = c + t;
        } catch (int v) {
            caught += v + a;
        } catch (const std::logic_error &) {
            c = c * 5 % 100003;
            continue;
        } catch (...) {
            caught ^= b + t;
            if (i > n - 3) break;
        }
        long s = a; a = b; b = c % 10007; c = s;
    }
    return a + b * 3 + c * 5 + caught * 7;
}

NOINLINE static int unwind(int depth, long &log) {
    Trace t(log, depth);
    std::vector<std::string> owned(3, std::string(40, 'x'));
    if (depth == 0) throw Derived((int)owned[1].size());
    int r = unwind(depth - 1, log) + (int)owned.size();
    return r;
}
NOINLINE static int function_try(int k) try { return thrower(k) + thrower(k); } catch (int v) { return v + 1000; } catch (...) { return -k; }
NOINLINE static int no_throw(int k) noexcept { try { return thrower(k); } catch (...) { return k * 9; } }

int main() {
    long sum = 0, log = 1;
    for (int k = 0; k < 21; k++) {
        long r = handlers(k, k + 1, 3 * k, 7 - k, 0.5 * k);
        sum = (sum * 31 + r) % 1000000007;
        std::printf("%ld%c", r, k % 7 == 6 ? '\n' : ' ');
    }
    try { unwind(20, log); } catch (const Base &b) { std::printf("%d %ld\n", b.code(), log); }
    std::printf("%ld %ld %d %d %d %d\n", sum, loop(200), function_try(7), function_try(8), no_throw(6), no_throw(5));
    std::exception_ptr saved;
    try { try { throw std::invalid_argument("inner"); } catch (...) { std::throw_with_nested(std::runtime_error("outer")); } }
    catch (const std::exception &e) {
        saved = std::current_exception();
        std::printf("%s", e.what());
        try { std::rethrow_if_nested(e); } catch (const std::exception &i) { std::printf(" %s\n", i.what()); }
    }
    try { std::rethrow_exception(saved); } catch (const std::runtime_error &e) { std::printf("%s again\n", e.what()); }
    return 0;
}
