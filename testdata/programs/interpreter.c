// A computed-goto interpreter and a switch interpreter of the same bytecode.
#include <stdint.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline))
enum { PUSH, ADD, SUB, MUL, DUP, SWAP, OVER, ROT, JNZ, JMP, LT, DROP, LOAD, STORE, HALT };

NOINLINE long long threaded(const int *code) {
    static const void *const label[] = {&&push, &&add, &&sub, &&mul, &&dup, &&swap, &&over, &&rot, &&jnz, &&jmp, &&lt, &&drop, &&load, &&store, &&halt};
    long long stack[32], cell[8] = {0}, *sp = stack, t, steps = 0;
    const int *pc = code;
#define NEXT do { steps++; goto *label[*pc++]; } while (0)
    NEXT;
push: *sp++ = *pc++; NEXT;
add: sp--; sp[-1] += *sp; NEXT;
sub: sp--; sp[-1] -= *sp; NEXT;
mul: sp--; sp[-1] = (sp[-1] * *sp) % 1000003; NEXT;
dup: *sp = sp[-1]; sp++; NEXT;
swap: t = sp[-1]; sp[-1] = sp[-2]; sp[-2] = t; NEXT;
over: *sp = sp[-2]; sp++; NEXT;
rot: t = sp[-3]; sp[-3] = sp[-2]; sp[-2] = sp[-1]; sp[-1] = t; NEXT;
jnz: if (*--sp) pc += *pc; else pc++; NEXT;
jmp: pc += *pc; NEXT;
lt: sp--; sp[-1] = sp[-1] < *sp; NEXT;
drop: sp--; NEXT;
load: *sp++ = cell[*pc++]; NEXT;
store: cell[*pc++] = *--sp; NEXT;
halt: return cell[0] * 1000003 + cell[1] + steps;
}

NOINLINE long long switched(const int *code) {
    long long stack[32], cell[8] = {0}, *sp = stack, t, steps = 0;
    for (const int *pc = code;;) {
        steps++;
        switch (*pc++) {
        case PUSH: *sp++ = *pc++; break;
        case ADD: sp--; sp[-1] += *sp; break;
        case SUB: sp--; sp[-1] -= *sp; break;
        case MUL: sp--; sp[-1] = (sp[-1] * *sp) % 1000003; break;
        case DUP: *sp = sp[-1]; sp++; break;
        case SWAP: t = sp[-1]; sp[-1] = sp[-2]; sp[-2] = t; break;
        case OVER: *sp = sp[-2]; sp++; break;
        case ROT: t = sp[-3]; sp[-3] = sp[-2]; sp[-2] = sp[-1]; sp[-1] = t; break;
        case JNZ: if (*--sp) pc += *pc; else pc++; break;
        case JMP: pc += *pc; break;
        case LT: sp--; sp[-1] = sp[-1] < *sp; break;
        case DROP: sp--; break;
        case LOAD: *sp++ = cell[*pc++]; break;
        case STORE: cell[*pc++] = *--sp; break;
        case HALT: return cell[0] * 1000003 + cell[1] + steps;
        }
    }
}

int main(void) {
    static const int program[] = {
        PUSH, 1, STORE, 0, PUSH, 20000, STORE, 2,
        LOAD, 0, LOAD, 2, MUL, PUSH, 7, ADD, DUP, STORE, 0,
        LOAD, 1, SWAP, OVER, ROT, DROP, ADD, PUSH, 3, MUL, STORE, 1,
        LOAD, 2, PUSH, 1, SUB, DUP, STORE, 2, PUSH, 0, SWAP, LT, JNZ, -36, HALT};
    printf("%lld %lld\n", threaded(program), switched(program));
    return 0;
}
