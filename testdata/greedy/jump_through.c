// flags: -O2
// A tail call jumps through a value that crosses calls before.
void each(const int *p, const int *end, void (*visit)(int)) {
    while (p != end)
        visit(*p++);
    visit(-1);
}
