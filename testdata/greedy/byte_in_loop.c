// flags: -O2 -m32 -fPIC
// Of a value that crosses calls, one operand reads a byte, which few registers of i386 have.
void take(unsigned char low, unsigned all);
void bytes(unsigned from, unsigned to) {
    for (; from != to; from += 3)
        take(from, from);
}
