//! [`Specification`]: what a unit has to compute, as readable SystemVerilog.
//!
//! | file | what |
//! | --- | --- |
//! | `convert.rs` | conversions: thresholds on the operand's own code |
//! | `arithmetic.rs` | sums and products: an exact integer, then thresholds |
//! | `dot.rs` | dot products of blocks: the same, times the scales |
//! | `table.rs` | everything else whose operands have few bits together |
//! | `round.rs`, `steps.rs` | results of up to 8 bits: a staircase whose steps the core gives |
//! | `straight.rs` | wider results and random words: positions between two codes |
//!
//! Nothing here rounds: each threshold and each code of a special case is the core's answer.

mod arithmetic;
mod convert;
mod dot;
mod key;
mod operand;
mod point;
mod quiet;
mod round;
mod steps;
mod straight;
mod table;
mod text;

use smallfloat::ops::{Operation, Semantics};
use smallfloat::p3109::{BlockFunction, Function};
use smallfloat::{DenormalRule, FlagOrder, FlagPolicy, Flags, Format, NanResult, NegativeZero, Projection};
use smallfloat_conformance::vectors::{FlagSet, UnitUnderTest};

use crate::error::Error;
use crate::names::check_name;
use crate::specification::operand::line;
use crate::specification::round::Target;
use crate::specification::text::{add, comment, declare, without_unread};

/// The specification of a unit: an operation with formats and policies, the flags that it gives and
/// their order, and whether a bias is a port.
#[derive(Clone, Debug)]
pub struct Specification {
    unit: UnitUnderTest,
    flags: Flags,
    order: FlagOrder,
    bias_port: Option<Biased>,
}

/// A port of a specification.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Port {
    /// Its name.
    pub name: String,
    /// Its width in bits.
    pub bits: u32,
}

/// Which formats take their bias from the port.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Biased {
    operands: Vec<bool>,
    result: bool,
    /// The largest bias; the smallest is 0.
    max: u32,
    /// The port's width.
    bits: u32,
}

/// A numeric operation as the parts of a specification need it.
struct Call {
    operands: Vec<Format>,
    target: Target,
    is_p3109: bool,
    /// The exact result is multiplied by 2^scale.
    scale: i32,
    biased: Option<Biased>,
}

impl Specification {
    /// Returns the specification of a unit with the flags of its policy in the order of `fflags`,
    /// and the biases that its formats have.
    ///
    /// ```
    /// use smallfloat_conformance::vectors::UnitUnderTest;
    /// use smallfloat_rtl::Specification;
    /// let unit = UnitUnderTest::convert(&"binary32".parse()?, &"e4m3fn".parse()?, None, None, None)?;
    /// let text = Specification::new(unit)?.text("to_e4m3fn")?;
    /// // 1.0625 is the middle between 1 and 1.125, a tie that goes to the even code.
    /// assert!(text.contains("if (magnitude >= 31'h3f880001) code_of = 8'h39; // above 1.0625: 1.125"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Operations that are not specified in SystemVerilog.
    pub fn new(unit: UnitUnderTest) -> Result<Self, Error> {
        let flags = FlagSet::of(unit.flag_policy()).mask();
        Ok(Self { unit, flags, order: FlagOrder::Fflags, bias_port: None })
    }

    /// Returns the specification with these flags instead; with none of them, of values alone.
    #[must_use]
    pub fn with_flags(self, flags: Flags) -> Self {
        Self { flags, ..self }
    }

    /// Returns the specification with the flags in another order.
    #[must_use]
    pub fn with_order(self, order: FlagOrder) -> Self {
        Self { order, ..self }
    }

    /// Returns the specification with a port `bias`: the bias of all formats in it whose bias can
    /// be chosen, instead of the one that they have.
    ///
    /// # Errors
    /// No format with a configurable bias, and operations for which the bias has to be a constant.
    pub fn with_bias_port(self) -> Result<Self, Error> {
        let operation = self.unit.operation();
        let ranges = operation.formats().iter().map(Format::bias_range);
        let free: Vec<bool> = operation.formats().iter().map(takes_bias).collect();
        let max =
            ranges.zip(&free).filter(|(_, free)| **free).filter_map(|(range, _)| range).collect::<Vec<_>>();
        let not = |reason: &str| self.not_specified(reason);
        let Some(&(least, most)) = max.first() else {
            return Err(not("none of its formats has a bias that can be a port"));
        };
        let is_whole =
            least == 0 && (most + 1).unsigned_abs().is_power_of_two() && max.iter().all(|r| *r == max[0]);
        let numeric = matches!(self.unit.operation().function(), Function::Numeric(operation)
            if operation == Operation::Convert || arithmetic::is_exact(operation));
        if !is_whole || !numeric {
            return Err(not("the bias has to be a constant"));
        }
        let (operands, result) = free.split_at(free.len() - 1);
        let max = most.unsigned_abs();
        let bits = u32::BITS - max.leading_zeros();
        let biased = Biased { operands: operands.to_vec(), result: result[0], max, bits };
        let unit = unit_at(&self.unit, 0)?;
        Ok(Self { unit, bias_port: Some(biased), ..self })
    }

    /// Returns the unit; where the bias is a port, the one with bias 0.
    pub fn unit(&self) -> &UnitUnderTest {
        &self.unit
    }

    /// Returns the unit with a bias, where the bias is a port.
    ///
    /// # Errors
    /// A bias that the formats do not have.
    pub fn unit_with(&self, bias: Option<i32>) -> Result<UnitUnderTest, Error> {
        bias.map_or_else(|| Ok(self.unit.clone()), |bias| unit_at(&self.unit, bias))
    }

    /// Returns the flags that it gives.
    pub fn flags(&self) -> Flags {
        self.flags
    }

    /// Returns where each flag stands in the port `flags`.
    pub fn order(&self) -> FlagOrder {
        self.order
    }

    /// Returns whether the bias is a port.
    pub fn has_bias_port(&self) -> bool {
        self.bias_port.is_some()
    }

    /// Returns the input ports: the operands, the random word, the bias.
    pub fn inputs(&self) -> Vec<Port> {
        let fields = self.unit.operands().iter();
        let name = |name: &str| if name == "R" { "random".to_owned() } else { name.to_owned() };
        let mut ports: Vec<Port> =
            fields.map(|field| Port { name: name(&field.name), bits: field.bits }).collect();
        ports.extend(self.bias_port.iter().map(|biased| Port { name: "bias".into(), bits: biased.bits }));
        ports
    }

    /// Returns the output ports: the result, and flags if there are any.
    pub fn outputs(&self) -> Vec<Port> {
        let bits = self.unit.results().first().map_or(1, |field| field.bits);
        let mut ports = vec![Port { name: "result".into(), bits }];
        let places = u8::BITS - self.flags.bits_in(self.order).leading_zeros();
        if places > 0 {
            ports.push(Port { name: "flags".into(), bits: places });
        }
        ports
    }

    /// Returns the module, in SystemVerilog that Yosys, Icarus and Verilator read.
    ///
    /// # Errors
    /// Operations and policies that are not specified in SystemVerilog, and what is no name.
    pub fn text(&self, module: &str) -> Result<String, Error> {
        check_name(module)?;
        let operation = self.unit.operation();
        if self.unit.results().len() != 1 {
            return Err(self.not_specified("its result is not one number"));
        }
        let call = self.call();
        let body = match (operation.function(), call) {
            (Function::Numeric(Operation::Convert), Some(call)) => convert::body(&call),
            (Function::Numeric(numeric), Some(call)) if arithmetic::is_exact(numeric) => {
                arithmetic::body(&call, numeric)
            }
            (Function::Block(BlockFunction::DotProduct), Some(call)) => {
                let fields = self.unit.operands().iter().filter(|field| field.name != "R");
                dot::body(&call, &fields.map(|field| field.name.clone()).collect::<Vec<_>>())
            }
            _ => table::body(self),
        };
        let body = body.map_err(|reason| self.not_specified(&reason))?;
        let mut text = self.header();
        line(&mut text, &format!("module {module} ("));
        let port = |direction: &str, port: &Port| {
            let range = if port.bits == 1 { String::new() } else { format!("[{}:0]", port.bits - 1) };
            format!("    {direction:<6} wire {range:<7} {}", port.name)
        };
        let mut ports: Vec<String> = self.inputs().iter().map(|p| port("input", p)).collect();
        ports.extend(self.outputs().iter().map(|p| port("output", p)));
        line(&mut text, &ports.join(",\n"));
        line(&mut text, ");");
        text += &without_unread(&body, &self.inputs());
        line(&mut text, "endmodule");
        Ok(text)
    }

    /// What the module computes, as comments.
    fn header(&self) -> String {
        let mut text = comment(0, &format!("Specification of {}", self.unit.operation()));
        if let Some(preset) = self.unit.preset() {
            text +=
                &comment(0, &format!("Preset: {preset}. Flags by the rules of {}.", self.unit.flag_policy()));
        } else {
            text += &comment(0, &format!("Flags by the rules of {}.", self.unit.flag_policy()));
        }
        if let Some(biased) = &self.bias_port {
            let formats = "The bias of its formats is the port bias; those named above have bias 0.";
            text += &comment(0, &format!("{formats} It is at most {}.", biased.max));
        }
        let places = self.order.places();
        let mut flags: Vec<(u32, &str)> = Flags::LETTERS
            .iter()
            .zip(places)
            .filter(|((flag, _), _)| self.flags.contains(*flag))
            .map(|((flag, _), place)| (place, flag_name(*flag)))
            .collect();
        flags.sort_unstable();
        if !flags.is_empty() {
            let flags: Vec<String> = flags.iter().map(|(place, name)| format!("{place} {name}")).collect();
            text += &comment(0, &format!("Bits of flags: {}.", flags.join(", ")));
        }
        text
    }

    /// The numeric operation, if the specification is written from its parts.
    fn call(&self) -> Option<Call> {
        let operation = self.unit.operation();
        let arithmetic = operation.arithmetic();
        let is_dot = matches!(operation.function(), Function::Block(BlockFunction::DotProduct));
        if !is_dot && !matches!(operation.function(), Function::Numeric(_)) {
            return None;
        }
        if arithmetic.operand_clamp {
            return None;
        }
        let is_p3109 = arithmetic.semantics == Semantics::P3109;
        let (projection, policy) = self.rules()?;
        let target = Target {
            to: *operation.result()?,
            projection,
            policy,
            mask: self.flags,
            order: self.order,
            is_signed: true,
        };
        Some(Call {
            operands: operation.operands().to_vec(),
            target,
            is_p3109,
            scale: arithmetic.scale,
            biased: self.bias_port.clone(),
        })
    }

    /// The projection and the policy of results: the draft's semantics have one zero, and NaNs
    /// without payloads.
    pub(crate) fn rules(&self) -> Option<(Projection, FlagPolicy)> {
        let operation = self.unit.operation();
        let (projection, policy) = (*operation.projection()?, operation.flag_policy());
        if operation.arithmetic().semantics != Semantics::P3109 {
            return Some((projection, policy));
        }
        Some((projection.with_negative_zero(NegativeZero::Positive), policy.with_nan(NanResult::Projection)))
    }

    fn not_specified(&self, reason: &str) -> Error {
        Error::NotSpecified { operation: self.unit.operation().to_string(), reason: reason.to_owned() }
    }
}

impl Call {
    fn is_x86_denormal(&self) -> bool {
        self.target.policy.denormal == DenormalRule::X86
    }
}

fn flag_name(flag: Flags) -> &'static str {
    match flag {
        Flags::INVALID => "invalid",
        Flags::DENORMAL => "denormal",
        Flags::OVERFLOW => "overflow",
        Flags::UNDERFLOW => "underflow",
        Flags::INEXACT => "inexact",
        _ => "division by zero",
    }
}

/// Returns whether a format's bias is data, as that of Tesla's is.
pub(crate) fn takes_bias(format: &Format) -> bool {
    format.has_free_bias() && matches!(format.bias_range(), Some((0, _)))
}

/// The unit with another bias in all formats whose bias can be chosen.
fn unit_at(unit: &UnitUnderTest, bias: i32) -> Result<UnitUnderTest, Error> {
    let operation = unit.operation();
    let with_bias = |format: &Format| if takes_bias(format) { format.with_bias(bias) } else { Ok(*format) };
    let formats = operation.formats().iter().map(with_bias).collect::<Result<Vec<_>, _>>()?;
    Ok(UnitUnderTest::new(operation.with_formats(&formats)?, unit.preset())?)
}

/// The outputs: special cases in their order, then what is rounded.
fn finish(
    call: &Call,
    target: &Target,
    specials: &[(String, String, String)],
    nan: &str,
    denormal: Option<&str>,
) -> String {
    let mut text = String::new();
    let chain = |last: &str, pick: &dyn Fn(&(String, String, String)) -> String| {
        let mut value = String::new();
        for special in specials {
            add(&mut value, format_args!("({}) ? {}\n        : ", special.0, pick(special)));
        }
        value + last
    };
    line(&mut text, "");
    line(&mut text, &format!("    assign result = {};", chain("rounded", &|special| special.1.clone())));
    if target.mask.is_empty() {
        return text;
    }
    let raised = chain("rounded_flags", &|special| special.2.clone());
    declare(&mut text, target.flag_bits(), "raised", &raised);
    let flag = target.flags(Flags::DENORMAL);
    let none = target.flags(Flags::NONE);
    let value = match (call.target.policy.denormal, denormal) {
        _ if !target.mask.contains(Flags::DENORMAL) => "raised".to_owned(),
        (DenormalRule::Raised, Some(denormal)) => format!("raised | ({denormal} ? {flag} : {none})"),
        (DenormalRule::X86, Some(denormal)) => {
            let invalid = target.flags(Flags::INVALID | Flags::DIVISION_BY_ZERO);
            format!(
                "raised | (({denormal} && !({nan}) && ((raised & {invalid}) == {none})) ? {flag} : {none})"
            )
        }
        _ => "raised".to_owned(),
    };
    line(&mut text, &format!("    assign flags = {value};"));
    text
}
