// flags: -std=c++20
// Coroutines: generators with values live across suspension, exceptions out of them, nested generators.
#include <coroutine>
#include <cstdio>
#include <exception>
#include <utility>

struct Generator {
    struct promise_type {
        long value = 0;
        std::exception_ptr error;
        Generator get_return_object() { return Generator{std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        std::suspend_always yield_value(long v) { value = v; return {}; }
        void return_void() {}
        void unhandled_exception() { error = std::current_exception(); }
    };
    std::coroutine_handle<promise_type> handle;
    explicit Generator(std::coroutine_handle<promise_type> h) : handle(h) {}
    Generator(Generator &&o) noexcept : handle(std::exchange(o.handle, {})) {}
    ~Generator() { if (handle) handle.destroy(); }
    bool next() {
        handle.resume();
        if (handle.promise().error) std::rethrow_exception(handle.promise().error);
        return !handle.done();
    }
    long value() const { return handle.promise().value; }
};

static Generator fibonacci(long a, long b) {
    for (;;) { co_yield a; long t = a; a = b; b = (b + t) % 1000003; }
}
static Generator filter(Generator in, long k) {
    long dropped = 0;
    while (in.next()) if (in.value() % k) co_yield in.value() + dropped; else dropped++;
}
static Generator limited(long n) {
    double share = 1;
    for (long i = 0;; i++) {
        if (i == n) throw i;
        share = share * 0.5 + (double)i;
        co_yield (long)(share * 16);
    }
}

int main() {
    Generator g = filter(filter(fibonacci(0, 1), 3), 5);
    long sum = 0;
    for (int i = 0; i < 500 && g.next(); i++) sum = (sum * 7 + g.value()) % 1000000007;
    std::printf("%ld\n", sum);
    Generator l = limited(12);
    try { while (l.next()) std::printf("%ld ", l.value()); } catch (long n) { std::printf("stopped at %ld\n", n); }
    return 0;
}
