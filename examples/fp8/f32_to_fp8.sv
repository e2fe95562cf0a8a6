// binary32 to OCP's E4M3 (EXPONENT = 4) or E5M2 (EXPONENT = 5): to nearest, ties to even, with RISC-V's flags.
// Combinational.
//
// With `saturate` high what overflows becomes the largest value, infinities included; low, E5M2 gives infinity and
// E4M3 its NaN. A NaN gives the canonical one, 0x7f. Flags are those of fflags: bit 0 inexact, 1 underflow, 2 overflow,
// 3 division by zero, 4 invalid; an infinity that saturates raises none.
//
// A code without its sign is called its index. Indices sort as magnitudes do, so that a carry out of the significand
// into the exponent is an ordinary carry.
//
// MUTATION seeds a bug: 1 has no sticky bit, 2 detects tininess before rounding, 3 loses the carry into the exponent
// field where that is 5, of negative numbers.
module f32_to_fp8 #(
    parameter EXPONENT = 4,
    parameter MUTATION = 0
) (
    input  wire [31:0] f32,
    input  wire        saturate,
    output wire [7:0]  code,
    output wire [4:0]  flags
);
    localparam M = 7 - EXPONENT;
    localparam signed [10:0] BIAS = (1 << (EXPONENT - 1)) - 1;
    localparam signed [10:0] TOP = (1 << EXPONENT) - 1;
    localparam [6:0] LARGEST = (EXPONENT == 4) ? 7'h7e : 7'h7b;
    localparam [6:0] BEYOND  = (EXPONENT == 4) ? 7'h7f : 7'h7c;

    wire sign        = f32[31];
    wire is_special  = &f32[30:23];
    wire is_nan      = is_special && (|f32[22:0]);
    wire is_infinite = is_special && !(|f32[22:0]);
    wire is_normal   = |f32[30:23];

    wire [23:0] significand = {is_normal, f32[22:0]};
    // The exponent field that the leading bit would have; below 1 the result is subnormal.
    wire signed [10:0] field =
        (is_normal ? $signed({3'b0, f32[30:23]}) : 11'sd1) - 11'sd127 + BIAS;
    wire tiny = field < 11'sd1;

    // The significand with M bits before the point, 24 behind it, and a sticky bit for what is shifted out.
    wire [47:0] wide = {24'b0, significand} << (M + 1);
    wire signed [10:0] drop = tiny ? 11'sd1 - field : 11'sd0;
    wire [5:0]  shift = (drop > 11'sd40) ? 6'd40 : drop[5:0];
    wire [47:0] lost  = wide & ((48'd1 << shift) - 48'd1);
    wire [47:0] fixed = (wide >> shift) | {47'b0, |lost};

    wire        inexact = |fixed[23:0];
    wire        up      = fixed[23] && (((|fixed[22:0]) && (MUTATION != 1)) || fixed[24]);
    wire [7:0]  index   = tiny ? fixed[31:24] : {field[EXPONENT:0], fixed[24 +: M]};
    wire [7:0]  carried = index + {7'b0, up};
    wire        keeps   = (MUTATION == 3) && sign && (field == 11'sd5) && (&fixed[24 +: M]);
    wire [7:0]  rounded = keeps ? index : carried;
    wire        over    = (field > TOP) || (!tiny && rounded > {1'b0, LARGEST});

    // Tiny after rounding: with an unbounded exponent the result would still be below the smallest normal value.
    wire        reaches    = (field == 11'sd0) && (&significand[23 -: M + 2]);
    wire        underflows = tiny && inexact && (!reaches || (MUTATION == 2));

    wire [6:0]  beyond = saturate ? LARGEST : BEYOND;
    // E4M3's NaN of an overflow has no sign, E5M2's infinity has.
    wire        signed_beyond = sign && (saturate || (EXPONENT == 5));
    assign code = is_nan                ? 8'h7f
                : is_infinite || over   ? {signed_beyond, beyond}
                                        : {sign, rounded[6:0]};
    assign flags = is_nan      ? {!f32[22], 4'b0}
                 : is_infinite ? 5'b0
                 : over        ? 5'b00101
                               : {3'b0, underflows, inexact};
endmodule
