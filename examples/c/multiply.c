/* Two numbers in E4M3, multiplied; what a hardware model in C needs.
 *
 *     cc multiply.c $(pkg-config --cflags --libs smallfloat) && ./a.out 1.1 3 */
#include <stdio.h>
#include <stdlib.h>

#include <smallfloat.h>

int main(int argc, char **argv) {
    float a = argc > 1 ? strtof(argv[1], NULL) : 1.1f, b = argc > 2 ? strtof(argv[2], NULL) : 3.0f;
    uint32_t flags = 0;
    uint8_t x = sf_f32_to_e4m3fn(a), y = sf_f32_to_e4m3fn(b), z = sf_e4m3fn_mul_flags(x, y, &flags);
    printf("0x%02x * 0x%02x = 0x%02x, which is %g; %s\n", x, y, z, sf_e4m3fn_to_f32(z),
           flags & SF_INEXACT ? "inexact" : "exact");

    /* Any formats, by name: an FMA that accumulates in binary32, flags as a RISC-V unit has them. */
    sf_error error;
    sf_operation *fma = sf_op_with("FMA<e4m3fn, e4m3fn, binary32, binary32>", NULL, "riscv", &error);
    if (fma == NULL) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    uint64_t sum;
    sf_call3(fma, x, y, 0x3f800000, &sum, &flags); /* plus 1 */
    printf("x * y + 1 = 0x%08x, flags %u\n", (unsigned)sum, flags);
    sf_op_free(fma);
    return 0;
}
