// E4M3 to binary32 as a table of cases, without a flag.
module cases (
    input  wire [7:0]  x,
    output reg  [31:0] result
);
    always @*
        casez (x[6:0])
            7'b1111111: result = 32'h7fc00000;
            7'b0000000: result = {x[7], 31'd0};
            7'b0000001: result = {x[7], 8'd118, 23'd0};
            7'b000001?: result = {x[7], 8'd119, x[0], 22'd0};
            7'b00001??: result = {x[7], 8'd120, x[1:0], 21'd0};
            default:    result = {x[7], {4'd0, x[6:3]} + 8'd120, x[2:0], 20'd0};
        endcase
endmodule
