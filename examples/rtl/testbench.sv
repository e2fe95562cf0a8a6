// Runs the vectors of a $readmemh file through a converter and prints each word again, with what the converter gave.
//
//   iverilog -g2012 -P testbench.LINES=N -P testbench.ENCODE=1 ... && vvp -n ... +vectors=FILE +bias=B [+gradual]
//   or: verilator --binary --timing --top-module testbench -GLINES=N ... && ./Vtestbench +vectors=FILE +bias=B [+gradual]
// With PORTS=1 each word begins with the bias, as `vectors gen --ports bias` writes it, and there is no +bias.
module testbench;
    parameter LINES = 1;
    parameter [0:0] ENCODE = 1'b1; // 1: binary32 to CFloat8, 0: the way back
    parameter [0:0] PORTS = 1'b0;
    parameter EXPONENT = 4;
    parameter MUTATION = 0;

    reg  [55:0]   vectors [0:LINES-1];
    reg  [8*256:1] path;
    reg  [5:0]    bias;
    reg           gradual;
    reg  [31:0]   operand;
    wire [7:0]    code, encode_flags, decode_flags;
    wire [31:0]   f32;
    integer       i, ok;

    f32_to_cfloat8 #(.EXPONENT(EXPONENT), .MUTATION(MUTATION)) encoder (
        .f32(operand), .bias(bias), .gradual(gradual), .code(code), .flags(encode_flags));
    cfloat8_to_f32 #(.EXPONENT(EXPONENT), .MUTATION(MUTATION)) decoder (
        .code(operand[7:0]), .bias(bias), .gradual(gradual), .f32(f32), .flags(decode_flags));

    initial begin
        ok = $value$plusargs("vectors=%s", path);
        if (ok == 0) $fatal(1, "+vectors=FILE is missing: the file of `smallfloat vectors gen --layout readmemh`");
        ok = 1;
        if (!PORTS) ok = $value$plusargs("bias=%d", bias);
        if (ok == 0) $fatal(1, "+bias=B is missing: the bias of the CFloat8 format, 0 to 63");
        gradual = $test$plusargs("gradual");
        $readmemh(path, vectors);
        for (i = 0; i < LINES; i = i + 1) begin
            // Words are [bias |] operand | result | flags: [8 +] 32 + 8 + 8 bits to encode, 8 + 32 + 8 to decode.
            if (PORTS) begin
                bias = vectors[i][53:48];
                $write("%h", {2'b0, bias});
            end
            operand = ENCODE ? vectors[i][47:16] : {24'b0, vectors[i][47:40]};
            #1;
            if (ENCODE) $display("%h%h%h", operand, code, encode_flags);
            else $display("%h%h%h", operand[7:0], f32, decode_flags);
        end
        // The simulation ends here by itself: $finish would print a line among the results.
    end
endmodule
