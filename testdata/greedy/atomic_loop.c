// flags: -O2
// A loop around an atomic exchange: the value that was found goes into the next try in the register where it is.
unsigned long clear_lowest(unsigned long *set) {
    unsigned long old = __atomic_load_n(set, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(set, &old, old & (old - 1), 1, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        ;
    return old & -old;
}
