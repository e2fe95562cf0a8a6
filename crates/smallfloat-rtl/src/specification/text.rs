//! SystemVerilog, piece by piece.

use std::collections::HashSet;
use std::fmt::Write as _;

use dashu_int::UBig;

use super::Port;

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

/// How a register's declaration begins.
const REGISTER: &str = "    reg ";

/// A module's text without the wires that nothing in it reads, so that linters have nothing to say:
/// inputs and registers without effect are read in the way that they know.
pub(super) fn without_unread(body: &str, inputs: &[Port]) -> String {
    let mut lines: Vec<&str> = body.lines().collect();
    loop {
        let mut read = HashSet::new();
        for line in &lines {
            let code = line.split("//").next().unwrap_or_default();
            let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            // What is declared or assigned is not read.
            let value = match code.split_once(" = ") {
                Some((name, value)) if declared(line).is_some() || name.trim().chars().all(is_word) => value,
                _ if code.starts_with(REGISTER) => "",
                _ => code,
            };
            read.extend(value.split(|c| !is_word(c)));
        }
        let is_read = |line: &&str| declared(line).is_none_or(|name| read.contains(name));
        let kept: Vec<&str> = lines.iter().copied().filter(is_read).collect();
        if kept.len() == lines.len() {
            let mut text = kept.join("\n") + "\n";
            let registers = kept.iter().filter_map(|line| line.strip_prefix(REGISTER)?.strip_suffix(';'));
            let registers = registers.map(|register| register.rsplit(' ').next().unwrap_or(register));
            let names = inputs.iter().map(|port| &*port.name).chain(registers);
            let unread: Vec<&str> = names.filter(|name| !read.contains(name)).collect();
            if !unread.is_empty() {
                declare(&mut text, 1, "unused", &format!("&{{1'b0, {}}}", unread.join(", ")));
            }
            return text;
        }
        lines = kept;
    }
}

/// The name of the wire that a line declares.
fn declared(line: &str) -> Option<&str> {
    line.strip_prefix("    wire ")?.split_once(" =")?.0.split(' ').next_back()
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
