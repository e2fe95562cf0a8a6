//! A test bench that reads the words of `smallfloat vectors gen --layout readmemh`.

use std::fmt::Write as _;

use super::module::comment_lines;
use crate::specification::Specification;

/// Writes the test bench of a generated unit: `NAME_testbench`.
pub(super) fn bench(specification: &Specification, name: &str) -> String {
    let unit = specification.unit();
    let has_flags = !specification.flags().is_empty();
    // Each field takes whole hexadecimal digits, flags two.
    let fields: Vec<(String, u32, u32)> = unit
        .operands()
        .iter()
        .map(|field| (if field.name == "R" { "random".to_owned() } else { field.name.clone() }, field.bits))
        .chain(unit.results().iter().map(|field| ("expected".to_owned(), field.bits)))
        .chain([("expected_flags".to_owned(), 8)])
        .map(|(name, bits)| (name, bits, bits.div_ceil(4) * 4))
        .collect();
    let width: u32 = fields.iter().map(|(_, _, padded)| padded).sum();
    let flag_bits =
        has_flags.then(|| 8 - specification.flags().bits_in(specification.order()).leading_zeros());

    let bias = if specification.has_bias_port() { " +bias=B" } else { "" };
    let mut text = comment_lines(
        &format!(
            "Runs the words of a $readmemh file through {name} and compares what it gives with what they say.\n\n  smallfloat vectors gen --op ... \
             --layout readmemh -o vectors.hex\n  iverilog -g2012 -P {name}_testbench.LINES=$(grep -vc '^//' vectors.hex) -o bench *.sv\n  \
             vvp -n bench +vectors=vectors.hex{bias}\n\nWith +print it prints each word again with the unit's results, for `smallfloat vectors \
             check --prefix \"RESULT \"`."
        ),
        0,
    );
    // Writing to a string can't fail.
    let _ = writeln!(text, "module {name}_testbench;");
    let _ = writeln!(text, "    parameter LINES = 1;\n");
    let _ = writeln!(text, "    reg  {:13} vectors [0:LINES-1];", format!("[{}:0]", width - 1));
    let _ = writeln!(text, "    reg  {:13} word;", format!("[{}:0]", width - 1));
    text.push_str("    reg  [8*256:1]     path;\n    reg                prints;\n    integer            i, ok, wrong;\n");
    if specification.has_bias_port() {
        text.push_str("    reg  [5:0]         bias;\n");
    }
    let _ = writeln!(text, "\n    // The fields of a word, from the top.");
    let mut low = width;
    let mut connections = Vec::new();
    let last = fields.len() - 2;
    for (i, (field, bits, padded)) in fields.iter().enumerate() {
        low -= padded;
        let range = format!("[{}:0]", bits - 1);
        let _ = writeln!(text, "    wire {range:13} {field} = word[{}:{low}];", low + bits - 1);
        if i < last {
            connections.push(format!(".{field}({field})"));
        }
    }
    let (_, result_bits, result_padded) = fields[last];
    let _ = writeln!(text, "    wire {:13} result;", format!("[{}:0]", result_bits - 1));
    if specification.has_bias_port() {
        connections.push(".bias(bias)".to_owned());
    }
    connections.push(".result(result)".to_owned());
    match flag_bits {
        Some(bits) => {
            let _ = writeln!(text, "    wire {:13} flags;", format!("[{}:0]", bits - 1));
            let pad = if bits < 8 { format!("{{{}'b0, flags}}", 8 - bits) } else { "flags".into() };
            let _ = writeln!(text, "    wire [7:0]         all_flags = {pad};");
            connections.push(".flags(flags)".to_owned());
        }
        // Without flags the word's own are printed again.
        None => text.push_str("    wire [7:0]         all_flags = expected_flags;\n"),
    }
    let _ = writeln!(text, "\n    {name} unit ({});\n", connections.join(", "));
    text.push_str(
        "    initial begin\n        ok = $value$plusargs(\"vectors=%s\", path);\n        if (ok == 0) $fatal(1, \"+vectors=FILE is missing: \
         the file of `smallfloat vectors gen --layout readmemh`\");\n",
    );
    if specification.has_bias_port() {
        text.push_str(
            "        ok = $value$plusargs(\"bias=%d\", bias);\n        if (ok == 0) $fatal(1, \"+bias=B is missing: the bias of the \
             vectors, 0 to 63\");\n",
        );
    }
    let operands: Vec<&str> = fields[..last].iter().map(|(name, ..)| name.as_str()).collect();
    let operand_high = width - 1;
    let operand_low = result_padded + 8;
    let shown = if result_padded == result_bits {
        "result".to_owned()
    } else {
        format!("{{{}'b0, result}}", result_padded - result_bits)
    };
    let _ = write!(
        text,
        "        prints = $test$plusargs(\"print\") != 0;\n        wrong = 0;\n        $readmemh(path, vectors);\n        for (i = 0; i < \
         LINES; i = i + 1) begin\n            word = vectors[i];\n            #1;\n            if (prints) $display(\"RESULT %h%h%h\", \
         word[{operand_high}:{operand_low}], {shown}, all_flags);\n            if (result !== expected || all_flags !== expected_flags) \
         begin\n                wrong = wrong + 1;\n                if (wrong <= 10 && !prints)\n                    $display(\"WRONG {}: \
         %h flags %h, expected %h flags %h\", {}, result, all_flags, expected, expected_flags);\n            end\n        end\n        if \
         (wrong != 0) $display(\"FAILED: %0d of %0d vectors\", wrong, LINES);\n        else $display(\"PASSED: %0d vectors\", LINES);\n        \
         $finish;\n    end\nendmodule\n",
        operands.iter().map(|name| format!("{name} %h")).collect::<Vec<_>>().join(" "),
        operands.join(", "),
    );
    text
}
