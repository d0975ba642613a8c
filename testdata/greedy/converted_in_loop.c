// flags: -O2
// Before a conversion, LLVM zeroes the register that it writes, unless that is the one which it reads for the last time.
double weighted(const int *counts, const double *weights, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += counts[i] * weights[i] / (i + 1);
    return sum;
}
