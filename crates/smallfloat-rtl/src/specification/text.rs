//! SystemVerilog, piece by piece.

use std::fmt::Write as _;

use dashu_int::UBig;

/// A number of so many bits: hexadecimal, or binary where it is one bit.
pub(super) fn literal(bits: u32, value: &UBig) -> String {
    if bits == 1 {
        return format!("1'b{value}");
    }
    let digits = bits.div_ceil(4) as usize;
    format!("{bits}'h{:0>digits$}", format!("{:x}", value))
}

/// `[bits-1:0]`, or nothing for one bit.
pub(super) fn range(bits: u32) -> String {
    if bits == 1 { String::new() } else { format!("[{}:0]", bits - 1) }
}

/// Appends formatted text.
pub(super) fn add(text: &mut String, content: std::fmt::Arguments<'_>) {
    text.write_fmt(content).expect("a string takes all");
}

/// The low bits of a wire that has more.
pub(super) fn low(name: &str, bits: u32) -> String {
    if bits == 1 { format!("{name}[0]") } else { format!("{name}[{}:0]", bits - 1) }
}

/// An expression of fewer bits with zeros before it.
pub(super) fn padded(expression: &str, bits: u32, to: u32) -> String {
    match to - bits {
        0 => expression.to_owned(),
        1 => format!("{{1'b0, {expression}}}"),
        zeros => format!("{{{zeros}'b0, {expression}}}"),
    }
}

/// Appends a wire's declaration.
pub(super) fn declare(text: &mut String, bits: u32, name: &str, value: &str) {
    let range = if bits == 1 { String::new() } else { format!("[{}:0] ", bits - 1) };
    writeln!(text, "    wire {range}{name} = {value};").expect("a string takes all");
}

/// A comment, wrapped at 100 columns.
pub(super) fn comment(indent: usize, content: &str) -> String {
    let mut text = String::new();
    let margin = " ".repeat(indent);
    let mut line = format!("{margin}//");
    for word in content.split_whitespace() {
        if line.len() + 1 + word.len() > 100 {
            text.push_str(&line);
            text.push('\n');
            line = format!("{margin}//");
        }
        line.push(' ');
        line.push_str(word);
    }
    text.push_str(&line);
    text.push('\n');
    text
}
