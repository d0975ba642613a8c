// flags: -O2
// More sums than registers: what is reloaded to be overwritten by a commutative instruction is read from memory instead.
double consume(double);
double sums(const double *x, double a, double b, double c, double d) {
    double s = consume(a), t = consume(b), u = consume(c), v = consume(d);
    s += consume(x[0] + a);
    t *= consume(x[1] + b);
    u += consume(x[2] + c);
    v *= consume(x[3] + d);
    return (s + t) * (u + v);
}
