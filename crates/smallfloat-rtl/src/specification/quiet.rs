//! NaN results of Arm's and x86's policies: an operand's payload, made quiet.

use smallfloat::{FlagPolicy, Format, NanResult, Specials};

use super::operand::OperandText;
use super::point::Layout;

/// Which NaN a result is where it is an operand's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quieting {
    to: Layout,
}

impl Quieting {
    /// `None` where the projection or the canonical NaN holds.
    pub(super) fn new(policy: FlagPolicy, to: &Format) -> Option<Self> {
        let is_of_operand = matches!(policy.nan, NanResult::Arm | NanResult::X86);
        (is_of_operand && to.has_nan()).then(|| Self { to: Layout::new(to) })
    }

    /// The NaN operand in the result's format; nothing where one of the formats has no payloads.
    pub(super) fn quieted(&self, operand: &OperandText) -> Option<String> {
        let (from, to) = (&operand.layout.format, &self.to.format);
        if !matches!((from.specials(), to.specials()), (Specials::Ieee, Specials::Ieee)) {
            return None;
        }
        let name = &operand.name;
        let (given, wanted) = (from.trailing_bits(), to.trailing_bits());
        let exponent = to.exponent_bits();
        let sign = if to.is_signed() { format!("{name}_sign, ") } else { String::new() };
        // The quiet bit, then what follows it.
        let kept = (given - 1).min(wanted - 1);
        let payload = match kept {
            0 => String::new(),
            1 => format!(", {name}_index[{}]", given - 2),
            _ => format!(", {name}_index[{}:{}]", given - 2, given - 1 - kept),
        };
        let zeros = wanted - 1 - kept;
        let zeros = if zeros == 0 { String::new() } else { format!(", {zeros}'b0") };
        Some(format!("{{{sign}{{{exponent}{{1'b1}}}}, 1'b1{payload}{zeros}}}"))
    }
}
