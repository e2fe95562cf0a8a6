// binary16 to E5M2 by way of a recoded format: one bit more of exponent, in which subnormals are normal numbers too.
// To nearest even; infinities stay, overflow is infinite.
module recode16 (
    input  wire [15:0] f16,
    output wire        sign,
    output wire        is_nan,
    output wire        is_infinite,
    output wire        is_zero,
    output reg  [5:0]  exponent,   // of 1.fraction, plus 32
    output reg  [9:0]  fraction
);
    integer i;
    assign sign = f16[15];
    assign is_nan = (f16[14:10] == 5'd31) && (f16[9:0] != 10'd0);
    assign is_infinite = (f16[14:10] == 5'd31) && (f16[9:0] == 10'd0);
    assign is_zero = f16[14:0] == 15'd0;
    always @* begin
        exponent = {1'b0, f16[14:10]} + 6'd17;
        fraction = f16[9:0];
        if (f16[14:10] == 5'd0) begin
            exponent = 6'd18;
            // One place for the hidden bit that is not there, and one for each zero.
            for (i = 0; i < 10; i = i + 1)
                if (exponent == 6'd18 - i && !fraction[9]) begin
                    fraction = fraction << 1;
                    exponent = exponent - 6'd1;
                end
            fraction = fraction << 1;
            exponent = exponent - 6'd1;
        end
    end
endmodule

module recoded (
    input  wire [15:0] x,
    output wire [7:0]  result
);
    wire       sign, is_nan, is_infinite, is_zero;
    wire [5:0] exponent;
    wire [9:0] fraction;
    recode16 recode (.f16(x), .sign(sign), .is_nan(is_nan), .is_infinite(is_infinite), .is_zero(is_zero),
        .exponent(exponent), .fraction(fraction));

    // Back to E5M2, whose exponents are binary16's: below 18 results are subnormal.
    wire        low    = exponent < 6'd18;
    wire [5:0]  places = low ? 6'd18 - exponent : 6'd0;
    wire [21:0] exact  = {1'b1, fraction, 11'b0} >> places;
    wire [2:0]  kept   = exact[21:19];
    wire        up     = exact[18] && ((exact[17:0] != 18'd0) || exact[19]);
    wire [4:0]  field  = low ? 5'd0 : exponent[4:0] - 5'd17;
    wire [7:0]  index  = (low ? {5'b0, kept} : {1'b0, field, kept[1:0]}) + {7'b0, up};
    assign result = is_nan      ? {sign, 7'h7e}
                  : is_infinite ? {sign, 7'h7c}
                  : is_zero     ? {sign, 7'h00}
                                : {sign, index[6:0]};
endmodule
