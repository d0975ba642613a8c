/*
 * Fast Fourier transforms: radix 4 over interleaved complex doubles, radix 2
 * over separate arrays of floats, and a split of the spectrum of a real signal.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "kernel.h"

enum { LOG4 = 5, N = 1 << 2 * LOG4, ROUNDS = 110 };

/* Decimation in frequency; the result is in digit-reversed order. roots[k] is the k-th of n roots of one. */
__attribute__((noinline)) void radix4(int n, double (*restrict data)[2], const double (*restrict roots)[2]) {
    for (int size = n, step = 1; size > 1; size /= 4, step *= 4) {
        int quarter = size / 4;
        for (int j = 0; j < quarter; j++) {
            double r1 = roots[j * step][0], i1 = roots[j * step][1];
            double r2 = roots[2 * j * step][0], i2 = roots[2 * j * step][1];
            double r3 = roots[3 * j * step][0], i3 = roots[3 * j * step][1];
            for (int at = j; at < n; at += size) {
                double *a = data[at], *b = data[at + quarter], *c = data[at + 2 * quarter], *d = data[at + 3 * quarter];
                double sum_r = a[0] + c[0], sum_i = a[1] + c[1], difference_r = a[0] - c[0], difference_i = a[1] - c[1];
                double other_r = b[0] + d[0], other_i = b[1] + d[1], turned_r = b[1] - d[1], turned_i = d[0] - b[0];
                double x = difference_r + turned_r, y = difference_i + turned_i;
                a[0] = sum_r + other_r, a[1] = sum_i + other_i;
                b[0] = x * r1 - y * i1, b[1] = x * i1 + y * r1;
                x = sum_r - other_r, y = sum_i - other_i;
                c[0] = x * r2 - y * i2, c[1] = x * i2 + y * r2;
                x = difference_r - turned_r, y = difference_i - turned_i;
                d[0] = x * r3 - y * i3, d[1] = x * i3 + y * r3;
            }
        }
    }
}

__attribute__((noinline)) void reverse_digits(int n, double (*data)[2]) {
    for (int i = 0; i < n; i++) {
        int reversed = 0;
        for (int left = i, digits = n; digits > 1; digits /= 4, left /= 4) reversed = 4 * reversed + left % 4;
        if (i < reversed) {
            double r = data[i][0], j = data[i][1];
            data[i][0] = data[reversed][0], data[i][1] = data[reversed][1];
            data[reversed][0] = r, data[reversed][1] = j;
        }
    }
}

__attribute__((noinline)) void radix2(int n, float *restrict re, float *restrict im, const float *restrict cosine,
                                      const float *restrict sine) {
    for (int half = n / 2, step = 1; half > 0; half /= 2, step *= 2)
        for (int at = 0; at < n; at += 2 * half)
            for (int j = 0; j < half; j++) {
                float *r0 = re + at, *r1 = r0 + half, *i0 = im + at, *i1 = i0 + half;
                float r = r0[j] - r1[j], i = i0[j] - i1[j];
                r0[j] += r1[j], i0[j] += i1[j];
                r1[j] = r * cosine[j * step] - i * sine[j * step];
                i1[j] = r * sine[j * step] + i * cosine[j * step];
            }
}

/* From the transform of n complex numbers to that of 2n real ones. */
__attribute__((noinline)) void split(int n, const double (*restrict data)[2], double (*restrict spectrum)[2],
                                     const double (*restrict roots)[2]) {
    for (int k = 1; k < n / 2; k++) {
        double er = (data[k][0] + data[n - k][0]) / 2, ei = (data[k][1] - data[n - k][1]) / 2;
        double or = (data[k][1] + data[n - k][1]) / 2, oi = (data[n - k][0] - data[k][0]) / 2;
        double c = roots[k][0], s = roots[k][1];
        spectrum[k][0] = er + c * or - s * oi, spectrum[k][1] = ei + c * oi + s * or;
        spectrum[n - k][0] = er - c * or + s * oi, spectrum[n - k][1] = -ei + c * oi + s * or;
    }
}

static double data[N][2], roots[N][2], spectrum[N][2];
static float re[N], im[N], cosine[N], sine[N];

int main(void) {
    for (int k = 0; k < N; k++) {
        roots[k][0] = cos(2 * 3.14159265358979323846 * k / N), roots[k][1] = -sin(2 * 3.14159265358979323846 * k / N);
        cosine[k] = (float)roots[k][0], sine[k] = (float)roots[k][1];
    }
    uint64_t sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (int k = 0; k < N; k++) {
            data[k][0] = random_unit() - 0.5, data[k][1] = random_unit() - 0.5;
            re[k] = (float)data[k][0], im[k] = (float)data[k][1];
        }
        radix4(N, data, roots);
        reverse_digits(N, data);
        split(N, data, spectrum, roots);
        radix2(N, re, im, cosine, sine);
        sum = sum * 3 + (checksum(spectrum, sizeof spectrum) ^ checksum(re, sizeof re));
    }
    printf("%016llx\n", (unsigned long long)sum);
}
