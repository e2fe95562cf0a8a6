// binary32 to CFloat8_1_4_3 or CFloat8_1_5_2: to nearest, ties to even, clamping. Combinational.
//
// The bias is a port because it is data. With `gradual` low, denormals read as Tesla's paper writes them,
// 2^-bias * 0.m; high, as IEEE 754 does, 2^(1-bias) * 0.m. The paper's reading leaves a hole between the largest
// denormal and the smallest normal value, 2^M + 1 steps wide: its middle is no bit position but a comparison.
//
// A result's code without its sign is called its index. Indices sort as magnitudes do, so a carry out of the
// mantissa into the exponent is an ordinary carry.
//
// Flags: bit 1 underflow, 2 overflow, 4 invalid, 5 denormal, as in the test vectors; Tesla's formats have no others.
//
// MUTATION seeds a bug: 1 truncates, 2 has the bias off by one, 3 reads denormals as IEEE 754 does whatever `gradual`
// says, 4 rounds ties away from zero.
module f32_to_cfloat8 #(
    parameter EXPONENT = 4,
    parameter MUTATION = 0
) (
    input  wire [31:0] f32,
    input  wire [5:0]  bias,
    input  wire        gradual,
    output wire [7:0]  code,
    output wire [7:0]  flags
);
    localparam M = 7 - EXPONENT;
    localparam signed [10:0] TOP = (1 << EXPONENT) - 1;
    localparam [47:0] LOW = (48'd1 << M) - 48'd1;        // index of the largest denormal
    localparam [47:0] MIDDLE = (48'd3 << M) - 48'd1;     // that and the smallest normal, two binades in steps, added

    wire        sign        = f32[31];
    wire        is_nan      = (&f32[30:23]) && (|f32[22:0]);
    wire        is_infinite = (&f32[30:23]) && !(|f32[22:0]);
    wire        is_denormal = !(|f32[30:23]) && (|f32[22:0]);
    wire        is_zero     = !(|f32[30:0]);

    wire [23:0] significand = {|f32[30:23], f32[22:0]};
    wire signed [10:0] exponent = (|f32[30:23]) ? $signed({3'b0, f32[30:23]}) - 11'sd127 : -11'sd126;
    // The exponent field that the leading bit would have; below 1 the result is denormal, or in the hole.
    wire signed [10:0] field =
        exponent + $signed({5'b0, bias}) + ((MUTATION == 2) ? 11'sd1 : 11'sd0);
    wire        tiny  = field < 11'sd1;
    wire        paper = !gradual && (MUTATION != 3);

    // The index with 24 bits behind the point. Denormals have steps of 2^(1-bias-M), half of that in the paper's
    // reading; bits that are shifted out stay as a sticky bit.
    wire [47:0] wide = {24'b0, significand} << (M + 1);
    wire signed [10:0] drop = 11'sd1 - field - (paper ? 11'sd1 : 11'sd0);
    wire [5:0]  shift = (drop > 11'sd40) ? 6'd40 : drop[5:0];
    wire [47:0] lost  = wide & ((48'd1 << shift) - 48'd1);
    wire [47:0] fixed = tiny ? ((wide >> shift) | {47'b0, |lost}) : wide;

    wire        in_hole = tiny && paper && ((fixed >> 24) >= LOW);
    wire [7:0]  index   = in_hole ? LOW[7:0]
                        : tiny    ? fixed[31:24]
                                  : {1'b0, field[EXPONENT-1:0], fixed[24 +: M]};
    wire        inexact = in_hole ? (fixed != (LOW << 24)) : (|fixed[23:0]);
    wire        nearest = in_hole ? ((fixed << 1) >= (MIDDLE << 24))
                                  : (fixed[23] && ((|fixed[22:0]) || index[0] || (MUTATION == 4)));
    wire        up      = nearest && (MUTATION != 1);
    wire [7:0]  rounded = index + {7'b0, up};
    wire        over    = (field > TOP) || (!tiny && rounded[7]);

    assign code = is_nan                ? 8'h7f
                : (is_infinite || over) ? {sign, 7'h7f}
                : is_zero               ? {sign, 7'h00}
                                        : {sign, rounded[6:0]};
    assign flags = is_nan      ? 8'h10
                 : is_infinite ? 8'h04
                 : is_zero     ? 8'h00
                 : over        ? 8'h04
                               : {2'b0, is_denormal, 3'b0, tiny && inexact, 1'b0};
endmodule
