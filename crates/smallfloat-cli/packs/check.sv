// Checks a design against one file of vectors of this folder.
//
//     $ iverilog -g2012 -s check -Pcheck.NAME='"e4m3-to-binary32"' check.sv unit.sv -o check && vvp check
//     $ verilator --binary --timing -GNAME='"e4m3-to-binary32"' --top-module check check.sv unit.sv
//
// unit.sv has a module `unit` with the ports below: field i of operands and results is at
// [64 * i +: 64], flags are bits (0 inexact, 1 underflow, 2 overflow, 3 division by zero, 4 invalid).
// Results are read one time unit after the operands change. The simulation ends with an error if
// some vectors differ, or if the file has not the number of lines that pack.txt names. SHA-256 of
// the files is left to check.py and check.c, which know what the columns of pack.txt are.
`timescale 1ns / 1ns
module check;
    parameter NAME = "";
    localparam int FIELDS = 16;
    localparam int SHOWN = 5;
    localparam int WIDTH = 240;

    logic [64 * FIELDS - 1:0] operands;
    wire [64 * FIELDS - 1:0] results;
    wire [7:0] flags;
    unit #(.NAME(NAME)) dut (.operands(operands), .results(results), .flags(flags));

    // Texts are packed characters, the last one lowest, as every simulator reads them.
    reg [8 * WIDTH - 1:0] line;
    reg [8 * 128 - 1:0] name, path, sha256, has_flags, nan_text;
    string text;
    int file, at, digits, length, wrong, seen, lines, operand_count, result_count, count;
    int widths[0:2 * FIELDS];
    logic [63:0] values[0:2 * FIELDS];
    logic [63:0] nan, mask, found, wanted;
    logic same, any_nan, is_code, is_there;

    // The value of a hexadecimal digit, or -1.
    function automatic int digit(input [7:0] c);
        if (c >= "0" && c <= "9") return c - "0";
        if (c >= "a" && c <= "f") return c - "a" + 10;
        if (c >= "A" && c <= "F") return c - "A" + 10;
        return -1;
    endfunction

    // Splits `line` of `length` characters into `values`, of so many digits as `widths` says.
    task automatic split;
        count = 0;
        digits = 0;
        values[0] = 0;
        for (at = length - 1; at >= 0; at = at - 1) begin
            if (digit(line[8 * at +: 8]) >= 0) begin
                values[count] = values[count] << 4 | 64'(digit(line[8 * at +: 8]));
                digits = digits + 1;
            end else if (digits > 0) begin
                widths[count] = digits;
                count = count + 1;
                values[count] = 0;
                digits = 0;
            end
        end
        if (digits > 0) begin
            widths[count] = digits;
            count = count + 1;
        end
    endtask

    initial begin
        is_there = 0;
        file = $fopen("pack.txt", "r");
        if (file == 0) $fatal(1, "pack.txt is not here");
        while (!is_there && !$feof(file)) begin
            length = $fgets(line, file);
            if (length > 0 && line[8 * (length - 1) +: 8] != "#") begin
                text = $sformatf("%0s", line);
                count = $sscanf(text, "%s %d %d %d %s %s %s", sha256, lines, operand_count, result_count,
                                has_flags, nan_text, name);
                is_there = count == 7 && name == NAME;
            end
        end
        $fclose(file);
        if (!is_there) $fatal(1, "pack.txt has no %0s", NAME);
        if (operand_count > FIELDS || result_count > FIELDS) $fatal(1, "%0s: more than %0d fields", NAME, FIELDS);
        any_nan = nan_text != "-";
        nan = 0;
        text = $sformatf("%0s", nan_text);
        if (any_nan && $sscanf(text, "%h", nan) != 1) $fatal(1, "%0s: %0s", NAME, nan_text);
        wrong = 0;
        seen = 0;
        $sformat(path, "%0s.txt", NAME);
        file = $fopen(path, "r");
        if (file == 0) $fatal(1, "%0s is not here", path);
        while (!$feof(file)) begin
            length = $fgets(line, file);
            if (length > 0 && line[8 * (length - 1) +: 8] != "#") begin
                split;
                if (count != operand_count + result_count + 1) $fatal(1, "%0s: %0s", path, line);
                operands = 0;
                for (at = 0; at < operand_count; at = at + 1) operands[64 * at +: 64] = values[at];
                #1;
                same = has_flags != "flags" || flags === values[count - 1][7:0];
                for (at = 0; at < result_count; at = at + 1) begin
                    found = results[64 * at +: 64];
                    wanted = values[operand_count + at];
                    mask = (64'd1 << (4 * widths[operand_count + at] - 1)) - 1;
                    // Unknown bits, and bits beyond the code's, are no NaN.
                    is_code = ^found !== 1'bx && found <= 2 * mask + 1;
                    if (found !== wanted && !(any_nan && is_code && (found & mask) > nan && (wanted & mask) > nan)) same = 0;
                end
                seen = seen + 1;
                if (!same) begin
                    wrong = wrong + 1;
                    if (wrong <= SHOWN) $display("%0s: %0s: found %0h flags %0h", NAME, line >> 8, results[63:0], flags);
                end
            end
        end
        $fclose(file);
        $display("%0s: %0d vectors, %0d differ", NAME, seen, wrong);
        if (seen != lines) $fatal(1, "%0s: %0d vectors, pack.txt names %0d", path, seen, lines);
        if (wrong > 0) $fatal(1, "%0d differ", wrong);
        $finish;
    end
endmodule
