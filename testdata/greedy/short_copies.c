// flags: -O2
// An extended number crosses computed jumps, and is copied behind them. As its upper half is zero, the copies are of 32 bits, which
// takes a byte less.
unsigned long interpret(const unsigned *code, unsigned long *registers, const unsigned long *constants) {
    static const void *const labels[] = {&&stop, &&move, &&load, &&add};
    unsigned long word = *code++;
    goto *labels[word & 3];
move:
    registers[word >> 8 & 15] = registers[word >> 12 & 15];
    word = *code++;
    goto *labels[word & 3];
load:
    registers[word >> 8 & 15] = constants[word >> 16];
    word = *code++;
    goto *labels[word & 3];
add:
    registers[word >> 8 & 15] += registers[word >> 12 & 15];
    word = *code++;
    goto *labels[word & 3];
stop:
    return registers[0];
}
