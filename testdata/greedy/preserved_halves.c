// flags: -O2 -mavx2
// Calls that preserve the low halves of vector registers, and values no wider than these.
#define ACROSS(name, convention) \
    convention void call_##name(void); \
    double across_##name(const double *p, int n) { \
        double a = 1, b = 2; \
        for (int i = 0; i < n; i++) { \
            call_##name(); \
            a += p[i]; \
            b = b * 0.5 + a; \
        } \
        return a + b; \
    }
ACROSS(ms_abi, __attribute__((ms_abi)))
ACROSS(preserve_all, __attribute__((preserve_all)))
ACROSS(regcall, __attribute__((regcall)))
