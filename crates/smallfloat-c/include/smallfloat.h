/* smallfloat: small floating-point formats, exactly. C11, and C++ from C++11 on; smallfloat.hpp has types.
 *
 * Operations, formats and projections are handles, made by name and freed by the function of that name. A
 * handle never changes: any number of threads may use one at the same time. No result depends on what other
 * calls leave behind; long arrays share one pool of threads.
 *
 * Handles, results and texts may be NULL where a function says so; elsewhere NULL is SF_STATUS_NULL and
 * nothing else happens. What has to be right: handles come from this library and are not yet freed, texts
 * end with a 0, arrays and buffers are as long as is said. Texts are UTF-8.
 *
 * Written by cbindgen from crates/smallfloat-c; a test fails where this is not up to date. */
#ifndef SMALLFLOAT_H
#define SMALLFLOAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Flags are sets of these bits, in the order of RISC-V's fflags. */
#define SF_INEXACT 1u
#define SF_UNDERFLOW 2u
#define SF_OVERFLOW 4u
#define SF_DIVISION_BY_ZERO 8u
#define SF_INVALID 16u
#define SF_DENORMAL 32u


// The size of an error's text in bytes, including the final 0.
#define SF_ERROR_SIZE 252

// The status of a call.
enum sf_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // The call succeeded.
    SF_STATUS_OK = 0,
    // A pointer that must not be NULL is NULL.
    SF_STATUS_NULL = 1,
    // A text is not UTF-8.
    SF_STATUS_TEXT = 2,
    // A name is not understood: of a format, an operation, a mode or a policy.
    SF_STATUS_NAME = 3,
    // The number of operands or results is not that of the operation.
    SF_STATUS_COUNT = 4,
    // A code or a random word has more bits than its format.
    SF_STATUS_CODE = 5,
    // The operation is understood, but can't be done in this way.
    SF_STATUS_UNSUPPORTED = 6,
    // The results' array overlaps an operand's, or an array is not aligned.
    SF_STATUS_ARRAY = 7,
    // A defect of this library: please report it.
    SF_STATUS_INTERNAL = 8,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum sf_status sf_status;
#else
typedef int32_t sf_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What kind of number a code is.
enum sf_class
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // No number.
    SF_CLASS_NAN = 0,
    // ±∞.
    SF_CLASS_INFINITE = 1,
    // ±0.
    SF_CLASS_ZERO = 2,
    // A number below the smallest normal one.
    SF_CLASS_SUBNORMAL = 3,
    // Any other number.
    SF_CLASS_NORMAL = 4,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum sf_class sf_class;
#else
typedef int32_t sf_class;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Products of two formats with an accumulator.
typedef struct sf_dot sf_dot;

// A number format.
typedef struct sf_format sf_format;

// An operation with its formats, its projection, and its rules for flags.
typedef struct sf_operation sf_operation;

// How results become values of a format: rounding, saturation, and what a format does not have.
typedef struct sf_projection sf_projection;

// Products of two formats with block scales.
typedef struct sf_scaled_dot sf_scaled_dot;

// Where a stochastic rounding takes its random words from: element i of the arrays takes word
// `first` + i of Philox4x32-10, as `sf_random_word` gives it.
typedef struct sf_random {
    // Equal seeds give equal words, always and everywhere.
    uint64_t seed;
    // Which of 2^64 independent sequences.
    uint64_t stream;
    // The word of the arrays' first element.
    uint64_t first;
} sf_random;

// A status with its text, in memory of the caller's.
typedef struct sf_error {
    // What went wrong.
    sf_status status;
    // What went wrong in words, as UTF-8 with a final 0; cut where it is too long, empty if all is
    // well.
    char text[SF_ERROR_SIZE];
} sf_error;

// What a format is.
typedef struct sf_format_info {
    // The bits of a code.
    uint32_t width;
    // The bits of a significand, the implicit one among them.
    uint32_t precision;
    // The bits of the exponent field.
    uint32_t exponent_bits;
    // The exponent's bias.
    int32_t bias;
    // Whether it has negative numbers.
    bool is_signed;
    // Whether it has a zero.
    bool has_zero;
    // Whether −0 is another code than 0.
    bool has_negative_zero;
    // Whether it has subnormal numbers.
    bool has_subnormals;
    // Whether it has infinities.
    bool has_infinity;
    // Whether it has a NaN.
    bool has_nan;
    // The code of the largest finite number.
    uint64_t max_finite;
    // The code of the smallest positive number.
    uint64_t min_positive;
    // The code of the smallest normal number.
    uint64_t min_normal;
} sf_format_info;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Computes `length` elements of an operation on scalars. Arrays hold codes as integers of 1, 2, 4
// or 8 bytes, the smallest that the format fits in (so binary32 is `float` and binary64 `double`),
// and truth values and classes as bytes. Operands that the operation does not have are NULL.
// `flags` has one byte per element, and may be NULL. `random` gives the words of a stochastic
// rounding, and is ignored otherwise. Bits of a code above its format's width are ignored.
//
// Returns SF_STATUS_OK, for a `length` of 0 whatever the arrays are; SF_STATUS_COUNT where there
// are more or fewer arrays than the operation has operands, or more elements than memory has;
// SF_STATUS_ARRAY where the results or flags overlap an operand or each other, or an
// array is not aligned; SF_STATUS_UNSUPPORTED for operations on blocks, which sf_call_all calls;
// SF_STATUS_NULL.
//
// Long arrays are shared between threads; the results do not depend on how many.
sf_status sf_batch(const struct sf_operation *op,
                   size_t length,
                   const void *x,
                   const void *y,
                   const void *z,
                   void *results,
                   uint8_t *flags,
                   const struct sf_random *random);

// Returns products of codes of two formats, to be freed with sf_dot_free, whose sums accumulate as
// `f32`, `exact`, a GPU's matrix unit (`hopper`, `hopper:promote=128`, `blackwell`, `cdna3`, …),
// its parameters (`fused:k=32,fraction=13,output=e8m13`), or in a format by its name. Returns NULL
// on failure, for which `error` (or NULL) has the reason: SF_STATUS_NAME for an accumulator that
// is not understood; SF_STATUS_UNSUPPORTED for formats of more than 8 bits, with matrix units 16,
// for which the unit has no instruction, or whose codes have different numbers of bytes;
// SF_STATUS_TEXT; SF_STATUS_NULL.
struct sf_dot *sf_dot_new(const struct sf_format *x,
                          const struct sf_format *y,
                          const char *accumulate,
                          struct sf_error *error);

// Frees products; nothing for NULL.
void sf_dot_free(struct sf_dot *dot);

// Writes the products of `rows` rows of A with `columns` rows of B, each of `depth` codes: result
// r · `columns` + c is the sum over row r of A and row c of B, in binary32, to which an
// accumulator of more bits is rounded to nearest even. A single sum has one row and one column.
// Codes are `uint8_t`, or `uint16_t` of formats of more than 8 bits; bits above a format's width
// are ignored. Returns SF_STATUS_OK, for no rows or no columns whatever the matrices are;
// SF_STATUS_COUNT for a `depth` of 0, or more elements than
// memory has; SF_STATUS_ARRAY where the results overlap A or B, or a matrix is not aligned;
// SF_STATUS_NULL.
//
// Large products are shared between threads; the results do not depend on how many.
sf_status sf_dot_matmul(const struct sf_dot *dot,
                        size_t rows,
                        size_t columns,
                        size_t depth,
                        const void *a,
                        const void *b,
                        float *results);

// Returns products of codes of two formats in blocks with scales, to be freed with
// sf_scaled_dot_free, as the matrix units of `blackwell` or `rtx-blackwell` compute them: `x` and
// `y` are two of `e4m3fn`, `e5m2`, `e3m2fn`, `e2m3fn` and `e2m1fn` with `scale` `e8m0fnu` and
// `block` 32 (MXFP8, MXFP6, MXFP4), or both are `e2m1fn` with `e8m0fnu` or `e4m3fn` and 16 or 32
// (MXFP4, NVFP4). Returns NULL on failure, for which `error` (or NULL) has the reason:
// SF_STATUS_NAME for a unit that is not understood; SF_STATUS_UNSUPPORTED for another one, or
// formats and blocks that it does not take; SF_STATUS_TEXT; SF_STATUS_NULL.
struct sf_scaled_dot *sf_scaled_dot_new(const struct sf_format *x,
                                        const struct sf_format *y,
                                        const struct sf_format *scale,
                                        size_t block,
                                        const char *unit,
                                        struct sf_error *error);

// Frees products; nothing for NULL.
void sf_scaled_dot_free(struct sf_scaled_dot *dot);

// Writes the products of `rows` rows of A with `columns` rows of B, as sf_dot_matmul does, of
// codes in bytes. Each row has the code of a scale for each of its blocks, in order; the last
// block may be short. So `a_scales` has `rows` · n of them and `b_scales` has `columns` · n, where
// n is `depth` divided by the size of a block, rounded up. Signs of scales are ignored. Scales of
// whole tensors, as NVFP4 has them, are left to the caller. Returns the statuses of sf_dot_matmul,
// for which scales are matrices too.
sf_status sf_scaled_dot_matmul(const struct sf_scaled_dot *dot,
                               size_t rows,
                               size_t columns,
                               size_t depth,
                               const uint8_t *a,
                               const uint8_t *b,
                               const uint8_t *a_scales,
                               const uint8_t *b_scales,
                               float *results);

// Writes what a unit under test should have given for these operands, between which values the
// exact result lies, and which mistakes would give what it gave. Flags are compared where `mask`
// has them: 0 for values alone.
//
// Returns the length of the whole text in bytes, as sf_format_name does: 0 where the result is
// right, and also where it can't be judged (NULL, another number of operands, a code with too many
// bits, an operation on blocks).
size_t sf_explain(const struct sf_operation *op,
                  const uint64_t *operands,
                  size_t operand_count,
                  uint64_t given_result,
                  uint32_t given_flags,
                  uint32_t mask,
                  char *buffer,
                  size_t size);

// Prints the text of sf_explain to standard output, for simulators that have no buffers. Operands
// that the operation does not have are ignored.
void sf_print_mismatch(const struct sf_operation *op,
                       uint64_t x,
                       uint64_t y,
                       uint64_t z,
                       uint64_t word,
                       uint64_t given_result,
                       uint32_t given_flags,
                       uint32_t mask);

// Returns a new format by its name, such as `e4m3fn`, `cfloat8_1_4_3:bias=11` or `binary8p3se`, in
// any case of letters; sf_format_free frees it. Returns NULL where there is no such format
// (SF_STATUS_NAME): `error`, which may be NULL, then has the status and a text with suggestions.
struct sf_format *sf_format_new(const char *name, struct sf_error *error);

// Frees a format; does nothing for NULL. Operations and projections made from it live on.
void sf_format_free(struct sf_format *format);

// Fills `info` with the parameters of a format. Returns SF_STATUS_OK, or SF_STATUS_NULL.
sf_status sf_format_describe(const struct sf_format *format, struct sf_format_info *info);

// Writes the format's full name, which sf_format_new understands, into `buffer` of `size` bytes:
// UTF-8 with a final 0, cut at a character's end where it is too long. Returns the length of the
// whole name in bytes without the final 0, as `snprintf` does, or 0 where `format` is NULL. With a
// `buffer` of NULL nothing is written.
size_t sf_format_name(const struct sf_format *format, char *buffer, size_t size);

// Writes the value of a code in decimal, with all its digits, as sf_format_name writes. Returns
// the length of the whole text; 0 where `format` is NULL or the code has more bits than the
// format.
size_t sf_format_text(const struct sf_format *format, uint64_t code, char *buffer, size_t size);

// Sets `value` to the value of a code, rounded to nearest even where binary64 can't hold it. NaN
// loses its payload. Returns SF_STATUS_OK, SF_STATUS_CODE where the code has more bits than the
// format, or SF_STATUS_NULL.
sf_status sf_format_decode(const struct sf_format *format, uint64_t code, double *value);

// Rounds a binary64 to a code, by the format's default projection where `projection` is NULL, and
// sets `flags`, which may be NULL, to what is raised. Returns SF_STATUS_OK, SF_STATUS_UNSUPPORTED
// for a stochastic rounding (which an operation of sf_op_convert does) or a projection for another
// format, or SF_STATUS_NULL.
sf_status sf_format_encode(const struct sf_format *format,
                           const struct sf_projection *projection,
                           double value,
                           uint64_t *code,
                           uint32_t *flags);

// Sets `kind` to the kind of number that a code is. Returns SF_STATUS_OK, SF_STATUS_CODE where the
// code has more bits than the format, or SF_STATUS_NULL.
sf_status sf_format_classify(const struct sf_format *format, uint64_t code, sf_class *kind);

// Returns a new projection for results in a format, from a preset (`ieee`, `ocp-saturate`,
// `tesla`, …), a rounding (`nearest-even`, `toward-zero`, `stochastic-a:16`, …) and a saturation
// (`SatFinite`, `SatPropagate`, `SatNone`); sf_projection_free frees it. Each text may be NULL:
// the format's own preset, and the preset's modes. Returns NULL where a text is not understood
// (SF_STATUS_NAME) or `format` is NULL: `error`, which may be NULL, then says why.
struct sf_projection *sf_projection_new(const struct sf_format *format,
                                        const char *preset,
                                        const char *rounding,
                                        const char *saturation,
                                        struct sf_error *error);

// Frees a projection; does nothing for NULL. Operations made with it live on.
void sf_projection_free(struct sf_projection *projection);

// Returns a new operation from its text in the P3109 draft's spelling, with any formats:
// `FMA<e4m3fn>`, `Add<e5m2, e5m2, binary32, (TowardZero, SatFinite)>`, `Exp<binary8p3se>`;
// sf_op_free frees it. Returns NULL where the text is not understood (SF_STATUS_NAME) or the
// operation is not implemented (SF_STATUS_UNSUPPORTED): `error`, which may be NULL, then says why.
struct sf_operation *sf_op(const char *text, struct sf_error *error);

// Returns a new operation as sf_op does, with a projection for the result and with rules for
// flags:
// `tesla`, `ieee-before`, `ieee-after`, `riscv`, `arm` or `x86`, perhaps with changes as in
// `arm,nan=canonical`. `projection` and `flags` may be NULL: the text's projection, and Tesla's
// rules for Tesla's formats and `ieee-before` for others. A projection for another format than the
// result's is refused (SF_STATUS_UNSUPPORTED).
struct sf_operation *sf_op_with(const char *text,
                                const struct sf_projection *projection,
                                const char *flags,
                                struct sf_error *error);

// Returns a new operation that converts codes of `from` to codes of `to` with one rounding;
// sf_op_free frees it. `projection` and `flags` may be NULL, as for sf_op_with. Returns NULL where
// a format is NULL or `flags` is not understood: `error`, which may be NULL, then says why.
struct sf_operation *sf_op_convert(const struct sf_format *from,
                                   const struct sf_format *to,
                                   const struct sf_projection *projection,
                                   const char *flags,
                                   struct sf_error *error);

// Frees an operation; does nothing for NULL.
void sf_op_free(struct sf_operation *op);

// Writes the operation's full text, which sf_op understands, as sf_format_name writes. Returns the
// length of the whole text in bytes without the final 0, or 0 where `op` is NULL.
size_t sf_op_text(const struct sf_operation *op, char *buffer, size_t size);

// Returns how many operands a call takes: each scale, element and random word counts as one.
// Returns 0 where `op` is NULL.
size_t sf_op_operands(const struct sf_operation *op);

// Returns how many results a call gives: 1, or as many as a block has codes; 0 where `op` is NULL.
size_t sf_op_results(const struct sf_operation *op);

// Returns the width in bits of operand number `operand`, counted from 0, or of the results, which
// all have one width, for −1. Returns 0 where there is no such operand.
uint32_t sf_op_bits(const struct sf_operation *op, int32_t operand);

// Calls an operation of one operand: sets `result` to a code (to 0 or 1 for a comparison, to the
// place in the draft's list of classes for Class) and `flags`, which may be NULL, to what is
// raised.
//
// Returns SF_STATUS_OK; SF_STATUS_COUNT where the operation has another number of operands or
// gives a block; SF_STATUS_CODE where an operand has more bits than its format; SF_STATUS_NULL.
// `result` and `flags` keep what they had unless the call succeeds. So do the calls below.
sf_status sf_call1(const struct sf_operation *op, uint64_t x, uint64_t *result, uint32_t *flags);

// Calls an operation of two operands, or of one and a random word: where the rounding is
// stochastic, the word is the last operand. Returns as sf_call1 does.
sf_status sf_call2(const struct sf_operation *op, uint64_t x, uint64_t y, uint64_t *result, uint32_t *flags);

// Calls an operation of three operands, or of two and a random word. Returns as sf_call1 does.
sf_status sf_call3(const struct sf_operation *op,
                   uint64_t x,
                   uint64_t y,
                   uint64_t z,
                   uint64_t *result,
                   uint32_t *flags);

// Calls an operation of three operands and a random word. Returns as sf_call1 does.
sf_status sf_call4(const struct sf_operation *op,
                   uint64_t x,
                   uint64_t y,
                   uint64_t z,
                   uint64_t word,
                   uint64_t *result,
                   uint32_t *flags);

// Calls any operation, those on blocks too: a block is its scale and then its elements, and random
// words come last. `operand_count` is what sf_op_operands gives, `result_count` what sf_op_results
// gives. Returns as sf_call1 does; `flags` are those of all results together.
sf_status sf_call_all(const struct sf_operation *op,
                      const uint64_t *operands,
                      size_t operand_count,
                      uint64_t *results,
                      size_t result_count,
                      uint32_t *flags);

// Returns the 32-bit random word of an element, by Philox4x32-10: a stochastic rounding with N
// bits takes the upper N of it, so `word >> (32 - N)` is the operand of a call.
uint32_t sf_random_word(uint64_t seed, uint64_t stream, uint64_t element);

// Returns what a status means in a few words: a constant text, not to be freed; for any other
// number, a text that says that it is no status.
const char *sf_status_text(int32_t status);

// Returns the version of the library, such as `0.1.0`: a constant text, not to be freed. It is the
// version of the header that the library was built with.
const char *sf_version(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

/* Functions with the format in their name: codes in, codes out, rounded once by the format's default
 * projection. For e4m3fn, whose codes are uint8_t:
 *
 *     uint8_t sf_e4m3fn_mul(uint8_t x, uint8_t y)      add sub mul div rem min max
 *     uint8_t sf_e4m3fn_fma(uint8_t x, uint8_t y, uint8_t z)
 *     uint8_t sf_e4m3fn_sqrt(uint8_t x)                sqrt neg abs
 *     uint8_t sf_f32_to_e4m3fn(float x)                f32 f64, and f16 bf16 as uint16_t
 *     float   sf_e4m3fn_to_f32(uint8_t x)              f32 f64
 *     bool    sf_e4m3fn_lt(uint8_t x, uint8_t y)       eq lt le
 *     bool    sf_e4m3fn_is_nan(uint8_t x)
 *
 * Those that give a code are there with `_flags` at the end, too: uint32_t *flags comes last, may be NULL, and
 * what is raised is added to the set. Tesla's formats take their bias after the operands, as in
 * sf_f32_to_cfloat8_1_4_3(x, bias); of it the lowest six bits count. Min and max are IEEE 754's minimum and
 * maximum, rem its remainder. Bits of a code above its format's width are ignored. */
#define SF_DECLARE_(name, code, BIAS) \
    code sf_##name##_add(code x, code y BIAS); \
    code sf_##name##_sub(code x, code y BIAS); \
    code sf_##name##_mul(code x, code y BIAS); \
    code sf_##name##_div(code x, code y BIAS); \
    code sf_##name##_rem(code x, code y BIAS); \
    code sf_##name##_min(code x, code y BIAS); \
    code sf_##name##_max(code x, code y BIAS); \
    code sf_##name##_fma(code x, code y, code z BIAS); \
    code sf_##name##_sqrt(code x BIAS); \
    code sf_##name##_neg(code x BIAS); \
    code sf_##name##_abs(code x BIAS); \
    code sf_f32_to_##name(float x BIAS); \
    code sf_f64_to_##name(double x BIAS); \
    code sf_f16_to_##name(uint16_t x BIAS); \
    code sf_bf16_to_##name(uint16_t x BIAS); \
    float sf_##name##_to_f32(code x BIAS); \
    double sf_##name##_to_f64(code x BIAS); \
    bool sf_##name##_eq(code x, code y BIAS); \
    bool sf_##name##_lt(code x, code y BIAS); \
    bool sf_##name##_le(code x, code y BIAS); \
    bool sf_##name##_is_nan(code x BIAS); \
    code sf_##name##_add_flags(code x, code y BIAS, uint32_t *flags); \
    code sf_##name##_sub_flags(code x, code y BIAS, uint32_t *flags); \
    code sf_##name##_mul_flags(code x, code y BIAS, uint32_t *flags); \
    code sf_##name##_div_flags(code x, code y BIAS, uint32_t *flags); \
    code sf_##name##_rem_flags(code x, code y BIAS, uint32_t *flags); \
    code sf_##name##_min_flags(code x, code y BIAS, uint32_t *flags); \
    code sf_##name##_max_flags(code x, code y BIAS, uint32_t *flags); \
    code sf_##name##_fma_flags(code x, code y, code z BIAS, uint32_t *flags); \
    code sf_##name##_sqrt_flags(code x BIAS, uint32_t *flags); \
    code sf_##name##_neg_flags(code x BIAS, uint32_t *flags); \
    code sf_##name##_abs_flags(code x BIAS, uint32_t *flags); \
    code sf_f32_to_##name##_flags(float x BIAS, uint32_t *flags); \
    code sf_f64_to_##name##_flags(double x BIAS, uint32_t *flags); \
    code sf_f16_to_##name##_flags(uint16_t x BIAS, uint32_t *flags); \
    code sf_bf16_to_##name##_flags(uint16_t x BIAS, uint32_t *flags);

#define SF_FIXED_FORMATS(X) \
    X(e4m3fn, uint8_t) \
    X(e5m2, uint8_t) \
    X(e4m3fnuz, uint8_t) \
    X(e5m2fnuz, uint8_t) \
    X(e4m3b11fnuz, uint8_t) \
    X(e4m3, uint8_t) \
    X(e3m4, uint8_t) \
    X(e3m2fn, uint8_t) \
    X(e2m3fn, uint8_t) \
    X(e2m1fn, uint8_t) \
    X(e8m0fnu, uint8_t) \
    X(e3m0fn, uint8_t) \
    X(ue4m3, uint8_t) \
    X(ue5m3, uint8_t) \
    X(f16, uint16_t) \
    X(bf16, uint16_t) \
    X(uhp, uint16_t) \
    X(tf32, uint32_t) \
    X(fp24, uint32_t) \
    X(binary8p1se, uint8_t) \
    X(binary8p2se, uint8_t) \
    X(binary8p3se, uint8_t) \
    X(binary8p4se, uint8_t) \
    X(binary8p5se, uint8_t) \
    X(binary8p6se, uint8_t) \
    X(binary8p7se, uint8_t) \
    X(binary8p3sf, uint8_t) \
    X(binary8p4sf, uint8_t) \
    X(binary8p5sf, uint8_t) \
    X(binary8p1ue, uint8_t) \
    X(binary8p1uf, uint8_t) \
    X(binary6p3se, uint8_t) \
    X(binary6p4se, uint8_t) \
    X(binary6p3sf, uint8_t) \
    X(binary6p4sf, uint8_t) \
    X(binary4p2se, uint8_t) \
    X(binary4p2sf, uint8_t)

#define SF_BIASED_FORMATS(X) \
    X(cfloat8_1_4_3, uint8_t) \
    X(cfloat8_1_5_2, uint8_t) \
    X(shp, uint16_t)

#define SF_PLAIN_(name, code) SF_DECLARE_(name, code, )
#define SF_COMMA_BIAS_ , uint32_t bias
#define SF_BIASED_(name, code) SF_DECLARE_(name, code, SF_COMMA_BIAS_)

#ifdef __cplusplus
extern "C" {
#endif

SF_FIXED_FORMATS(SF_PLAIN_)
SF_BIASED_FORMATS(SF_BIASED_)

#ifdef __cplusplus
}
#endif

#undef SF_PLAIN_
#undef SF_BIASED_
#undef SF_COMMA_BIAS_
#undef SF_DECLARE_

#endif /* SMALLFLOAT_H */
