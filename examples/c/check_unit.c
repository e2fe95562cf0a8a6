/* A unit under test beside the golden model: what differs is explained.
 *
 *     cc check_unit.c $(pkg-config --cflags --libs smallfloat) && ./a.out */
#include <stdio.h>

#include <smallfloat.h>

/* The unit: converts binary32 to Tesla's CFloat8_1_4_3 with bias 7, and truncates where it should round. */
static unsigned unit(float x) {
    unsigned code = sf_f32_to_cfloat8_1_4_3(x, 7);
    float magnitude = x < 0 ? -x : x, given = sf_cfloat8_1_4_3_to_f32(code & 0x7f, 7);
    return given > magnitude && (code & 0x7f) != 0 ? code - 1 : code;
}

int main(void) {
    sf_format *from = sf_format_new("binary32", NULL), *to = sf_format_new("cfloat8_1_4_3:bias=7", NULL);
    sf_operation *model = sf_op_convert(from, to, NULL, NULL, NULL);
    sf_format_free(from);
    sf_format_free(to);
    if (model == NULL) return 1;
    int wrong = 0;
    for (float x = 1; x < 2; x += 0.03125f) {
        union {
            float value;
            uint32_t bits;
        } operand = {x};
        uint64_t right;
        sf_call1(model, operand.bits, &right, NULL);
        if (unit(x) != right && wrong++ == 0) {
            char text[1000];
            uint64_t operands[] = {operand.bits};
            sf_explain(model, operands, 1, unit(x), 0, 0, text, sizeof text);
            fputs(text, stdout);
        }
    }
    printf("%d of 32 differ\n", wrong);
    sf_op_free(model);
    return wrong == 12 ? 0 : 1;
}
