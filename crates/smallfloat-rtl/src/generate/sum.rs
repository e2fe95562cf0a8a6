//! x + y and x − y: the operand with the smaller exponent is shifted to the other, and what falls below
//! the last place stays as one bit, the sticky bit.

use smallfloat::ops::Operation;
use smallfloat::{RandomBits, Rounding};

use super::exact::{Exact, Task, Term, are_aligned, operand_sign};
use super::module::{Module, bits_for, decimal, extend, pad_below, signed, signed_bits, slice};
use super::operand::{Operand, normalize};

/// An operand ready to be added: its exponent is on the scale of x.
struct Addend {
    significand: String,
    /// A signal: unsigned as in the code, or signed on the scale of x.
    exponent: String,
    exponent_bits: u32,
    least: i64,
    greatest: i64,
}

/// Declares the exact sum, or what rounding needs of it.
#[expect(clippy::too_many_lines, reason = "a stage from top to bottom, as the text that it writes")]
pub(super) fn declare(module: &mut Module, task: &Task<'_>) -> Exact {
    let (x, y) = (&task.operands[0], &task.operands[1]);
    let is_aligned = are_aligned(task.operands);
    let significand_bits = x.significand_bits().max(y.significand_bits());
    // One port is the bias of both.
    let shift = if x.has_bias_port { 0 } else { i64::from(x.format.bias()) - i64::from(y.format.bias()) };
    let y_exponents = (y.exponents().0 + shift, y.exponents().1 + shift);
    // An exponent's bits; a difference takes one more.
    let width = if is_aligned {
        x.format.exponent_bits().max(y.format.exponent_bits())
    } else {
        let (low, high) = (x.exponents().0.min(y_exponents.0), x.exponents().1.max(y_exponents.1));
        let least = low - i64::from(significand_bits - 1);
        signed_bits(least.min(-shift.abs()), high.max(shift.abs()))
            .max(x.format.exponent_bits() + 1)
            .max(y.format.exponent_bits() + 1)
    };

    let mut addends = Vec::new();
    for (operand, shift) in [(x, 0), (y, shift)] {
        if !is_aligned {
            module.section(
                format!("Leading bit of {}", operand.name),
                "The lowest binades differ: subnormal operands are shifted until their leading bit is at the top.",
            );
        }
        addends.push(addend(module, operand, shift, (width, significand_bits), is_aligned));
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
    let y_is_greater = match (is_aligned, x.format.has_zero(), y.format.has_zero()) {
        (true, ..) | (_, false, false) => sign_bit.clone(),
        (_, true, false) => format!("{sign_bit} || {}", x.signal("is_zero")),
        (_, false, true) => format!("{sign_bit} && !{}", y.signal("is_zero")),
        _ => format!("({sign_bit} && !{}) || {}", y.signal("is_zero"), x.signal("is_zero")),
    };
    module.wire("y_is_greater", 1, y_is_greater);
    let pick = |first: &str, second: &str| format!("y_is_greater ? {second} : {first}");
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
    let x_sign = operand_sign(module, x, task);
    let y_sign = operand_sign(module, y, task).map_or_else(
        || (task.operation == Operation::Subtract).then(|| "1'b1".to_owned()),
        |sign| Some(if task.operation == Operation::Subtract { format!("!{sign}") } else { sign }),
    );
    module.section("Sum", "A negative one arises only where the exponents are equal.");
    let (sign, magnitude) = if x_sign.is_none() && y_sign.is_none() {
        module.wire("sum", sum_bits, plus);
        (None, "sum".to_owned())
    } else {
        let [x_sign, y_sign] = [x_sign, y_sign].map(|sign| sign.unwrap_or_else(|| "1'b0".into()));
        module.wire("y_negative", 1, y_sign);
        module.wire("subtracts", 1, format!("{x_sign} ^ y_negative"));
        module.wire(
            "sum",
            sum_bits,
            format!("subtracts ? {} - {} : {plus}", term("larger_term"), term(&small)),
        );
        module.wire("is_negative", 1, format!("subtracts && sum[{bits}]"));
        module.wire("magnitude", sum_bits, "is_negative ? -sum : sum");
        module.wire("larger_sign", 1, format!("y_is_greater ? y_negative : {x_sign}"));
        let (of_zero, comment) = if task.rounding == Rounding::TowardNegative {
            (format!("{x_sign} || y_negative"), "terms that cancel give -0 (IEEE 754, section 6.3)")
        } else {
            (format!("{x_sign} && y_negative"), "terms that cancel give +0 (IEEE 754, section 6.3)")
        };
        comment.clone_into(module.wire("sign", 1, format!("(|sum) ? larger_sign ^ is_negative : {of_zero}")));
        (Some("sign".to_owned()), "magnitude".to_owned())
    };
    module.section("Leading bit of the sum", "");
    let (significand, zeros, steps) = normalize(module, "", &magnitude, sum_bits);
    let exponents = (a.least.min(b.least), a.greatest.max(b.greatest));
    Exact::of_sum(sign, significand, sum_bits, exponent, (&zeros, steps), exponents, task)
}

fn bits_of(distance: u64) -> u32 {
    u32::try_from(distance).expect("fewer places than a sum keeps")
}

/// An operand with its leading bit at the top where `is_aligned` says that it has to be there.
fn addend(
    module: &mut Module,
    operand: &Operand<'_>,
    shift: i64,
    (width, significand_bits): (u32, u32),
    is_aligned: bool,
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
    if shift != 0 {
        let sign = if shift < 0 { "-" } else { "+" };
        exponent = format!("{exponent} {sign} {}", signed(width, shift.abs()));
    }
    let name = operand.signal("position");
    let comment = module.signed_wire(&name, width, exponent);
    if shift != 0 {
        "counted as the exponents of x are".clone_into(comment);
    }
    let significand = pad_below(&significand, significand_bits - bits);
    Addend {
        significand,
        exponent: name,
        exponent_bits: width,
        least: least + shift,
        greatest: greatest + shift,
    }
}
