// report: AddressSanitizer: heap-buffer-overflow
// flags: -fsanitize=address
#include <stdlib.h>

static void fill(int *numbers, int count) {
    for (int i = 0; i <= count; i++) // one too many
        numbers[i] = i * i;
}

int main(int argc, char **argv) {
    int *numbers = malloc(10 * sizeof *numbers);
    fill(numbers, 9 + argc);
    int result = numbers[3];
    free(numbers);
    return result == 9 ? 0 : 1;
}
