// report: AddressSanitizer: stack-buffer-overflow
// flags: -fsanitize=address
#include <string.h>

static __attribute__((noinline)) int last(const char *text, int at) {
    char copy[8];
    strncpy(copy, text, sizeof copy);
    return copy[at];
}

int main(int argc, char **argv) { return last("chordal", 8 * argc); }
