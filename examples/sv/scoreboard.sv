// A scoreboard: the converter of examples/rtl beside smallfloat's model, on random and on awkward operands. In this
// folder, with the library installed in $PREFIX:
//
//   P=$PREFIX/share/smallfloat/sf_pkg.sv L="-L$PREFIX/lib -Wl,-rpath,$PREFIX/lib -lsmallfloat"
//   env verilator --binary --timing -Wno-fatal -LDFLAGS "$L" --top-module scoreboard $P scoreboard.sv ../rtl/f32_to_cfloat8.sv
//   obj_dir/Vscoreboard +count=1000000 +bias=7
module scoreboard;
    import sf_pkg::*;

    parameter MUTATION = 0;
    localparam int unsigned MASK = 32'(SF_INVALID | SF_DENORMAL | SF_OVERFLOW | SF_UNDERFLOW);

    logic [31:0] f32;
    logic [5:0]  bias;
    wire  [7:0]  code, flags;

    f32_to_cfloat8 #(.MUTATION(MUTATION)) dut (
        .f32(f32), .bias(bias), .gradual(1'b0), .code(code), .flags(flags));

    int unsigned count, wrong, i;
    int          given;
    chandle      op;

    // Every second operand has an exponent near the format's, where rounding has something to do, and half of these
    // few digits, so that there are ties.
    function automatic logic [31:0] operand(int unsigned i);
        logic [31:0] word = $urandom();
        logic [7:0]  exponent = 8'(8'd127 - 8'(bias) - 8'd6 + 8'(word[30:23] % 24));
        return i[0] ? word : {word[31], exponent, i[1] ? word[22:0] : {word[22:19], 19'b0}};
    endfunction

    initial begin
        if ($value$plusargs("count=%d", count) == 0) count = 100000;
        if ($value$plusargs("bias=%d", given) == 0) given = 7;
        bias = 6'(given);
        op = make($sformatf("Convert<binary32, cfloat8_1_4_3:bias=%0d>", given), "tesla");
        wrong = 0;
        for (i = 0; i < count && wrong < 3; i++) begin
            f32 = operand(i);
            #1;
            if (!check1(op, 64'(f32), 64'(code), 32'(flags), MASK)) wrong++;
        end
        sf_op_free(op);
        if (wrong == 0) $display("scoreboard: %0d checked, all right", count);
        else $display("scoreboard: %0d of %0d checked are wrong", wrong, i);
        $finish;
    end
endmodule
