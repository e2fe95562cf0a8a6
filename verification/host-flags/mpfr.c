/* MPFR as a unit of IEEE 754: operands of `smallfloat vectors gen` (layout testfloat) on standard input, the same lines with
   results and flags (in the order of RISC-V's fflags) on standard output. A format is EXPONENT_BITS,PRECISION.

   Results are rounded once, with a ternary value that says on which side of the exact one they lie; MPFR's own exponents are
   unbounded until `mpfr_check_range` and `mpfr_subnormalize` bring a result into the format's range. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpfr.h>

enum { INEXACT = 1, UNDERFLOW = 2, OVERFLOW = 4, DIVISION = 8, INVALID = 16 };

typedef struct {
    int exponent_bits, precision, largest, smallest; /* exponents of the largest and of the smallest normal value */
} Format;

static Format format(const char *text) {
    Format f;
    if (sscanf(text, "%d,%d", &f.exponent_bits, &f.precision) != 2) exit(2);
    f.largest = (1 << (f.exponent_bits - 1)) - 1;
    f.smallest = 1 - f.largest;
    return f;
}

static int sign_place(Format f) { return f.exponent_bits + f.precision - 1; }
static uint64_t infinity(Format f) { return ((UINT64_C(1) << f.exponent_bits) - 1) << (f.precision - 1); }
static uint64_t quiet(Format f) { return UINT64_C(1) << (f.precision - 2); }

/* Returns whether it is a NaN, 2 if it is a signaling one. */
static int read(mpfr_t x, uint64_t code, Format f) {
    uint64_t magnitude = code & ((UINT64_C(1) << sign_place(f)) - 1);
    uint64_t trailing = magnitude & ((UINT64_C(1) << (f.precision - 1)) - 1);
    int field = (int)(magnitude >> (f.precision - 1));
    if (magnitude > infinity(f)) return mpfr_set_nan(x), code & quiet(f) ? 1 : 2;
    if (magnitude == infinity(f)) {
        mpfr_set_inf(x, 1);
    } else {
        uint64_t significand = field ? trailing | UINT64_C(1) << (f.precision - 1) : trailing;
        mpfr_set_uj_2exp(x, significand, f.smallest + (field ? field - 1 : 0) - (f.precision - 1), MPFR_RNDN);
    }
    mpfr_setsign(x, x, code >> sign_place(f) & 1, MPFR_RNDN);
    return 0;
}

static const char *const NAMES[] = {"Add", "Subtract", "Multiply", "Divide", "FMA", "Sqrt", "Convert"};

static int compute(int operation, mpfr_t r, mpfr_t *x, mpfr_rnd_t mode) {
    switch (operation) {
    case 0: return mpfr_add(r, x[0], x[1], mode);
    case 1: return mpfr_sub(r, x[0], x[1], mode);
    case 2: return mpfr_mul(r, x[0], x[1], mode);
    case 3: return mpfr_div(r, x[0], x[1], mode);
    case 4: return mpfr_fma(r, x[0], x[1], x[2], mode);
    case 5: return mpfr_sqrt(r, x[0], mode);
    default: return mpfr_set(r, x[0], mode);
    }
}

/* The code of a number of the format. */
static uint64_t code_of(mpfr_t r, Format f) {
    uint64_t sign = (uint64_t)(mpfr_signbit(r) != 0) << sign_place(f), magnitude = 0;
    if (mpfr_inf_p(r)) {
        magnitude = infinity(f);
    } else if (!mpfr_zero_p(r)) {
        mpfr_t scaled;
        int exponent = (int)mpfr_get_exp(r) - 1;
        if (exponent < f.smallest) exponent = f.smallest;
        mpfr_init2(scaled, f.precision);
        mpfr_mul_2si(scaled, r, f.precision - 1 - exponent, MPFR_RNDN);
        mpfr_abs(scaled, scaled, MPFR_RNDN);
        magnitude = ((uint64_t)(exponent - f.smallest) << (f.precision - 1)) + mpfr_get_uj(scaled, MPFR_RNDN);
        mpfr_clear(scaled);
    }
    return sign | magnitude;
}

int main(int argc, char **argv) {
    static const char *const ROUNDINGS[] = {"nearest-even", "toward-zero", "toward-negative", "toward-positive"};
    static const mpfr_rnd_t MODES[] = {MPFR_RNDN, MPFR_RNDZ, MPFR_RNDD, MPFR_RNDU};
    mpfr_exp_t widest = mpfr_get_emax_max(), least = mpfr_get_emin_min();
    char line[4096];
    int operation = 0, rounding = 0, after;
    mpfr_t x[3], r, below;
    Format from, to;
    if (argc != 6) return fprintf(stderr, "usage: %s OPERATION FROM TO ROUNDING before|after\n", argv[0]), 2;
    while (operation < 6 && strcmp(NAMES[operation], argv[1])) ++operation;
    while (rounding < 3 && strcmp(ROUNDINGS[rounding], argv[4])) ++rounding;
    from = format(argv[2]), to = format(argv[3]), after = !strcmp(argv[5], "after");
    const int count = operation == 4 ? 3 : operation > 4 ? 1 : 2, digits = (sign_place(to) + 4) / 4;
    for (int i = 0; i < 3; ++i) mpfr_init2(x[i], 64);
    mpfr_inits2(to.precision, r, below, (mpfr_ptr)0);
    while (fgets(line, sizeof line, stdin)) {
        char *rest = line;
        int nans = 0;
        unsigned flags = 0;
        uint64_t code = infinity(to) | quiet(to);
        if (*line == '#') {
            fputs(line, stdout);
            continue;
        }
        mpfr_set_emin(least), mpfr_set_emax(widest);
        for (int i = 0; i < count; ++i) nans |= read(x[i], strtoull(rest, &rest, 16), from);
        int is_undefined = (mpfr_zero_p(x[0]) && mpfr_inf_p(x[1])) || (mpfr_inf_p(x[0]) && mpfr_zero_p(x[1]));
        mpfr_clear_flags();
        if (nans) {
            /* 0 times infinity plus a quiet NaN is left open; these units raise invalid. */
            flags = nans & 2 || (operation == 4 && is_undefined) ? INVALID : 0;
        } else {
            int ternary = compute(operation, r, x, MODES[rounding]);
            if (mpfr_nan_p(r)) {
                flags = INVALID;
            } else if (!mpfr_regular_p(r)) {
                flags = mpfr_divby0_p() ? DIVISION : 0;
                code = code_of(r, to);
            } else {
                compute(operation, below, x, MPFR_RNDZ);
                int is_tiny = mpfr_get_exp(after ? r : below) <= to.smallest;
                if (mpfr_get_exp(r) > to.largest + 1) flags |= OVERFLOW;
                mpfr_set_emin(to.smallest - to.precision + 2), mpfr_set_emax(to.largest + 1);
                ternary = mpfr_check_range(r, ternary, MODES[rounding]);
                ternary = mpfr_subnormalize(r, ternary, MODES[rounding]);
                if (ternary) flags |= INEXACT | (is_tiny ? UNDERFLOW : 0);
                mpfr_set_emin(least), mpfr_set_emax(widest);
                code = code_of(r, to);
            }
        }
        printf("%.*s %0*" PRIx64 " %02x\n", (int)(rest - line), line, digits, code, flags);
    }
    return ferror(stdin) || fflush(stdout) ? 1 : 0;
}
