//! What is not a finite number in range, as the projection and the flag policy have it. The codes
//! come from the core, so that a unit has constants and no rules of its own.

use smallfloat::ops::Operation;
use smallfloat::{
    DenormalRule, Exact as Value, FlagOrder, FlagPolicy, Flags, Format, InvalidRule, LostInfinity, NanResult,
    NanRule, NegativeRule, NegativeZero, Projection, Specials, ZeroTimesInfinity, project,
};

use super::exact::{Exact, Task, is_sum};
use super::module::{Module, choose, hex};
use super::operand::Operand;
use super::round::{Rounded, largest_index};
use crate::error::Error;
use crate::specification::Specification;

/// Codes for a positive and a negative value.
type Codes = [u64; 2];

/// What a unit gives where rounding does not decide.
pub(super) struct Special {
    to: Format,
    has_bias_port: bool,
    projection: Projection,
    policy: FlagPolicy,
    flags: Flags,
    order: FlagOrder,
    /// By the sign of the NaN operand.
    nan: Codes,
    /// Of an operation without a result.
    invalid: u64,
    infinity: Codes,
    loses_infinity: bool,
    overflow: Codes,
    zero: Codes,
    /// A negative number, and −∞, in an unsigned format.
    negative: Codes,
}

/// Whether −0 is a result.
fn keeps_negative_zero(to: &Format, projection: &Projection) -> bool {
    to.has_negative_zero() && projection.unrepresentable.negative_zero == NegativeZero::Keep
}

impl Special {
    pub(super) fn new(specification: &Specification, task: &Task<'_>) -> Result<Self, Error> {
        let call = specification.unit().operation();
        let refuse =
            |reason: &str| Error::NotGenerated { operation: call.to_string(), reason: reason.to_owned() };
        let to = task.result.format;
        let (projection, policy) =
            specification.rules().ok_or_else(|| refuse("operations without a projection are not"))?;
        let is_ieee = |format: &Format| format.specials() == Specials::Ieee;
        let has_payloads = is_ieee(&to) && task.operands.iter().any(|operand| is_ieee(&operand.format));
        if matches!(policy.nan, NanResult::Arm | NanResult::X86) && has_payloads {
            return Err(refuse(
                "NaNs that keep an operand's payload are not: add `,nan=canonical` to the flag policy, as in \
                 `--flags arm,nan=canonical`",
            ));
        }
        if projection.unrepresentable.negative == NegativeRule::Magnitude && !to.is_signed() {
            return Err(refuse("unsigned results of negative numbers without their sign are not"));
        }
        let code = |value: Value| project(value, &to, &projection).value;
        let quiet = |rule: NanRule, negative: bool| {
            project(Value::Nan { negative }, &to, &projection.with_nan(rule)).value
        };
        let pair = |make: &dyn Fn(bool) -> Value| [false, true].map(|negative| code(make(negative)));
        let far = i32::from(i16::MAX) * 4;
        let has_rule = to.has_nan() && policy.nan != NanResult::Projection;
        let infinity = project(Value::Infinite { negative: false }, &to, &projection);
        Ok(Self {
            to,
            has_bias_port: task.result.has_bias_port,
            projection,
            policy,
            flags: specification.flags(),
            order: specification.order(),
            nan: match policy.nan {
                NanResult::Canonical if has_rule => [quiet(NanRule::Quiet, false); 2],
                _ => pair(&|negative| Value::Nan { negative }),
            },
            invalid: match policy.nan {
                NanResult::X86 if has_rule => quiet(NanRule::QuietSigned, true),
                _ if has_rule => quiet(NanRule::Quiet, false),
                _ => code(Value::Nan { negative: false }),
            },
            infinity: pair(&|negative| Value::Infinite { negative }),
            loses_infinity: infinity.flags.contains(Flags::OVERFLOW),
            overflow: pair(&|negative| Value::finite(negative, 1, far)),
            zero: pair(&|negative| Value::finite(negative, 0, 0)),
            negative: [code(Value::finite(true, 1, far)), code(Value::Infinite { negative: true })],
        })
    }

    /// How many bits the port `flags` has.
    pub(super) fn flag_bits(&self) -> u32 {
        8 - self.flags.bits_in(self.order).leading_zeros()
    }

    /// The flags of the port, from the lowest bit on.
    pub(super) fn flag_names(&self) -> String {
        let register = match self.order {
            FlagOrder::Fflags => "",
            FlagOrder::Fpsr => "FPSR: ",
            FlagOrder::Mxcsr => "MXCSR: ",
        };
        let names: Vec<String> =
            self.places().map(|(place, name, _)| format!("{place} {}", name.replace('_', " "))).collect();
        format!("{register}bit {}", names.join(", "))
    }

    /// The places that the port has, with the name of each one's flag.
    fn places(&self) -> impl Iterator<Item = (u32, &'static str, Flags)> {
        const NAMES: [(&str, Flags); 6] = [
            ("invalid", Flags::INVALID),
            ("denormal", Flags::DENORMAL),
            ("overflow", Flags::OVERFLOW),
            ("underflow", Flags::UNDERFLOW),
            ("inexact", Flags::INEXACT),
            ("division_by_zero", Flags::DIVISION_BY_ZERO),
        ];
        (0..self.flag_bits()).filter_map(|place| {
            NAMES
                .into_iter()
                .find(|(_, flag)| self.flags.contains(*flag) && flag.bits_in(self.order) >> place & 1 == 1)
                .map(|(name, flag)| (place, name, flag))
        })
    }

    /// Projection and flags in words.
    pub(super) fn summary(&self) -> String {
        let projection = self.projection.to_string().replace(',', ", ");
        let flags = if self.flags.is_empty() {
            "none".to_owned()
        } else {
            format!("by the policy `{}`; {}", self.policy, self.flag_names())
        };
        format!("Projection: {projection}.\nFlags: {flags}.")
    }

    /// Declares the results: special values first, then what rounding gives.
    #[expect(clippy::too_many_lines, reason = "a stage from top to bottom, as the text that it writes")]
    pub(super) fn declare(&self, module: &mut Module, exact: &Exact, rounded: &Rounded, task: &Task<'_>) {
        let operands = task.operands;
        let sign = exact.sign.as_deref();
        let any = |has: &dyn Fn(&Operand<'_>) -> bool, signal: &str| -> Vec<String> {
            operands.iter().filter(|operand| has(operand)).map(|operand| operand.signal(signal)).collect()
        };
        module.section("Special values", "");
        let nans = any(&|operand| operand.has_nan(), "is_nan");
        let infinities = any(&|operand| operand.has_infinity(), "is_infinite");
        if let [x, y, _] = operands {
            declare_product(module, x, y);
        }
        let invalid = invalid_operation(task);
        if let Some(invalid) = &invalid {
            module.wire("is_invalid", 1, invalid.clone());
        }
        let mut not_numbers = nans.clone();
        not_numbers.extend(invalid.as_ref().map(|_| "is_invalid".to_owned()));
        let nan = (!not_numbers.is_empty()).then(|| {
            module.wire("is_nan", 1, not_numbers.join(" || "));
            "is_nan".to_owned()
        });
        let infinite = (!infinities.is_empty()).then(|| {
            module.wire("is_infinite", 1, infinities.join(" || "));
            "is_infinite".to_owned()
        });
        // An infinite result has the sign that the exact one has, but for sums.
        let infinite_sign = sign.map(|sign| {
            if !is_sum(task.operation) {
                return sign.to_owned();
            }
            sign_of_infinite_sum(task)
        });

        let unsigned_negative = sign.filter(|_| !self.to.is_signed());
        if let Some(sign) = unsigned_negative {
            let some = if self.to.has_zero() {
                let over = if rounded.may_overflow { "is_over || " } else { "" };
                format!("{sign} && ({over}(|index))")
            } else {
                let zeros: Vec<String> = any(&|operand| operand.format.has_zero(), "is_zero");
                if zeros.is_empty() {
                    sign.to_owned()
                } else {
                    format!("{sign} && !({})", zeros.join(" || "))
                }
            };
            module.wire("is_below_zero", 1, some);
        }
        self.declare_flags(module, exact, rounded, task, (nan.as_deref(), infinite.as_deref()));

        module.section("Result", "");
        let mut cases: Vec<(String, String)> = Vec::new();
        if let Some(nan) = nan {
            let of_operand = match nan_sign(operands).filter(|_| self.nan[0] != self.nan[1]) {
                Some(sign) => self.by_sign(module, "NAN", self.nan, &sign),
                None => self.one(module, "NAN", self.nan[0]),
            };
            let by_sign = of_operand != "NAN";
            match invalid {
                Some(_) if nans.is_empty() => {
                    let code = self.one(module, "NAN", self.invalid);
                    cases.push((nan, code));
                }
                Some(_) if by_sign || self.invalid != self.nan[0] => {
                    let code = self.one(module, "INVALID", self.invalid);
                    cases.push((nans.join(" || "), of_operand));
                    cases.push(("is_invalid".into(), code));
                }
                _ => cases.push((nan, of_operand)),
            }
        }
        let over = rounded.may_overflow.then(|| self.signed_codes(module, "OVERFLOW", self.overflow, sign));
        if let Some(infinite) = infinite {
            let same = self.infinity == self.overflow && infinite_sign.as_deref() == sign;
            if let Some(sign) = unsigned_negative.filter(|_| self.negative[1] != self.infinity[0]) {
                let of = infinite_sign.clone().unwrap_or_else(|| sign.to_owned());
                let code = self.one(module, "MINUS_INFINITY", self.negative[1]);
                cases.push((format!("{infinite} && {of}"), code));
            }
            match &over {
                Some(code) if same && unsigned_negative.is_none() => {
                    cases.push((format!("{infinite} || is_over"), code.clone()));
                }
                _ => {
                    let code = self.signed_codes(module, "INFINITY", self.infinity, infinite_sign.as_deref());
                    cases.push((infinite, code));
                }
            }
        }
        let zeros = any(&|operand| operand.format.has_zero(), "is_zero");
        if !self.to.has_zero() && !zeros.is_empty() {
            let zero = if is_sum(task.operation) { "!(|sum)".to_owned() } else { zeros.join(" || ") };
            let code = self.one(module, "ZERO", self.zero[0]);
            cases.push((zero, code));
        }
        if unsigned_negative.is_some() {
            let code = self.one(module, "NEGATIVE", self.negative[0]);
            cases.push(("is_below_zero".into(), code));
        }
        if let Some(code) = over
            && !cases.iter().any(|(condition, _)| condition.ends_with("|| is_over"))
        {
            cases.push(("is_over".into(), code));
        }
        let finite = match sign {
            _ if !self.to.is_signed() => "index".to_owned(),
            None => "{1'b0, index}".to_owned(),
            Some(sign) if keeps_negative_zero(&self.to, &self.projection) => format!("{{{sign}, index}}"),
            Some(sign) => {
                let comment = module.wire("result_sign", 1, format!("{sign} && (|index)"));
                "there is no -0".clone_into(comment);
                "{result_sign, index}".to_owned()
            }
        };
        module.assign("result", choose(&cases, &finite));
        if !self.flags.is_empty() {
            let mut bits = vec!["1'b0".to_owned(); self.flag_bits() as usize];
            for (place, name, flag) in self.places() {
                if flag != Flags::DIVISION_BY_ZERO {
                    bits[place as usize] = format!("raises_{name}");
                }
            }
            bits.reverse();
            module.assign(
                "flags",
                if bits.len() == 1 { bits[0].clone() } else { format!("{{{}}}", bits.join(", ")) },
            );
        }
    }

    #[expect(clippy::too_many_lines, reason = "a stage from top to bottom, as the text that it writes")]
    fn declare_flags(
        &self,
        module: &mut Module,
        exact: &Exact,
        rounded: &Rounded,
        task: &Task<'_>,
        (nan, infinite): (Option<&str>, Option<&str>),
    ) {
        let operands = task.operands;
        let sign = exact.sign.as_deref();
        module.section("Flags", format!("As the policy `{}` has them.", self.policy));
        let mut others: Vec<String> = nan.into_iter().chain(infinite).map(str::to_owned).collect();
        let mut invalid: Vec<String> = Vec::new();
        let any_nan = self.policy.invalid == InvalidRule::AnyNan || !self.to.has_nan();
        if any_nan {
            invalid.extend(nan.map(str::to_owned));
        } else {
            let signaling = operands.iter().filter(|operand| operand.format.specials() == Specials::Ieee);
            invalid.extend(signaling.map(|operand| operand.signal("is_signaling")));
            let nans: Vec<String> =
                operands.iter().filter(|operand| operand.has_nan()).map(|x| x.signal("is_nan")).collect();
            match operands {
                _ if invalid_operation(task).is_none() => {}
                // A NaN beside an infinity: of a product and an addend, both may be there.
                [x, y, _] if !nans.is_empty() => {
                    if self.policy.product == ZeroTimesInfinity::Invalid && invalid_product(x, y).is_some() {
                        invalid.push("product_is_invalid".into());
                    }
                    invalid.push(format!("(is_invalid && !({}))", nans.join(" || ")));
                }
                _ => invalid.push("is_invalid".into()),
            }
        }
        if let Some(sign) = sign.filter(|_| !self.to.is_signed()) {
            let mut below = "is_below_zero".to_owned();
            if let Some(nan) = nan {
                below = format!("{below} && !{nan}");
            }
            if let Some(infinite) = infinite {
                let without_nan = nan.map_or_else(String::new, |nan| format!(" && !{nan}"));
                let of = if is_sum(task.operation) { sign_of_infinite_sum(task) } else { sign.to_owned() };
                below = format!("({below} && !{infinite}) || ({infinite} && {of}{without_nan})");
            }
            invalid.push(format!("({below})"));
            others.push("is_below_zero".into());
        }
        let zeros: Vec<String> = operands
            .iter()
            .filter(|operand| operand.format.has_zero())
            .map(|operand| operand.signal("is_zero"))
            .collect();
        let missing_zero = (!self.to.has_zero() && !zeros.is_empty()).then(|| {
            let zero = if is_sum(task.operation) {
                "!(|sum)".to_owned()
            } else {
                format!("({})", zeros.join(" || "))
            };
            module.wire("gives_zero", 1, zero);
            others.push("gives_zero".to_owned());
            let flags = project(Value::finite(false, 0, 0), &self.to, &self.projection).flags;
            let alone: Vec<&str> = nan.into_iter().chain(infinite).collect();
            let condition = if alone.is_empty() {
                "gives_zero".to_owned()
            } else {
                format!("gives_zero && !({})", alone.join(" || "))
            };
            (flags, format!("({condition})"))
        });
        if let Some((flags, condition)) = &missing_zero
            && flags.contains(Flags::INVALID)
        {
            invalid.push(condition.clone());
        }
        let or = |list: &[String]| if list.is_empty() { "1'b0".to_owned() } else { list.join(" || ") };
        module.wire("raises_invalid", 1, or(&invalid));

        let subnormal = operands.iter().filter(|operand| operand.format.has_subnormals());
        let subnormal: Vec<String> = subnormal.map(|operand| operand.signal("is_subnormal")).collect();
        let widens_binary16 = task.operation == Operation::Convert
            && operands[0].format.width() == 16
            && operands[0].format.precision() == 11
            && self.to.width() > 16;
        let denormal = match self.policy.denormal {
            _ if subnormal.is_empty() => "1'b0".to_owned(),
            DenormalRule::Raised => or(&subnormal),
            DenormalRule::X86 if widens_binary16 => "1'b0".to_owned(),
            DenormalRule::X86 => {
                let nans: Vec<String> = operands
                    .iter()
                    .filter(|operand| operand.has_nan())
                    .map(|operand| operand.signal("is_nan"))
                    .collect();
                let nans =
                    if nans.is_empty() { String::new() } else { format!(" && !({})", nans.join(" || ")) };
                format!("({}) && !raises_invalid{nans}", or(&subnormal))
            }
            DenormalRule::Never => "1'b0".to_owned(),
        };
        module.wire("raises_denormal", 1, denormal);

        let finite = if others.is_empty() {
            None
        } else {
            let special = others.join(" || ");
            module.wire(
                "is_number",
                1,
                if others.len() == 1 { format!("!{special}") } else { format!("!({special})") },
            );
            Some("is_number")
        };
        let guarded = |condition: &str| {
            finite.map_or_else(|| condition.to_owned(), |finite| format!("{finite} && {condition}"))
        };
        let lost = infinite
            .filter(|_| self.loses_infinity && self.policy.infinity == LostInfinity::Overflow)
            .map(|infinite| {
                let mut lost = infinite.to_owned();
                if let Some(nan) = nan {
                    lost = format!("{lost} && !{nan}");
                }
                if let Some(sign) = sign.filter(|_| !self.to.is_signed()) {
                    let of =
                        if is_sum(task.operation) { sign_of_infinite_sum(task) } else { sign.to_owned() };
                    lost = format!("{lost} && !{of}");
                }
                format!("({lost})")
            });
        let mut over: Vec<String> = rounded.may_overflow.then(|| guarded("is_over")).into_iter().collect();
        over.extend(lost);
        if let [first, _] = over.as_mut_slice() {
            *first = format!("({first})");
        }
        module.wire("raises_overflow", 1, or(&over));
        let underflow = if rounded.may_be_inexact && rounded.may_be_tiny {
            guarded("is_underflow")
        } else {
            "1'b0".into()
        };
        module.wire("raises_underflow", 1, underflow);
        let mut inexact: Vec<String> = Vec::new();
        if rounded.may_be_inexact {
            inexact.push(guarded("is_inexact"));
        }
        if !over.is_empty() {
            inexact.push("raises_overflow".into());
        }
        if let Some((flags, condition)) = &missing_zero
            && flags.contains(Flags::INEXACT)
        {
            inexact.push(condition.clone());
        }
        if inexact.len() > 1 {
            inexact[0] = format!("({})", inexact[0]);
        }
        module.wire("raises_inexact", 1, or(&inexact));
    }

    fn meaning(&self, code: u64) -> String {
        let index = code & ((1 << (self.to.width() - u32::from(self.to.is_signed()))) - 1);
        match self.has_bias_port {
            true if index == largest_index(&self.to) => "the largest value".into(),
            true if index > 0 => format!("code {code:#x}"),
            _ => meaning(&self.to, code),
        }
    }

    /// A constant code.
    fn one(&self, module: &mut Module, name: &str, code: u64) -> String {
        let comment = module.constant(name, self.to.width(), hex(self.to.width(), code));
        *comment = self.meaning(code);
        name.to_owned()
    }

    /// A code for each sign.
    fn by_sign(&self, module: &mut Module, name: &str, codes: Codes, sign: &str) -> String {
        let k = self.to.width();
        let [positive, negative] = codes;
        if positive == negative {
            return self.one(module, name, positive);
        }
        if self.to.is_signed() && positive ^ negative == 1 << (k - 1) {
            let comment = module.constant(name, k - 1, hex(k - 1, positive & !(1 << (k - 1))));
            *comment = format!("{} without its sign", self.meaning(positive & !(1 << (k - 1))));
            let flipped = if positive >> (k - 1) == 1 { "!" } else { "" };
            return format!("{{{flipped}{sign}, {name}}}");
        }
        let below = format!("{name}_NEGATIVE");
        let above = self.one(module, name, positive);
        let below = self.one(module, &below, negative);
        format!("({sign} ? {below} : {above})")
    }

    fn signed_codes(&self, module: &mut Module, name: &str, codes: Codes, sign: Option<&str>) -> String {
        match sign.filter(|_| self.to.is_signed()) {
            Some(sign) => self.by_sign(module, name, codes, sign),
            None => self.one(module, name, codes[0]),
        }
    }
}

/// The sign of an infinite sum.
fn sign_of_infinite_sum(task: &Task<'_>) -> String {
    let (x, y) = (&task.operands[0], &task.operands[1]);
    let (sign, infinite, other) = if let [_, _, z] = task.operands {
        let is_signed = x.is_signed() || y.is_signed();
        let infinite = (x.has_infinity() || y.has_infinity()).then(|| "product_is_infinite".to_owned());
        (is_signed.then(|| "product_sign".to_owned()), infinite, z)
    } else {
        (x.is_signed().then(|| x.signal("sign")), x.has_infinity().then(|| x.signal("is_infinite")), y)
    };
    let sign = sign.unwrap_or_else(|| "1'b0".into());
    match (infinite, other.has_infinity()) {
        (Some(infinite), true) => format!("({infinite} ? {sign} : {})", other.signal("negative")),
        (Some(_), false) => sign,
        _ => other.signal("negative"),
    }
}

/// The sign of the first operand that is a NaN, where one may be negative.
fn nan_sign(operands: &[Operand<'_>]) -> Option<String> {
    let (last, before) = operands.split_last()?;
    let sign = |operand: &Operand<'_>| {
        // The only NaN of a format stands for one sign.
        let has_both =
            operand.is_signed() && matches!(operand.format.specials(), Specials::Ieee | Specials::NanAllOnes);
        has_both.then(|| operand.signal("sign"))
    };
    if !last.has_nan() {
        return nan_sign(before);
    }
    before.iter().rev().filter(|operand| operand.has_nan()).fold(sign(last), |rest, x| {
        let is_nan = x.signal("is_nan");
        match (sign(x), rest) {
            (None, None) => None,
            (Some(of_x), None) => Some(format!("({is_nan} && {of_x})")),
            (None, Some(rest)) => Some(format!("(!{is_nan} && {rest})")),
            (Some(of_x), Some(rest)) => Some(format!("({is_nan} ? {of_x} : {rest})")),
        }
    })
}

/// A code's value in words; one of a configurable bias has none.
fn meaning(format: &Format, code: u64) -> String {
    let datum = format.decode(code);
    match datum.to_f64() {
        Some(value) if datum.is_finite() => value.to_string(),
        _ => datum.to_string(),
    }
}

/// Whether a product of these operands can be 0 · ∞.
fn invalid_product(x: &Operand<'_>, y: &Operand<'_>) -> Option<String> {
    let cases: Vec<String> = [(x, y), (y, x)]
        .into_iter()
        .filter(|(a, b)| a.has_infinity() && b.format.has_zero())
        .map(|(a, b)| format!("({} && {})", a.signal("is_infinite"), b.signal("is_zero")))
        .collect();
    (!cases.is_empty()).then(|| cases.join(" || "))
}

/// When an operation on infinities has no result.
fn invalid_operation(task: &Task<'_>) -> Option<String> {
    let is_difference = task.operation == Operation::Subtract;
    match task.operands {
        [x, y] if task.operation == Operation::Multiply => invalid_product(x, y),
        [x, y]
            if x.has_infinity() && y.has_infinity() && (x.is_signed() || y.is_signed() || is_difference) =>
        {
            Some(format!("{} && {} && subtracts", x.signal("is_infinite"), y.signal("is_infinite")))
        }
        [x, y, z] => {
            let is_signed = task.operands.iter().any(Operand::is_signed);
            let cancels = (x.has_infinity() || y.has_infinity()) && z.has_infinity() && is_signed;
            let product = invalid_product(x, y).map(|_| "product_is_invalid".to_owned());
            let sum =
                cancels.then(|| format!("(product_is_infinite && {} && subtracts)", z.signal("is_infinite")));
            let cases: Vec<String> = product.into_iter().chain(sum).collect();
            (!cases.is_empty()).then(|| cases.join(" || "))
        }
        _ => None,
    }
}

/// Declares what of a product is no finite number.
fn declare_product(module: &mut Module, x: &Operand<'_>, y: &Operand<'_>) {
    let infinities: Vec<String> = [x, y]
        .into_iter()
        .filter(|operand| operand.has_infinity())
        .map(|x| x.signal("is_infinite"))
        .collect();
    if !infinities.is_empty() {
        module.wire("product_is_infinite", 1, infinities.join(" || "));
    }
    if let Some(invalid) = invalid_product(x, y) {
        module.wire("product_is_invalid", 1, invalid);
    }
}
