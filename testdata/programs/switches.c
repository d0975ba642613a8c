// Switches: dense, sparse, nested, fall-through, with jump tables whose edges carry different values.
#include <ctype.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline))

NOINLINE int dense(int op, int a, int b, int c) {
    int r = a, s = b;
    switch (op) {
    case 0: r = a + b; break;
    case 1: r = a - b; s = c; break;
    case 2: r = b; s = a; break;
    case 3: r *= 3; /* fall through */
    case 4: s += r; break;
    case 5: r = s = c; break;
    case 6: if (a > b) break; r = -a; break;
    case 7: return c * 7;
    case 8: r = c; c = a; break;
    case 9: s ^= r << 2; /* fall through */
    case 10: r -= s; c++; break;
    default: c = -c;
    }
    return r * 31 + s * 17 + c;
}

NOINLINE const char *sparse(unsigned v) {
    switch (v) {
    case 1: return "one";
    case 10: return "ten";
    case 100 ... 199: return "hundreds";
    case 5000: return "5000";
    case 0x7fffffff: return "max";
    case 0x80000000u: return "sign";
    case 0xffffffffu: return "all";
    }
    return "other";
}

enum state { START, SIGN, INTEGER, POINT, FRACTION, EXPONENT, EXPSIGN, EXPDIGITS, WORD, ERROR };

// A state machine: many values live round a loop with an inner switch on state and class.
NOINLINE long lex(const char *p) {
    enum state state = START;
    long tokens = 0, ints = 0, reals = 0, words = 0, errors = 0, length = 0, longest = 0, value = 0, sum = 0;
    for (;; p++) {
        int c = (unsigned char)*p, class = isdigit(c) ? 0 : isalpha(c) ? (c == 'e' || c == 'E' ? 2 : 1) : c == '.' ? 3 : c == '+' || c == '-' ? 4 : c == ' ' || !c ? 5 : 6;
        if (class == 5 && state != START) {
            switch (state) {
            case INTEGER: ints++; sum += value; break;
            case FRACTION: case EXPDIGITS: reals++; break;
            case WORD: words++; break;
            default: errors++;
            }
            tokens++;
            if (length > longest) longest = length;
            length = value = 0;
            state = START;
        } else if (class != 5) {
            length++;
            switch (state) {
            case START: state = class == 0 ? (value = c - '0', INTEGER) : class <= 2 ? WORD : class == 3 ? POINT : class == 4 ? SIGN : ERROR; break;
            case SIGN: state = class == 0 ? (value = c - '0', INTEGER) : class == 3 ? POINT : ERROR; break;
            case INTEGER: if (class == 0) value = value * 10 + c - '0'; else state = class == 3 ? FRACTION : class == 2 ? EXPONENT : ERROR; break;
            case POINT: state = class == 0 ? FRACTION : ERROR; break;
            case FRACTION: state = class == 0 ? FRACTION : class == 2 ? EXPONENT : ERROR; break;
            case EXPONENT: state = class == 0 ? EXPDIGITS : class == 4 ? EXPSIGN : ERROR; break;
            case EXPSIGN: case EXPDIGITS: state = class == 0 ? EXPDIGITS : ERROR; break;
            case WORD: if (class > 2 && class != 0) state = ERROR; break;
            case ERROR: break;
            }
        }
        if (!c) break;
    }
    return tokens + ints * 10 + reals * 100 + words * 1000 + errors * 10000 + longest * 100000 + sum * 7;
}

int main(void) {
    long h = 0;
    for (int i = -1; i < 13; i++)
        for (int a = 0; a < 4; a++) h = (h * 33 + dense(i, a, 5 - a, i * a)) % 1000000007;
    printf("%ld\n", h);
    static const unsigned v[] = {0, 1, 10, 99, 100, 150, 199, 200, 5000, 0x7fffffff, 0x80000000u, 0xffffffffu};
    for (unsigned i = 0; i < sizeof v / sizeof *v; i++) printf("%s ", sparse(v[i]));
    printf("\n%ld\n", lex("12 +34 -5.25 1e10 2.5e-3 word w0rd .5 . 1.e x+y -- 3e+ 99999 Event 7.7.7 end"));
    return 0;
}
