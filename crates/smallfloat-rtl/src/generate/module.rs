//! The text of one module: named signals in sections. What no output needs is left out, so that a
//! stage may offer more signals than a unit uses and the unit stays free of lint.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::iter;

/// How wide comments and continued expressions are.
const COLUMNS: usize = 100;

/// The signal that reads what has no effect; tools do not warn of such a name.
const UNUSED: &str = "unused";

/// A module being written.
pub(super) struct Module {
    name: String,
    ports: Vec<Port>,
    items: Vec<Item>,
}

struct Port {
    output: bool,
    width: u32,
    name: String,
    comment: String,
}

#[derive(Clone)]
enum Item {
    Section { title: String, comment: String },
    Comment(String),
    Signal(Signal),
}

#[derive(Clone)]
struct Signal {
    kind: &'static str,
    range: String,
    name: String,
    expression: String,
    comment: String,
}

/// The range of a vector, with a space; nothing for one bit.
fn range(width: u32) -> String {
    if width == 1 { String::new() } else { format!("[{}:0]", width - 1) }
}

/// An expression's names and numbers, and what stands between them.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '\'';
    let mut rest = text;
    iter::from_fn(move || {
        let first = is_word(rest.chars().next()?);
        let end = rest.find(|c| is_word(c) != first).unwrap_or(rest.len());
        let (token, after) = rest.split_at(end);
        rest = after;
        Some(token)
    })
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

/// Whether an expression is a name alone, or a constant bit.
fn is_name_or_bit(expression: &str) -> bool {
    let mut tokens = tokens(expression);
    let first = tokens.next().unwrap_or_default();
    tokens.next().is_none() && (is_name(first) || matches!(first, "1'b0" | "1'b1"))
}

/// The names that outputs need.
fn needed(items: &[Item]) -> HashSet<&str> {
    let signals = || {
        items.iter().filter_map(|item| match item {
            Item::Signal(signal) => Some(signal),
            _ => None,
        })
    };
    let mut needed = HashSet::new();
    let mut open: Vec<&Signal> = signals().filter(|s| s.kind == "assign").collect();
    while let Some(signal) = open.pop() {
        for name in tokens(&signal.expression).filter(|token| is_name(token)) {
            if needed.insert(name) {
                open.extend(signals().filter(|s| s.name == name));
            }
        }
    }
    needed
}

impl Module {
    pub(super) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ports: Vec::new(), items: Vec::new() }
    }

    pub(super) fn input(&mut self, name: &str, width: u32, comment: impl Into<String>) {
        let comment = comment.into();
        self.ports.push(Port { output: false, width, name: name.to_owned(), comment });
    }

    pub(super) fn output(&mut self, name: &str, width: u32, comment: impl Into<String>) {
        let comment = comment.into();
        self.ports.push(Port { output: true, width, name: name.to_owned(), comment });
    }

    /// Begins a section; its signals are aligned with each other.
    pub(super) fn section(&mut self, title: impl Into<String>, comment: impl Into<String>) {
        self.items.push(Item::Section { title: title.into(), comment: comment.into() });
    }

    /// A comment on the signal that follows; it goes where that goes.
    pub(super) fn comment(&mut self, text: impl Into<String>) {
        self.items.push(Item::Comment(text.into()));
    }

    fn signal(&mut self, kind: &'static str, range: String, name: &str, expression: String) -> &mut String {
        let comment = String::new();
        self.items.push(Item::Signal(Signal { kind, range, name: name.to_owned(), expression, comment }));
        match self.items.last_mut() {
            Some(Item::Signal(signal)) => &mut signal.comment,
            _ => unreachable!("it was pushed"),
        }
    }

    /// A constant of so many bits; returns where its comment goes.
    pub(super) fn constant(&mut self, name: &str, width: u32, value: impl Into<String>) -> &mut String {
        self.signal("localparam", range(width), name, value.into())
    }

    /// A signed constant.
    pub(super) fn signed_constant(
        &mut self,
        name: &str,
        width: u32,
        value: impl Into<String>,
    ) -> &mut String {
        self.signal("localparam", format!("signed {}", range(width)), name, value.into())
    }

    /// A signal of so many bits; returns where its comment goes.
    pub(super) fn wire(&mut self, name: &str, width: u32, expression: impl Into<String>) -> &mut String {
        self.signal("wire", range(width), name, expression.into())
    }

    /// A signed signal.
    pub(super) fn signed_wire(
        &mut self,
        name: &str,
        width: u32,
        expression: impl Into<String>,
    ) -> &mut String {
        self.signal("wire", format!("signed {}", range(width)), name, expression.into())
    }

    /// The value of an output.
    pub(super) fn assign(&mut self, name: &str, expression: impl Into<String>) {
        self.signal("assign", String::new(), name, expression.into());
    }

    /// The signals with the names in their expressions resolved: a signal that is only another
    /// name, or a constant bit, is replaced by it.
    fn resolved(&self) -> Vec<Item> {
        let mut aliases: HashMap<&str, &str> = HashMap::new();
        for item in &self.items {
            if let Item::Signal(signal) = item
                && signal.kind == "wire"
                && is_name_or_bit(&signal.expression)
            {
                aliases.insert(&signal.name, &signal.expression);
            }
        }
        let resolve = |expression: &str| {
            let mut text = String::new();
            for token in tokens(expression) {
                let mut name = token;
                while let Some(target) = aliases.get(name) {
                    name = target;
                }
                text.push_str(name);
            }
            text
        };
        self.items
            .iter()
            .map(|item| match item {
                Item::Signal(signal) => {
                    Item::Signal(Signal { expression: resolve(&signal.expression), ..signal.clone() })
                }
                Item::Section { .. } | Item::Comment(_) => item.clone(),
            })
            .collect()
    }

    /// The names of the inputs that nothing reads.
    pub(super) fn unused_inputs(&self) -> Vec<String> {
        let items = self.resolved();
        let needed = needed(&items);
        let unused = |port: &&Port| !port.output && !needed.contains(port.name.as_str());
        self.ports.iter().filter(unused).map(|port| port.name.clone()).collect()
    }

    /// Returns whether an output depends on a signal.
    pub(super) fn reads(&self, name: &str) -> bool {
        needed(&self.resolved()).contains(name)
    }

    /// Reads what no output depends on, in the way that lint tools know.
    pub(super) fn read_unused(&mut self, bits: &[String]) {
        if !bits.is_empty() {
            self.section("Without effect", "No output depends on these.");
            self.wire(UNUSED, 1, format!("&{{1'b0, {}}}", bits.join(", ")));
        }
    }

    /// The module's text.
    pub(super) fn text(&self) -> String {
        let items = self.resolved();
        let needed = needed(&items);
        let is_kept = |s: &Signal| s.kind == "assign" || s.name == UNUSED || needed.contains(s.name.as_str());
        let mut text = String::new();
        // Writing to a string can't fail.
        let _ = writeln!(text, "module {} (", self.name);
        let wide = self.ports.iter().map(|port| range(port.width).len()).max().unwrap_or(0);
        let ports: Vec<(String, &str)> = self
            .ports
            .iter()
            .enumerate()
            .map(|(i, port)| {
                let direction = if port.output { "output" } else { "input " };
                let comma = if i + 1 < self.ports.len() { "," } else { "" };
                let range = range(port.width);
                (format!("    {direction} wire {range:wide$} {}{comma}", port.name), port.comment.as_str())
            })
            .collect();
        let longest = ports.iter().map(|(port, _)| port.len()).max().unwrap_or(0);
        for (port, comment) in &ports {
            let line =
                if comment.is_empty() { port.clone() } else { format!("{port:longest$}  // {comment}") };
            let _ = writeln!(text, "{}", line.trim_end());
        }
        text.push_str(");");

        // A section is what stands up to the next one.
        let starts: Vec<usize> = (0..items.len())
            .filter(|&i| matches!(items[i], Item::Section { .. }))
            .chain([items.len()])
            .collect();
        for section in starts.windows(2) {
            let items = &items[section[0]..section[1]];
            let signals = || {
                items.iter().filter_map(|item| match item {
                    Item::Signal(signal) if is_kept(signal) => Some(signal),
                    _ => None,
                })
            };
            if signals().next().is_none() {
                continue;
            }
            let Item::Section { title, comment } = &items[0] else { unreachable!("starts of sections") };
            let _ = writeln!(
                text,
                "\n    // ---- {title} {}",
                "-".repeat(86_usize.saturating_sub(title.chars().count()))
            );
            if !comment.is_empty() {
                text.push_str(&comment_lines(comment, 4));
            }
            // `assign` has no range, and no other's name is aligned with its.
            let columns = |kind: &str| {
                let of_kind = || {
                    signals()
                        .filter(|s| (s.kind == "localparam") == (kind == "localparam") && s.kind != "assign")
                };
                let range = of_kind().map(|s| s.range.len()).max().unwrap_or(0);
                let name = of_kind().map(|s| s.name.len()).filter(|length| *length <= 16).max().unwrap_or(0);
                (range, name)
            };
            let mut pending = None;
            for item in &items[1..] {
                match item {
                    Item::Comment(comment) => pending = Some(comment),
                    Item::Signal(signal) if is_kept(signal) => {
                        if let Some(comment) = pending.take() {
                            text.push_str(&comment_lines(comment, 4));
                        }
                        let Signal { kind, range, name, expression, comment } = signal;
                        let (ranges, names) = columns(kind);
                        let left = match *kind {
                            "assign" => format!("    assign {name} = "),
                            _ if ranges == 0 => format!("    {kind} {name:names$} = "),
                            _ => format!("    {kind} {range:ranges$} {name:names$} = "),
                        };
                        text.push_str(&statement(&left, expression, comment));
                    }
                    Item::Signal(_) => pending = None,
                    Item::Section { .. } => unreachable!("sections do not nest"),
                }
            }
        }
        text.push_str("endmodule\n");
        text
    }
}

/// A comment wrapped to the page; lines of its own stay.
pub(super) fn comment_lines(text: &str, indent: usize) -> String {
    let mut lines = String::new();
    for paragraph in text.split('\n') {
        let mut line = format!("{:indent$}//", "");
        for word in paragraph.split(' ') {
            if line.chars().count() + 1 + word.chars().count() > COLUMNS && !line.trim_end().ends_with("//") {
                lines.push_str(line.trim_end());
                lines.push('\n');
                line = format!("{:indent$}//", "");
            }
            line.push(' ');
            line.push_str(word);
        }
        lines.push_str(line.trim_end());
        lines.push('\n');
    }
    lines
}

/// A statement on lines of the page's width; a comment that does not fit stands above it.
fn statement(left: &str, expression: &str, comment: &str) -> String {
    let indent = left.chars().count();
    let mut lines: Vec<String> = Vec::new();
    let tab = expression.split('\n').filter_map(|line| line.find('\t')).max().unwrap_or(0);
    for (i, part) in expression.split('\n').enumerate() {
        let part = match part.split_once('\t') {
            Some((before, after)) => format!("{before:tab$} {after}"),
            None => part.to_owned(),
        };
        let mut line = if i == 0 { format!("{left}{part}") } else { format!("{:indent$}{part}", "") };
        // What does not fit is broken before an operator.
        while line.len() >= COLUMNS {
            let head = &line[indent..COLUMNS];
            let breaks = [" || ", " && ", " ? ", " : ", " + ", " - "];
            let Some(at) = breaks.iter().filter_map(|operator| head.rfind(operator)).max() else { break };
            let rest = format!("{:1$}{2}", "", indent + 2, &line[indent + at + 1..]);
            line.truncate(indent + at);
            lines.push(std::mem::replace(&mut line, rest));
        }
        lines.push(line);
    }
    let mut text = lines.join("\n");
    text.push(';');
    if comment.is_empty() {
        text.push('\n');
    } else if lines.len() == 1 && text.len() + 4 + comment.len() <= COLUMNS {
        // Writing to a string can't fail.
        let _ = writeln!(text, "  // {comment}");
    } else {
        let mut sentence = comment.to_owned();
        if let Some(first) = sentence.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        text = format!("{}{text}\n", comment_lines(&format!("{sentence}."), 4));
    }
    text
}

/// A choice by conditions, the first that holds: one line each, with tabs where lines are aligned.
pub(super) fn choose(cases: &[(String, String)], otherwise: &str) -> String {
    let mut text = String::new();
    for (i, (condition, value)) in cases.iter().enumerate() {
        let colon = if i == 0 { "" } else { ": " };
        // Writing to a string can't fail.
        let _ = writeln!(text, "{colon}{condition}\t? {value}");
    }
    if cases.is_empty() { otherwise.to_owned() } else { format!("{text}\t: {otherwise}") }
}

/// A number in so many bits: `8'h7f`.
pub(super) fn hex(width: u32, value: u64) -> String {
    format!("{width}'h{value:0digits$x}", digits = width.div_ceil(4) as usize)
}

/// A number in so many bits, decimal: `3'd4`.
pub(super) fn decimal(width: u32, value: u64) -> String {
    format!("{width}'d{value}")
}

/// A signed number: `-10'sd120`.
pub(super) fn signed(width: u32, value: i64) -> String {
    let sign = if value < 0 { "-" } else { "" };
    format!("{sign}{width}'sd{}", value.unsigned_abs())
}

/// Zeros.
pub(super) fn zeros(width: u32) -> String {
    format!("{width}'b0")
}

/// A name with zeros above it, to so many bits.
pub(super) fn extend(name: &str, from: u32, to: u32) -> String {
    assert!(from <= to, "{name} of {from} bits does not fit {to}");
    if from == to { name.to_owned() } else { format!("{{{}, {name}}}", zeros(to - from)) }
}

/// The bits of a vector of so many bits.
pub(super) fn slice(name: &str, width: u32, high: u32, low: u32) -> String {
    match (high == low, width) {
        (_, 1) => name.to_owned(),
        (_, _) if low == 0 && high + 1 == width => name.to_owned(),
        (true, _) => format!("{name}[{high}]"),
        (false, _) => format!("{name}[{high}:{low}]"),
    }
}

/// How many bits a number from 0 to `largest` takes.
pub(super) fn bits_for(largest: u64) -> u32 {
    (64 - largest.leading_zeros()).max(1)
}

/// How many bits signed numbers of a range take.
pub(super) fn signed_bits(low: i64, high: i64) -> u32 {
    let magnitude = high.max(-(low + 1)).max(0).unsigned_abs();
    1 + (64 - magnitude.leading_zeros())
}

/// A name with zeros below it.
pub(super) fn pad_below(name: &str, count: u32) -> String {
    if count == 0 { name.to_owned() } else { format!("{{{name}, {}}}", zeros(count)) }
}
