//! x + y, x − y and x · y + z: the addend with the smaller exponent is shifted to the other, and
//! what falls below the last place stays as one bit, the sticky bit.

use smallfloat::ops::Operation;
use smallfloat::{RandomBits, Rounding};

use super::exact::{Exact, Task, Term, are_aligned, operand_sign};
use super::module::{Module, bits_for, decimal, extend, pad_below, signed, signed_bits, slice};
use super::operand::{MAX_BIAS, Operand, normalize};

/// An operand or a product ready to be added: its exponent is on the scale of the first addend.
struct Addend {
    significand: String,
    /// A signal: unsigned as in the code, or signed on the scale of the first addend.
    exponent: String,
    exponent_bits: u32,
    least: i64,
    greatest: i64,
}

/// Declares the exact sum, or what rounding needs of it.
#[expect(clippy::too_many_lines, reason = "a stage from top to bottom, as the text that it writes")]
pub(super) fn declare(module: &mut Module, task: &Task<'_>) -> Exact {
    let is_fused = task.operation == Operation::Fma;
    let (x, y) = (&task.operands[0], &task.operands[1]);
    // What is added to x, or to x · y.
    let other = if is_fused { &task.operands[2] } else { y };
    let is_aligned = !is_fused && are_aligned(task.operands);
    let first_bits =
        if is_fused { x.significand_bits() + y.significand_bits() } else { x.significand_bits() };
    let significand_bits = first_bits.max(other.significand_bits());
    let shift = if is_fused { Shift::of_product(x, y, other) } else { Shift::of_operand(x, other) };
    let y_exponents = (other.exponents().0 + shift.least(), other.exponents().1 + shift.greatest());
    let x_exponents = if is_fused {
        (x.exponents().0 + y.exponents().0 + 1, x.exponents().1 + y.exponents().1 + 1)
    } else {
        x.exponents()
    };
    // An exponent's bits; a difference takes one more.
    let operand_bits = task.operands.iter().map(|operand| operand.format.exponent_bits());
    let width = if is_aligned {
        operand_bits.max().expect("there are operands")
    } else {
        let (low, high) = (x_exponents.0.min(y_exponents.0), x_exponents.1.max(y_exponents.1));
        let least = low - i64::from(significand_bits - 1);
        let widest = operand_bits.chain(shift.has_port.then_some(6)).max().expect("there are operands");
        signed_bits(least.min(-shift.constant.abs()), high.max(shift.constant.abs())).max(widest + 1)
    };

    let mut addends = Vec::new();
    if is_fused {
        addends.push(product(module, x, y, (width, significand_bits)));
    }
    let own = Shift { constant: 0, has_port: false };
    let rest = if is_fused { vec![(other, shift)] } else { vec![(x, own), (y, shift)] };
    for (operand, shift) in rest {
        if !is_aligned {
            module.section(
                format!("Leading bit of {}", operand.name),
                if is_fused {
                    "Subnormal operands are shifted until their leading bit is at the top."
                } else {
                    "The lowest binades differ: subnormal operands are shifted until their leading bit is at the top."
                },
            );
        }
        addends.push(addend(module, operand, shift, (width, significand_bits), (is_aligned, is_fused)));
    }
    let (a, b) = (&addends[0], &addends[1]);
    let furthest = (a.greatest - b.least).max(b.greatest - a.least).max(1).unsigned_abs();

    // How many bits below the operands' last place are kept.
    let fraction = task.rounding.random_bits().map_or(1, RandomBits::count);
    let looked_at = task.result.format.precision() + fraction;
    let wanted = (looked_at + 2).saturating_sub(significand_bits).max(2);
    let is_exact = u64::from(wanted) >= furthest;
    let guard = if is_exact { bits_of(furthest) } else { wanted };
    let bits = significand_bits + guard;
    module.section(
        "Alignment",
        if is_exact {
            format!("The smaller exponent's operand is shifted at most {guard} places, so {guard} bits below are exact.")
        } else {
            format!(
                "Rounding looks at {looked_at} bits from the leading one on, and whether anything follows: {guard} bits below the \
                 operands are kept, and the last tells whether any was cut off."
            )
        },
    );
    let difference = width + 1;
    let wide = |addend: &Addend| {
        if is_aligned {
            format!("$signed({})", extend(&addend.exponent, addend.exponent_bits, difference))
        } else {
            format!("$signed({{{0}[{1}], {0}}})", addend.exponent, width - 1)
        }
    };
    module.signed_wire("difference", difference, format!("{} - {}", wide(a), wide(b)));
    let sign_bit = format!("difference[{width}]");
    // A zero has no exponent of its own where subnormals were shifted.
    let zero_of = |operand: &Operand<'_>| operand.format.has_zero().then(|| operand.signal("is_zero"));
    let (a_zero, b_zero) = (if is_fused { product_zero(x, y) } else { zero_of(x) }, zero_of(other));
    let is_greater = match (a_zero, b_zero) {
        (Some(a), None) if !is_aligned => format!("{sign_bit} || {a}"),
        (None, Some(b)) if !is_aligned => format!("{sign_bit} && !{b}"),
        (Some(a), Some(b)) if !is_aligned => format!("({sign_bit} && !{b}) || {a}"),
        _ => sign_bit.clone(),
    };
    let other_is_greater = other.signal("is_greater");
    module.wire(&other_is_greater, 1, is_greater);
    let pick = |first: &str, second: &str| format!("{other_is_greater} ? {second} : {first}");
    module.wire("larger", significand_bits, pick(&a.significand, &b.significand));
    module.wire("smaller", significand_bits, pick(&b.significand, &a.significand));
    let exponent = if is_aligned {
        let exponent_bits = a.exponent_bits.max(b.exponent_bits);
        let [x, y] = [a, b].map(|addend| extend(&addend.exponent, addend.exponent_bits, exponent_bits));
        module.wire("exponent", exponent_bits, pick(&x, &y));
        Term::plus("exponent", exponent_bits)
    } else {
        module.signed_wire("exponent", width, pick(&a.exponent, &b.exponent));
        Term::plus_signed("exponent", width)
    };

    // Beyond all bits, one place is as far as another.
    let cap = u64::from(bits).min(furthest);
    let steps = bits_for(cap).min(width);
    let mut unread = Vec::new();
    let absolute = |bits: u32| {
        let low = slice("difference", difference, bits - 1, 0);
        format!("{sign_bit} ? -{low} : {low}")
    };
    if cap < furthest {
        module.wire("distance", width, absolute(width));
        let nearest = slice("distance", width, steps - 1, 0);
        module.wire(
            "alignment",
            steps,
            format!("(distance > {}) ? {} : {nearest}", decimal(width, cap), decimal(steps, cap)),
        );
    } else {
        module.wire("alignment", steps, absolute(steps));
        if steps < width {
            unread.push(slice("difference", difference, width - 1, steps));
        }
    }
    module.wire("larger_term", bits, pad_below("larger", guard));
    module.wire("smaller_term", bits, format!("{} >> alignment", pad_below("smaller", guard)));
    let small = if is_exact {
        "smaller_term".to_owned()
    } else {
        let all = pad_below("smaller", guard);
        module.wire("cut_off", bits, format!("{all} & ~({{{bits}{{1'b1}}}} << alignment)"));
        module.wire("smaller_sticky", bits, format!("smaller_term | {}", extend("(|cut_off)", 1, bits)));
        "smaller_sticky".to_owned()
    };
    let sum_bits = bits + 1;
    let term = |name: &str| extend(name, bits, sum_bits);
    let plus = format!("{} + {}", term("larger_term"), term(&small));

    // The sum and its sign.
    let x_sign = if is_fused { product_sign(module, x, y) } else { operand_sign(x) };
    let y_sign = operand_sign(other).map_or_else(
        || (task.operation == Operation::Subtract).then(|| "1'b1".to_owned()),
        |sign| Some(if task.operation == Operation::Subtract { format!("!{sign}") } else { sign }),
    );
    module.section("Sum", "A negative one arises only where the exponents are equal.");
    let (sign, magnitude) = if x_sign.is_none() && y_sign.is_none() {
        module.wire("sum", sum_bits, plus);
        (None, "sum".to_owned())
    } else {
        let [x_sign, y_sign] = [x_sign, y_sign].map(|sign| sign.unwrap_or_else(|| "1'b0".into()));
        let negative = other.signal("negative");
        module.wire(&negative, 1, y_sign);
        module.wire("subtracts", 1, format!("{x_sign} ^ {negative}"));
        module.wire(
            "sum",
            sum_bits,
            format!("subtracts ? {} - {} : {plus}", term("larger_term"), term(&small)),
        );
        module.wire("is_negative", 1, format!("subtracts && sum[{bits}]"));
        module.wire("magnitude", sum_bits, "is_negative ? -sum : sum");
        module.wire("larger_sign", 1, format!("{other_is_greater} ? {negative} : {x_sign}"));
        let (of_zero, comment) = if task.rounding == Rounding::TowardNegative {
            (format!("{x_sign} || {negative}"), "terms that cancel give -0 (IEEE 754, section 6.3)")
        } else {
            (format!("{x_sign} && {negative}"), "terms that cancel give +0 (IEEE 754, section 6.3)")
        };
        comment.clone_into(module.wire("sign", 1, format!("(|sum) ? larger_sign ^ is_negative : {of_zero}")));
        (Some("sign".to_owned()), "magnitude".to_owned())
    };
    module.section("Leading bit of the sum", "");
    let (significand, zeros, steps) = normalize(module, "", &magnitude, sum_bits);
    let exponents = (a.least.min(b.least), a.greatest.max(b.greatest));
    let exponent = vec![exponent, Term::minus(&zeros, steps)];
    let mut exact = Exact::normalized(sign, (significand, sum_bits), exponent, exponents, task);
    exact.unread = unread;
    exact
}

fn bits_of(distance: u64) -> u32 {
    u32::try_from(distance).expect("fewer places than a sum keeps")
}

/// What brings an addend's exponent to the scale of the first addend.
#[derive(Clone, Copy)]
struct Shift {
    constant: i64,
    /// Whether the port `bias` is added too.
    has_port: bool,
}

impl Shift {
    /// One port is the bias of both operands.
    fn of_operand(x: &Operand<'_>, y: &Operand<'_>) -> Self {
        let constant =
            if x.has_bias_port { 0 } else { i64::from(x.format.bias()) - i64::from(y.format.bias()) };
        Self { constant, has_port: false }
    }

    /// A product has the biases of both its factors.
    fn of_product(x: &Operand<'_>, y: &Operand<'_>, z: &Operand<'_>) -> Self {
        let constant = i64::from(x.format.bias()) + i64::from(y.format.bias()) - i64::from(z.format.bias());
        Self { constant: if x.has_bias_port { 0 } else { constant }, has_port: x.has_bias_port }
    }

    fn least(self) -> i64 {
        self.constant
    }

    fn greatest(self) -> i64 {
        self.constant + if self.has_port { MAX_BIAS } else { 0 }
    }
}

/// Declares the exact product, its leading bit at the top.
fn product(
    module: &mut Module,
    x: &Operand<'_>,
    y: &Operand<'_>,
    (width, significand_bits): (u32, u32),
) -> Addend {
    let bits = x.significand_bits() + y.significand_bits();
    module.section(
        "Product",
        format!("Exact, in {bits} bits: its leading bit is one of the two highest, unless an operand is subnormal."),
    );
    let factor =
        |operand: &Operand<'_>| extend(&operand.signal("significand"), operand.significand_bits(), bits);
    module.wire("product", bits, format!("{} * {}", factor(x), factor(y)));
    let (normal, zeros, steps) = normalize(module, "product_", "product", bits);
    let exponent = |operand: &Operand<'_>| {
        format!("$signed({})", extend(&operand.signal("exponent"), operand.format.exponent_bits(), width))
    };
    let position = format!(
        "{} + {} - $signed({}) + {}",
        exponent(x),
        exponent(y),
        extend(&zeros, steps, width),
        signed(width, 1)
    );
    let comment = module.signed_wire("product_position", width, position);
    "the exponent of the top bit".clone_into(comment);
    if x.format.has_zero() || y.format.has_zero() {
        let zeros = [x, y].map(|operand| operand.format.has_zero().then(|| operand.signal("is_zero")));
        module.wire("product_is_zero", 1, zeros.into_iter().flatten().collect::<Vec<_>>().join(" || "));
    }
    Addend {
        significand: pad_below(&normal, significand_bits - bits),
        exponent: "product_position".into(),
        exponent_bits: width,
        least: x.exponents().0 + y.exponents().0 + 1 - i64::from(bits - 1),
        greatest: x.exponents().1 + y.exponents().1 + 1,
    }
}

/// The signal that says whether a product is zero, if it can be.
fn product_zero(x: &Operand<'_>, y: &Operand<'_>) -> Option<String> {
    (x.format.has_zero() || y.format.has_zero()).then(|| "product_is_zero".to_owned())
}

/// Declares the sign of a product.
fn product_sign(module: &mut Module, x: &Operand<'_>, y: &Operand<'_>) -> Option<String> {
    let signs: Vec<String> = [x, y]
        .into_iter()
        .filter(|operand| operand.is_signed())
        .map(|operand| operand.signal("sign"))
        .collect();
    if signs.is_empty() {
        return None;
    }
    module.wire("product_sign", 1, signs.join(" ^ "));
    Some("product_sign".into())
}

/// An operand with its leading bit at the top where `is_aligned` says that it has to be there.
fn addend(
    module: &mut Module,
    operand: &Operand<'_>,
    shift: Shift,
    (width, significand_bits): (u32, u32),
    (is_aligned, is_fused): (bool, bool),
) -> Addend {
    let bits = operand.significand_bits();
    let (field, field_bits) = (operand.signal("exponent"), operand.format.exponent_bits());
    let mut significand = operand.signal("significand");
    let (mut least, greatest) = operand.exponents();
    if is_aligned {
        let significand = pad_below(&significand, significand_bits - bits);
        return Addend { significand, exponent: field, exponent_bits: field_bits, least, greatest };
    }
    let mut exponent = format!("$signed({})", extend(&field, field_bits, width));
    if operand.has_subnormals() {
        let prefix = format!("{}_", operand.name);
        let (normal, zeros, steps) = normalize(module, &prefix, &significand, bits);
        exponent = format!("{exponent} - $signed({})", extend(&zeros, steps, width));
        significand = normal;
        least -= i64::from(bits - 1);
    }
    if shift.constant != 0 {
        let sign = if shift.constant < 0 { "-" } else { "+" };
        exponent = format!("{exponent} {sign} {}", signed(width, shift.constant.abs()));
    }
    if shift.has_port {
        exponent = format!("{exponent} + $signed({})", extend("bias", 6, width));
    }
    let name = operand.signal("position");
    let comment = module.signed_wire(&name, width, exponent);
    if is_fused {
        "counted as the product's exponent is".clone_into(comment);
    } else if shift.constant != 0 {
        "counted as the exponents of x are".clone_into(comment);
    }
    let significand = pad_below(&significand, significand_bits - bits);
    Addend {
        significand,
        exponent: name,
        exponent_bits: width,
        least: least + shift.least(),
        greatest: greatest + shift.greatest(),
    }
}
