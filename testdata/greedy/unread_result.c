// flags: -O2
// The quotient of a division, of which only the remainder is read, takes no place.
unsigned long step(unsigned long);
unsigned long remainders(unsigned long n, unsigned long by) {
    unsigned long sum = step(n);
    sum += n % by;
    return sum + step(sum) % by;
}
