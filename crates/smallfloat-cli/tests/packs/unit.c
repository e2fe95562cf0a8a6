/* RISC-V's conversions between OFP8 and BF16 or FP32, in integers. Compiled with -DNO_STICKY it
 * forgets all bits below the guard bit, with -DTINY_BEFORE it detects tininess before rounding. */
#include <stdint.h>
#include <string.h>

enum { INEXACT = 1, UNDERFLOW = 2, OVERFLOW = 4, INVALID = 16 };

/* Rounds the magnitude m·2^e, m > 0, to a multiple of 2^lowest with at most `bits` bits; e and the
 * result's exponent are changed. */
static uint64_t rounded(uint64_t m, int *e, int bits, int lowest, int rm, int negative, int *inexact) {
    int length = 64 - __builtin_clzll(m);
    int cut = length - bits > lowest - *e ? length - bits : lowest - *e;
    if (cut <= 0) { *inexact = 0; return m; }
    uint64_t whole = cut > 63 ? 0 : m >> cut, rest = cut > 63 ? m : m & (((uint64_t)1 << cut) - 1);
    int guard = cut > 63 ? 0 : (int)(rest >> (cut - 1) & 1);
    int sticky = cut > 63 ? rest != 0 : (rest & (((uint64_t)1 << (cut - 1)) - 1)) != 0;
    *inexact = guard || sticky;
#ifdef NO_STICKY
    sticky = 0;
#endif
    int up = rm == 0 ? guard && (sticky || (whole & 1)) : rm == 1 ? 0 : rm == 2 ? negative && *inexact
           : rm == 3 ? !negative && *inexact : guard;
    *e += cut;
    return whole + (uint64_t)up;
}

static uint64_t narrow(uint64_t code, int e_in, int m_in, int e_out, int m_out, int saturate, int rm, unsigned *flags) {
    int negative = (int)(code >> (e_in + m_in)), bias = (1 << (e_out - 1)) - 1, bias_in = (1 << (e_in - 1)) - 1;
    uint64_t sign = (uint64_t)negative << (e_out + m_out), field = code >> m_in & ((1u << e_in) - 1);
    uint64_t m = code & (((uint64_t)1 << m_in) - 1);
    /* E4M3 has no infinity: its largest number is 0x7e, and E5M2's is 0x7b. */
    uint64_t largest = e_out == 4 ? 0x7e : 0x7b, beyond = saturate ? largest : e_out == 4 ? 0x7f : 0x7c;
    int e, inexact, unbounded_inexact;
    *flags = 0;
    if (field == (1u << e_in) - 1) {
        if (m == 0) return beyond == 0x7f ? 0x7f : sign | beyond;
        if (!(m >> (m_in - 1))) *flags = INVALID;
        return 0x7f;
    }
    if (field) m |= (uint64_t)1 << m_in;
    if (m == 0) return sign;
    e = (int)(field ? field : 1) - bias_in - m_in;
    int lowest = 1 - bias - m_out, wide_e = e, before = e + 63 - __builtin_clzll(m);
    uint64_t wide = rounded(m, &wide_e, m_out + 1, -10000, rm, negative, &unbounded_inexact);
    int after = wide_e + 63 - __builtin_clzll(wide);
#ifdef TINY_BEFORE
    after = before;
#endif
    (void)before;
    m = rounded(m, &e, m_out + 1, lowest, rm, negative, &inexact);
    if (inexact) *flags |= INEXACT;
    if (inexact && after < 1 - bias) *flags |= UNDERFLOW;
    while (m && e > lowest && !(m >> m_out)) { m <<= 1; e--; }
    if (m >> (m_out + 1)) { m >>= 1; e++; }
    uint64_t result = m >> m_out ? ((uint64_t)(e - lowest + 1) << m_out) + (m - ((uint64_t)1 << m_out)) : m;
    if (result <= largest) return sign | result;
    *flags |= OVERFLOW | INEXACT;
    /* Directed away from the overflow, the largest number. */
    if (rm == 1 || (rm == 2 && !negative) || (rm == 3 && negative)) return sign | largest;
    return beyond == 0x7f ? 0x7f : sign | beyond;
}

static uint64_t widen(uint64_t code, int e_in, int m_in) {
    uint64_t sign = code >> 7 << 15, field = code >> m_in & ((1u << e_in) - 1), m = code & ((1u << m_in) - 1);
    int bias = (1 << (e_in - 1)) - 1;
    if (e_in == 4 ? (code & 0x7f) == 0x7f : (code & 0x7f) > 0x7c) return 0x7fc0;
    if (e_in == 5 && (code & 0x7f) == 0x7c) return sign | 0x7f80;
    if (field == 0) {
        if (m == 0) return sign;
        for (field = 1; !(m >> m_in); m <<= 1) field--;
        m &= (1u << m_in) - 1;
    }
    return sign | ((uint64_t)((int)field - bias + 127) << 7) | m << (7 - m_in);
}

int unit(const char *name, const uint64_t *operands, uint64_t *results, unsigned *flags) {
    int e_out = strstr(name, "e4m3") ? 4 : 5, saturate = strstr(name, "sat") != NULL;
    *flags = 0;
    if (strncmp(name, "vfwcvtbf16", 10) == 0)
        results[0] = widen(operands[0], e_out, 7 - e_out);
    else if (strncmp(name, "vfncvtbf16", 10) == 0)
        results[0] = narrow(operands[1], 8, 7, e_out, 7 - e_out, saturate, (int)operands[0], flags);
    else if (strncmp(name, "vfncvt-", 7) == 0)
        results[0] = narrow(operands[1], 8, 23, e_out, 7 - e_out, saturate, (int)operands[0], flags);
    else
        return 0;
    return 1;
}
