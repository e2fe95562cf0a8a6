/* The C library against binary64 arithmetic and the host's own floats. */
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "check.h"
#include "smallfloat.h"

/* Every function of the table is there: this does not link otherwise. */
typedef void (*function)(void);
#define ALL(name, code) \
    (function)sf_##name##_add, (function)sf_##name##_sub, (function)sf_##name##_mul, (function)sf_##name##_div, \
        (function)sf_##name##_rem, (function)sf_##name##_min, (function)sf_##name##_max, \
        (function)sf_##name##_fma, (function)sf_##name##_sqrt, (function)sf_##name##_neg, \
        (function)sf_##name##_abs, (function)sf_f32_to_##name, (function)sf_f64_to_##name, \
        (function)sf_f16_to_##name, (function)sf_bf16_to_##name, (function)sf_##name##_to_f32, \
        (function)sf_##name##_to_f64, (function)sf_##name##_eq, (function)sf_##name##_lt, \
        (function)sf_##name##_le, (function)sf_##name##_is_nan, (function)sf_##name##_add_flags, \
        (function)sf_##name##_sub_flags, (function)sf_##name##_mul_flags, (function)sf_##name##_div_flags, \
        (function)sf_##name##_rem_flags, (function)sf_##name##_min_flags, (function)sf_##name##_max_flags, \
        (function)sf_##name##_fma_flags, (function)sf_##name##_sqrt_flags, (function)sf_##name##_neg_flags, \
        (function)sf_##name##_abs_flags, (function)sf_f32_to_##name##_flags, \
        (function)sf_f64_to_##name##_flags, (function)sf_f16_to_##name##_flags, \
        (function)sf_bf16_to_##name##_flags,
static const function functions[] = {SF_FIXED_FORMATS(ALL) SF_BIASED_FORMATS(ALL)};

/* --- OCP E4M3, from its definition ------------------------------------------------------------------- */

static double e4m3fn_value(unsigned code) {
    unsigned field = code >> 3 & 15, digits = code & 7;
    double magnitude = field == 0 ? ldexp(digits, -9) : ldexp(8 + digits, (int)field - 10);
    if ((code & 0x7f) == 0x7f) return NAN;
    return code & 0x80 ? -magnitude : magnitude;
}

/* The right code and flags of an exact result: to nearest, ties to even; beyond the range NaN. */
static unsigned e4m3fn_right(double exact, uint32_t *flags) {
    unsigned sign = signbit(exact) ? 0x80 : 0, best = 0;
    double x = fabs(exact);
    *flags = 0;
    if (isnan(exact)) return 0x7f;
    /* 464 is in the middle of 448, which is even, and 480. */
    if (x > 464) {
        *flags = SF_OVERFLOW | SF_INEXACT;
        return 0x7f;
    }
    for (unsigned code = 1; code < 0x7f; code++) {
        double here = fabs(e4m3fn_value(code) - x), there = fabs(e4m3fn_value(best) - x);
        if (here < there || (here == there && code % 2 == 0)) best = code;
    }
    if (e4m3fn_value(best) != x) *flags = SF_INEXACT | (x < 0.015625 ? SF_UNDERFLOW : 0u);
    return sign | best;
}

/* Equal, or both NaN: the sign of a NaN is no matter of arithmetic. */
static bool same(unsigned given, unsigned right) { return given == right || (right == 0x7f && given == 0xff); }

enum { ADD, MULTIPLY };
static uint8_t right_code[2][65536], right_flags[2][65536];
static uint8_t x_of[65536], y_of[65536];

static void pairs_of_e4m3fn(void) {
    static const char *const texts[] = {"Add<e4m3fn>", "Multiply<e4m3fn>"};
    static uint8_t results[65536], flags[65536];
    for (unsigned pair = 0; pair < 65536; pair++) {
        x_of[pair] = (uint8_t)pair, y_of[pair] = (uint8_t)(pair >> 8);
        double x = e4m3fn_value(x_of[pair]), y = e4m3fn_value(y_of[pair]);
        for (int which = 0; which < 2; which++) {
            uint32_t raised;
            right_code[which][pair] = (uint8_t)e4m3fn_right(which == ADD ? x + y : x * y, &raised);
            right_flags[which][pair] = (uint8_t)raised;
        }
    }
    for (int which = 0; which < 2; which++) {
        sf_error error;
        sf_operation *op = sf_op(texts[which], &error);
        CHECK(op != NULL && error.status == SF_STATUS_OK && error.text[0] == 0, "%s", error.text);
        CHECK(sf_op_operands(op) == 2 && sf_op_results(op) == 1, "%s", texts[which]);
        CHECK(sf_batch(op, 65536, x_of, y_of, NULL, results, flags, NULL) == SF_STATUS_OK, "%s", texts[which]);
        for (unsigned pair = 0; pair < 65536; pair++) {
            uint8_t x = x_of[pair], y = y_of[pair], right = right_code[which][pair];
            uint32_t expected = right_flags[which][pair], raised = 99, sticky = SF_DENORMAL;
            uint64_t result = 99;
            CHECK(sf_call2(op, x, y, &result, &raised) == SF_STATUS_OK, "%x %x", x, y);
            CHECK(same((unsigned)result, right) && raised == expected, "%x %x: %" PRIx64 " %x, right %x %x", x, y,
                  result, raised, right, expected);
            /* Again: from memory. */
            CHECK(sf_call2(op, x, y, &result, NULL) == SF_STATUS_OK && same((unsigned)result, right), "%x %x", x, y);
            CHECK(same(results[pair], right) && flags[pair] == expected, "batch %x %x", x, y);
            uint8_t fixed = which == ADD ? sf_e4m3fn_add(x, y) : sf_e4m3fn_mul(x, y);
            CHECK(same(fixed, right), "fixed %x %x: %x, right %x", x, y, fixed, right);
            fixed = which == ADD ? sf_e4m3fn_add_flags(x, y, &sticky) : sf_e4m3fn_mul_flags(x, y, &sticky);
            CHECK(same(fixed, right) && sticky == (expected | SF_DENORMAL), "flags %x %x: %x", x, y, sticky);
        }
        memset(results, 0, sizeof results);
        CHECK(sf_batch(op, 65536, x_of, y_of, NULL, results, NULL, NULL) == SF_STATUS_OK, "%s", texts[which]);
        for (unsigned pair = 0; pair < 65536; pair++)
            CHECK(same(results[pair], right_code[which][pair]), "batch without flags, %u", pair);
        sf_op_free(op);
    }
    for (unsigned code = 0; code < 256; code++) {
        double value = e4m3fn_value(code);
        CHECK(isnan(value) ? isnan(sf_e4m3fn_to_f64((uint8_t)code)) : sf_e4m3fn_to_f64((uint8_t)code) == value,
              "%x", code);
        CHECK(sf_e4m3fn_is_nan((uint8_t)code) == isnan(value), "%x", code);
        for (unsigned other = 0; other < 256; other++) {
            double y = e4m3fn_value(other);
            CHECK(sf_e4m3fn_lt((uint8_t)code, (uint8_t)other) == (value < y), "%x %x", code, other);
            CHECK(sf_e4m3fn_le((uint8_t)code, (uint8_t)other) == (value <= y), "%x %x", code, other);
            CHECK(sf_e4m3fn_eq((uint8_t)code, (uint8_t)other) == (value == y), "%x %x", code, other);
        }
    }
}

/* Products and sums of three are exact in binary64: 36 bits between the largest and the smallest. Often enough
 * that the library has begun to remember. */
static void triples_of_e4m3fn(size_t count) {
    sf_operation *op = sf_op("FMA<e4m3fn>", NULL), *tesla = sf_op_with("FMA<e4m3fn>", NULL, "tesla", NULL);
    uint64_t state = 3;
    for (size_t i = 0; i < count; i++) {
        uint64_t word = next(&state), result;
        uint8_t x = (uint8_t)word, y = (uint8_t)(word >> 8), z = (uint8_t)(word >> 16);
        uint32_t expected, raised;
        double vx = e4m3fn_value(x), vy = e4m3fn_value(y), vz = e4m3fn_value(z), exact = vx * vy + vz;
        unsigned right = e4m3fn_right(exact, &expected);
        CHECK(sf_call3(op, x, y, z, &result, &raised) == SF_STATUS_OK, "%x %x %x", x, y, z);
        CHECK(same((unsigned)result, right) && raised == expected, "%x %x %x: %x %x, right %x %x", x, y, z,
              (unsigned)result, raised, right, expected);
        if (isnan(vx) || isnan(vy) || isnan(vz))
            expected |= SF_INVALID;
        if ((fabs(vx) < 0.015625 && vx != 0) || (fabs(vy) < 0.015625 && vy != 0) || (fabs(vz) < 0.015625 && vz != 0))
            expected |= SF_DENORMAL;
        CHECK(sf_call3(tesla, x, y, z, &result, &raised) == SF_STATUS_OK && same((unsigned)result, right) &&
                  raised == expected,
              "Tesla's flags of %x %x %x: %x, right %x", x, y, z, raised, expected);
    }
    sf_op_free(op), sf_op_free(tesla);
}

/* --- Tesla's CFloat8, from its definition, at every bias ----------------------------------------------- */

static double cfloat8_value(unsigned code, unsigned bias) {
    unsigned field = code >> 3 & 15, digits = code & 7;
    return field == 0 ? ldexp(digits, -3 - (int)bias) : ldexp(8 + digits, (int)field - 3 - (int)bias);
}

static void conversions_to_cfloat8(void) {
    uint64_t state = 1;
    for (unsigned bias = 0; bias < 64; bias++) {
        double values[128];
        for (unsigned code = 0; code < 128; code++) values[code] = cfloat8_value(code, bias);
        for (int i = 0; i < 4096; i++) {
            /* Of exponents near the format's, of both signs. */
            uint64_t word = next(&state);
            int exponent = (int)(word % 24) - 6 - (int)bias;
            float x = (float)ldexp(1 + (double)(word >> 40) / (1 << 24), exponent);
            unsigned best = 0, sign = word >> 39 & 1 ? 0x80 : 0;
            for (unsigned code = 1; code < 128; code++) {
                double here = fabs(values[code] - x), there = fabs(values[best] - x);
                if (here < there || (here == there && code % 2 == 0)) best = code;
            }
            unsigned given = sf_f32_to_cfloat8_1_4_3(sign ? -x : x, bias);
            CHECK(given == (sign | best), "bias %u, %a: %x, right %x", bias, x, given, sign | best);
            uint32_t flags = 0;
            CHECK(sf_f32_to_cfloat8_1_4_3_flags(sign ? -x : x, bias, &flags) == given, "%a", x);
            CHECK(((flags & SF_OVERFLOW) != 0) == (x >= values[127] + (values[127] - values[126]) / 2), "%a %x", x, flags);
            CHECK(sf_cfloat8_1_4_3_to_f32((uint8_t)best, bias) == (float)values[best], "%x", best);
        }
        CHECK(sf_f32_to_cfloat8_1_4_3(NAN, bias) == 0x7f, "NaN clamps");
    }
}

/* --- binary32, beside the host ------------------------------------------------------------------------- */

static float float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static void binary32_as_the_host(size_t count) {
    sf_operation *add = sf_op("Add<binary32, semantics=ieee>", NULL), *fma = sf_op("FMA<binary32, semantics=ieee>", NULL);
    sf_operation *less = sf_op("CompareLess<binary32, binary32>", NULL);
    sf_format *binary32 = sf_format_new("f32", NULL), *e4m3fn = sf_format_new("ocp-e4m3", NULL);
    sf_operation *convert = sf_op_convert(binary32, e4m3fn, NULL, NULL, NULL);
    sf_operation *back = sf_op_convert(e4m3fn, binary32, NULL, NULL, NULL);
    CHECK(add && fma && less && convert && back, "the operations are there");
    sf_format_free(binary32);
    sf_format_free(e4m3fn);
    float *x = malloc(count * sizeof *x), *y = malloc(count * sizeof *y), *z = malloc(count * sizeof *z);
    float *sums = malloc(count * sizeof *sums), *fmas = malloc(count * sizeof *fmas), *wide = malloc(count * sizeof *wide);
    uint8_t *codes = malloc(count), *flags = malloc(count), *flagged = malloc(count), *truths = malloc(count);
    uint64_t state = 2;
    for (size_t i = 0; i < count; i++) {
        /* Exponents near each other, so that terms meet. */
        uint32_t near = (uint32_t)(next(&state) % 40) << 23;
        x[i] = float_of(((uint32_t)next(&state) & 0x807fffff) + near + (107u << 23));
        y[i] = float_of(((uint32_t)next(&state) & 0x83ffffff) + near + (105u << 23));
        z[i] = float_of(((uint32_t)next(&state) & 0x83ffffff) + 2 * near + (85u << 23));
    }
    CHECK(sf_batch(add, count, x, y, NULL, sums, NULL, NULL) == SF_STATUS_OK, "add");
    CHECK(sf_batch(fma, count, x, y, z, fmas, NULL, NULL) == SF_STATUS_OK, "fma");
    CHECK(sf_batch(less, count, x, y, NULL, truths, NULL, NULL) == SF_STATUS_OK, "less");
    CHECK(sf_batch(convert, count, x, NULL, NULL, codes, NULL, NULL) == SF_STATUS_OK, "convert");
    CHECK(sf_batch(convert, count, x, NULL, NULL, flagged, flags, NULL) == SF_STATUS_OK, "convert");
    CHECK(sf_batch(back, count, codes, NULL, NULL, wide, NULL, NULL) == SF_STATUS_OK, "back");
    for (size_t i = 0; i < count; i++) {
        float product = fmaf(x[i], y[i], z[i]);
        CHECK(bits_of(sums[i]) == bits_of(x[i] + y[i]), "%a + %a", x[i], y[i]);
        CHECK(bits_of(fmas[i]) == bits_of(product), "fma of %a, %a, %a: %a", x[i], y[i], z[i], fmas[i]);
        CHECK(truths[i] == (x[i] < y[i]), "%a < %a", x[i], y[i]);
        uint64_t result;
        CHECK(sf_call3(fma, bits_of(x[i]), bits_of(y[i]), bits_of(z[i]), &result, NULL) == SF_STATUS_OK &&
                  result == bits_of(product), "call of fma");
        uint32_t raised;
        unsigned right = e4m3fn_right(x[i], &raised);
        CHECK(same(codes[i], right) && same(flagged[i], right) && flags[i] == raised, "%a: %x %x, right %x %x", x[i],
              codes[i], flags[i], right, raised);
        CHECK(same(sf_f32_to_e4m3fn(x[i]), right) && same(sf_f64_to_e4m3fn(x[i]), right), "%a", x[i]);
        if (right != 0x7f) CHECK((double)wide[i] == e4m3fn_value(right), "%x", right);
    }
    free(x), free(y), free(z), free(sums), free(fmas), free(wide);
    free(codes), free(flags), free(flagged), free(truths);
    sf_op_free(add), sf_op_free(fma), sf_op_free(less), sf_op_free(convert), sf_op_free(back);
}

/* --- rules for flags ------------------------------------------------------------------------------------ */

static void policies(void) {
    /* Two that every x86 gives: tiny before, not after rounding; and a quiet NaN. */
    static const struct {
        const char *policy;
        uint32_t tiny, nan;
    } rows[] = {{"x86", SF_INEXACT, 0}, {"riscv", SF_INEXACT, 0}, {"arm", SF_INEXACT | SF_UNDERFLOW, 0},
                {"tesla", SF_INEXACT | SF_UNDERFLOW, SF_INVALID}, {NULL, SF_INEXACT | SF_UNDERFLOW, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        sf_operation *op = sf_op_with("Multiply<binary32>", NULL, rows[i].policy, NULL);
        uint64_t result;
        uint32_t flags;
        CHECK(op && sf_call2(op, 0x3f7ffffe, 0x00800001, &result, &flags) == SF_STATUS_OK, "row %zu", i);
        CHECK(result == 0x00800000 && flags == rows[i].tiny, "row %zu: %x", i, flags);
        CHECK(sf_call2(op, 0x7fc00000, 0x3f800000, &result, &flags) == SF_STATUS_OK, "row %zu", i);
        CHECK(result == 0x7fc00000 && flags == rows[i].nan, "row %zu: %" PRIx64 " %x", i, result, flags);
        sf_op_free(op);
    }
}

/* A quiet NaN, a signaling one, infinity, a subnormal; into a format with NaN and into one without, which is
 * an invalid operation (IEEE 754, section 7.2). Arrays long enough for a table, and not. */
static void special_operands(void) {
    static const uint32_t operands[] = {0x7fc00000, 0x7f800001, 0x7f800000, 0x00000001};
    static const struct {
        const char *to, *policy;
        uint32_t flags[4];
    } rows[] = {
        {"e4m3fn", "ieee-before", {0, SF_INVALID, SF_OVERFLOW | SF_INEXACT, SF_UNDERFLOW | SF_INEXACT}},
        {"e4m3fn", "tesla",
         {SF_INVALID, SF_INVALID, SF_OVERFLOW | SF_INEXACT, SF_UNDERFLOW | SF_INEXACT | SF_DENORMAL}},
        {"e2m3fn", "ieee-before",
         {SF_INVALID, SF_INVALID, SF_OVERFLOW | SF_INEXACT, SF_UNDERFLOW | SF_INEXACT}},
        {"e5m2", "ieee-before", {0, SF_INVALID, 0, SF_UNDERFLOW | SF_INEXACT}},
    };
    enum { MANY = 5000 };
    static uint32_t x[MANY];
    static uint8_t codes[MANY], flags[MANY];
    for (size_t i = 0; i < MANY; i++) x[i] = operands[i % 4];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        sf_format *from = sf_format_new("binary32", NULL), *to = sf_format_new(rows[i].to, NULL);
        sf_operation *op = sf_op_convert(from, to, NULL, rows[i].policy, NULL);
        for (size_t length = 4; length <= MANY; length += MANY - 4) {
            CHECK(op && sf_batch(op, length, x, NULL, NULL, codes, flags, NULL) == SF_STATUS_OK, "row %zu", i);
            for (size_t j = 0; j < length; j++)
                CHECK(flags[j] == rows[i].flags[j % 4], "row %zu, %x: %x", i, x[j], flags[j]);
        }
        for (size_t j = 0; j < 4; j++) {
            uint64_t code;
            uint32_t raised;
            CHECK(sf_call1(op, operands[j], &code, &raised) == SF_STATUS_OK && raised == rows[i].flags[j],
                  "row %zu, %x: %x", i, operands[j], raised);
            CHECK(code == codes[j], "row %zu, %x: %" PRIx64 " and %x", i, operands[j], code, codes[j]);
        }
        sf_op_free(op), sf_format_free(from), sf_format_free(to);
    }
}

/* --- stochastic rounding -------------------------------------------------------------------------------- */

static void random_words(void) {
    enum { COUNT = 40000 };
    sf_operation *op = sf_op("Add<e5m2, e5m2, e5m2, (StochasticA<8>, SatNone)>", NULL);
    static uint8_t x[COUNT], y[COUNT], results[COUNT], flags[COUNT];
    sf_random random = {.seed = 7, .stream = 3, .first = 100};
    memset(x, 0x3c, COUNT); /* 1 */
    memset(y, 0x28, COUNT); /* 1/32: an eighth of the step */
    CHECK(op && sf_op_operands(op) == 3 && sf_op_bits(op, 2) == 8, "the word is an operand");
    CHECK(sf_batch(op, COUNT, x, y, NULL, results, NULL, NULL) == SF_STATUS_NULL, "words are needed");
    CHECK(sf_batch(op, COUNT, x, y, NULL, results, NULL, &random) == SF_STATUS_OK, "batch");
    unsigned up = 0;
    for (unsigned i = 0; i < COUNT; i++) {
        uint64_t result, word = sf_random_word(7, 3, 100 + i) >> 24;
        CHECK(sf_call3(op, 0x3c, 0x28, word, &result, NULL) == SF_STATUS_OK && result == results[i], "element %u", i);
        CHECK(result == 0x3c + (word >= 224), "an eighth of the words rounds up: %u", i);
        up += result == 0x3d;
    }
    CHECK(up > COUNT / 8 - 300 && up < COUNT / 8 + 300, "%u of %u", up, COUNT);
    CHECK(sf_batch(op, COUNT, x, y, NULL, results, flags, &random) == SF_STATUS_OK && flags[0] == SF_INEXACT, "flags");
    CHECK(sf_call3(op, 0x3c, 0x28, 256, &(uint64_t){0}, NULL) == SF_STATUS_CODE, "a word of 8 bits");
    /* A call of sf_format_encode has no word. */
    sf_format *format = sf_format_new("e4m3fn", NULL);
    sf_projection *projection = sf_projection_new(format, NULL, "stochastic-a:8", NULL, NULL);
    uint64_t code = 77;
    CHECK(projection && sf_format_encode(format, projection, 1.1, &code, NULL) == SF_STATUS_UNSUPPORTED && code == 77, "no word");
    sf_projection_free(projection), sf_format_free(format);
    /* The first known answer of the Random123 distribution. */
    CHECK(sf_random_word(0, 0, 0) == 0x6627e8d5, "Philox");
    sf_op_free(op);
}

/* --- blocks, texts and what a format is ------------------------------------------------------------------ */

static void descriptions(void) {
    char text[400], cut[4];
    sf_error error;
    /* Formats without zero, with one significant bit, with one number, and the widest. */
    static const char *extremes[] = {"e8m0fnu", "binary3p1se", "binary3p1uf", "e3m0", "uhp", "binary64"};
    for (size_t i = 0; i < sizeof extremes / sizeof *extremes; i++) {
        sf_format *extreme = sf_format_new(extremes[i], &error);
        sf_format_info found;
        double least = 0, normal = 0;
        CHECK(extreme && sf_format_describe(extreme, &found) == SF_STATUS_OK, "%s: %s", extremes[i], error.text);
        CHECK(sf_format_decode(extreme, found.min_positive, &least) == SF_STATUS_OK && least > 0, "%s", extremes[i]);
        CHECK(sf_format_decode(extreme, found.min_normal, &normal) == SF_STATUS_OK && normal >= least, "%s", extremes[i]);
        sf_format_free(extreme);
    }
    sf_format *format = sf_format_new("cfloat8_1_4_3:bias=11", &error);
    sf_format_info info;
    CHECK(format && sf_format_describe(format, &info) == SF_STATUS_OK, "%s", error.text);
    CHECK(info.width == 8 && info.precision == 4 && info.bias == 11 && info.exponent_bits == 4, "parameters");
    CHECK(info.is_signed && info.has_negative_zero && !info.has_nan && !info.has_infinity, "what there is");
    CHECK(info.max_finite == 0x7f && info.min_positive == 1 && info.min_normal == 8, "codes");
    CHECK(sf_format_name(format, text, sizeof text) == strlen(text), "%s", text);
    CHECK(strcmp(text, "cfloat8_1_4_3:bias=11") == 0, "%s", text);
    CHECK(sf_format_name(format, cut, sizeof cut) == 21 && strcmp(cut, "cfl") == 0, "%s", cut);
    CHECK(sf_format_text(format, 0x7f, text, sizeof text) == 2 && strcmp(text, "30") == 0, "%s", text);
    double value;
    uint64_t code;
    uint32_t flags;
    sf_class class;
    CHECK(sf_format_decode(format, 0x50, &value) == SF_STATUS_OK && value == 0.5, "%g", value);
    CHECK(sf_format_encode(format, NULL, 1e9, &code, &flags) == SF_STATUS_OK && code == 0x7f, "clamps");
    CHECK(flags == (SF_OVERFLOW | SF_INEXACT), "%x", flags);
    CHECK(sf_format_classify(format, 3, &class) == SF_STATUS_OK && class == SF_CLASS_SUBNORMAL, "%d", (int)class);
    sf_projection *up = sf_projection_new(format, NULL, "toward-positive", NULL, &error);
    CHECK(up && sf_format_encode(format, up, 0.51, &code, NULL) == SF_STATUS_OK && code == 0x51, "rounds up");
    sf_operation *op = sf_op_with("Multiply<cfloat8_1_4_3:bias=11>", up, "tesla", &error);
    CHECK(op && sf_call2(op, 0x51, 0x51, &code, NULL) == SF_STATUS_OK, "%s", error.text);
    CHECK(code == 0x4b, "0.5625 squared is 0.31640625, between 0.3125 and 0.34375: %" PRIx64, code);
    sf_projection_free(up);
    sf_op_free(op);
    sf_format_free(format);

    op = sf_op("Multiply<e4m3fn>", NULL);
    uint64_t operands[] = {0x39, 0x39};
    CHECK(sf_explain(op, operands, 2, 0x3a, 0, SF_INVALID, text, sizeof text) == 0 && text[0] == 0, "it is right");
    size_t length = sf_explain(op, operands, 2, 0x3b, 0, 0, text, sizeof text);
    CHECK(length == strlen(text) && strstr(text, "right    0x3a  1.25") && strstr(text, "1.265625"), "%s", text);
    CHECK(strstr(text, "as if"), "%s", text);
    CHECK(sf_op_text(op, text, sizeof text) > 0 && strncmp(text, "Multiply<e4m3fn", 15) == 0, "%s", text);
    sf_op_free(op);

    /* A scale of 2 for elements 1, 1.5, 2, 3, added up: 2·(1 + 1.5 + 2 + 3) = 15. */
    op = sf_op("BlockReduceAdd<4, e8m0fnu, e2m1fn, binary32>", &error);
    CHECK(op && sf_op_operands(op) == 5, "%s", error.text);
    uint64_t block[] = {128, 2, 3, 4, 5}, sum;
    CHECK(sf_call_all(op, block, 5, &sum, 1, &flags) == SF_STATUS_OK && sum == 0x41700000, "%" PRIx64, sum);
    CHECK(sf_call_all(op, block, 4, &sum, 1, &flags) == SF_STATUS_COUNT, "too few");
    CHECK(sf_call_all(op, block, 5, &sum, 2, &flags) == SF_STATUS_COUNT, "too many results");
    sf_op_free(op);
    CHECK(strcmp(sf_version(), sf_version()) == 0 && sf_version()[0] != 0, "a version");
}

/* --- what is refused ------------------------------------------------------------------------------------- */

static void refusals(void) {
    sf_error error;
    char text[8];
    uint64_t result = 77;
    uint8_t array[64] = {0};
    CHECK(sf_format_new("e4m3gn", &error) == NULL && error.status == SF_STATUS_NAME, "%s", error.text);
    CHECK(strstr(error.text, "e4m3fn") != NULL, "the text helps: %s", error.text);
    CHECK(sf_format_new(NULL, &error) == NULL && error.status == SF_STATUS_NULL, "%s", error.text);
    CHECK(sf_format_new("\xff\xfe", &error) == NULL && error.status == SF_STATUS_TEXT, "%s", error.text);
    CHECK(sf_format_new(NULL, NULL) == NULL, "nothing to write to");
    CHECK(sf_op("Ad<e4m3fn>", &error) == NULL && error.status == SF_STATUS_NAME, "%s", error.text);
    CHECK(sf_op("Add<e4m3fn, e4m3fn>", &error) == NULL && error.status == SF_STATUS_NAME, "%s", error.text);
    CHECK(sf_op("MinFiniteOf<binary8p3se>", &error) == NULL, "a query has no operands");
    CHECK(sf_op_with("Add<e4m3fn>", NULL, "riscw", &error) == NULL && error.status == SF_STATUS_NAME, "%s", error.text);
    CHECK(sf_op_convert(NULL, NULL, NULL, NULL, &error) == NULL && error.status == SF_STATUS_NULL, "%s", error.text);
    CHECK(sf_projection_new(NULL, NULL, NULL, NULL, &error) == NULL && error.status == SF_STATUS_NULL, "%s", error.text);
    /* A projection is for results in one format. */
    sf_format *narrow = sf_format_new("e4m3fn", NULL), *broad = sf_format_new("binary32", NULL);
    sf_projection *how = sf_projection_new(narrow, NULL, "toward-zero", NULL, NULL);
    static const char *others[] = {"Add<binary32>", "Add<e4m3fn, e4m3fn, e5m2>", "ConvertToInt8<e5m2>"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        CHECK(sf_op_with(others[i], how, NULL, &error) == NULL && error.status == SF_STATUS_UNSUPPORTED, "%s", others[i]);
        CHECK(strstr(error.text, "for results in e4m3fn, and") != NULL, "%s", error.text);
    }
    CHECK(sf_op_convert(narrow, broad, how, NULL, &error) == NULL && error.status == SF_STATUS_UNSUPPORTED, "%s", error.text);
    CHECK(sf_format_encode(broad, how, 1, &result, NULL) == SF_STATUS_UNSUPPORTED && result == 77, "another format");
    static const char *same[] = {"Add<e5m2, e5m2, e4m3fn>", "ConvertToInt8<e4m3fn>"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        sf_operation *right = sf_op_with(same[i], how, NULL, &error);
        CHECK(right != NULL, "%s: %s", same[i], error.text);
        sf_op_free(right);
    }
    sf_projection_free(how), sf_format_free(broad), sf_format_free(narrow);
    /* A text of any length is cut, in whole characters. */
    char *longest = malloc(5000);
    for (int i = 0; i < 4998; i += 3) memcpy(longest + i, "\xe2\x88\x9e", 3);
    longest[4998] = 0;
    CHECK(sf_op(longest, &error) == NULL && strlen(error.text) < SF_ERROR_SIZE, "%s", error.text);
    free(longest);

    sf_operation *add = sf_op("Add<e4m3fn>", NULL), *wide = sf_op("Add<binary16>", NULL);
    CHECK(sf_call1(add, 1, &result, NULL) == SF_STATUS_COUNT && result == 77, "one operand");
    CHECK(sf_call3(add, 1, 1, 1, &result, NULL) == SF_STATUS_COUNT, "three operands");
    CHECK(sf_call4(add, 1, 1, 1, 1, &result, NULL) == SF_STATUS_COUNT, "four operands");
    CHECK(sf_call2(add, 256, 1, &result, NULL) == SF_STATUS_CODE && result == 77, "nine bits");
    CHECK(sf_call2(NULL, 1, 1, &result, NULL) == SF_STATUS_NULL, "no operation");
    CHECK(sf_call2(add, 1, 1, NULL, NULL) == SF_STATUS_NULL, "no result");
    CHECK(sf_call_all(add, NULL, 2, &result, 1, NULL) == SF_STATUS_NULL, "no operands");
    CHECK(sf_batch(NULL, 1, array, array, NULL, array + 8, NULL, NULL) == SF_STATUS_NULL, "no operation");
    CHECK(sf_batch(add, 8, array, NULL, NULL, array + 8, NULL, NULL) == SF_STATUS_COUNT, "one array");
    CHECK(sf_batch(add, 8, array, array, array, array + 8, NULL, NULL) == SF_STATUS_COUNT, "three arrays");
    CHECK(sf_batch(add, 8, array, array, NULL, NULL, NULL, NULL) == SF_STATUS_NULL, "no results");
    CHECK(sf_batch(add, 9, array, array, NULL, array + 8, NULL, NULL) == SF_STATUS_ARRAY, "overlap");
    CHECK(sf_batch(add, 8, array, array, NULL, array + 16, array + 7, NULL) == SF_STATUS_ARRAY, "flags over operands");
    CHECK(sf_batch(wide, 2, array, array + 1, NULL, array + 16, NULL, NULL) == SF_STATUS_ARRAY, "not aligned");
    CHECK(sf_batch(add, 0, array, array, NULL, array, NULL, NULL) == SF_STATUS_OK, "nothing to do");
    CHECK(sf_batch(add, 0, NULL, NULL, NULL, NULL, NULL, NULL) == SF_STATUS_OK, "nothing to do it with");
    CHECK(sf_batch(wide, SIZE_MAX / 4 + 2, array, array, NULL, array, NULL, NULL) == SF_STATUS_COUNT, "too many");
    CHECK(sf_explain(NULL, &result, 1, 0, 0, 0, text, sizeof text) == 0, "no operation");
    CHECK(sf_explain(add, NULL, 2, 0, 0, 0, text, sizeof text) == 0, "no operands");
    CHECK(sf_op_text(NULL, text, sizeof text) == 0 && sf_op_operands(NULL) == 0 && sf_op_bits(NULL, 0) == 0, "NULL");
    CHECK(sf_op_bits(add, 2) == 0 && sf_op_bits(add, 0) == 8 && sf_op_bits(wide, -1) == 16, "bits");
    sf_op_free(add);
    sf_op_free(wide);
    sf_op_free(NULL);
    sf_format_free(NULL);
    sf_projection_free(NULL);
    for (int status = -1; status < 12; status++) CHECK(sf_status_text(status)[0] != 0, "%d", status);
}

/* --- threads ---------------------------------------------------------------------------------------------- */

static void *all_pairs(void *op) {
    for (unsigned pair = 0; pair < 65536; pair++) {
        uint64_t result;
        uint32_t flags;
        CHECK(sf_call2(op, x_of[pair], y_of[pair], &result, &flags) == SF_STATUS_OK, "%u", pair);
        CHECK(same((unsigned)result, right_code[MULTIPLY][pair]) && flags == right_flags[MULTIPLY][pair], "%u", pair);
    }
    static _Thread_local uint8_t results[65536];
    CHECK(sf_batch(op, 65536, x_of, y_of, NULL, results, NULL, NULL) == SF_STATUS_OK, "batch");
    for (unsigned pair = 0; pair < 65536; pair++) CHECK(same(results[pair], right_code[MULTIPLY][pair]), "%u", pair);
    return NULL;
}

static void threads(void) {
    pthread_t all[8];
    sf_operation *op = sf_op("Multiply<e4m3fn>", NULL);
    for (int i = 0; i < 8; i++) CHECK(pthread_create(&all[i], NULL, all_pairs, op) == 0, "thread %d", i);
    for (int i = 0; i < 8; i++) CHECK(pthread_join(all[i], NULL) == 0, "thread %d", i);
    sf_op_free(op);
}

/* --- Sums of products -------------------------------------------------------------------------------- */

/* Hopper's FP8 unit from its description: groups of 32 products and the accumulator are aligned to the largest
 * exponent, cut to 13 fraction bits, added as integers, and cut to 14 significant bits. Finite operands. */
static double hopper(const uint8_t *x, const uint8_t *y, size_t length) {
    double sum = 0;
    for (size_t start = 0; start < length; start += 32) {
        double products[33];
        size_t count = 0;
        int largest = -10000, exponent;
        for (size_t i = start; i < length && i < start + 32; i++) products[count++] = e4m3fn_value(x[i]) * e4m3fn_value(y[i]);
        /* The exponent of a product is the sum of its operands' own, which a subnormal one has at 2^-6. */
        for (size_t i = 0; i < count; i++) {
            if (products[i] == 0) continue;
            double a = fabs(e4m3fn_value(x[start + i])), b = fabs(e4m3fn_value(y[start + i]));
            int e = (a < 0.015625 ? -6 : ilogb(a)) + (b < 0.015625 ? -6 : ilogb(b));
            if (e > largest) largest = e;
        }
        if (sum != 0 && ilogb(sum) > largest) largest = ilogb(sum);
        products[count++] = sum;
        sum = 0;
        for (size_t i = 0; i < count; i++) sum += ldexp(trunc(ldexp(products[i], 13 - largest)), largest - 13);
        if (sum != 0) {
            frexp(sum, &exponent);
            sum = ldexp(trunc(ldexp(sum, 14 - exponent)), exponent - 14);
        }
    }
    return sum;
}

static void sums_of_products(size_t count) {
    enum { ROWS = 5, COLUMNS = 7, DEPTH = 96 };
    static uint8_t a[ROWS * DEPTH], b[COLUMNS * DEPTH];
    static float results[ROWS * COLUMNS];
    uint64_t state = 30;
    sf_error error;
    sf_format *format = sf_format_new("e4m3fn", NULL), *wide = sf_format_new("bfloat16", NULL);
    sf_dot *dot = sf_dot_new(format, format, "hopper", &error), *exact = sf_dot_new(format, format, "exact", NULL);
    CHECK(dot != NULL && exact != NULL, "%s", error.text);
    for (size_t done = 0; done < count; done += ROWS * COLUMNS * DEPTH) {
        for (size_t i = 0; i < sizeof a; i++) do a[i] = (uint8_t)(next(&state) >> 56); while ((a[i] & 0x7f) == 0x7f);
        for (size_t i = 0; i < sizeof b; i++) do b[i] = (uint8_t)(next(&state) >> 56); while ((b[i] & 0x7f) == 0x7f);
        CHECK(sf_dot_matmul(dot, ROWS, COLUMNS, DEPTH, a, b, results) == SF_STATUS_OK, "hopper");
        for (size_t i = 0; i < ROWS * COLUMNS; i++) {
            double right = hopper(a + i / COLUMNS * DEPTH, b + i % COLUMNS * DEPTH, DEPTH);
            CHECK((double)results[i] == right, "%zu: %a, not %a", i, (double)results[i], right);
        }
        CHECK(sf_dot_matmul(exact, ROWS, COLUMNS, DEPTH, a, b, results) == SF_STATUS_OK, "exact");
        for (size_t i = 0; i < ROWS * COLUMNS; i++) {
            /* Multiples of 2^-18 below 2^25: binary64 has them all. */
            double right = 0;
            for (size_t k = 0; k < DEPTH; k++)
                right += e4m3fn_value(a[i / COLUMNS * DEPTH + k]) * e4m3fn_value(b[i % COLUMNS * DEPTH + k]);
            CHECK(results[i] == (float)right, "%zu: %a, not %a", i, (double)results[i], right);
        }
    }
    /* A sum of ones stands still at 2^14 with 13 fraction bits. */
    static uint8_t ones[1 << 15];
    memset(ones, 0x38, sizeof ones);
    CHECK(sf_dot_matmul(dot, 1, 1, sizeof ones, ones, ones, results) == SF_STATUS_OK && results[0] == 16384, "%a",
          (double)results[0]);
    CHECK(sf_dot_matmul(dot, 1, 1, 0, a, b, results) == SF_STATUS_COUNT, "no products");
    CHECK(sf_dot_matmul(dot, SIZE_MAX, 2, 3, a, b, results) == SF_STATUS_COUNT, "too many");
    CHECK(sf_dot_matmul(dot, 1, 1, 4, a, NULL, results) == SF_STATUS_NULL, "NULL");
    CHECK(sf_dot_matmul(dot, 0, 1, 4, NULL, b, NULL) == SF_STATUS_OK, "no rows");
    CHECK(sf_dot_matmul(dot, 1, 1, sizeof results, a, results, results) == SF_STATUS_ARRAY, "overlap");
    CHECK(sf_dot_matmul(NULL, 1, 1, 4, a, b, results) == SF_STATUS_NULL, "NULL");
    CHECK(sf_dot_new(format, wide, "hopper", &error) == NULL && error.status == SF_STATUS_UNSUPPORTED, "%s", error.text);
    CHECK(sf_dot_new(format, format, "hoper", &error) == NULL && error.status == SF_STATUS_NAME, "%s", error.text);
    CHECK(strstr(error.text, "`hoper`, did you mean `hopper`?") != NULL, "%s", error.text);
    CHECK(sf_dot_new(format, format, "pascal", &error) == NULL && error.status == SF_STATUS_NAME, "%s", error.text);
    CHECK(strstr(error.text, "output=e8m13") != NULL, "the text ends: %s", error.text);
    sf_dot *halves = sf_dot_new(wide, wide, "hopper", &error);
    CHECK(halves != NULL, "%s", error.text);
    uint16_t two[4] = {0x4000, 0x4000, 0xc000, 0x3f80};
    CHECK(sf_dot_matmul(halves, 1, 1, 4, two, two, results) == SF_STATUS_OK && results[0] == 13, "%a", (double)results[0]);
    sf_dot_free(halves);
    sf_dot_free(exact);
    sf_dot_free(dot);
    sf_dot_free(NULL);
    sf_format_free(wide);
    sf_format_free(format);
}

/* A sum of terms and an accumulator with so many fraction bits after the largest exponent, cut to 24 bits. */
static double aligned(const double *terms, const int *exponents, size_t count, double sum, int fraction) {
    int largest = sum == 0 ? -126 : ilogb(sum), exponent;
    for (size_t i = 0; i < count; i++)
        if (exponents[i] > largest) largest = exponents[i];
    sum = trunc(ldexp(sum, fraction - largest));
    for (size_t i = 0; i < count; i++) sum += trunc(ldexp(terms[i], fraction - largest));
    frexp(sum, &exponent);
    return ldexp(trunc(ldexp(sum, 24 - exponent)), exponent - 24 + largest - fraction);
}

static int exponent_of_e4m3fn(unsigned code) {
    double x = fabs(e4m3fn_value(code));
    return x == 0 ? -126 : x < 0.015625 ? -6 : ilogb(x);
}

/* A row of MXFP8 by another: 32 products, whose exponents their block's scales move, with 25 fraction bits. */
static double mxfp8(const uint8_t *x, const uint8_t *y, const uint8_t *s, const uint8_t *t, size_t length) {
    double sum = 0, terms[32];
    int exponents[32];
    for (size_t start = 0; start < length; start += 32) {
        size_t count = 0;
        int scale = s[start / 32] + t[start / 32] - 254;
        for (size_t i = start; i < length && i < start + 32; i++, count++) {
            terms[count] = ldexp(e4m3fn_value(x[i]) * e4m3fn_value(y[i]), scale);
            exponents[count] = exponent_of_e4m3fn(x[i]) + exponent_of_e4m3fn(y[i]) + scale;
        }
        sum = aligned(terms, exponents, count, sum, 25);
    }
    return sum;
}

static double e2m1fn_value(unsigned code) {
    static const double values[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    return code & 8 ? -values[code & 7] : values[code & 7];
}

/* A row of NVFP4 by another: four sums of sixteen products, times their scales in E4M3, with 35 fraction bits. */
static double nvfp4(const uint8_t *x, const uint8_t *y, const uint8_t *s, const uint8_t *t, size_t length) {
    double sum = 0, terms[4];
    int exponents[4];
    for (size_t start = 0; start < length; start += 64) {
        size_t count = 0;
        for (size_t block = start / 16; block * 16 < length && block < start / 16 + 4; block++, count++) {
            double exact = 0;
            for (size_t i = block * 16; i < length && i < block * 16 + 16; i++) exact += e2m1fn_value(x[i]) * e2m1fn_value(y[i]);
            terms[count] = exact * fabs(e4m3fn_value(s[block]) * e4m3fn_value(t[block]));
            exponents[count] = exponent_of_e4m3fn(s[block]) + exponent_of_e4m3fn(t[block]);
        }
        sum = aligned(terms, exponents, count, sum, 35);
    }
    return sum;
}

static void sums_with_block_scales(size_t count) {
    enum { ROWS = 3, COLUMNS = 9, DEPTH = 150, MX = (DEPTH + 31) / 32, NV = (DEPTH + 15) / 16 };
    static uint8_t a[ROWS * DEPTH], b[COLUMNS * DEPTH], s[ROWS * NV], t[COLUMNS * NV];
    static float results[ROWS * COLUMNS];
    uint64_t state = 31;
    sf_error error;
    sf_format *e4m3 = sf_format_new("e4m3fn", NULL), *e2m1 = sf_format_new("e2m1fn", NULL);
    sf_format *e8m0 = sf_format_new("e8m0fnu", NULL), *e2m3 = sf_format_new("e2m3fn", NULL);
    sf_scaled_dot *eight = sf_scaled_dot_new(e4m3, e4m3, e8m0, 32, "blackwell", &error);
    CHECK(eight != NULL, "%s", error.text);
    sf_scaled_dot *four = sf_scaled_dot_new(e2m1, e2m1, e4m3, 16, "rtx-blackwell", &error);
    CHECK(four != NULL, "%s", error.text);
    for (size_t done = 0; done < count; done += 2 * ROWS * COLUMNS * DEPTH) {
        for (size_t i = 0; i < sizeof a; i++) do a[i] = (uint8_t)(next(&state) >> 56); while ((a[i] & 0x7f) == 0x7f);
        for (size_t i = 0; i < sizeof b; i++) do b[i] = (uint8_t)(next(&state) >> 56); while ((b[i] & 0x7f) == 0x7f);
        for (size_t i = 0; i < sizeof s; i++) s[i] = (uint8_t)(110 + (next(&state) >> 59));
        for (size_t i = 0; i < sizeof t; i++) t[i] = (uint8_t)(110 + (next(&state) >> 59));
        CHECK(sf_scaled_dot_matmul(eight, ROWS, COLUMNS, DEPTH, a, b, s, t, results) == SF_STATUS_OK, "MXFP8");
        for (size_t i = 0; i < ROWS * COLUMNS; i++) {
            size_t row = i / COLUMNS, column = i % COLUMNS;
            double right = mxfp8(a + row * DEPTH, b + column * DEPTH, s + row * MX, t + column * MX, DEPTH);
            CHECK((double)results[i] == right, "%zu: %a, not %a", i, (double)results[i], right);
        }
        for (size_t i = 0; i < sizeof s; i++) do s[i] = (uint8_t)(next(&state) >> 56); while ((s[i] & 0x7f) == 0x7f);
        for (size_t i = 0; i < sizeof t; i++) do t[i] = (uint8_t)(next(&state) >> 56); while ((t[i] & 0x7f) == 0x7f);
        CHECK(sf_scaled_dot_matmul(four, ROWS, COLUMNS, DEPTH, a, b, s, t, results) == SF_STATUS_OK, "NVFP4");
        for (size_t i = 0; i < ROWS * COLUMNS; i++) {
            size_t row = i / COLUMNS, column = i % COLUMNS;
            double right = nvfp4(a + row * DEPTH, b + column * DEPTH, s + row * NV, t + column * NV, DEPTH);
            CHECK((double)results[i] == right, "%zu: %a, not %a", i, (double)results[i], right);
        }
    }
    /* 7.5 · 6 in two blocks, under scales of 2 and 4, and of 1/2. */
    static uint8_t x[33], y[33], two[] = {128, 129}, half[] = {126, 126};
    x[0] = x[32] = 0x1f, y[0] = y[32] = 0x07;
    sf_scaled_dot *mixed = sf_scaled_dot_new(e2m3, e2m1, e8m0, 32, "blackwell", &error);
    CHECK(mixed != NULL, "%s", error.text);
    CHECK(sf_scaled_dot_matmul(mixed, 1, 1, 33, x, y, two, half, results) == SF_STATUS_OK && results[0] == 135, "%a",
          (double)results[0]);
    CHECK(sf_scaled_dot_matmul(mixed, 1, 1, 0, x, y, two, half, results) == SF_STATUS_COUNT, "no products");
    CHECK(sf_scaled_dot_matmul(mixed, SIZE_MAX, 1, 33, x, y, two, half, results) == SF_STATUS_COUNT, "too many");
    CHECK(sf_scaled_dot_matmul(mixed, 1, 1, 33, x, y, NULL, half, results) == SF_STATUS_NULL, "NULL");
    CHECK(sf_scaled_dot_matmul(mixed, 1, 1, 33, x, y, two, (uint8_t *)results, results) == SF_STATUS_ARRAY, "overlap");
    CHECK(sf_scaled_dot_matmul(mixed, 1, 1, 33, (uint8_t *)results, y, two, half, results) == SF_STATUS_ARRAY, "overlap");
    CHECK(sf_scaled_dot_matmul(mixed, 1, 0, 33, NULL, NULL, NULL, NULL, NULL) == SF_STATUS_OK, "no columns");
    CHECK(sf_scaled_dot_matmul(NULL, 1, 1, 33, x, y, two, half, results) == SF_STATUS_NULL, "NULL");
    static const struct {
        const char *unit;
        size_t block;
        sf_status status;
    } refused[] = {
        {"hopper", 32, SF_STATUS_UNSUPPORTED}, {"exact", 32, SF_STATUS_UNSUPPORTED},
        {"blackwell", 16, SF_STATUS_UNSUPPORTED}, {"blackwell:output=f16", 32, SF_STATUS_UNSUPPORTED},
        {"blackwel", 32, SF_STATUS_NAME}, {NULL, 32, SF_STATUS_NULL}, {"\xff", 32, SF_STATUS_TEXT},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        sf_scaled_dot *none = sf_scaled_dot_new(e4m3, e4m3, e8m0, refused[i].block, refused[i].unit, &error);
        CHECK(none == NULL && error.status == refused[i].status, "%zu: %s", i, error.text);
    }
    CHECK(sf_scaled_dot_new(e4m3, e4m3, NULL, 32, "blackwell", NULL) == NULL, "NULL");
    sf_scaled_dot_free(mixed);
    sf_scaled_dot_free(four);
    sf_scaled_dot_free(eight);
    sf_scaled_dot_free(NULL);
    sf_format_free(e2m3);
    sf_format_free(e8m0);
    sf_format_free(e2m1);
    sf_format_free(e4m3);
}

int main(int argc, char **argv) {
    size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 200000;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) CHECK(functions[i] != NULL, "%zu", i);
    pairs_of_e4m3fn();
    triples_of_e4m3fn(2 * count);
    conversions_to_cfloat8();
    binary32_as_the_host(count);
    policies();
    special_operands();
    random_words();
    descriptions();
    refusals();
    threads();
    sums_of_products(count);
    sums_with_block_scales(count);
    printf("C: %zu functions of formats, all pairs of e4m3fn, %zu of binary32: all right\n",
           sizeof functions / sizeof *functions, count);
    return 0;
}
