/* Calls per second: by handle, of fixed formats, of arrays, and what each costs beside the kernels' best. */
#include <time.h>

#include "check.h"
#include "smallfloat.h"
#ifdef WITH_SOFTFLOAT
#include "softfloat.h"
#endif

/* Calls one by one are measured in this thread's own time, which other programs don't lengthen; arrays, which may
 * use threads, by the wall. */
static clockid_t measured = CLOCK_THREAD_CPUTIME_ID;

static double now(void) {
    struct timespec t;
    clock_gettime(measured, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

enum { COUNT = 1 << 20, RUNS = 7 };
static uint8_t x[COUNT], y[COUNT], z[COUNT], results[COUNT], flags[COUNT];
static uint16_t halves_x[COUNT], halves_y[COUNT], halves[COUNT];
static float floats[COUNT];
static volatile uint64_t sink;

/* Runs a loop and keeps its best time, in seconds for COUNT calls. */
#define BEST(best, body) \
    double best = 1e9; \
    for (int run = 0; run < RUNS; run++) { \
        double start = now(); \
        body double took = now() - start; \
        if (took < best) best = took; \
    }

static double rate(const char *what, double seconds, double wanted) {
    double millions = COUNT / seconds / 1e6;
    if (wanted > 0)
        printf("%-58s %9.1f M/s  (wanted %.0f: %.1fx)\n", what, millions, wanted, millions / wanted);
    else
        printf("%-58s %9.1f M/s\n", what, millions);
    return millions;
}

static void by_handle(const char *text) {
    sf_operation *op = sf_op(text, NULL);
    CHECK(op != NULL, "%s", text);
    uint64_t sum = 0;
    size_t operands = sf_op_operands(op);
    BEST(best, for (int i = 0; i < COUNT; i++) {
        uint64_t result;
        uint32_t raised;
        if (operands == 1) sf_call1(op, x[i], &result, &raised);
        if (operands == 2) sf_call2(op, x[i], y[i], &result, &raised);
        if (operands == 3) sf_call3(op, x[i], y[i], z[i], &result, &raised);
        sum += result ^ raised;
    })
    sink = sum;
    rate(text, best, 5);
    sf_op_free(op);
}

static void by_batch(const char *text, const void *a, const void *b, const void *c, uint8_t *raised) {
    sf_operation *op = sf_op(text, NULL);
    CHECK(op != NULL, "%s", text);
    /* Tables are made by the first run, which counts too little to be the best. */
    BEST(best, CHECK(sf_batch(op, COUNT, a, b, c, results, raised, NULL) == SF_STATUS_OK, "%s", text);)
    char what[100];
    snprintf(what, sizeof what, "%s%s", text, raised ? " with flags" : "");
    rate(what, best, 0);
    sf_op_free(op);
}

int main(void) {
    uint64_t state = 1;
    for (int i = 0; i < COUNT; i++) {
        uint64_t word = next(&state);
        x[i] = (uint8_t)word, y[i] = (uint8_t)(word >> 8), z[i] = (uint8_t)(word >> 16);
        halves_x[i] = (uint16_t)(word >> 16), halves_y[i] = (uint16_t)(word >> 32);
        floats[i] = (float)((double)(int64_t)next(&state) * 0x1p-62) * (float)(1 << (word >> 60));
    }
    puts("By handle, one by one, with flags:");
    by_handle("Add<e4m3fn>");
    by_handle("Multiply<cfloat8_1_4_3:bias=7>");
    by_handle("FMA<e4m3fn>");
    by_handle("Exp<binary8p3se>");
    by_handle("CompareLess<e5m2, e5m2>");
    puts("Fixed formats, one by one:");
    uint64_t sum = 0;
#define EACH(call, wanted) \
    do { \
        BEST(best, for (int i = 0; i < COUNT; i++) sum += (uint64_t)(call);) \
        rate(#call, best, wanted); \
    } while (0)
    EACH(sf_f32_to_e4m3fn(floats[i]), 20);
    EACH(sf_f32_to_cfloat8_1_4_3(floats[i], 7), 20);
    EACH(sf_f32_to_e5m2(floats[i]), 20);
    EACH(sf_f32_to_f16(floats[i]), 20);
    EACH(sf_e4m3fn_to_f32(x[i]), 20);
    EACH(sf_cfloat8_1_4_3_to_f32(x[i], 7), 20);
    EACH(sf_e4m3fn_mul(x[i], y[i]), 0);
    EACH(sf_e4m3fn_mul_flags(x[i], y[i], NULL), 0);
    EACH(sf_cfloat8_1_4_3_mul(x[i], y[i], 7), 0);
    puts("Arrays of 2^20:");
    measured = CLOCK_MONOTONIC;
    by_batch("Convert<binary32, e4m3fn>", floats, NULL, NULL, NULL);
    by_batch("Convert<binary32, e4m3fn>", floats, NULL, NULL, flags);
    by_batch("Add<e4m3fn>", x, y, NULL, NULL);
    by_batch("Add<e4m3fn>", x, y, NULL, flags);
    by_batch("FMA<e4m3fn>", x, y, z, NULL);
#define PAIR(operation, other, ours) \
    do { \
        BEST(mine, for (int i = 0; i < COUNT; i++) halves[i] = ours(halves_x[i], halves_y[i]);) \
        double millions = rate(#ours, mine, 0); \
        other \
    } while (0)
#ifdef WITH_SOFTFLOAT
#define THEIRS(function) \
    BEST(their, for (int i = 0; i < COUNT; i++) \
                    halves[i] = function((float16_t){halves_x[i]}, (float16_t){halves_y[i]}).v;) \
    printf("%-58s %9.2f of Berkeley SoftFloat's %.1f M/s\n", "", millions *their / COUNT * 1e6, COUNT / their / 1e6);
#else
#define THEIRS(function) (void)millions;
#endif
    puts("binary16:");
    measured = CLOCK_THREAD_CPUTIME_ID;
    PAIR(add, THEIRS(f16_add), sf_f16_add);
    PAIR(mul, THEIRS(f16_mul), sf_f16_mul);
    PAIR(div, THEIRS(f16_div), sf_f16_div);
    sink = sum;
    return 0;
}
