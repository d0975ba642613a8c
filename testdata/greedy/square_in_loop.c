// flags: -O2
// A product overwrites a value that goes to a φ: the value moves to the φ's register, not the product to its own.
int steps(double x, double limit, int most) {
    double y = x, yy = x * x;
    int i = 0;
    while (i < most && yy < limit) {
        y = yy - y + x;
        yy = y * y;
        i++;
    }
    return i;
}
