// Runs the vectors of a $readmemh file through one of the units and prints each word again after "RESULT ", with what
// the unit gave: what else a simulator prints does not disturb `smallfloat vectors check --prefix "RESULT "`.
//
//   $ verilator --binary --timing --top-module testbench -GLINES=N -GDOT=0 -GEXPONENT=4 *.sv
//   $ obj_dir/Vtestbench +vectors=FILE [+saturate]
module testbench;
    parameter LINES = 1;
    parameter [0:0] DOT = 1'b0; // 0: f32_to_fp8, 1: mx_dot
    parameter EXPONENT = 4;
    parameter MUTATION = 0;

    reg  [119:0]   vectors [0:LINES-1];
    reg  [8*256:1] path;
    reg            saturate;
    reg  [119:0]   word;
    wire [7:0]     code;
    wire [31:0]    sum;
    wire [4:0]     code_flags, sum_flags;
    integer        i, ok;

    // Words are operand | code | flags of 32 + 8 + 8 bits, or scale | elements | scale | elements | sum | flags.
    f32_to_fp8 #(.EXPONENT(EXPONENT), .MUTATION(MUTATION)) convert (
        .f32(word[47:16]), .saturate(saturate), .code(code), .flags(code_flags));
    mx_dot #(.MUTATION(MUTATION)) dot (
        .x_scale(word[119:112]), .x(word[111:80]), .y_scale(word[79:72]), .y(word[71:40]), .f32(sum), .flags(sum_flags));

    initial begin
        ok = $value$plusargs("vectors=%s", path);
        if (ok == 0) $fatal(1, "+vectors=FILE is missing: the file of `smallfloat vectors gen --layout readmemh`");
        saturate = $test$plusargs("saturate") != 0;
        $readmemh(path, vectors);
        for (i = 0; i < LINES; i = i + 1) begin
            word = vectors[i];
            #1;
            if (DOT) $display("RESULT %h%h%h", word[119:40], sum, {3'b0, sum_flags});
            else $display("RESULT %h%h%h", word[47:16], code, {3'b0, code_flags});
        end
        $finish;
    end
endmodule
