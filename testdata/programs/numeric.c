// Floating-point kernels: matrix product, Gauss elimination, FFT, Mandelbrot, n-body, Runge-Kutta.
#include <math.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline))
enum { N = 24, F = 256 };

NOINLINE static void product(double c[N][N], double a[N][N], double b[N][N]) {
    for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) { double s = 0; for (int k = 0; k < N; k++) s += a[i][k] * b[k][j]; c[i][j] = s; }
}
NOINLINE static double determinant(double a[N][N]) {
    double det = 1;
    for (int k = 0; k < N; k++) {
        int p = k;
        for (int i = k + 1; i < N; i++) if (fabs(a[i][k]) > fabs(a[p][k])) p = i;
        if (p != k) { det = -det; for (int j = 0; j < N; j++) { double t = a[p][j]; a[p][j] = a[k][j]; a[k][j] = t; } }
        det *= a[k][k];
        for (int i = k + 1; i < N; i++) { double m = a[i][k] / a[k][k]; for (int j = k; j < N; j++) a[i][j] -= m * a[k][j]; }
    }
    return det;
}
NOINLINE static void fft(double *re, double *im, int n, int sign) {
    for (int i = 1, j = 0; i < n; i++) {
        int bit = n >> 1;
        for (; j & bit; bit >>= 1) j ^= bit;
        j ^= bit;
        if (i < j) { double t = re[i]; re[i] = re[j]; re[j] = t; t = im[i]; im[i] = im[j]; im[j] = t; }
    }
    for (int len = 2; len <= n; len <<= 1) {
        double wr = cos(sign * 6.283185307179586 / len), wi = sin(sign * 6.283185307179586 / len);
        for (int i = 0; i < n; i += len)
            for (double cr = 1, ci = 0, t, *a = re + i, *b = im + i; a < re + i + len / 2; a++, b++, t = cr * wr - ci * wi, ci = cr * wi + ci * wr, cr = t) {
                double xr = a[len / 2] * cr - b[len / 2] * ci, xi = a[len / 2] * ci + b[len / 2] * cr;
                a[len / 2] = *a - xr; b[len / 2] = *b - xi; *a += xr; *b += xi;
            }
    }
}
NOINLINE static int mandelbrot(void) {
    int total = 0;
    for (int y = -20; y <= 20; y++)
        for (int x = -40; x <= 20; x++) {
            double cr = x / 20.0, ci = y / 16.0, zr = 0, zi = 0;
            int n = 0;
            while (n < 100 && zr * zr + zi * zi < 4) { double t = zr * zr - zi * zi + cr; zi = 2 * zr * zi + ci; zr = t; n++; }
            total += n > 50;
        }
    return total;
}
struct body { double x, y, z, vx, vy, vz, m; };
NOINLINE static double nbody(struct body *b, int n, int steps) {
    while (steps--) {
        for (int i = 0; i < n; i++)
            for (int j = i + 1; j < n; j++) {
                double dx = b[i].x - b[j].x, dy = b[i].y - b[j].y, dz = b[i].z - b[j].z, d = dx * dx + dy * dy + dz * dz + 0.01, g = 0.001 / (d * sqrt(d));
                b[i].vx -= dx * b[j].m * g; b[i].vy -= dy * b[j].m * g; b[i].vz -= dz * b[j].m * g;
                b[j].vx += dx * b[i].m * g; b[j].vy += dy * b[i].m * g; b[j].vz += dz * b[i].m * g;
            }
        for (int i = 0; i < n; i++) b[i].x += b[i].vx, b[i].y += b[i].vy, b[i].z += b[i].vz;
    }
    double e = 0;
    for (int i = 0; i < n; i++) e += b[i].m * (b[i].vx * b[i].vx + b[i].vy * b[i].vy + b[i].vz * b[i].vz) / 2 + b[i].x;
    return e;
}
NOINLINE static double lorenz(int n, double h) {
    double x = 1, y = 1, z = 1;
    while (n--) {
#define FX(x, y, z) (10 * ((y) - (x)))
#define FY(x, y, z) ((x) * (28 - (z)) - (y))
#define FZ(x, y, z) ((x) * (y) - 8.0 / 3 * (z))
        double a = FX(x, y, z), b = FY(x, y, z), c = FZ(x, y, z), k = h / 2;
        double d = FX(x + k * a, y + k * b, z + k * c), e = FY(x + k * a, y + k * b, z + k * c), f = FZ(x + k * a, y + k * b, z + k * c);
        double p = FX(x + k * d, y + k * e, z + k * f), q = FY(x + k * d, y + k * e, z + k * f), r = FZ(x + k * d, y + k * e, z + k * f);
        double s = FX(x + h * p, y + h * q, z + h * r), t = FY(x + h * p, y + h * q, z + h * r), u = FZ(x + h * p, y + h * q, z + h * r);
        x += h / 6 * (a + 2 * d + 2 * p + s); y += h / 6 * (b + 2 * e + 2 * q + t); z += h / 6 * (c + 2 * f + 2 * r + u);
    }
    return x + y * 10 + z * 100;
}

int main(void) {
    static double a[N][N], b[N][N], c[N][N], re[F], im[F];
    struct body s[5];
    for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) a[i][j] = (i * j % 7) / 4.0 + (i == j), b[i][j] = (i + 2 * j) % 5 - 1.5;
    for (int i = 0; i < 5; i++) s[i] = (struct body){i, i * i % 3, -i, 0.01 * i, 0, 0.02, 1.0 + i};
    for (int i = 0; i < F; i++) re[i] = i * 37 % 64, im[i] = 0;
    product(c, a, b);
    printf("%.4f %.6g\n", c[3][5] + c[N - 1][N - 2], determinant(a));
    fft(re, im, F, 1);
    printf("%.3f %.3f ", re[1], im[5]);
    fft(re, im, F, -1);
    printf("%.4f\n%d %.5f %.4f\n", re[17] / F, mandelbrot(), nbody(s, 5, 500), lorenz(300, 0.01));
    return 0;
}
