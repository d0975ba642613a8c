// report: UndefinedBehaviorSanitizer: undefined-behavior
// flags: -fsanitize=undefined
int main(int argc, char **argv) { return 1L << (63 + argc) == 3; }
