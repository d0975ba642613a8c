/*
 * Colours: planes of YUV 4:2:0 to RGB and back in integers, RGB to HSV in
 * floats, and one image laid over another with transparency.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "kernel.h"

enum { W = 160, H = 96, ROUNDS = 40 };

static inline uint8_t clamp(int value) { return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value); }

__attribute__((noinline)) void to_rgb(int width, int height, const uint8_t *restrict luma, const uint8_t *restrict u,
                                      const uint8_t *restrict v, uint8_t *restrict rgb) {
    for (int y = 0; y < height; y += 2)
        for (int x = 0; x < width; x += 2) {
            int cu = u[y / 2 * (width / 2) + x / 2] - 128, cv = v[y / 2 * (width / 2) + x / 2] - 128;
            int red = 409 * cv + 128, green = -100 * cu - 208 * cv + 128, blue = 516 * cu + 128;
            for (int k = 0; k < 4; k++) {
                int at = (y + k / 2) * width + x + k % 2, bright = 298 * (luma[at] - 16);
                rgb[3 * at] = clamp((bright + red) >> 8);
                rgb[3 * at + 1] = clamp((bright + green) >> 8);
                rgb[3 * at + 2] = clamp((bright + blue) >> 8);
            }
        }
}

__attribute__((noinline)) void from_rgb(int width, int height, const uint8_t *restrict rgb, uint8_t *restrict luma,
                                        uint8_t *restrict u, uint8_t *restrict v) {
    for (int i = 0; i < width * height; i++)
        luma[i] = (uint8_t)(((66 * rgb[3 * i] + 129 * rgb[3 * i + 1] + 25 * rgb[3 * i + 2] + 128) >> 8) + 16);
    for (int y = 0; y < height; y += 2)
        for (int x = 0; x < width; x += 2) {
            const uint8_t *p = rgb + 3 * (y * width + x), *q = p + 3 * width;
            int red = p[0] + p[3] + q[0] + q[3], green = p[1] + p[4] + q[1] + q[4], blue = p[2] + p[5] + q[2] + q[5];
            u[y / 2 * (width / 2) + x / 2] = (uint8_t)(((-38 * red - 74 * green + 112 * blue + 512) >> 10) + 128);
            v[y / 2 * (width / 2) + x / 2] = (uint8_t)(((112 * red - 94 * green - 18 * blue + 512) >> 10) + 128);
        }
}

__attribute__((noinline)) void to_hsv(int n, const uint8_t *restrict rgb, float *restrict hsv) {
    for (int i = 0; i < n; i++) {
        float red = rgb[3 * i], green = rgb[3 * i + 1], blue = rgb[3 * i + 2];
        float high = red > green ? red : green, low = red > green ? green : red, hue;
        high = high > blue ? high : blue, low = low < blue ? low : blue;
        float spread = high - low;
        if (spread == 0)
            hue = 0;
        else if (high == red)
            hue = (green - blue) / spread + (green < blue ? 6 : 0);
        else if (high == green)
            hue = (blue - red) / spread + 2;
        else
            hue = (red - green) / spread + 4;
        hsv[3 * i] = hue * 60, hsv[3 * i + 1] = high == 0 ? 0 : spread / high, hsv[3 * i + 2] = high / 255;
    }
}

/* Premultiplied: lower = upper + lower (255 - alpha) / 255, where a pixel is four bytes, alpha the last. */
__attribute__((noinline)) void blend(int n, const uint8_t *restrict upper, uint8_t *restrict lower) {
    for (int i = 0; i < n; i++) {
        int rest = 255 - upper[4 * i + 3];
        for (int k = 0; k < 4; k++) {
            int product = lower[4 * i + k] * rest + 128;
            lower[4 * i + k] = clamp(upper[4 * i + k] + ((product + (product >> 8)) >> 8));
        }
    }
}

static uint8_t luma[W * H], u[W * H / 4], v[W * H / 4], rgb[3 * W * H], upper[4 * W * H], lower[4 * W * H];
static float hsv[3 * W * H];

int main(void) {
    uint64_t sum = 0;
    for (int i = 0; i < W * H; i++) luma[i] = (uint8_t)random_bits();
    for (int i = 0; i < W * H / 4; i++) u[i] = (uint8_t)random_bits(), v[i] = (uint8_t)random_bits();
    for (int i = 0; i < 4 * W * H; i++) lower[i] = (uint8_t)random_bits(), upper[i] = (uint8_t)(random_bits() % 64);
    for (int round = 0; round < ROUNDS; round++) {
        to_rgb(W, H, luma, u, v, rgb);
        to_hsv(W * H, rgb, hsv);
        blend(W * H, upper, lower);
        for (int i = 0; i < 3 * W * H; i += 7) rgb[i] ^= lower[i];
        from_rgb(W, H, rgb, luma, u, v);
        sum = sum * 3 + (checksum(rgb, sizeof rgb) ^ checksum(hsv, sizeof hsv));
    }
    printf("%016llx\n", (unsigned long long)sum);
}
