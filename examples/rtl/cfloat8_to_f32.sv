// CFloat8_1_4_3 or CFloat8_1_5_2 to binary32, which is exact for every code and bias. Combinational.
//
// `bias` and `gradual` are as in f32_to_cfloat8. Flags: bit 5 for a denormal operand. MUTATION 3 reads denormals as
// IEEE 754 does whatever `gradual` says, 2 has the bias off by one.
module cfloat8_to_f32 #(
    parameter EXPONENT = 4,
    parameter MUTATION = 0
) (
    input  wire [7:0]  code,
    input  wire [5:0]  bias,
    input  wire        gradual,
    output wire [31:0] f32,
    output wire [7:0]  flags
);
    localparam M = 7 - EXPONENT;

    wire [EXPONENT-1:0] field    = code[6 -: EXPONENT];
    wire [2:0]          mantissa = code[M-1:0];
    wire                is_denormal = !(|field) && (|mantissa);
    wire                is_ieee  = gradual || (MUTATION == 3);

    // Where the leading bit of a denormal mantissa stands, and the bits after it moved to the top of 23.
    wire [1:0]  leading = mantissa[2] ? 2'd2 : mantissa[1] ? 2'd1 : 2'd0;
    wire [22:0] after   = {mantissa, 20'b0} << (2'd3 - leading);

    wire [7:0] one       = 8'd127 - {2'b0, bias} + ((MUTATION == 2) ? 8'd1 : 8'd0);
    wire [7:0] normal    = one + {{(8-EXPONENT){1'b0}}, field};
    wire [7:0] subnormal = one + {6'b0, leading} - M[7:0] + {7'b0, is_ieee};

    assign f32 = !(|code[6:0]) ? {code[7], 31'b0}
               : is_denormal   ? {code[7], subnormal, after}
                               : {code[7], normal, code[M-1:0], {(23-M){1'b0}}};
    assign flags = {2'b0, is_denormal, 5'b0};
endmodule
