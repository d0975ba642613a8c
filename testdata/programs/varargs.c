// Variable arguments: ints, doubles, 64-bit, long double, structs, va_copy, and passing a va_list on.
#include <stdarg.h>
#include <stdio.h>

struct pair { int a; double b; };
struct big { long long v[5]; };

#define NOINLINE __attribute__((noinline))

NOINLINE double mixed(const char *kinds, ...) {
    va_list args;
    double sum = 0;
    va_start(args, kinds);
    for (; *kinds; kinds++) {
        switch (*kinds) {
        case 'i': sum += va_arg(args, int); break;
        case 'd': sum += va_arg(args, double); break;
        case 'l': sum += (double)va_arg(args, long long); break;
        case 'L': sum += (double)va_arg(args, long double); break;
        case 's': sum += (double)va_arg(args, char *)[0]; break;
        case 'p': { struct pair p = va_arg(args, struct pair); sum += p.a * p.b; break; }
        case 'b': { struct big b = va_arg(args, struct big); for (int i = 0; i < 5; i++) sum += (double)b.v[i]; break; }
        }
    }
    va_end(args);
    return sum;
}

NOINLINE int twice(char *out, size_t size, const char *format, ...) {
    va_list first, second;
    va_start(first, format);
    va_copy(second, first);
    int n = vsnprintf(out, size, format, first);
    va_end(first);
    n += vsnprintf(out + n, size - (size_t)n, format, second);
    va_end(second);
    return n;
}

NOINLINE long sum_list(int n, va_list args) {
    long s = 0;
    while (n--) s = s * 3 + va_arg(args, int);
    return s;
}

NOINLINE long forward(int n, ...) {
    va_list args;
    va_start(args, n);
    long s = sum_list(n / 2, args);
    va_end(args);
    va_start(args, n);
    s += 1000 * sum_list(n, args);
    va_end(args);
    return s;
}

int main(void) {
    struct pair p = {3, 1.5};
    struct big b = {{1, -2, 3000000000LL, -4, 5}};
    char text[200];
    printf("%.3f\n", mixed("idlLs", 7, 2.25, -5000000000LL, 1.125L, "A"));
    printf("%.3f\n", mixed("pbpib", p, b, p, 9, b));
    printf("%.3f\n", mixed("ddddddddddiiiiiiiiii", 1., 2., 3., 4., 5., 6., 7., 8., 9., 10., 1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
    int n = twice(text, sizeof text, "[%d %s %.2f %lld]", -12, "word", 3.14159, 123456789012345LL);
    printf("%d %s\n", n, text);
    printf("%ld\n", forward(8, 1, 2, 3, 4, 5, 6, 7, 8));
    return 0;
}
