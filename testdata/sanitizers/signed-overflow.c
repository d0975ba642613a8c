// report: UndefinedBehaviorSanitizer: undefined-behavior
// flags: -fsanitize=undefined
#include <limits.h>

static int next(int number) { return number + 1; }

int main(int argc, char **argv) { return next(INT_MAX - 1 + argc) == 0; }
