//! Units as readable SystemVerilog: conversions, sums, products and FMA of any formats.
//!
//! | file | what |
//! | --- | --- |
//! | `module` | the text: named signals in sections, without those that nothing needs |
//! | `operand` | how a code is read |
//! | `exact`, `sum` | the result before it is rounded |
//! | `round` | rounding, on indices |
//! | `bench` | a test bench that reads test vectors |
//! | `verification` | what a file says of its proof |
//! | `special` | what is not a number, and what a policy says of it |

mod bench;
mod exact;
mod module;
mod operand;
mod round;
mod special;
mod sum;
mod verification;

use std::fmt::Write as _;

use smallfloat::ops::Operation;
use smallfloat::p3109::Function;
use smallfloat::{Rounding, Subnormals};

use crate::error::Error;
use crate::names::check_name;
use crate::specification::Specification;

use exact::{Exact, Task};
use module::{Module, comment_lines};
use operand::Operand;

/// The operations that are written.
const WRITTEN: &str = "only conversions, sums, differences, products and FMA are";

/// A unit in SystemVerilog.
#[derive(Clone, Debug)]
pub struct Generated {
    /// The module's name.
    pub name: String,
    /// What the unit is, as a comment: operation, formats, rounding, flags.
    pub header: String,
    /// The module.
    pub module: String,
    /// A test bench that reads test vectors.
    pub test_bench: String,
}

/// Writes a unit that computes what a specification says: a conversion, a sum, a product or both at
/// once (FMA).
///
/// # Errors
/// Operations, formats and policies that the generator does not write; the error says which it
/// does. What is no name.
pub fn generate(specification: &Specification, name: &str) -> Result<Generated, Error> {
    check_name(name)?;
    let unit = specification.unit();
    let call = unit.operation();
    let refuse =
        |reason: &str| Error::NotGenerated { operation: call.to_string(), reason: reason.to_owned() };
    let Function::Numeric(operation) = call.function() else {
        return Err(refuse(WRITTEN));
    };
    let is_known = exact::is_sum(operation) || matches!(operation, Operation::Convert | Operation::Multiply);
    if !is_known {
        return Err(refuse(WRITTEN));
    }
    let arithmetic = call.arithmetic();
    if arithmetic.scale != 0 || arithmetic.operand_clamp {
        return Err(refuse("operations with a scale or with `operand-clamp` are not"));
    }
    let has_port = |format: &smallfloat::Format| specification.has_bias_port() && format.has_free_bias();
    let letters = ["x", "y", "z"];
    let operands: Vec<Operand<'_>> = call
        .operands()
        .iter()
        .zip(letters)
        .map(|(format, name)| Operand { name, format: *format, has_bias_port: has_port(format) })
        .collect();
    let to = *call.result().ok_or_else(|| refuse("only operations whose result has a format are"))?;
    let result = Operand { name: "result", format: to, has_bias_port: has_port(&to) };
    if operands.iter().chain([&result]).any(|operand| operand.format.width() > 32) {
        return Err(refuse("only formats of at most 32 bits are"));
    }
    if to.subnormals() == Subnormals::None && to.trailing_bits() > 0 && to.has_zero() {
        return Err(refuse("results with `subnormals=none` are not"));
    }
    if to.subnormals() == Subnormals::Tesla && to.trailing_bits() == 0 {
        return Err(refuse("results with Tesla's denormals and a precision of 1 are not"));
    }
    let [projection] = call.projections() else { return Err(refuse("only operations with one result are")) };
    if matches!(projection.rounding, Rounding::StochasticB(_) | Rounding::StochasticC(_)) {
        return Err(refuse("of the stochastic roundings only StochasticA is"));
    }
    let ports = operands.iter().filter(|operand| operand.has_bias_port).count();
    if exact::is_sum(operation) && ports > 0 && ports < operands.len() {
        return Err(refuse("a sum of which only some operands have the bias of the port is not"));
    }

    let task = Task {
        operation,
        operands: &operands,
        result: &result,
        rounding: projection.rounding,
        tininess: call.flag_policy().tininess,
    };
    let special = special::Special::new(specification, &task)?;
    let mut module = Module::new(name);
    for operand in &operands {
        module.input(operand.name, operand.format.width(), shown(specification, &operand.format.to_string()));
    }
    if let Some(bits) = projection.rounding.random_bits() {
        module.input("random", bits.count(), "uniform random bits");
    }
    if specification.has_bias_port() {
        module.input("bias", 6, "of Tesla's formats, 0 to 63");
    }
    module.output("result", to.width(), shown(specification, &to.to_string()));
    if !specification.flags().is_empty() {
        module.output("flags", special.flag_bits(), special.flag_names());
    }
    for operand in &operands {
        operand.declare(&mut module);
    }
    let exact = Exact::declare(&mut module, &task);
    let bits = exact.field_bits(&task);
    module.section("Exponent", "The field that the significand's top bit would have in the result's format.");
    exact.declare_field(&mut module, &task, bits);
    let rounded = round::declare(&mut module, &exact, &task, bits.1);
    special.declare(&mut module, &exact, &rounded, &task);
    let mut unused = module.unused_inputs();
    unused.extend(exact.unread);
    unused.extend(rounded.unread);
    // A random word without flags asks for none of them.
    unused.extend(rounded.below.filter(|_| !module.reads("rest")));
    module.read_unused(&unused);

    let mut header = format!("{name}: {}. Combinational.\n", shown(specification, &call.to_string()));
    let all: Vec<&Operand<'_>> = operands.iter().chain([&result]).collect();
    for (i, operand) in all.iter().enumerate() {
        let is_alike = |other: &&&Operand<'_>| other.format == operand.format;
        if all[..i].iter().any(|other| is_alike(&other)) {
            continue;
        }
        let names: Vec<&str> = all.iter().filter(is_alike).map(|operand| operand.name).collect();
        let format = shown(specification, &operand.format.to_string());
        // Writing to a string can't fail.
        let _ = write!(header, "\n{}, {format}: {}", names.join(", "), operand.description());
    }
    let _ = write!(header, "\n\n{}", special.summary());
    Ok(Generated {
        name: name.to_owned(),
        header: comment_lines(&header, 0),
        module: module.text(),
        test_bench: bench::bench(specification, name),
    })
}

/// A text that names formats, without the bias where that is a port.
fn shown(specification: &Specification, text: &str) -> String {
    if !specification.has_bias_port() {
        return text.to_owned();
    }
    let mut parts = text.split(":bias=");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_free = ["cfloat8_1_4_3", "cfloat8_1_5_2", "shp"].iter().any(|name| shown.ends_with(name));
        shown.push_str(if is_free { ":bias=port" } else { ":bias=" });
        shown.push_str(if is_free { part.trim_start_matches(|c: char| c.is_ascii_digit()) } else { part });
    }
    shown
}
