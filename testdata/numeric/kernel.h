/* What the kernels share: numbers to compute with, and a number that says whether what they have computed is right. */
#include <stdint.h>
#include <string.h>

/* Between 0 and 1. */
__attribute__((unused)) static double random_unit(void) {
    static uint64_t state = 88172645463325252u;
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (double)(state >> 11) * 0x1p-53;
}

__attribute__((unused)) static uint32_t random_bits(void) {
    static uint64_t state = 88172645463325252u;
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (uint32_t)(state >> 32);
}

/* One wrong bit shows. */
__attribute__((unused)) static uint64_t checksum(const void *data, size_t size) {
    uint64_t hash = 0xcbf29ce484222325u, word;
    for (size_t i = 0; i + 8 <= size; i += 8) {
        memcpy(&word, (const char *)data + i, 8);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u, hash ^= hash >> 32;
    }
    return hash;
}
