//! Mutants: one operator or constant changed, one input answered wrongly, or a mistake that the
//! unit has a parameter for.

use super::units::Unit;

/// A unit with a mistake.
pub(crate) struct Mutant {
    /// The mistake.
    pub(crate) what: String,
    pub(crate) text: String,
    pub(crate) parameters: Vec<(String, i64)>,
    /// Whether it is known to be one: some changes of text have no effect.
    pub(crate) must_differ: bool,
    /// Whether one input alone is wrong.
    pub(crate) is_single: bool,
}

/// What is replaced by what, wherever it stands in a statement.
const CHANGES: [(&str, &str); 14] = [
    (" && ", " || "),
    (" || ", " && "),
    (" > ", " >= "),
    (" >= ", " > "),
    (" < ", " <= "),
    (" + ", " - "),
    (" - ", " + "),
    (" >> ", " << "),
    (" ^ ", " | "),
    (" != ", " == "),
    ("= |", "= &"),
    ("(&", "(|"),
    ("!", ""),
    ("1'b0, ", "1'b1, "),
];

/// All mutants of a unit, or some.
pub(crate) fn all(unit: &Unit, is_extensive: bool) -> Vec<Mutant> {
    let mut mutants = Vec::new();
    for parameters in &unit.mistakes {
        let mut all = unit.parameters.clone();
        all.extend(parameters.iter().map(|(name, value)| ((*name).to_owned(), *value)));
        mutants.push(Mutant {
            what: format!("{parameters:?}"),
            text: unit.text.clone(),
            parameters: all,
            must_differ: true,
            is_single: false,
        });
    }
    if unit.latency == 0 {
        mutants.extend(
            unit.inputs.iter().take(if is_extensive { 8 } else { 1 }).map(|inputs| single(unit, inputs)),
        );
    }
    let changed = changed(unit);
    let most = if is_extensive { unit.most_changes } else { 3 };
    // Evenly spread over the text.
    let step = changed.len().div_ceil(most.max(1)).max(1);
    mutants.extend(changed.into_iter().step_by(step));
    mutants
}

/// The unit with another answer to one input.
fn single(unit: &Unit, (condition, wrong): &(String, String)) -> Mutant {
    let inner = format!("{}_right", unit.top);
    let text = unit.text.replacen(&format!("module {} ", unit.top), &format!("module {inner} "), 1);
    let specification = &unit.specification;
    let range = |bits: u32| if bits == 1 { String::new() } else { format!("[{}:0] ", bits - 1) };
    // Under the design's own names.
    let name = |port: &str| unit.port(port);
    let inputs: Vec<String> = specification
        .inputs()
        .iter()
        .map(|port| format!("input wire {}{}", range(port.bits), name(&port.name)))
        .collect();
    let tied: Vec<String> = unit.ties.iter().map(|(name, _)| format!("input wire {name}")).collect();
    let outputs: Vec<String> = specification
        .outputs()
        .iter()
        .map(|port| format!("output wire {}{}", range(unit.width(port)), name(&port.name)))
        .collect();
    let ports = [inputs, tied, outputs].concat().join(", ");
    let parameters: Vec<String> =
        unit.parameters.iter().map(|(name, value)| format!(".{name}({value})")).collect();
    let parameters =
        if parameters.is_empty() { String::new() } else { format!("#({}) ", parameters.join(",")) };
    let connections: Vec<String> = specification
        .inputs()
        .iter()
        .map(|port| name(&port.name))
        .chain(unit.ties.iter().map(|(name, _)| (*name).to_owned()))
        .map(|name| format!(".{name}({name})"))
        .chain(specification.outputs().iter().map(|port| format!(".{0}(right_{0})", name(&port.name))))
        .collect();
    let mut body = String::new();
    for port in specification.outputs() {
        let (bits, name) = (unit.width(&port), name(&port.name));
        let change = if port.name == *wrong {
            // Of flags a bit that the unit has.
            let flags = specification.flags().bits_in(specification.order());
            let bit = if port.name == "flags" { flags & flags.wrapping_neg() } else { 1 };
            format!(" ^ {{{bits}{{({condition})}}}} & {bits}'d{bit}")
        } else {
            String::new()
        };
        body += "    wire ";
        body += &range(bits);
        body.extend([format!("right_{name};\n    assign {name} = right_{name}{change};\n")]);
    }
    let wrapper = format!(
        "\nmodule {} ({ports});\n{body}    {inner} {parameters}unit ({});\nendmodule\n",
        unit.top,
        connections.join(", ")
    );
    Mutant {
        what: format!("{wrong} wrong where {condition}"),
        text: text + &wrapper,
        // The wrapper has none.
        parameters: Vec::new(),
        must_differ: true,
        is_single: true,
    }
}

/// Each change at each place of each statement.
fn changed(unit: &Unit) -> Vec<Mutant> {
    let mut mutants = Vec::new();
    for (number, line) in unit.text.lines().enumerate() {
        let code = line.split("//").next().unwrap_or_default();
        let is_statement = !code.trim().is_empty()
            && !["module", "input", "output", "parameter", "logic ", "integer", "for "]
                .iter()
                .any(|word| code.trim_start().starts_with(word));
        if !is_statement {
            continue;
        }
        let mut replace = |at: usize, from: &str, to: &str| {
            let changed = format!("{}{to}{}", &line[..at], &line[at + from.len()..]);
            let lines = unit
                .text
                .lines()
                .enumerate()
                .map(|(i, line)| if i == number { changed.as_str() } else { line });
            let text: Vec<&str> = lines.collect();
            mutants.push(Mutant {
                what: format!("line {}: {}", number + 1, changed.trim()),
                text: text.join("\n") + "\n",
                parameters: unit.parameters.clone(),
                must_differ: false,
                is_single: false,
            });
        };
        for (from, to) in CHANGES {
            for (at, _) in code.match_indices(from) {
                // `!=` is no negation.
                if from != "!" || !code[at..].starts_with("!=") {
                    replace(at, from, to);
                }
            }
        }
        // A constant one larger, where its width allows.
        for marker in ["'d", "'sd"] {
            for (at, _) in code.match_indices(marker) {
                let start = at + marker.len();
                let digits: String = code[start..].chars().take_while(char::is_ascii_digit).collect();
                let width: String = code[..at].chars().rev().take_while(char::is_ascii_digit).collect();
                let width: u32 = width.chars().rev().collect::<String>().parse().unwrap_or(1);
                let Ok(value) = digits.parse::<u64>() else { continue };
                if value + 1 < 1 << (width - u32::from(marker == "'sd")).min(63) {
                    replace(start, &digits, &(value + 1).to_string());
                }
            }
        }
    }
    mutants
}
