//! Conversions: the operand's code sorts as its magnitude does, so it is the key.

use smallfloat::{Exact, Flags, Format, Rounded, convert_with, project};

use super::key::Key;
use super::operand::{OperandText, line};
use super::quiet::Quieting;
use super::round::Target;
use super::steps::{Rule, Steps};
use super::text::{declare, padded};
use super::{Biased, Call, finish};

/// The body of a conversion's module; or why there is none.
pub(super) fn body(call: &Call) -> Result<String, String> {
    let operand = OperandText::new("x", &call.operands[0]);
    let layout = operand.layout;
    let target = Target { is_signed: layout.format.is_signed(), ..call.target.clone() };
    let mut text = operand.classes();
    line(&mut text, "");
    let from_is_biased = call.biased.as_ref().is_some_and(|biased| biased.operands[0]);
    let to_is_biased = call.biased.as_ref().is_some_and(|biased| biased.result);
    let plain = Key::Index { layout, scale: call.scale, spare: 0 };
    let key = match &call.biased {
        Some(biased) if from_is_biased != to_is_biased => {
            let moved = (!from_is_biased).then(|| moved_index(call, &plain, biased)).flatten();
            if let Some(key) = moved {
                let (t, bits) = (layout.format.trailing_bits(), key.bits());
                line(
                    &mut text,
                    "    // The magnitude with its exponent raised by the bias: below, all is as with bias 0.",
                );
                let bias = padded(&format!("{{bias, {t}'b0}}"), biased.bits + t, bits);
                declare(
                    &mut text,
                    bits,
                    "m",
                    &format!("{} + {bias}", padded("x_index", layout.index_bits, bits)),
                );
                key
            } else {
                text += &operand.significand();
                text += &operand.fixed();
                let magnitude = operand.magnitude();
                let bits = magnitude.bits + biased.max;
                let (shift, unit) = if to_is_biased {
                    ("bias".to_owned(), magnitude.unit)
                } else {
                    let max = super::text::literal(biased.bits, &biased.max.into());
                    (format!("({max} - bias)"), magnitude.unit - biased.max.cast_signed())
                };
                line(&mut text, "    // The magnitude, scaled by the bias: below, all is as with bias 0.");
                let fixed = padded("x_fixed", magnitude.bits, bits);
                declare(&mut text, bits, "m", &format!("{fixed} << {shift}"));
                Key::Fixed { bits, unit: unit + call.scale }
            }
        }
        _ => {
            declare(&mut text, layout.index_bits, "m", "x_index");
            plain
        }
    };
    declare(&mut text, 1, "negative", "x_sign");
    line(&mut text, "");
    text += &target.rounding(&key)?;

    let ask = |code: u64| {
        let Rounded { value, flags } =
            convert_with(code, &layout.format, &target.to, &target.projection, target.policy);
        Rule { code: value, flags: flags.without(Flags::DENORMAL) & target.mask }
    };
    let kinds = Kinds::of(&layout.format);
    let mut specials = Vec::new();
    if let Some(quiet) = kinds.quiet_nan {
        let (mut code, mut flags) = target.by_sign("x_sign", ask(quiet[0]), ask(quiet[1]));
        if let Some(signaling) = kinds.signaling_nan {
            let of_signaling = target.by_sign("x_sign", ask(signaling[0]), ask(signaling[1]));
            line(
                &mut text,
                &format!("    wire x_signaling = x_nan && !x_index[{}];", layout.format.trailing_bits() - 1),
            );
            if flags != of_signaling.1 {
                flags = format!("(x_signaling ? {} : {flags})", of_signaling.1);
            }
        }
        if let Some(quieting) = Quieting::new(target.policy, &target.to)
            && let Some(expression) = quieting.quieted(&operand)
        {
            code = expression;
        }
        specials.push(("x_nan".to_owned(), code, flags));
    }
    if let Some(infinite) = kinds.infinity {
        let (code, flags) = target.by_sign("x_sign", ask(infinite[0]), ask(infinite[1]));
        specials.push(("x_infinite".to_owned(), code, flags));
    }
    if layout.format.has_zero() {
        let zero = |negative: bool| {
            let negative = negative && layout.format.has_negative_zero() && !call.is_p3109;
            let Rounded { value, flags } =
                project(Exact::finite(negative, 0, 0), &target.to, &target.projection);
            Rule { code: value, flags: flags & target.mask }
        };
        let (code, flags) = target.by_sign("x_sign", zero(false), zero(true));
        specials.push(("x_zero".to_owned(), code, flags));
    }
    let widens_binary16 =
        layout.format.width() == 16 && layout.format.precision() == 11 && target.to.width() > 16;
    let denormal = (!(call.is_x86_denormal() && widens_binary16)).then_some("x_subnormal");
    text += &finish(call, &target, &specials, "x_nan", denormal);
    Ok(text)
}

/// Codes of each kind of datum, of either sign.
struct Kinds {
    quiet_nan: Option<[u64; 2]>,
    signaling_nan: Option<[u64; 2]>,
    infinity: Option<[u64; 2]>,
}

impl Kinds {
    fn of(format: &Format) -> Self {
        let layout = super::point::Layout::new(format);
        let sign = if format.is_signed() { 1_u64 << layout.index_bits } else { 0 };
        let both = |index: u64| [index, index | sign];
        let infinity = format.has_infinity().then(|| both(layout.max_index + 1));
        let first_nan = layout.max_index + 1 + u64::from(format.has_infinity());
        let is_nan = |code: u64| format.decode(code).is_nan();
        let last_index = (1_u64 << layout.index_bits) - 1;
        let quiet_nan = if !format.has_nan() {
            None
        } else if first_nan <= last_index && is_nan(last_index) {
            Some(both(last_index))
        } else {
            // The code of −0, which has no second sign.
            Some([sign; 2])
        };
        let signaling_nan =
            (first_nan <= last_index && format.is_signaling(first_nan)).then(|| both(first_nan));
        Self { quiet_nan, signaling_nan, infinity }
    }
}

/// The key of an index to whose exponent field the bias is added, where that is the same as
/// scaling: all thresholds of every bias have to be those of bias 0, moved.
fn moved_index(call: &Call, plain: &Key, biased: &Biased) -> Option<Key> {
    let Key::Index { layout, scale, .. } = *plain else { return None };
    let t = layout.format.trailing_bits();
    let key = Key::Index { layout, scale, spare: 1 };
    if call.target.projection.rounding.is_stochastic() || call.target.to.width() > 8 {
        return None;
    }
    let target = |to: Format| Target { to, ..call.target.clone() };
    let zero: Vec<_> = [false, true].map(|sign| target(call.target.to).steps(&key, sign)).into();
    for bias in 0..=biased.max {
        let to = call.target.to.with_bias(bias.cast_signed()).expect("a bias of the format's range");
        let moved = dashu_int::UBig::from(bias) << t as usize;
        for (sign, (codes, flags)) in [false, true].into_iter().zip(&zero) {
            let (these_codes, these_flags) = target(to).steps(&key, sign);
            if !is_moved(&these_codes, codes, &moved) || !is_moved(&these_flags, flags, &moved) {
                return None;
            }
        }
    }
    Some(key)
}

/// Returns whether a staircase is another one moved down.
fn is_moved<T: PartialEq>(this: &Steps<T>, other: &Steps<T>, by: &dashu_int::UBig) -> bool {
    let same = |these: &[super::steps::Step<T>], others: &[super::steps::Step<T>]| {
        these.len() == others.len()
            && these.iter().zip(others).all(|(a, b)| &a.key + by == b.key && a.value == b.value)
    };
    this.below == other.below && same(&this.rows, &other.rows) && same(&this.exceptions, &other.exceptions)
}
