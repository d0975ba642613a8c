// report: UndefinedBehaviorSanitizer: undefined-behavior
// flags: -fsanitize=undefined
static int squares[] = {0, 1, 4, 9};

int main(int argc, char **argv) { return squares[3 + argc] == 1; }
