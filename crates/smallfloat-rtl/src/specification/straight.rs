//! Rounding by position: where a staircase would have too many steps, and where a random word
//! decides.
//!
//! Codes without their sign are the whole numbers of a line; between two values it is straight. A
//! magnitude's position on it has the code below as its whole part, and the rest decides.

use dashu_int::UBig;
use smallfloat::{Flags, Rounding, Subnormals, Tininess};

use super::key::Key;
use super::operand::line;
use super::point::{Layout, Point};
use super::round::Target;
use super::steps::{Steps, classes_near_normal};
use super::text::{comment, declare, literal, low, padded, range};

/// A range of keys that starts at a power of two, in which keys are evenly spaced magnitudes.
struct Segment {
    start: UBig,
    /// The exponent of the power of two.
    leading: i32,
    /// How many low bits of a key tell those of the segment apart.
    free_bits: u32,
    /// The exponent of their spacing.
    step: i32,
}

/// The segments of a key in rising order.
fn segments(key: &Key) -> Vec<Segment> {
    let at =
        |start: UBig, leading: i32, free_bits: u32, step: i32| Segment { start, leading, free_bits, step };
    match key {
        Key::Fixed { bits, unit } => {
            (0..*bits).map(|i| at(UBig::ONE << i as usize, i.cast_signed() + unit, i, *unit)).collect()
        }
        Key::Index { layout, scale, .. } => {
            let Layout { format, max_index, first_normal, .. } = *layout;
            let t = format.trailing_bits();
            let mut all = Vec::new();
            let mut push = |index: u64, free_bits: u32| {
                let mut index = index;
                if layout.value(index).is_zero() && free_bits > 0 {
                    // The lowest binade of a format without subnormals lacks its first value.
                    index += 1;
                }
                let value = layout.value(index);
                if !value.is_zero() {
                    let leading = value.leading() + scale;
                    all.push(at(UBig::from(index), leading, free_bits, leading - free_bits.cast_signed()));
                }
            };
            let is_plain = first_normal < 1 << t;
            if !is_plain {
                // A subnormal's leading bit stands where it says.
                (0..t).for_each(|i| push(1 << i, i));
            }
            let first_field = u64::from(!is_plain);
            for field in first_field..=max_index >> t {
                push(field << t, t);
            }
            all
        }
    }
}

/// The wires `rounded` and `rounded_flags`.
#[expect(clippy::too_many_lines, reason = "one wire after the other, as they stand in the text")]
pub(super) fn rounding(target: &Target, key: &Key) -> Result<String, String> {
    let Target { to, projection, policy, .. } = target;
    let mode = target.rounding_mode();
    let random = mode.random_bits();
    let layout = Layout::new(to);
    let has_hole = matches!(to.subnormals(), Subnormals::Tesla) && to.trailing_bits() > 0;
    // What an unsigned format gives for all negative results that do not round to zero.
    let loses_sign = !to.is_signed() && target.is_signed;
    let least = target.ask(Point::of(&to.min_normal()).exact(true));
    let is_one_answer = least == target.far(true);
    match mode {
        _ if loses_sign && !is_one_answer => {
            return Err(
                "a negative result in an unsigned format, by a random word or in more than 8 bits".into()
            );
        }
        _ if matches!(to.subnormals(), Subnormals::None) || !to.has_zero() => {
            return Err("a format without subnormals, by a random word or in more than 8 bits".into());
        }
        Rounding::StochasticC(_) if has_hole => {
            return Err(
                "stochastic-c in the hole below the smallest normal value of Tesla's denormals".into()
            );
        }
        _ if random.is_some()
            && policy.tininess == Tininess::After
            && target.mask.contains(Flags::UNDERFLOW) =>
        {
            return Err(
                "underflow after rounding by a random word; --flags with tininess=before, or none".into()
            );
        }
        _ => {}
    }
    // Bits behind the point: what the mode compares.
    let fraction = match mode {
        Rounding::StochasticA(bits) => bits.count(),
        Rounding::StochasticB(bits) | Rounding::StochasticC(bits) => bits.count() + 1,
        _ => 1,
    };
    let mut text = position(target, key, &layout, fraction);
    let index_bits = layout.index_bits + 1;
    let bits = index_bits + fraction;
    declare(&mut text, index_bits, "index", &format!("position[{}:{fraction}]", bits - 1));
    declare(&mut text, fraction, "fraction", &low("position", fraction));
    let index_literal = |value: u64| literal(index_bits, &UBig::from(value));
    let tiny_key = key.at_least(Point::of(&to.min_normal()));
    let tiny = tiny_key.map_or("1'b1".into(), |key_value| format!("m < {}", literal(key.bits(), &key_value)));
    declare(&mut text, 1, "tiny", &tiny);
    text += &up(mode, fraction);
    let is_exact = "(fraction != 0) || sticky";
    if has_hole {
        text += &hole(target, &layout, index_bits, fraction);
        declare(&mut text, 1, "inexact", &format!("in_hole ? (hole_offset != 0) || sticky : {is_exact}"));
        let low = index_literal((1 << to.trailing_bits()) - 1);
        let next = index_literal(1 << to.trailing_bits());
        let value = format!("in_hole ? (hole_up ? {next} : {low}) : index + {}", padded("up", 1, index_bits));
        declare(&mut text, index_bits, "rounded_index", &value);
    } else if matches!(to.subnormals(), Subnormals::Flush) {
        declare(&mut text, index_bits, "grid_index", &format!("index + {}", padded("up", 1, index_bits)));
        declare(&mut text, 1, "flushed", &format!("grid_index < {}", index_literal(layout.first_normal)));
        declare(&mut text, 1, "inexact", &format!("{is_exact} || (flushed && (grid_index != 0))"));
        declare(
            &mut text,
            index_bits,
            "rounded_index",
            &format!("flushed ? {} : grid_index", index_literal(0)),
        );
    } else {
        declare(&mut text, 1, "inexact", is_exact);
        declare(&mut text, index_bits, "rounded_index", &format!("index + {}", padded("up", 1, index_bits)));
    }
    let over = format!("rounded_index > {}", index_literal(layout.max_index));
    let over = if loses_sign { format!("({over}) || (negative && (rounded_index != 0))") } else { over };
    declare(&mut text, 1, "over", &over);
    let (far_code, far_flags) = target.by_sign("negative", target.far(false), target.far(true));
    let zero = |negative| target.ask(Point::ZERO.exact(negative));
    let (zero_code, _) = target.by_sign("negative", zero(false), zero(true));
    let magnitude = low("rounded_index", layout.index_bits);
    let code = if to.is_signed() { format!("{{negative, {magnitude}}}") } else { magnitude };
    declare(
        &mut text,
        to.width(),
        "rounded",
        &format!("over ? {far_code} : (rounded_index == 0) ? {zero_code} : {code}"),
    );
    if !target.mask.is_empty() {
        let underflows = match policy.tininess {
            Tininess::Before => "tiny".to_owned(),
            Tininess::After => {
                let of = |negative| {
                    let classes = classes_near_normal(to, projection, *policy, negative);
                    let steps = Steps::new(&classes.map(|rule| rule.flags.contains(Flags::UNDERFLOW)), key);
                    let end = steps.rows.iter().find(|row| !row.value);
                    end.map_or("1'b1".into(), |row| format!("m < {}", literal(key.bits(), &row.key)))
                };
                let (positive, negative): (String, String) = (of(false), of(true));
                let is_same = positive == negative || !target.is_signed;
                let value = if is_same { positive } else { format!("negative ? {negative} : {positive}") };
                line(
                    &mut text,
                    "    // Tiny after rounding: with an unbounded exponent it would not round to a normal value.",
                );
                declare(&mut text, 1, "tiny_after", &value);
                "tiny_after".to_owned()
            }
        };
        let tiny_flags = target.flags(Flags::UNDERFLOW | Flags::INEXACT);
        let (inexact, none) = (target.flags(Flags::INEXACT), target.flags(Flags::NONE));
        declare(
            &mut text,
            target.flag_bits(),
            "rounded_flags",
            &format!("over ? {far_flags} : !inexact ? {none} : {underflows} ? {tiny_flags} : {inexact}"),
        );
    }
    Ok(text)
}

/// `position` and `sticky`: registers, or wires where both are constant.
fn position(target: &Target, key: &Key, layout: &Layout, fraction: u32) -> String {
    let to = &target.to;
    let t = to.trailing_bits().cast_signed();
    let (lowest, highest) = to.exponent_range();
    let bits = layout.index_bits + 1 + fraction;
    let key_literal = |value: &UBig| literal(key.bits(), value);
    let mut text = comment(
        4,
        &format!(
            "Rounding, {}. The codes of {to} are the whole numbers of a line: position is where m lies on it, with \
             {fraction} bits behind the point, and sticky says that more was cut off.",
            target.rounding_mode()
        ),
    );
    let all = segments(key);
    let mut rows: Vec<(UBig, String, String, String)> = Vec::new();
    for Segment { start, leading, free_bits, step } in all {
        if leading > highest {
            let beyond = (UBig::from(layout.max_index) + UBig::ONE) << fraction as usize;
            let meaning = format!("from 2^{leading}: beyond the range");
            rows.push((start, literal(bits, &beyond), "1'b1".into(), meaning));
            break;
        }
        let below = leading < lowest;
        let to_step = match to.subnormals() {
            _ if !below => leading - t,
            Subnormals::Tesla => lowest - 1 - t,
            _ => lowest - t,
        };
        // Of the power of two itself, in units of the position's last place.
        let base = if below {
            let places = leading - to_step + fraction.cast_signed();
            if places < 0 {
                continue;
            }
            UBig::ONE << places.unsigned_abs() as usize
        } else {
            let binade = UBig::from((leading - lowest + 1).unsigned_abs());
            binade << (to.trailing_bits() + fraction) as usize
        };
        let shift = step - to_step + fraction.cast_signed();
        let base = literal(bits, &base);
        let (value, rest) = if free_bits == 0 {
            (base, "1'b0".to_owned())
        } else if shift >= 0 {
            let shift = shift.unsigned_abs();
            let bits_of_m = low("m", free_bits);
            let moved = if shift == 0 { bits_of_m } else { format!("{{{bits_of_m}, {shift}'b0}}") };
            (format!("{base} + {}", padded(&moved, free_bits + shift, bits)), "1'b0".into())
        } else {
            let cut = shift.unsigned_abs();
            let bit = |high: u32, low: u32| {
                if high == low { format!("m[{high}]") } else { format!("m[{high}:{low}]") }
            };
            if cut >= free_bits {
                (base, format!("|{}", bit(free_bits - 1, 0)))
            } else {
                let kept = padded(&bit(free_bits - 1, cut), free_bits - cut, bits);
                (format!("{base} + {kept}"), format!("|{}", bit(cut - 1, 0)))
            }
        };
        rows.push((start, value, rest, format!("from 2^{leading}")));
    }
    let zero = literal(bits, &UBig::ZERO);
    if rows.is_empty() {
        // A process that reads nothing would never run.
        declare(&mut text, bits, "position", &zero);
        declare(&mut text, 1, "sticky", "1'b1");
        return text;
    }
    line(&mut text, &format!("    reg [{}:0] position;", bits - 1));
    line(&mut text, "    reg sticky;");
    line(&mut text, "    always @* begin");
    let mut word = "if";
    for (start, value, rest, meaning) in rows.iter().rev() {
        line(&mut text, &format!("        {word} (m >= {}) begin // {meaning}", key_literal(start)));
        line(&mut text, &format!("            position = {value};"));
        line(&mut text, &format!("            sticky = {rest};"));
        word = "end else if";
    }
    line(
        &mut text,
        &format!(
            "        end else begin\n            position = {zero};\n            sticky = 1'b1;\n        end"
        ),
    );
    line(&mut text, "    end");
    text
}

/// The wire `up`: whether the result is the index above.
fn up(mode: Rounding, fraction: u32) -> String {
    let mut text = String::new();
    let top = fraction - 1;
    match mode {
        Rounding::NearestEven => declare(&mut text, 1, "up", "fraction && (sticky || index[0])"),
        Rounding::NearestAway => declare(&mut text, 1, "up", "fraction"),
        Rounding::TowardPositive => declare(&mut text, 1, "up", "!negative && (fraction || sticky)"),
        Rounding::TowardNegative => declare(&mut text, 1, "up", "negative && (fraction || sticky)"),
        Rounding::TowardZero => declare(&mut text, 1, "up", "1'b0"),
        Rounding::ToOdd => declare(&mut text, 1, "up", "!index[0] && (fraction || sticky)"),
        Rounding::StochasticA(_) => {
            carry(&mut text, fraction, "{1'b0, fraction} + {1'b0, random}");
        }
        Rounding::StochasticB(_) => {
            carry(&mut text, fraction, "{1'b0, fraction} + {1'b0, random, 1'b1}");
        }
        Rounding::StochasticC(_) => {
            declare(&mut text, 1, "nearest", "fraction[0] && (sticky || fraction[1])");
            let sum = format!(
                "{{1'b0, fraction[{top}:1]}} + {{1'b0, random}} + {}",
                padded("nearest", 1, fraction)
            );
            carry(&mut text, top, &sum);
        }
        _ => unreachable!("all modes that the core has"),
    }
    text
}

/// Declares `up` as the carry of a sum of so many bits; linters pass over what is named unused.
fn carry(text: &mut String, bits: u32, sum: &str) {
    line(text, "    wire up;");
    let range = if bits == 1 { String::new() } else { range(bits) + " " };
    line(text, &format!("    wire {range}unused_sum;"));
    line(text, &format!("    assign {{up, unused_sum}} = {sum};"));
}

/// The wires `in_hole`, `hole_offset` and `hole_up`: between the largest of Tesla's denormals and
/// the smallest normal value lie 2^M + 1 steps without a value.
fn hole(target: &Target, layout: &Layout, index_bits: u32, fraction: u32) -> String {
    let t = target.to.trailing_bits();
    let (low, steps) = ((1_u64 << t) - 1, (1_u64 << t) + 1);
    debug_assert!(low + 1 == layout.first_normal);
    let bits = index_bits + fraction;
    let lit = |value: UBig| literal(bits, &value);
    let steps_literal = lit(UBig::from(steps));
    let mut text = comment(
        4,
        &format!(
            "Between index {low} and index {} lie {steps} steps without a value: the hole of Tesla's denormals.",
            low + 1
        ),
    );
    declare(
        &mut text,
        1,
        "in_hole",
        &format!("tiny && (index >= {})", literal(index_bits, &UBig::from(low))),
    );
    let offset = format!("position - {}", lit(UBig::from(low) << fraction as usize));
    declare(&mut text, bits, "hole_offset", &offset);
    let is_inexact = "((hole_offset != 0) || sticky)";
    // The middle is an odd number of half steps away; the index below the hole is odd.
    let value = match target.rounding_mode() {
        Rounding::NearestEven | Rounding::NearestAway => format!("hole_offset >= {steps_literal}"),
        Rounding::TowardPositive => format!("!negative && {is_inexact}"),
        Rounding::TowardNegative => format!("negative && {is_inexact}"),
        Rounding::TowardZero | Rounding::ToOdd => "1'b0".into(),
        Rounding::StochasticA(_) => {
            let all = literal(bits, &(UBig::ONE << fraction as usize));
            let random = padded("random", fraction, bits);
            format!("hole_offset >= {steps_literal} * ({all} - {random})")
        }
        Rounding::StochasticB(_) => {
            let all = literal(bits, &(UBig::ONE << fraction as usize));
            let random = padded("{random, 1'b1}", fraction, bits);
            format!("hole_offset >= {steps_literal} * ({all} - {random})")
        }
        _ => unreachable!("refused before"),
    };
    declare(&mut text, 1, "hole_up", &value);
    text
}
