// E4M3 multiplier in two pipeline stages: to nearest even, saturating. The exact product stands in a fixed-point
// word of 2^-20, from which the rounded code is cut.
module pipelined (
    input  logic       clock,
    input  logic [7:0] x,
    input  logic [7:0] y,
    output logic [7:0] result
);
    // Stage 1: fields.
    logic       nan, nan_sign, sign;
    logic [7:0] product;
    logic [4:0] scale;

    function automatic [4:0] field(input [7:0] code);
        field = (code[6:3] == 4'd0) ? 5'd1 : {1'b0, code[6:3]};
    endfunction

    always_ff @(posedge clock) begin
        nan      <= (x[6:0] == 7'h7f) || (y[6:0] == 7'h7f);
        nan_sign <= (x[6:0] == 7'h7f) ? x[7] : y[7];
        sign     <= x[7] ^ y[7];
        product  <= {4'b0, |x[6:3], x[2:0]} * {4'b0, |y[6:3], y[2:0]};
        scale    <= field(x) + field(y);
    end

    // Stage 2: the code.
    logic [37:0] word, kept, lost;
    logic [5:0]  leading, shift;
    logic [7:0]  index;
    logic        up;
    integer      i;

    always_comb begin
        word = {30'b0, product} << scale;
        leading = 6'd14;
        for (i = 15; i < 38; i = i + 1) if (word[i]) leading = i[5:0];
        shift = leading - 6'd3;
        kept = word >> shift;
        lost = word & ~({38{1'b1}} << shift);
        up = lost[shift - 6'd1] && ((lost != (38'd1 << (shift - 6'd1))) || kept[0]);
        // Below 2^-6, bit 14, the word has the subnormals' step as it is.
        index = ({2'b0, leading - 6'd14} << 3) + kept[7:0] + {7'b0, up};
        if (leading == 6'd14 && !word[14]) index = kept[7:0] + {7'b0, up};
    end

    always_ff @(posedge clock)
        result <= nan ? {nan_sign, 7'h7f} : (leading > 6'd29 || index > 8'h7e) ? {sign, 7'h7e} : {sign, index[6:0]};
endmodule
