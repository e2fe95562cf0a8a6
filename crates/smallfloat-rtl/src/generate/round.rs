//! Rounding: from a significand and an exponent field to the code without its sign.
//!
//! A code without its sign is called its index. Indices sort as magnitudes do, so a carry out of
//! the significand into the exponent field is an ordinary carry, and they go on past the largest
//! finite value, so overflow is a comparison.

use smallfloat::{Format, RandomBits, Rounding, Subnormals, Tininess};

use super::exact::{Exact, Task, is_sum, lowest_field};
use super::module::{Module, bits_for, choose, decimal, extend, hex, pad_below, signed, slice, zeros};

/// What the rounding of a unit may meet; a signal with the name stands for each.
pub(super) struct Rounded {
    /// Bits that nothing needs.
    pub(super) unread: Vec<String>,
    /// The bits below those that rounding looks at, of which `rest` tells.
    pub(super) below: Option<String>,
    /// `is_inexact`.
    pub(super) may_be_inexact: bool,
    /// `is_tiny`: below the smallest normal value (before rounding), or zero.
    pub(super) may_be_tiny: bool,
    /// `is_over`.
    pub(super) may_overflow: bool,
}

/// The index of the largest finite value.
pub(super) fn largest_index(format: &Format) -> u64 {
    let magnitudes = format.finite_codes();
    let has_two_zeros = format.has_negative_zero();
    match (format.is_signed(), has_two_zeros) {
        (false, _) => magnitudes - 1,
        (true, true) => magnitudes / 2 - 1,
        (true, false) => magnitudes.div_ceil(2) - 1,
    }
}

/// Declares rounding; `bits` is how many the exponent field has.
#[expect(clippy::too_many_lines, reason = "a stage from top to bottom, as the text that it writes")]
pub(super) fn declare(module: &mut Module, exact: &Exact, task: &Task<'_>, bits: u32) -> Rounded {
    let format = &task.result.format;
    let (e, m) = (format.exponent_bits(), format.trailing_bits());
    let index_bits = e + m;
    let lowest = lowest_field(format);
    let is_tesla = format.subnormals() == Subnormals::Tesla && m > 0;
    let largest = largest_index(format);
    let top = i64::try_from(largest >> m).expect("an exponent field has at most 16 bits");
    let significand = exact.significand.as_str();

    // How far a result below the lowest binade is shifted, and whether bits can get lost.
    let furthest = (lowest - i64::from(is_tesla) - exact.fields.0).max(0).unsigned_abs();
    let random = task.rounding.random_bits().map(RandomBits::count);
    let is_below = exact.fields.0 < lowest;
    let may_be_tiny = is_below || exact.may_be_cut_off || !has_leading_bit(task);
    let flushes = format.subnormals() == Subnormals::Flush && m > 0 && may_be_tiny;
    let may_be_inexact =
        u64::from(exact.bits) + furthest > u64::from(m) + 1 || is_tesla && is_below || flushes;
    let fraction = if may_be_inexact { random.unwrap_or(1) } else { 0 };
    let kept = m + 1 + fraction;

    module.section(
        "Alignment to the result",
        match (random, may_be_inexact) {
            (_, false) => String::new(),
            (Some(n), _) => format!("The leading bit and {m} more are the significand; the {n} bits that follow are compared with the random word."),
            (None, _) => format!("The leading bit and {m} more are the significand; then come the bit that rounding looks at, and one for all below."),
        },
    );
    let (mut sticky, mut below_kept) = (Vec::new(), None);
    if exact.bits > kept {
        let lower = exact.bits - kept;
        module.wire("kept", kept, slice(significand, exact.bits, exact.bits - 1, lower));
        let bits = slice(significand, exact.bits, lower - 1, 0);
        module.wire("rest", 1, format!("|{bits}"));
        below_kept = Some(bits);
        sticky.push("rest");
    } else {
        module.wire("kept", kept, pad_below(significand, kept - exact.bits));
    }
    let leading = slice("kept", kept, kept - 1, kept - 1);
    let mut tiny = Vec::new();
    if is_below {
        let comment = module.wire("is_below", 1, format!("field < {}", signed(bits, lowest)));
        format!("below the lowest binade, that of field {lowest}").clone_into(comment);
        tiny.push("is_below".to_owned());
    }
    if exact.may_be_cut_off || !has_leading_bit(task) {
        tiny.push(format!("!{leading}"));
    }
    if may_be_tiny {
        let comment = module.wire("is_tiny", 1, tiny.join(" || "));
        "below the smallest normal value, or zero".clone_into(comment);
    }
    let mut aligned = "kept".to_owned();
    if furthest > 0 && flushes {
        // One binade below may round to the smallest normal value; all others become zero.
        module.wire("aligned", kept, "is_below ? kept >> 1 : kept");
        module.wire("lost", 1, format!("is_below && {}", slice("kept", kept, 0, 0)));
        sticky.push("lost");
        "aligned".clone_into(&mut aligned);
    } else if furthest > 0 && format.has_zero() {
        // Beyond all bits, one place is as far as another.
        let cap = u64::from(kept).min(furthest);
        let steps = bits_for(cap).min(bits);
        if is_tesla {
            module.comment("Denormals have half the step of the lowest binade (Tesla's 2^-bias * 0.m).");
        }
        let is_capped = cap < furthest;
        let drop = if is_capped { bits } else { steps };
        let (field, one) = (slice("field", bits, drop - 1, 0), signed(drop, lowest));
        let distance = if is_tesla { format!("-{field}") } else { format!("{one} - {field}") };
        if is_capped {
            module.signed_wire("drop", bits, distance);
        } else {
            module.wire("drop", drop, distance.replace("'sd", "'d"));
        }
        let nearest = slice("drop", drop, steps - 1, 0);
        let mut cases = vec![("!is_below".to_owned(), zeros(steps))];
        if is_capped {
            cases.push((
                format!("drop > {}", signed(bits, i64::try_from(cap).expect("below 64"))),
                decimal(steps, cap),
            ));
        }
        module.wire("shift", steps, choose(&cases, &nearest));
        module.wire("aligned", kept, "kept >> shift");
        if may_be_inexact {
            module.wire("lost", 1, format!("|(kept & ~({{{kept}{{1'b1}}}} << shift))"));
            sticky.push("lost");
        }
        "aligned".clone_into(&mut aligned);
    }
    let has_sticky = !sticky.is_empty();
    module.wire("whole", m + 1, slice(&aligned, kept, kept - 1, fraction));
    if may_be_inexact {
        module.wire("part", fraction, slice(&aligned, kept, fraction - 1, 0));
    }
    if has_sticky {
        module.wire("sticky", 1, sticky.join(" || "));
    }

    module.section(
        format!("Rounding {}", describe(task.rounding)),
        "An index is a code without its sign: indices sort as magnitudes do, and a carry from the significand into the exponent is an \
         ordinary carry.",
    );
    let mut below = Vec::new();
    let subnormal = match (format.has_zero(), e) {
        (false, _) => zeros(index_bits),
        (true, 1) => "whole".to_owned(),
        (true, _) => format!("{{{}, whole}}", zeros(e - 1)),
    };
    let normal_field = slice("field", bits, e - 1, 0);
    let normal =
        if m > 0 { format!("{{{normal_field}, {}}}", slice("whole", m + 1, m - 1, 0)) } else { normal_field };
    let hole = (1_u64 << m) - 1;
    if is_tesla && is_below {
        let comment = module.constant("HOLE", index_bits, decimal(index_bits, hole));
        format!("the largest denormal; the next value is {} steps on", hole + 2).clone_into(comment);
        module.wire("in_hole", 1, format!("is_below && (whole >= {})", slice("HOLE", index_bits, m, 0)));
        below.push(("in_hole".to_owned(), "HOLE".to_owned()));
    }
    let has_hole = !below.is_empty();
    if may_be_tiny {
        below.push(("is_tiny".to_owned(), subnormal));
    }
    let comment = module.wire("index_below", index_bits, choose(&below, &normal));
    if may_be_inexact {
        "the index of the value at or below".clone_into(comment);
    }
    let mut inexact = Vec::new();
    if may_be_inexact {
        let fractional = if fraction == 1 { "part".to_owned() } else { "(|part)".to_owned() };
        let sticky = if has_sticky { " || sticky" } else { "" };
        module.wire("has_fraction", 1, format!("{fractional}{sticky}"));
        inexact.push("has_fraction".to_owned());
        if has_hole {
            inexact.push(format!("(in_hole && (whole != {}))", slice("HOLE", index_bits, m, 0)));
        }
        module.wire("off_grid", 1, inexact.join(" || "));
        if random.is_some() && has_hole {
            module.constant("GAP", bits_for(hole + 2), decimal(bits_for(hole + 2), hole + 2));
        }
        let (on_grid, across) = directions(module, exact, task, (m, fraction), has_sticky, index_bits);
        let away = if has_hole { choose(&[("in_hole".into(), across)], &on_grid) } else { on_grid };
        let comment = module.wire("away", 1, away);
        "whether it moves to the next index".clone_into(comment);
    }

    let may_carry =
        may_be_inexact && exact.fields.1 >= top || exact.fields.1 == top && largest + 1 < 1 << index_bits;
    let may_overflow = exact.fields.1 > top || may_carry;
    let rounded_bits = index_bits + u32::from(may_overflow && may_be_inexact);
    let rounded = if may_be_inexact {
        let (index, away) =
            (extend("index_below", index_bits, rounded_bits), extend("away", 1, rounded_bits));
        module.wire("rounded", rounded_bits, format!("{index} + {away}"));
        "rounded"
    } else {
        "index_below"
    };
    if may_overflow {
        let mut over = Vec::new();
        if exact.fields.1 > top {
            let comment = module.signed_constant("TOP", bits, signed(bits, top));
            "the highest exponent field".clone_into(comment);
            over.push("(field > TOP)".to_owned());
        }
        let comment = module.constant("LARGEST", rounded_bits, hex(rounded_bits, largest));
        *comment = match format.max_finite().to_f64() {
            Some(value) if !task.result.has_bias_port => format!("the index of {value}"),
            _ => "the index of the largest value".into(),
        };
        if may_be_inexact || largest + 1 < 1 << index_bits {
            over.push(format!("({rounded} > LARGEST)"));
        }
        let over = over.join(" || ");
        module.wire("is_over", 1, if may_be_tiny { format!("!is_tiny && ({over})") } else { over });
    }
    let mut index =
        if may_be_inexact { slice("rounded", rounded_bits, index_bits - 1, 0) } else { "index_below".into() };
    if flushes {
        let least = hex(index_bits, 1 << m);
        let far =
            if furthest > 1 { format!("(field < {}) || ", signed(bits, lowest - 1)) } else { String::new() };
        let comment = module.wire("is_flushed", 1, format!("{far}({index} < {least})"));
        "no subnormal results".clone_into(comment);
        index = format!("is_flushed ? {} : {index}", zeros(index_bits));
    }
    if !format.has_zero() && may_be_tiny {
        let comment = module.wire("index", index_bits, format!("is_tiny ? {} : {index}", zeros(index_bits)));
        "nothing is smaller".clone_into(comment);
    } else {
        module.wire("index", index_bits, index);
    }
    if may_be_inexact {
        let mut inexact = "off_grid".to_owned();
        if flushes {
            "off_grid || (is_flushed && (|kept))".clone_into(&mut inexact);
        }
        if !format.has_zero() && may_be_tiny {
            "off_grid || is_tiny".clone_into(&mut inexact);
        }
        module.wire("is_inexact", 1, inexact);
    }
    if may_be_tiny && may_be_inexact {
        declare_underflow(module, exact, task, (bits, m, fraction), lowest);
    }
    let may_be_inexact = may_be_inexact || (!format.has_zero() && is_below);
    // The leading bit of a power of two says nothing.
    let is_read = exact.may_be_cut_off || !has_leading_bit(task) || m > 0;
    let unread = if is_read { Vec::new() } else { vec![leading] };
    Rounded { unread, below: below_kept, may_be_inexact, may_be_tiny, may_overflow }
}

/// Whether every operand of the operation, and so its result, has a leading bit: only without
/// zeros.
fn has_leading_bit(task: &Task<'_>) -> bool {
    task.operands.iter().all(|operand| !operand.format.has_zero())
}

/// Whether every exact result is a power of two, so that nothing follows its leading bit: of
/// significands of one bit that is always set.
fn is_power_of_two(task: &Task<'_>) -> bool {
    let have_one_bit = task.operands.iter().all(|operand| operand.significand_bits() == 1);
    have_one_bit && has_leading_bit(task) && !is_sum(task.operation)
}

fn describe(rounding: Rounding) -> String {
    match rounding {
        Rounding::NearestEven => "to nearest, ties to the even code".into(),
        Rounding::NearestAway => "to nearest, ties away from zero".into(),
        Rounding::TowardPositive => "toward +infinity".into(),
        Rounding::TowardNegative => "toward -infinity".into(),
        Rounding::TowardZero => "toward zero".into(),
        Rounding::ToOdd => "to odd".into(),
        _ => format!(
            "stochastically (P3109's StochasticA, {} bits)",
            rounding.random_bits().map_or(0, RandomBits::count)
        ),
    }
}

/// When a value moves to the next index: on the even grid, and across the hole of Tesla's
/// denormals.
fn directions(
    module: &mut Module,
    exact: &Exact,
    task: &Task<'_>,
    (m, fraction): (u32, u32),
    has_sticky: bool,
    index_bits: u32,
) -> (String, String) {
    let sign =
        exact.sign.as_deref().filter(|_| task.result.is_signed() || exact.sign.is_some()).unwrap_or("1'b0");
    let odd = slice("index_below", index_bits, 0, 0);
    let beyond = if has_sticky { format!("(sticky || {odd})") } else { odd.clone() };
    // In half steps of the denormals: that of the largest one and that of the smallest normal
    // value, added.
    let middle = || {
        let value = (3_u64 << m) - 1;
        format!("{{whole, part}} >= {}", decimal(m + 2, value))
    };
    match task.rounding {
        Rounding::NearestEven => (format!("part && {beyond}"), middle()),
        Rounding::NearestAway => ("part".into(), middle()),
        Rounding::TowardPositive => {
            let away = format!("off_grid && !{sign}").replace(" && !1'b0", "");
            (away.clone(), away)
        }
        Rounding::TowardNegative => {
            let away = format!("off_grid && {sign}").replace("off_grid && 1'b0", "1'b0");
            (away.clone(), away)
        }
        Rounding::TowardZero => ("1'b0".into(), "1'b0".into()),
        Rounding::ToOdd => (format!("off_grid && !{odd}"), format!("off_grid && !{odd}")),
        _ => {
            // In the hole: (whole - HOLE + part) * 2^N >= (2^N - random) * GAP.
            let wide = m + 2 + fraction;
            module.wire(
                "depth",
                wide,
                format!("{{1'b0, whole - {}, part}}", slice("HOLE", index_bits, m, 0)),
            );
            let gap_bits = bits_for((1 << m) + 1);
            module.wire(
                "needed",
                fraction + 1 + gap_bits,
                format!(
                    "({} - {}) * {}",
                    pad_below(&extend("1'b1", 1, 1 + gap_bits), fraction),
                    extend("random", fraction, fraction + 1 + gap_bits),
                    extend("GAP", gap_bits, fraction + 1 + gap_bits)
                ),
            );
            // Nothing moves what no shift to subnormals has moved.
            let is_exact = is_power_of_two(task) && !task.result.format.has_zero();
            let on_grid = if is_exact { "1'b0" } else { "part > ~random" };
            (on_grid.into(), format!("{} >= needed", extend("depth", wide, fraction + 1 + gap_bits)))
        }
    }
}

/// Declares `is_underflow`: tiny and inexact, where tiny is judged before rounding or after it.
fn declare_underflow(
    module: &mut Module,
    exact: &Exact,
    task: &Task<'_>,
    (bits, m, fraction): (u32, u32, u32),
    lowest: i64,
) {
    if task.tininess == Tininess::Before {
        module.wire("is_underflow", 1, "is_tiny && is_inexact");
        return;
    }
    // With an unbounded exponent a result of the binade below could round to the smallest normal
    // value.
    let kept = m + 1 + fraction;
    let ones = format!("(&{})", slice("kept", kept, kept - 1, fraction));
    let part = slice("kept", kept, fraction - 1, 0);
    let rest = if exact.bits > kept { "rest" } else { "1'b0" };
    let any = format!("((|{part}) || {rest})").replace(" || 1'b0", "");
    let sign = exact.sign.as_deref().unwrap_or("1'b0");
    let moves = match task.rounding {
        // The last bit is odd, but for a precision of one.
        Rounding::NearestEven if m == 0 => format!("{part} && {rest}"),
        Rounding::NearestEven | Rounding::NearestAway => part,
        Rounding::TowardPositive => format!("{any} && !{sign}"),
        Rounding::TowardNegative => format!("{any} && {sign}"),
        Rounding::ToOdd if m == 0 => any,
        Rounding::TowardZero | Rounding::ToOdd => "1'b0".into(),
        // Linters find a comparison of the constant 0 with the word always false.
        _ if is_power_of_two(task) => "1'b0".into(),
        _ => format!("({part} > ~random)"),
    };
    module.comment("Tiny after rounding (IEEE 754, section 7.5): with an unbounded exponent the result would still be below.");
    module.wire("reaches_normal", 1, format!("(field == {}) && {ones} && {moves}", signed(bits, lowest - 1)));
    module.wire("is_underflow", 1, "is_tiny && is_inexact && !reaches_normal");
}
