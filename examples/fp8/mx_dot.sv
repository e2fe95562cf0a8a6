// The dot product of two MX blocks of four E4M3 elements and a scale each, rounded once to binary32: to nearest, ties
// to even, with RISC-V's flags (bit 0 inexact, 1 underflow, 2 overflow). Combinational.
//
// Elements are multiples of 2^-9 below 2^9, so that a product is an integer of 36 bits in units of 2^-18 and the sum
// of four is exact in a word of 40. The scales only move its exponent.
//
// MUTATION seeds a bug: 1 drops the products' lowest 8 bits before the sum, 2 takes an x_scale of 0 for
// 2^-126.
module mx_dot #(
    parameter MUTATION = 0
) (
    input  wire [7:0]  x_scale,
    input  wire [31:0] x,       // the first element in the highest byte
    input  wire [7:0]  y_scale,
    input  wire [31:0] y,
    output wire [31:0] f32,
    output wire [4:0]  flags
);
    // The magnitude of an element in units of 2^-9.
    function automatic [17:0] magnitude(input [6:0] index);
        magnitude = (index[6:3] == 4'd0) ? {15'b0, index[2:0]} : {14'b0, 1'b1, index[2:0]} << (index[6:3] - 4'd1);
    endfunction

    function automatic signed [39:0] product(input [7:0] a, input [7:0] b);
        reg [39:0] p;
        begin
            p = {22'b0, magnitude(a[6:0])} * {22'b0, magnitude(b[6:0])};
            if (MUTATION == 1) p[7:0] = 8'd0;
            product = (a[7] ^ b[7]) ? -$signed(p) : $signed(p);
        end
    endfunction

    wire signed [39:0] sum = product(x[31:24], y[31:24]) + product(x[23:16], y[23:16])
                           + product(x[15:8], y[15:8]) + product(x[7:0], y[7:0]);
    wire is_nan = (&x_scale) || (&y_scale)
                || (&x[30:24]) || (&x[22:16]) || (&x[14:8]) || (&x[6:0])
                || (&y[30:24]) || (&y[22:16]) || (&y[14:8]) || (&y[6:0]);

    wire        sign = sum[39];
    wire [39:0] size = sign ? -sum : sum;

    function automatic [5:0] leading(input [39:0] word);
        integer i;
        begin
            leading = 6'd0;
            for (i = 0; i < 40; i = i + 1) if (word[i]) leading = i[5:0];
        end
    endfunction

    wire [5:0]  top = leading(size);
    // The leading bit in bit 63; in units of 2^-18 of the product of the scales, whose exponents are 127 too large.
    wire [63:0] normal = {24'b0, size} << (6'd63 - top);
    wire [7:0]  low_x = (MUTATION == 2 && x_scale == 8'd0) ? 8'd1 : x_scale;
    wire signed [11:0] field = $signed({6'b0, top}) + $signed({4'b0, low_x}) + $signed({4'b0, y_scale}) - 12'sd145;
    wire        tiny = field < 12'sd1;

    wire signed [11:0] drop = tiny ? 12'sd1 - field : 12'sd0;
    wire [5:0]  shift = (drop > 12'sd63) ? 6'd63 : drop[5:0];
    wire [63:0] lost  = normal & ((64'd1 << shift) - 64'd1);
    wire [63:0] fixed = (normal >> shift) | {63'b0, |lost};

    // 24 bits, and 40 behind the point.
    wire        inexact = |fixed[39:0];
    wire        up      = fixed[39] && ((|fixed[38:0]) || fixed[40]);
    wire [31:0] index   = tiny ? {8'b0, fixed[63:40]} : {1'b0, field[7:0], fixed[62:40]};
    wire [31:0] rounded = index + {31'b0, up};
    wire        over    = (field > 12'sd254) || (rounded[30:23] == 8'd255);
    wire        reaches = (field == 12'sd0) && (&normal[63:39]);

    assign f32 = is_nan        ? 32'h7fc00000
               : (size == 0)   ? 32'd0
               : over          ? {sign, 31'h7f800000}
                               : {sign, rounded[30:0]};
    assign flags = is_nan || (size == 0) ? 5'b0
                 : over                  ? 5'b00101
                                         : {3'b0, tiny && inexact && !reaches, inexact};
endmodule
