// Two units for check.sv: E4M3 to binary32, and the example's converter from binary32, whose
// MUTATION, here that of the command line, seeds a bug.
`ifndef MUTATION
`define MUTATION 0
`endif
module unit #(
    parameter NAME = "",
    parameter MUTATION = `MUTATION
) (
    input  wire [1023:0] operands,
    output wire [1023:0] results,
    output wire [7:0]    flags
);
    generate
        if (NAME == "e4m3-to-binary32") begin : widening
            wire [7:0] x = operands[7:0];
            wire [3:0] e = x[6:3];
            wire [2:0] m = x[2:0];
            // A subnormal m · 2^-9: its highest bit becomes the hidden one.
            wire [30:0] tiny = m[2] ? {8'd120, m[1:0], 21'd0} : m[1] ? {8'd119, m[0], 22'd0} : m[0] ? {8'd118, 23'd0} : 31'd0;
            wire [30:0] normal = {8'd120 + {4'd0, e}, m, 20'd0};
            wire [30:0] number = e == 0 ? (MUTATION == 1 ? 31'd0 : tiny) : normal;
            assign results = {992'd0, &x[6:0] ? {MUTATION == 2 ? 1'bx : x[7], 31'h7fc00000} : {x[7], number}};
            assign flags = 8'd0;
        end else begin : narrowing
            wire [7:0] code;
            wire [4:0] raised;
            f32_to_fp8 #(.EXPONENT(NAME == "binary32-to-e5m2" ? 5 : 4), .MUTATION(MUTATION)) dut (
                .f32(operands[31:0]), .saturate(NAME == "binary32-to-e4m3-saturating"), .code(code), .flags(raised));
            assign results = {1016'd0, code};
            assign flags = {3'd0, raised};
        end
    endgenerate
endmodule
