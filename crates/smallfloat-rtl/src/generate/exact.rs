//! The exact result of an operation before it is rounded: a significand and an exponent field.

use std::cmp::Ordering;

use smallfloat::ops::Operation;
use smallfloat::{Format, Rounding, Subnormals, Tininess};

use super::module::{Module, decimal, extend, signed, signed_bits, slice};
use super::operand::{MAX_BIAS, Operand, normalize};
use super::round::largest_index;

/// A result before rounding, as signals.
pub(super) struct Exact {
    /// Its sign; `None` for what is never negative.
    pub(super) sign: Option<String>,
    /// Its significand, and how many bits it has. The top bit counts 2^(`field` − bias).
    pub(super) significand: String,
    pub(super) bits: u32,
    /// Whether the top bit is set unless the result is subnormal in every case, or zero.
    pub(super) may_be_cut_off: bool,
    /// The least and greatest field of a result other than zero.
    pub(super) fields: (i64, i64),
    /// Bits that nothing needs.
    pub(super) unread: Vec<String>,
    /// What the field is the sum of.
    exponent: Vec<Term>,
}

/// A summand of the exponent field: a signal and its bits.
pub(super) struct Term {
    is_negative: bool,
    is_signed: bool,
    signal: String,
    bits: u32,
}

impl Term {
    pub(super) fn plus(signal: &str, bits: u32) -> Self {
        Self { is_negative: false, is_signed: false, signal: signal.to_owned(), bits }
    }

    pub(super) fn plus_signed(signal: &str, bits: u32) -> Self {
        Self { is_signed: true, ..Self::plus(signal, bits) }
    }

    pub(super) fn minus(signal: &str, bits: u32) -> Self {
        Self { is_negative: true, ..Self::plus(signal, bits) }
    }
}

/// The operands, the result's format, and how many bits below the result's last place rounding
/// looks at before it takes all others together.
pub(super) struct Task<'a> {
    pub(super) operation: Operation,
    pub(super) operands: &'a [Operand<'a>],
    pub(super) result: &'a Operand<'a>,
    pub(super) rounding: Rounding,
    pub(super) tininess: Tininess,
}

/// The operands whose biases the field's sum takes off: a sum has the exponent of its first addend.
fn scaled<'a>(task: &Task<'a>) -> &'a [Operand<'a>] {
    match task.operation {
        Operation::Add | Operation::Subtract => &task.operands[..1],
        Operation::Fma => &task.operands[..2],
        _ => task.operands,
    }
}

/// How often the port `bias` is added to the field; taken off where negative.
fn ports(task: &Task<'_>) -> i64 {
    let count = |operand: &Operand<'_>| i64::from(operand.has_bias_port);
    count(task.result) - scaled(task).iter().map(count).sum::<i64>()
}

/// The least and greatest of what biases add to the field.
fn offsets(task: &Task<'_>) -> (i64, i64) {
    let (constant, ports) = (constant_offset(task), ports(task));
    (constant + (MAX_BIAS * ports).min(0), constant + (MAX_BIAS * ports).max(0))
}

/// The biases that are no port: the result's less the operands'.
fn constant_offset(task: &Task<'_>) -> i64 {
    let constant =
        |operand: &Operand<'_>| if operand.has_bias_port { 0 } else { i64::from(operand.format.bias()) };
    constant(task.result) - scaled(task).iter().map(constant).sum::<i64>()
}

pub(super) fn is_sum(operation: Operation) -> bool {
    matches!(operation, Operation::Add | Operation::Subtract | Operation::Fma)
}

impl Exact {
    /// Declares the exact result.
    pub(super) fn declare(module: &mut Module, task: &Task<'_>) -> Self {
        match task.operation {
            Operation::Convert => Self::converted(module, task),
            Operation::Multiply => Self::product(module, task),
            _ => super::sum::declare(module, task),
        }
    }

    /// The operand itself.
    fn converted(module: &mut Module, task: &Task<'_>) -> Self {
        let x = &task.operands[0];
        let (low, high) = (x.exponents().0 + offsets(task).0, x.exponents().1 + offsets(task).1);
        let sign = operand_sign(x);
        let exponent = vec![Term::plus(&x.signal("exponent"), x.format.exponent_bits())];
        let bits = x.significand_bits();
        let mut exact = Self {
            sign,
            significand: x.signal("significand"),
            bits,
            may_be_cut_off: x.has_subnormals(),
            fields: (low, high),
            unread: Vec::new(),
            exponent,
        };
        // Where subnormal operands stay subnormal, or less, their leading bit needs no search; it
        // does for denormals of half the step, and where precision decides what is tiny.
        let needs_bit =
            task.result.format.subnormals() == Subnormals::Tesla || task.tininess == Tininess::After;
        let highest = x.exponents().0 + offsets(task).1;
        if x.has_subnormals() && highest > lowest_field(&task.result.format) - i64::from(needs_bit) {
            module.section(
                "Leading bit",
                format!("Subnormal operands have it lower: {} places at most.", bits - 1),
            );
            let (significand, distance, steps) = normalize(module, "", &exact.significand, bits);
            exact.significand = significand;
            exact.may_be_cut_off = false;
            exact.fields.0 -= i64::from(bits - 1);
            exact.exponent.push(Term::minus(&distance, steps));
        }
        exact
    }

    /// x · y.
    fn product(module: &mut Module, task: &Task<'_>) -> Self {
        let (x, y) = (&task.operands[0], &task.operands[1]);
        let bits = x.significand_bits() + y.significand_bits();
        module.section("Product", format!("Exact, in {bits} bits: its leading bit is one of the two highest, unless an operand is subnormal."));
        let sign = match (x.is_signed(), y.is_signed()) {
            (true, true) => Some(format!("{} ^ {}", x.signal("sign"), y.signal("sign"))),
            (true, false) => Some(x.signal("sign")),
            (false, true) => Some(y.signal("sign")),
            (false, false) => None,
        };
        let sign = sign.map(|sign| {
            module.wire("sign", 1, sign);
            "sign".to_owned()
        });
        let factor =
            |operand: &Operand<'_>| extend(&operand.signal("significand"), operand.significand_bits(), bits);
        module.wire("product", bits, format!("{} * {}", factor(x), factor(y)));
        let (significand, distance, steps) = normalize(module, "", "product", bits);
        let exponents = (x.exponents().0 + y.exponents().0, x.exponents().1 + y.exponents().1);
        let exponent = vec![
            Term::plus(&x.signal("exponent"), x.format.exponent_bits()),
            Term::plus(&y.signal("exponent"), y.format.exponent_bits()),
            Term::minus(&distance, steps),
        ];
        Self::normalized(sign, (significand, bits), exponent, exponents, task)
    }

    /// A sum or a product, whose leading bit was found; it may be one place above the largest
    /// exponent.
    pub(super) fn normalized(
        sign: Option<String>,
        (significand, bits): (String, u32),
        exponent: Vec<Term>,
        exponents: (i64, i64),
        task: &Task<'_>,
    ) -> Self {
        let low = exponents.0 + 1 + offsets(task).0 - i64::from(bits - 1);
        let high = exponents.1 + 1 + offsets(task).1;
        Self {
            sign,
            significand,
            bits,
            may_be_cut_off: false,
            fields: (low, high),
            unread: Vec::new(),
            exponent,
        }
    }

    /// Whether the field is signed, and its bits: enough for what it may be and is compared with,
    /// or those of the result's field where every result has one.
    pub(super) fn field_bits(&self, task: &Task<'_>) -> (bool, u32) {
        let format = &task.result.format;
        let top = i64::try_from(largest_index(format) >> format.trailing_bits()).expect("at most 16 bits");
        if self.fields.0 >= lowest_field(format) && self.fields.1 <= top {
            return (false, format.exponent_bits());
        }
        let mut bits =
            signed_bits(self.fields.0.min(1 - self.fields.1) - 1, self.fields.1.max(1 - self.fields.0) + 1);
        for operand in task.operands.iter().chain([task.result]) {
            let (low, high) = operand.biases();
            bits = bits.max(signed_bits(low, high)).max(operand.format.exponent_bits() + 1);
        }
        let terms = self.exponent.iter().map(|term| term.bits + u32::from(!term.is_signed));
        (true, terms.fold(bits, u32::max))
    }

    /// Declares the exponent field that the significand's top bit would have in the result's
    /// format.
    pub(super) fn declare_field(&self, module: &mut Module, task: &Task<'_>, (is_signed, bits): (bool, u32)) {
        let operands = scaled(task);
        let number = |value: i64| {
            if is_signed {
                signed(bits, value)
            } else {
                decimal(bits, value.rem_euclid(1 << bits).unsigned_abs())
            }
        };
        let carry = i64::from(task.operation != Operation::Convert);
        // One bias as a constant each, so that their difference says where it comes from.
        let mut difference = Vec::new();
        let declare = |module: &mut Module, name: String, operand: &Operand<'_>| {
            if is_signed {
                module.signed_constant(&name, bits, number(operand.format.bias().into()));
            } else {
                module.constant(&name, bits, number(operand.format.bias().into()));
            }
            name
        };
        if !task.result.has_bias_port {
            difference.push((false, declare(module, "BIAS".into(), task.result)));
        }
        for operand in operands {
            if !operand.has_bias_port {
                difference.push((true, declare(module, operand.bias_constant(), operand)));
            }
        }
        let constant = constant_offset(task) + carry;
        let mut sum = String::new();
        let mut add = |is_negative: bool, text: &str| {
            let sign = match (is_negative, sum.is_empty()) {
                (false, true) => "",
                (false, false) => " + ",
                (true, true) => "-",
                (true, false) => " - ",
            };
            sum.push_str(sign);
            sum.push_str(text);
        };
        let signal = |name: &str, from: u32| match is_signed {
            true => format!("$signed({})", extend(name, from, bits)),
            false if from > bits => slice(name, from, bits - 1, 0),
            false => extend(name, from, bits),
        };
        for term in &self.exponent {
            if term.is_signed && is_signed {
                add(false, &resized(&term.signal, term.bits, bits));
            } else if term.is_signed && term.bits < bits {
                let (top, more) = (term.bits - 1, bits - term.bits);
                add(false, &format!("{{{{{more}{{{0}[{top}]}}}}, {0}}}", term.signal));
            } else {
                add(term.is_negative, &signal(&term.signal, term.bits));
            }
        }
        let ports = ports(task);
        for _ in 0..ports.unsigned_abs() {
            add(ports < 0, &signal("bias", 6));
        }
        if constant != 0 {
            let mut text = String::new();
            for (i, (is_negative, name)) in difference.iter().enumerate() {
                text.push_str(match (i, is_negative) {
                    (0, false) => "",
                    (0, true) => "-",
                    (_, false) => " + ",
                    (_, true) => " - ",
                });
                text.push_str(name);
            }
            if carry > 0 {
                text.push_str(if text.is_empty() { "" } else { " + " });
                text.push_str(&number(1));
            }
            let comment = if is_signed {
                module.signed_constant("OFFSET", bits, text)
            } else {
                module.constant("OFFSET", bits, text)
            };
            if carry > 0 {
                "one more: the top bit is above those of the operands".clone_into(comment);
            }
            add(false, "OFFSET");
        }
        if is_signed {
            module.signed_wire("field", bits, sum);
        } else {
            module.wire("field", bits, sum);
        }
    }
}

/// The sign of an operand. That of a zero has no effect where no result is −0.
pub(super) fn operand_sign(x: &Operand<'_>) -> Option<String> {
    x.is_signed().then(|| x.signal("sign"))
}

/// The exponent field of the lowest binade.
pub(super) fn lowest_field(format: &Format) -> i64 {
    i64::from(format.exponent_range().0) + i64::from(format.bias())
}

/// Whether equal fields of two operands are equal exponents, and subnormals count as the same
/// field, so that they may be added as they are.
pub(super) fn are_aligned(operands: &[Operand<'_>]) -> bool {
    operands.windows(2).all(|pair| {
        let (x, y) = (&pair[0], &pair[1]);
        x.exponents().0 == y.exponents().0 && (x.has_bias_port || x.format.bias() == y.format.bias())
    })
}

/// A signed signal in another number of bits, which its value fits.
fn resized(name: &str, from: u32, to: u32) -> String {
    match from.cmp(&to) {
        Ordering::Equal => name.to_owned(),
        Ordering::Greater => format!("$signed({name}[{}:0])", to - 1),
        Ordering::Less => format!("$signed({{{{{}{{{name}[{}]}}}}, {name}}})", to - from, from - 1),
    }
}
