// flags: -pthread
// Thread-local variables, setjmp and longjmp, volatile, signal handlers.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

static __thread int depth;
__thread long total __attribute__((tls_model("global-dynamic"))) = 100;
static __thread char buffer[40];
static jmp_buf env;
static sigjmp_buf signal_env;
static volatile sig_atomic_t signals;

NOINLINE void dive(int n, long step) {
    depth++;
    total += step * depth;
    if (n == 0) longjmp(env, depth);
    dive(n - 1, step + n);
    depth--;
}

NOINLINE long protect(int n, long a, long b, long c) {
    volatile long tries = 0;
    long x = a * b, y = b - c, z = a ^ c;
    int r = setjmp(env);
    if (r == 0) dive(n, 3);
    tries += r;
    if (tries < 40) {
        depth = 0;
        dive(n + 1, 5);
    }
    return x * 3 + y * 5 + z * 7 + a + b + c + tries * 1000;
}

static void on_signal(int number) {
    signals += number;
    if (signals > 3 * SIGUSR1) siglongjmp(signal_env, 7);
}

NOINLINE int raise_until(int limit) {
    volatile int raised = 0;
    if (sigsetjmp(signal_env, 1) == 0)
        while (raised < limit) raised++, raise(SIGUSR1);
    return raised;
}

static void *thread(void *arg) {
    long k = *(int *)arg;
    for (int i = 0; i < 1000; i++) total += k * i, depth ^= i;
    snprintf(buffer, sizeof buffer, "thread %ld: %ld %d", k, total, depth);
    return strcpy((char *)arg, buffer);
}

int main(void) {
    static union { int k; char text[40]; } arg[3];
    pthread_t t[3];
    printf("%ld\n", protect(5, 11, 22, 33));
    printf("%ld %d\n", total, depth);
    for (int i = 0; i < 3; i++) arg[i].k = i + 1, pthread_create(&t[i], NULL, thread, &arg[i]);
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL), puts(arg[i].text);
    signal(SIGUSR1, on_signal);
    printf("%d %d\n", raise_until(10), (int)signals / SIGUSR1);
    printf("%ld %d [%s]\n", total, depth, buffer);
    return 0;
}
