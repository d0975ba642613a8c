// What is computed early and read late, where more is live than there are registers: sums, loads in front of stores to the
// same memory, volatile and atomic loads, conditions in between.
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#define KEEP __attribute__((noinline))

// Eight sums of what lives on, read in reverse order behind stores to what some were read from.
KEEP static uint32_t overwritten(uint32_t *p, uint32_t *q) {
  uint32_t a = p[0], b = p[1], c = p[2], d = p[3];
  uint32_t s = a + 3 * b, t = b ^ (c << 3), u = c - 5 * d, v = d + (a >> 2);
  uint32_t first = p[4], second = p[5];
  q[0] = a * b;
  q[1] = b * c;
  uint32_t third = p[4], fourth = p[5];
  q[2] = s + t + u + v;
  q[3] = (a ^ d) + (b ^ c);
  uint32_t fifth = q[0], sixth = q[1];
  p[0] = fifth - first;
  p[1] = sixth - second;
  return (((((v * 31 + u) * 31 + t) * 31 + s) * 31 + first) * 31 + second) * 31 + third + (fourth ^ fifth ^ sixth);
}

// Conditions between what is computed and where it is read.
KEEP static int64_t conditions(int64_t a, int64_t b, int64_t c, int64_t d, int64_t e) {
  int64_t s = a + b, t = a - c, u = b * 5, v = c + 9, w = d ^ e;
  int64_t low = a < b ? c : d, high = a < c ? b : e, middle = low < high ? s : t;
  int64_t x = low + high, y = middle - u;
  if (x < y)
    return ((s * 7 + t) * 7 + u) * 7 + v + w;
  return (((w * 3 + v) * 3 + u) * 3 + t) * 3 + s + (x < w ? y : x) + (a == b) - (c >= d);
}

static volatile uint32_t ticks;
static _Atomic uint32_t shared;

// Each read of a volatile and an atomic variable is behind the write in front of it.
KEEP static uint32_t ordered(uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  ticks = a;
  uint32_t first = ticks + b;
  ticks = b;
  uint32_t second = ticks ^ c;
  atomic_store(&shared, c);
  uint32_t third = atomic_load(&shared) - d;
  atomic_fetch_add(&shared, d);
  uint32_t fourth = atomic_load(&shared) * 3, fifth = ticks + d;
  ticks = first + second;
  return ((((a ^ b) + (c ^ d)) * 17 + fifth) * 17 + fourth) * 17 + third + (second & first) + ticks;
}

KEEP static void call(double *p) { p[0] += 1, p[1] -= 2; }

// Floating point: what was read in front of a call is not what is there behind it.
KEEP static double across(double *p, double x, double y) {
  double a = p[0] * x, b = p[1] * y, c = p[0] + p[1], d = x - y, e = a * d, f = b * d;
  call(p);
  double g = p[0] * y, h = p[1] * x;
  return ((e - g) * 2 + (f - h)) * 2 + a + b + c * d + p[0];
}

int main(void) {
  uint32_t memory[12];
  for (uint32_t round = 0; round < 6; round++) {
    for (uint32_t i = 0; i < 12; i++)
      memory[i] = (i + 3) * (round + 7) * 2654435761u;
    for (uint32_t shift = 0; shift < 6; shift++)
      printf("%u ", (unsigned)overwritten(memory, memory + shift));
    double numbers[2] = {round + 0.5, round * 3.25};
    printf("%lld %u %.4f\n", (long long)conditions(round, 3, round * round, 12 - round, 5),
           (unsigned)ordered(round, 2 * round, 7, round + 11), across(numbers, 1.5, round - 2.25));
  }
  for (int i = 0; i < 12; i++)
    printf("%u ", (unsigned)memory[i]);
  printf("\n");
  return 0;
}
