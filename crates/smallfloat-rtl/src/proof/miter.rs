//! The miter: design and specification side by side, with one output that says whether they agree.

use std::fmt::Write as _;

use super::{Bound, Design};
use crate::specification::{Port, Specification};

/// The module with the specification.
pub(super) const SPECIFICATION: &str = "smallfloat_specification";
/// The module with the design alone.
pub(super) const DESIGN: &str = "smallfloat_design";
/// The module with both.
pub(super) const MITER: &str = "smallfloat_miter";

fn range(bits: u32) -> String {
    if bits == 1 { String::new() } else { format!("[{}:0] ", bits - 1) }
}

/// The miter of a design whose ports are bound.
pub(super) fn text(design: &Design, specification: &Specification, bound: &Bound) -> String {
    let inputs = specification.inputs();
    let outputs: Vec<Port> = outputs(specification, bound);
    let mut text = String::from(
        "// The design and its specification with the same inputs: equal says whether they agree.\n",
    );
    if design.latency > 0 {
        let edges = design.latency;
        let _ = writeln!(text, "// The design's result belongs to the inputs of {edges} clock edges before.");
    }
    let _ = writeln!(text, "module {MITER} (");
    if design.latency > 0 {
        text.push_str("    input wire clock,\n");
    }
    for port in &inputs {
        let _ = writeln!(text, "    input wire {}{},", range(port.bits), port.name);
    }
    for port in &outputs {
        let _ = writeln!(text, "    output wire {}given_{},", range(port.bits), port.name);
        let _ = writeln!(text, "    output wire {}expected_{},", range(port.bits), port.name);
    }
    text.push_str("    output wire equal\n);\n");

    text += &instance(design, bound);
    let spec_outputs = specification.outputs();
    for port in &spec_outputs {
        let _ = writeln!(text, "    wire {}specified_{};", range(port.bits), port.name);
    }
    let connections: Vec<String> = inputs
        .iter()
        .map(|port| format!(".{0}({0})", port.name))
        .chain(spec_outputs.iter().map(|port| format!(".{0}(specified_{0})", port.name)))
        .collect();
    let _ = writeln!(
        text,
        "    {SPECIFICATION} specification (\n        {}\n    );",
        connections.join(",\n        ")
    );

    for port in &outputs {
        let specified = format!("specified_{}", port.name);
        let own = spec_outputs.iter().find(|own| own.name == port.name).map_or(port.bits, |own| own.bits);
        let specified = match port.bits - own {
            0 => specified,
            zeros => format!("{{{zeros}'b0, {specified}}}"),
        };
        if design.latency == 0 {
            let _ = writeln!(text, "    assign expected_{} = {specified};", port.name);
            continue;
        }
        let (name, width) = (&port.name, range(port.bits));
        let stages: Vec<String> = (1..=design.latency).map(|stage| format!("{name}_after_{stage}")).collect();
        let _ = writeln!(text, "    reg {width}{};", stages.join(", "));
        text.push_str("    always @(posedge clock) begin\n");
        let mut before = specified;
        for stage in &stages {
            let _ = writeln!(text, "        {stage} <= {before};");
            before.clone_from(stage);
        }
        let _ = writeln!(text, "    end\n    assign expected_{name} = {before};");
    }
    let agree: Vec<String> =
        outputs.iter().map(|port| format!("(given_{0} === expected_{0})", port.name)).collect();
    let _ = writeln!(text, "    assign equal = {};\nendmodule", agree.join(" && "));
    text
}

/// The input of [`design_alone`] that has to be 0.
pub(super) const ZERO: &str = "smallfloat_zero";

/// The design with the specification's names of its ports. An input that is 0 goes into each
/// output, since Yosys' map of ports leaves out constant ones.
pub(super) fn design_alone(design: &Design, specification: &Specification, bound: &Bound) -> String {
    let mut ports = vec![format!("input wire {ZERO}")];
    if design.latency > 0 {
        ports.push("input wire clock".to_owned());
    }
    for port in specification.inputs() {
        ports.push(format!("input wire {}{}", range(port.bits), port.name));
    }
    let mut wires = String::new();
    for Port { name, bits } in outputs(specification, bound) {
        let range = range(bits);
        ports.push(format!("output wire {range}held_{name}"));
        let _ = writeln!(wires, "    wire {range}given_{name};");
        let _ = writeln!(wires, "    assign held_{name} = given_{name} ^ {{{bits}{{{ZERO}}}}};");
    }
    format!(
        "module {DESIGN} (\n    {}\n);\n{wires}{}endmodule\n",
        ports.join(",\n    "),
        instance(design, bound)
    )
}

/// The design's instance.
fn instance(design: &Design, bound: &Bound) -> String {
    let parameters: Vec<String> =
        design.parameters.iter().map(|(name, value)| format!(".{name}({value})")).collect();
    let parameters =
        if parameters.is_empty() { String::new() } else { format!("#({}) ", parameters.join(", ")) };
    let connections: Vec<String> =
        bound.connections.iter().map(|(name, value)| format!(".{name}({value})")).collect();
    format!("    {} {parameters}dut (\n        {}\n    );\n", design.top, connections.join(",\n        "))
}

/// The outputs that are compared, as wide as the design has them.
pub(super) fn outputs(specification: &Specification, bound: &Bound) -> Vec<Port> {
    let wide = |mut port: Port| {
        if port.name == "flags" {
            port.bits = bound.flag_bits?;
        }
        Some(port)
    };
    specification.outputs().into_iter().filter_map(wide).collect()
}
