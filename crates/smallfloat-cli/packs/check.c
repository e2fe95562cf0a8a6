/* Checks an implementation against the vectors of this folder.
 *
 *     cc -O2 check.c unit.c -o check && ./check [NAME ...]
 *
 * unit.c has the function `unit` that is declared below. The exit status is 0 if all results agree,
 * 1 if some differ, and 2 if a file is damaged or nothing was checked. check.py says what the
 * columns of pack.txt are.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS = 80, SHOWN = 5 };

/* Computes the results of a vector. `name` is that of its file without `.txt`. Flags are bits: 0
 * inexact, 1 underflow, 2 overflow, 3 division by zero, 4 invalid. Returns 0, from the first vector
 * on, for a name that it does not implement, else 1. */
int unit(const char *name, const uint64_t *operands, uint64_t *results, unsigned *flags);

/* SHA-256 (FIPS 180-4). */
typedef struct { uint32_t h[8]; uint64_t bytes; unsigned char block[64]; } sha256;

static uint32_t turned(uint32_t x, int n) { return x >> n | x << (32 - n); }

static const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static void sha256_block(sha256 *s) {
    uint32_t w[64], v[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)s->block[4 * i] << 24 | (uint32_t)s->block[4 * i + 1] << 16
             | (uint32_t)s->block[4 * i + 2] << 8 | s->block[4 * i + 3];
    for (int i = 16; i < 64; i++)
        w[i] = w[i - 16] + (turned(w[i - 15], 7) ^ turned(w[i - 15], 18) ^ w[i - 15] >> 3)
             + w[i - 7] + (turned(w[i - 2], 17) ^ turned(w[i - 2], 19) ^ w[i - 2] >> 10);
    memcpy(v, s->h, sizeof v);
    for (int i = 0; i < 64; i++) {
        uint32_t e = v[4], a = v[0];
        uint32_t t = v[7] + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & v[5]) ^ (~e & v[6])) + K[i] + w[i];
        uint32_t u = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += t;
        v[0] = t + u;
    }
    for (int i = 0; i < 8; i++) s->h[i] += v[i];
}

static void sha256_add(sha256 *s, const void *data, size_t length) {
    for (const unsigned char *p = data; length > 0; p++, length--) {
        s->block[s->bytes++ % 64] = *p;
        if (s->bytes % 64 == 0) sha256_block(s);
    }
}

static void sha256_hex(sha256 *s, char *out) {
    uint64_t bits = 8 * s->bytes;
    unsigned char one = 0x80, zero = 0, length[8];
    for (int i = 0; i < 8; i++) length[i] = (unsigned char)(bits >> (56 - 8 * i));
    sha256_add(s, &one, 1);
    while (s->bytes % 64 != 56) sha256_add(s, &zero, 1);
    sha256_add(s, length, 8);
    for (int i = 0; i < 8; i++) sprintf(out + 8 * i, "%08x", (unsigned)s->h[i]);
}

/* A row of pack.txt. */
typedef struct { char sha256[65], flags[8], nan[24], name[128]; long lines; int operands, results; } row;

static int agree(uint64_t found, uint64_t wanted, int digits, const row *r) {
    uint64_t mask = ((uint64_t)1 << (4 * digits - 1)) - 1;
    if (found == wanted) return 1;
    if (r->nan[0] == '-') return 0;
    uint64_t nan = strtoull(r->nan, NULL, 16);
    return found <= 2 * mask + 1 && (found & mask) > nan && (wanted & mask) > nan;
}

/* Checks a file: the number of differences, -1 if it is damaged, -2 if it is not implemented. */
static long check(const row *r) {
    char path[140], line[2048], text[2048], hex[65];
    sha256 s = {{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}, 0, {0}};
    long lines = 0, wrong = 0;
    snprintf(path, sizeof path, "%s.txt", r->name);
    FILE *file = fopen(path, "rb");
    if (!file) return -1;
    while (fgets(line, sizeof line, file)) {
        uint64_t values[FIELDS], results[FIELDS] = {0};
        int digits[FIELDS], count = 0;
        unsigned flags = 0;
        if (line[0] == '#') continue;
        sha256_add(&s, line, strlen(line));
        lines++;
        strcpy(text, line);
        for (char *p = strtok(text, " \n"); p && count < FIELDS; p = strtok(NULL, " \n")) {
            digits[count] = (int)strlen(p);
            values[count++] = strtoull(p, NULL, 16);
        }
        if (count != r->operands + r->results + 1) { fclose(file); return -1; }
        int answers = unit(r->name, values, results, &flags);
        if (!answers && lines == 1) { fclose(file); return -2; }
        int same = answers && (strcmp(r->flags, "flags") != 0 || flags == values[count - 1]);
        for (int i = 0; i < r->results; i++)
            same = same && agree(results[i], values[r->operands + i], digits[r->operands + i], r);
        if (!same && ++wrong <= SHOWN) {
            printf("%s: %.*s: found", r->name, (int)strcspn(line, "\n"), line);
            for (int i = 0; i < r->results; i++) printf(" %llx", (unsigned long long)results[i]);
            printf(" flags %02x\n", flags);
        }
    }
    fclose(file);
    sha256_hex(&s, hex);
    return lines == r->lines && strcmp(hex, r->sha256) == 0 ? wrong : -1;
}

int main(int argc, char **argv) {
    char line[512];
    long total = 0, different = 0;
    FILE *pack = fopen("pack.txt", "r");
    if (!pack) { fprintf(stderr, "pack.txt is not here\n"); return 2; }
    while (fgets(line, sizeof line, pack)) {
        row r;
        int wanted = argc == 1;
        if (line[0] == '#') continue;
        if (sscanf(line, "%64s %ld %d %d %7s %23s %127s", r.sha256, &r.lines, &r.operands, &r.results, r.flags, r.nan, r.name) != 7
            || r.operands + r.results >= FIELDS) { fprintf(stderr, "pack.txt: %s", line); return 2; }
        for (int i = 1; i < argc; i++) wanted |= strcmp(argv[i], r.name) == 0;
        if (!wanted) continue;
        long wrong = check(&r);
        if (wrong == -1) { fprintf(stderr, "%s.txt: not the %ld vectors that pack.txt names\n", r.name, r.lines); return 2; }
        if (wrong == -2) { printf("%s: not implemented\n", r.name); continue; }
        printf("%s: %ld vectors, %ld differ\n", r.name, r.lines, wrong);
        total += r.lines;
        different += wrong;
    }
    fclose(pack);
    printf("%ld vectors, %ld differ\n", total, different);
    return total == 0 ? 2 : different > 0;
}
