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
