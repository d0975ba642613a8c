// Linked into every 32-bit executable whose output is compared. x87 registers
// hold more than a double does, so what a double's bits are would depend on
// whether the value was spilled in between: a freedom of any allocator, and
// not what the comparison is about. Rounding to 53 bits takes it away.
__attribute__((constructor)) static void round_to_double(void) {
    unsigned short word;
    __asm__ volatile("fnstcw %0" : "=m"(word));
    word = (unsigned short)((word & ~0x300) | 0x200);
    __asm__ volatile("fldcw %0" : : "m"(word));
}
