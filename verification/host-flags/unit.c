/* The floating-point unit of this machine as a unit under test: operands of `smallfloat vectors gen` (layout testfloat) on
   standard input, the same lines with the unit's results and its own flags on standard output. One instruction a line, in
   assembly, so that a compiler neither folds nor reorders it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Results are read from the same bits that operands are written to. */
typedef union {
    uint16_t h;
    uint32_t s;
    uint64_t d;
    float f32;
    double f64;
} Word;

#if defined(__x86_64__)
static const unsigned MODES[] = {0, 3, 1, 2}; /* nearest, toward zero, down, up */
static void start(unsigned mode) {
    unsigned mxcsr = 0x1f80 | MODES[mode] << 13;
    __asm__ volatile("ldmxcsr %0" : : "m"(mxcsr));
}
static unsigned raised(void) {
    unsigned mxcsr;
    __asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
    return mxcsr & 0x3f;
}
#define BINARY(name, instruction, member) \
    static Word name(Word x, Word y, Word z) { \
        (void)z; \
        __asm__ volatile(instruction " %1, %0" : "+x"(x.member) : "x"(y.member)); \
        return x; \
    }
BINARY(add_s, "addss", f32)
BINARY(sub_s, "subss", f32)
BINARY(mul_s, "mulss", f32)
BINARY(div_s, "divss", f32)
BINARY(add_d, "addsd", f64)
BINARY(sub_d, "subsd", f64)
BINARY(mul_d, "mulsd", f64)
BINARY(div_d, "divsd", f64)
/* z = x * y + z: the first source of the form 231 is x. */
#define TERNARY(name, instruction, member) \
    static Word name(Word x, Word y, Word z) { \
        __asm__ volatile(instruction " %2, %1, %0" : "+x"(z.member) : "x"(x.member), "x"(y.member)); \
        return z; \
    }
TERNARY(fma_s, "vfmadd231ss", f32)
TERNARY(fma_d, "vfmadd231sd", f64)
#define UNARY(name, instruction, to, from) \
    static Word name(Word x, Word y, Word z) { \
        Word r = {.d = 0}; \
        (void)y, (void)z; \
        __asm__ volatile(instruction " %1, %0" : "+x"(r.to) : "x"(x.from)); \
        return r; \
    }
UNARY(sqrt_s, "sqrtss", f32, f32)
UNARY(sqrt_d, "sqrtsd", f64, f64)
UNARY(s_to_d, "cvtss2sd", f64, f32)
UNARY(d_to_s, "cvtsd2ss", f32, f64)
static Word h_to_s(Word x, Word y, Word z) {
    Word r = {.d = 0};
    float in;
    (void)y, (void)z;
    x.s &= 0xffff; /* the other elements are zeros */
    memcpy(&in, &x.s, 4);
    __asm__ volatile("vcvtph2ps %1, %0" : "=x"(r.f32) : "x"(in));
    return r;
}
static Word s_to_h(Word x, Word y, Word z) {
    Word r = {.d = 0};
    float out;
    (void)y, (void)z;
    __asm__ volatile("vcvtps2ph $4, %1, %0" : "=x"(out) : "x"(x.f32));
    memcpy(&r.s, &out, 4);
    r.s &= 0xffff;
    return r;
}
#elif defined(__aarch64__)
static const uint64_t MODES[] = {0, 3, 2, 1}; /* nearest, toward zero, down, up */
static void start(unsigned mode) {
    __asm__ volatile("msr fpcr, %0\n\tmsr fpsr, xzr" : : "r"(MODES[mode] << 22));
}
static unsigned raised(void) {
    uint64_t fpsr;
    __asm__ volatile("mrs %0, fpsr" : "=r"(fpsr));
    return fpsr & 0x9f;
}
#define BINARY(name, instruction, width, member) \
    static Word name(Word x, Word y, Word z) { \
        (void)z; \
        __asm__ volatile(instruction " %" width "0, %" width "0, %" width "1" : "+w"(x.member) : "w"(y.member)); \
        return x; \
    }
BINARY(add_s, "fadd", "s", f32)
BINARY(sub_s, "fsub", "s", f32)
BINARY(mul_s, "fmul", "s", f32)
BINARY(div_s, "fdiv", "s", f32)
BINARY(add_d, "fadd", "d", f64)
BINARY(sub_d, "fsub", "d", f64)
BINARY(mul_d, "fmul", "d", f64)
BINARY(div_d, "fdiv", "d", f64)
#define TERNARY(name, width, member) \
    static Word name(Word x, Word y, Word z) { \
        __asm__ volatile("fmadd %" width "0, %" width "1, %" width "2, %" width "0" \
                         : "+w"(z.member) : "w"(x.member), "w"(y.member)); \
        return z; \
    }
TERNARY(fma_s, "s", f32)
TERNARY(fma_d, "d", f64)
#define UNARY(name, instruction, to_width, to, from_width, from) \
    static Word name(Word x, Word y, Word z) { \
        Word r = {.d = 0}; \
        (void)y, (void)z; \
        __asm__ volatile(instruction " %" to_width "0, %" from_width "1" : "=w"(r.to) : "w"(x.from)); \
        return r; \
    }
UNARY(sqrt_s, "fsqrt", "s", f32, "s", f32)
UNARY(sqrt_d, "fsqrt", "d", f64, "d", f64)
UNARY(s_to_d, "fcvt", "d", f64, "s", f32)
UNARY(d_to_s, "fcvt", "s", f32, "d", f64)
UNARY(h_to_s, "fcvt", "s", f32, "h", f32)
UNARY(s_to_h, "fcvt", "h", f32, "s", f32)
#define HALF /* FEAT_FP16 */
__asm__(".arch_extension fp16");
UNARY(h_to_d, "fcvt", "d", f64, "h", f32)
UNARY(d_to_h, "fcvt", "h", f32, "d", f64)
BINARY(add_h, "fadd", "h", f32)
BINARY(sub_h, "fsub", "h", f32)
BINARY(mul_h, "fmul", "h", f32)
BINARY(div_h, "fdiv", "h", f32)
TERNARY(fma_h, "h", f32)
UNARY(sqrt_h, "fsqrt", "h", f32, "h", f32)
#elif defined(__riscv)
static const unsigned MODES[] = {0, 1, 2, 3}; /* nearest, toward zero, down, up */
static void start(unsigned mode) {
    __asm__ volatile("fscsr %0" : : "r"(MODES[mode] << 5));
}
static unsigned raised(void) {
    unsigned flags;
    __asm__ volatile("frflags %0" : "=r"(flags));
    return flags;
}
#define HALF /* Zfh */
__asm__(".option arch, +zfh");
/* The moves put ones above a number that is shorter than its register. */
#define CALL(name, in, out, instruction) \
    static Word name(Word x, Word y, Word z) { \
        Word r = {.d = 0}; \
        __asm__ volatile("fmv." in ".x ft0, %1\n\tfmv." in ".x ft1, %2\n\tfmv." in ".x ft2, %3\n\t" \
                         instruction "\n\tfmv.x." out " %0, ft3" \
                         : "=r"(r.d) : "r"(x.d), "r"(y.d), "r"(z.d) : "ft0", "ft1", "ft2", "ft3"); \
        return r; \
    }
#define ALL(of, width, move) \
    CALL(add_##of, move, move, "fadd." width " ft3, ft0, ft1") \
    CALL(sub_##of, move, move, "fsub." width " ft3, ft0, ft1") \
    CALL(mul_##of, move, move, "fmul." width " ft3, ft0, ft1") \
    CALL(div_##of, move, move, "fdiv." width " ft3, ft0, ft1") \
    CALL(fma_##of, move, move, "fmadd." width " ft3, ft0, ft1, ft2") \
    CALL(sqrt_##of, move, move, "fsqrt." width " ft3, ft0")
ALL(h, "h", "h")
ALL(s, "s", "w")
ALL(d, "d", "d")
CALL(h_to_s, "h", "w", "fcvt.s.h ft3, ft0")
CALL(h_to_d, "h", "d", "fcvt.d.h ft3, ft0")
CALL(s_to_h, "w", "h", "fcvt.h.s ft3, ft0")
CALL(s_to_d, "w", "d", "fcvt.d.s ft3, ft0")
CALL(d_to_h, "d", "h", "fcvt.h.d ft3, ft0")
CALL(d_to_s, "d", "w", "fcvt.s.d ft3, ft0")
#else
#error "no instructions for this machine"
#endif

static const struct {
    const char *name;
    Word (*call)(Word, Word, Word);
    int operands, digits;
} UNITS[] = {
    {"Add-binary32", add_s, 2, 8},     {"Subtract-binary32", sub_s, 2, 8}, {"Multiply-binary32", mul_s, 2, 8},
    {"Divide-binary32", div_s, 2, 8},  {"FMA-binary32", fma_s, 3, 8},      {"Sqrt-binary32", sqrt_s, 1, 8},
    {"Add-binary64", add_d, 2, 16},    {"Subtract-binary64", sub_d, 2, 16}, {"Multiply-binary64", mul_d, 2, 16},
    {"Divide-binary64", div_d, 2, 16}, {"FMA-binary64", fma_d, 3, 16},     {"Sqrt-binary64", sqrt_d, 1, 16},
    {"binary32-binary64", s_to_d, 1, 16}, {"binary64-binary32", d_to_s, 1, 8},
    {"binary16-binary32", h_to_s, 1, 8},  {"binary32-binary16", s_to_h, 1, 4},
#ifdef HALF
    {"Add-binary16", add_h, 2, 4},     {"Subtract-binary16", sub_h, 2, 4}, {"Multiply-binary16", mul_h, 2, 4},
    {"Divide-binary16", div_h, 2, 4},  {"FMA-binary16", fma_h, 3, 4},      {"Sqrt-binary16", sqrt_h, 1, 4},
    {"binary16-binary64", h_to_d, 1, 16}, {"binary64-binary16", d_to_h, 1, 4},
#endif
};

int main(int argc, char **argv) {
    static const char *const NAMES[] = {"nearest-even", "toward-zero", "toward-negative", "toward-positive"};
    char line[4096];
    unsigned mode = 0;
    size_t at = 0, count = sizeof UNITS / sizeof *UNITS;
    if (argc != 3) return fprintf(stderr, "usage: %s UNIT ROUNDING < VECTORS\n", argv[0]), 2;
    while (at < count && strcmp(UNITS[at].name, argv[1])) ++at;
    while (mode < 4 && strcmp(NAMES[mode], argv[2])) ++mode;
    if (at == count || mode == 4) return fprintf(stderr, "no unit %s, or no rounding %s\n", argv[1], argv[2]), 2;
    while (fgets(line, sizeof line, stdin)) {
        Word word[3] = {{.d = 0}, {.d = 0}, {.d = 0}}, result;
        char *rest = line;
        unsigned flags;
        if (*line == '#') {
            fputs(line, stdout);
            continue;
        }
        for (int i = 0; i < UNITS[at].operands; ++i) word[i].d = strtoull(rest, &rest, 16);
        start(mode);
        result = UNITS[at].call(word[0], word[1], word[2]);
        flags = raised();
        start(0);
        if (UNITS[at].digits < 16) result.d &= (UINT64_C(1) << 4 * UNITS[at].digits) - 1;
        /* The line up to where its operands end, then what the unit gave. */
        printf("%.*s %0*" PRIx64 " %02x\n", (int)(rest - line), line, UNITS[at].digits, result.d, flags);
    }
    return ferror(stdin) || fflush(stdout) ? 1 : 0;
}
