// Virtual and multiple inheritance, RTTI, member pointers, templates, operators, move semantics, statics.
#include <cstdio>
#include <cstdint>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#define NOINLINE __attribute__((noinline))

struct Shape {
    int id;
    explicit Shape(int id) : id(id) {}
    virtual double area() const = 0;
    virtual Shape *clone(double k) const = 0;
    virtual ~Shape() {}
};
struct Named { std::string name; virtual std::string title() const { return "named " + name; } virtual ~Named() {} };
struct Circle : virtual Shape { double r; Circle(int id, double r) : Shape(id), r(r) {} double area() const override { return 3.14159 * r * r; } Circle *clone(double k) const override { return new Circle(id + 1, r * k); } };
struct Square : virtual Shape, Named {
    double s;
    Square(int id, double s) : Shape(id), s(s) { name = std::to_string(id); }
    double area() const override { return s * s; }
    Square *clone(double k) const override { return new Square(id + 2, s + k); }
    std::string title() const override { return "square " + name; }
};
struct Both : Circle, Square {
    Both(int id, double v) : Shape(id), Circle(id, v), Square(id, v + 1) {}
    double area() const override { return Circle::area() + Square::area(); }
    Both *clone(double k) const override { return new Both(id + 3, r - k); }
};

NOINLINE static double visit(Shape *s) {
    double a = s->area() + s->id;
    if (auto *n = dynamic_cast<Named *>(s)) a += (double)n->title().size() * 100;
    if (auto *c = dynamic_cast<Circle *>(s)) a += c->r * 10;
    if (typeid(*s) == typeid(Both)) a += 1000;
    return a;
}

template <int R, int C> struct Matrix {
    double v[R][C] = {};
    template <int K> Matrix<R, K> operator*(const Matrix<C, K> &o) const {
        Matrix<R, K> m;
        for (int i = 0; i < R; i++) for (int j = 0; j < K; j++) for (int k = 0; k < C; k++) m.v[i][j] += v[i][k] * o.v[k][j];
        return m;
    }
    Matrix operator+(const Matrix &o) const { Matrix m = *this; for (int i = 0; i < R; i++) for (int j = 0; j < C; j++) m.v[i][j] += o.v[i][j]; return m; }
};
template <int N> struct Fibonacci { static constexpr int64_t value = Fibonacci<N - 1>::value + Fibonacci<N - 2>::value; };
template <> struct Fibonacci<1> { static constexpr int64_t value = 1; };
template <> struct Fibonacci<0> { static constexpr int64_t value = 0; };
template <class... A> NOINLINE static double sum(A... a) { return (0.0 + ... + a); }

struct Counter { int n = 0; int up(int k) { return n += k; } int down(int k) { return n -= k; } virtual int twice(int k) { return n += 2 * k; } virtual ~Counter() {} };
struct Loud : Counter { int twice(int k) override { return n = n * 3 + k; } };
NOINLINE static int apply(Counter &c, int (Counter::*f)(int), int k) { return (c.*f)(k); }

struct Buffer {
    std::vector<int> v;
    static int copies, moves;
    explicit Buffer(int n) : v((size_t)n, n) {}
    Buffer(const Buffer &o) : v(o.v) { copies++; }
    Buffer(Buffer &&o) noexcept : v(std::move(o.v)) { moves++; }
    Buffer &operator=(Buffer o) { std::swap(v, o.v); return *this; }
};
int Buffer::copies, Buffer::moves;
NOINLINE static Counter &instance() { static Loud counter; return counter; }

int main() {
    std::vector<Shape *> shapes{new Circle(1, 1.5), new Square(2, 2.5), new Both(3, 0.5)};
    for (int i = 0; i < 9; i++) shapes.push_back(shapes[(size_t)i]->clone(i * 0.25));
    double total = 0;
    for (Shape *s : shapes) total = total * 0.5 + visit(s);
    std::printf("%.4f %s\n", total, dynamic_cast<Named *>(shapes[5])->title().c_str());
    for (Shape *s : shapes) delete s;
    Matrix<3, 4> a; Matrix<4, 3> b;
    for (int i = 0; i < 12; i++) a.v[i / 4][i % 4] = i, b.v[i / 3][i % 3] = 12 - i;
    auto c = a * b * a + a;
    std::printf("%g %g %lld %g\n", c.v[0][1], c.v[2][3], (long long)Fibonacci<70>::value, sum(1, 2.5f, 3L, 'a', 5.25));
    int (Counter::*f[])(int) = {&Counter::up, &Counter::down, &Counter::twice};
    int r = 0;
    for (int i = 0; i < 12; i++) r = r * 3 % 10007 + apply(instance(), f[i % 3], i);
    std::vector<Buffer> buffers;
    for (int i = 0; i < 6; i++) buffers.push_back(Buffer(i));
    buffers[1] = buffers[5];
    std::printf("%d %d %zu\n", r, Buffer::copies, buffers[1].v.size());
    return 0;
}
