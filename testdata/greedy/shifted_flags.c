// flags: -O2
// Of two operands, a definition overwrites the one that can come to be in the definition's register.
unsigned long mixed(unsigned long a, unsigned long b, unsigned long by, unsigned long c) { return ((a << (by & 63)) | c) | (b << (by & 63)); }
long borrow(unsigned long a, unsigned long b, unsigned long c, unsigned long *difference) {
    unsigned long d = a - b;
    *difference = d - c;
    return (a < b) | (d < c);
}
