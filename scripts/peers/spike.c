/* Conversions of the SoftFloat of Spike, RISC-V's reference simulator, for adapters.py. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "softfloat.h"

enum { BINARY32 = 1, BINARY16, BFLOAT16, E4M3, E5M2 };

static int64_t one(int from, int to, bool saturate, uint64_t code) {
    switch (from << 4 | to) {
    case BINARY32 << 4 | E4M3: return f32_to_e4m3((float32_t){code}, saturate).v;
    case BINARY32 << 4 | E5M2: return f32_to_e5m2((float32_t){code}, saturate).v;
    case BFLOAT16 << 4 | E4M3: return bf16_to_e4m3((bfloat16_t){code}, saturate).v;
    case BFLOAT16 << 4 | E5M2: return bf16_to_e5m2((bfloat16_t){code}, saturate).v;
    case E4M3 << 4 | BINARY16: return e4m3_to_f16((e4m3_t){code}).v;
    case E5M2 << 4 | BINARY16: return e5m2_to_f16((e5m2_t){code}).v;
    case E4M3 << 4 | BFLOAT16: return e4m3_to_bf16((e4m3_t){code}).v;
    case E5M2 << 4 | BFLOAT16: return e5m2_to_bf16((e5m2_t){code}).v;
    case BFLOAT16 << 4 | BINARY32: return bf16_to_f32((bfloat16_t){code}).v;
    case BINARY32 << 4 | BFLOAT16: return f32_to_bf16((float32_t){code}).v;
    default: return -1;
    }
}

/* Converts n codes, each in its own rounding mode, numbered as in RISC-V's frm, and stores codes
 * and flags, as in fflags; returns 1 if SoftFloat does not have the conversion. */
int convert(int from, int to, int saturating, const uint64_t *modes, const uint64_t *in, uint64_t *out, uint64_t *flags, size_t n) {
    for (size_t i = 0; i < n; i++) {
        softfloat_roundingMode = (uint_fast8_t)modes[i];
        softfloat_exceptionFlags = 0;
        int64_t code = one(from, to, saturating, in[i]);
        if (code < 0) return 1;
        out[i] = (uint64_t)code;
        flags[i] = softfloat_exceptionFlags;
    }
    return 0;
}
