// Conversions of CUDA's headers as they compute them on a processor, for adapters.py.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

enum Format { BINARY64, BINARY32, BINARY16, BFLOAT16, E4M3, E5M2, E3M2, E2M3, E2M1, E8M0 };

template <class To> static To bits(uint64_t code) {
    To to;
    std::memcpy(&to, &code, sizeof to);
    return to;
}

// One code; `source` is passed on to the overloaded conversions below as double, float, __half_raw
// or __nv_bfloat16_raw.
#define NARROW(convert_fp8, convert_fp6, convert_fp4)                                                \
    switch (to) {                                                                                    \
    case E4M3: return convert_fp8(source, saturate, __NV_E4M3);                                      \
    case E5M2: return convert_fp8(source, saturate, __NV_E5M2);                                      \
    case E3M2: return convert_fp6(source, __NV_E3M2, cudaRoundNearest);                              \
    case E2M3: return convert_fp6(source, __NV_E2M3, cudaRoundNearest);                              \
    case E2M1: return convert_fp4(source, __NV_E2M1, cudaRoundNearest);                              \
    default: return -1;                                                                              \
    }

static int64_t narrow(double source, int to, __nv_saturation_t saturate) {
    NARROW(__nv_cvt_double_to_fp8, __nv_cvt_double_to_fp6, __nv_cvt_double_to_fp4)
}
static int64_t narrow(float source, int to, __nv_saturation_t saturate) {
    NARROW(__nv_cvt_float_to_fp8, __nv_cvt_float_to_fp6, __nv_cvt_float_to_fp4)
}
static int64_t narrow(__half_raw source, int to, __nv_saturation_t saturate) {
    NARROW(__nv_cvt_halfraw_to_fp8, __nv_cvt_halfraw_to_fp6, __nv_cvt_halfraw_to_fp4)
}
static int64_t narrow(__nv_bfloat16_raw source, int to, __nv_saturation_t saturate) {
    NARROW(__nv_cvt_bfloat16raw_to_fp8, __nv_cvt_bfloat16raw_to_fp6, __nv_cvt_bfloat16raw_to_fp4)
}

static int64_t widen(int from, uint8_t code, int to) {
    if (from == E8M0 && to == BFLOAT16) return __nv_cvt_e8m0_to_bf16raw(code).x;
    if (to != BINARY16) return -1;
    switch (from) {
    case E4M3: return __nv_cvt_fp8_to_halfraw(code, __NV_E4M3).x;
    case E5M2: return __nv_cvt_fp8_to_halfraw(code, __NV_E5M2).x;
    case E3M2: return __nv_cvt_fp6_to_halfraw(code, __NV_E3M2).x;
    case E2M3: return __nv_cvt_fp6_to_halfraw(code, __NV_E2M3).x;
    case E2M1: return __nv_cvt_fp4_to_halfraw(code, __NV_E2M1).x;
    default: return -1;
    }
}

// Converts n codes; returns 1 if the headers do not have the conversion.
extern "C" int convert(int from, int to, int saturating, const uint64_t *in, uint64_t *out, size_t n) {
    __nv_saturation_t saturate = saturating ? __NV_SATFINITE : __NV_NOSAT;
    for (size_t i = 0; i < n; i++) {
        int64_t code = from == BINARY64   ? narrow(bits<double>(in[i]), to, saturate)
                       : from == BINARY32 ? narrow(bits<float>(in[i]), to, saturate)
                       : from == BINARY16 ? narrow(bits<__half_raw>(in[i]), to, saturate)
                       : from == BFLOAT16 ? narrow(bits<__nv_bfloat16_raw>(in[i]), to, saturate)
                                          : widen(from, (uint8_t)in[i], to);
        if (code < 0) return 1;
        out[i] = (uint64_t)code;
    }
    return 0;
}
