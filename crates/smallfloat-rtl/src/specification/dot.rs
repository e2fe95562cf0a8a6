//! Dot products of blocks: the exact sum of products, times both scales, rounded once.

use smallfloat::{Exact, Flags, InvalidRule};

use super::arithmetic::{MAX_BITS, signaling, sum, term};
use super::key::Key;
use super::operand::{OperandText, line};
use super::text::{declare, padded};
use super::{Call, finish};

/// The wire of a product of two elements.
fn name(i: usize) -> String {
    format!("product{i}")
}

/// The body of the module for blocks whose operands have these names, in the order scale, elements,
/// scale, elements; or why there is none.
pub(super) fn body(call: &Call, names: &[String]) -> Result<String, String> {
    let [x_scale, x, y_scale, y] = call.operands[..] else {
        return Err("it has other operands than two blocks".into());
    };
    let length = names.len() / 2 - 1;
    let format = |i: usize| match i {
        0 => x_scale,
        i if i <= length => x,
        i if i == length + 1 => y_scale,
        _ => y,
    };
    let operands: Vec<OperandText> =
        names.iter().enumerate().map(|(i, name)| OperandText::new(name, &format(i))).collect();
    let target = &call.target;
    let mut text = String::new();
    for operand in &operands {
        text += &operand.classes();
        text += &operand.significand();
        line(&mut text, "");
    }
    let scales = [0, length + 1];
    let pairs: Vec<[usize; 2]> = (1..=length).map(|i| [i, length + 1 + i]).collect();
    let terms: Vec<_> = pairs
        .iter()
        .enumerate()
        .map(|(i, pair)| term(&mut text, &operands, &name(i), pair.to_vec(), false))
        .collect();
    let of_elements = sum(&mut text, &terms, ["sum_negative", "sum_m"])?;
    let Key::Fixed { bits: sum_bits, unit } = of_elements else { unreachable!("a sum is an integer") };

    let [a, b] = scales.map(|i| operands[i].magnitude());
    line(&mut text, "\n    // Times both scales.");
    let bits = sum_bits + a.bits + b.bits;
    if bits > MAX_BITS {
        return Err(format!("exact results have more than {MAX_BITS} bits"));
    }
    let wide =
        |i: usize, part: &str, from: u32, to: u32| padded(&format!("{}_{part}", operands[i].name), from, to);
    let shift_bits = a.shift_bits.max(b.shift_bits) + 1;
    let shift = format!(
        "{} + {}",
        wide(scales[0], "shift", a.shift_bits, shift_bits),
        wide(scales[1], "shift", b.shift_bits, shift_bits)
    );
    declare(&mut text, shift_bits, "scale_shift", &shift);
    let product = format!(
        "{} * {} * {}",
        padded("sum_m", sum_bits, bits),
        wide(scales[0], "significand", a.significand_bits, bits),
        wide(scales[1], "significand", b.significand_bits, bits)
    );
    declare(&mut text, bits, "m", &format!("({product}) << scale_shift"));
    let signs = scales.map(|i| format!("{}_sign", operands[i].name)).join(" ^ ");
    declare(&mut text, 1, "scale_sign", &signs);
    declare(&mut text, 1, "negative", "sum_negative ^ scale_sign");
    let key = Key::Fixed { bits, unit: unit + a.unit + b.unit };
    line(&mut text, "");
    text += &target.rounding(&key)?;

    text += &specials(call, &operands, &pairs);
    Ok(text)
}

/// NaNs, infinities and zeros, and all together.
fn specials(call: &Call, operands: &[OperandText], pairs: &[[usize; 2]]) -> String {
    let target = &call.target;
    let scales = [0, pairs.len() + 1];
    let mut text = String::from(
        "\n    // What is not a finite number other than 0: of each product, with both scales.\n",
    );
    let any = |all: &mut dyn Iterator<Item = usize>, kind: &str| {
        all.map(|i| format!("{}_{kind}", operands[i].name)).collect::<Vec<_>>().join(" || ")
    };
    declare(&mut text, 1, "any_nan", &any(&mut (0..operands.len()), "nan"));
    for (i, pair) in pairs.iter().enumerate() {
        let factors = || scales.into_iter().chain(*pair);
        declare(&mut text, 1, &format!("{}_zero", name(i)), &any(&mut factors(), "zero"));
        declare(&mut text, 1, &format!("{}_infinite", name(i)), &any(&mut factors(), "infinite"));
        declare(&mut text, 1, &format!("{}_negative", name(i)), &format!("{}_sign ^ scale_sign", name(i)));
    }
    let of_products = |condition: &dyn Fn(String) -> String, operator: &str| {
        (0..pairs.len()).map(|i| condition(name(i))).collect::<Vec<_>>().join(operator)
    };
    let infinite = |sign: &str| of_products(&|p| format!("({p}_infinite && {sign}{p}_negative)"), " || ");
    declare(&mut text, 1, "plus_infinite", &infinite("!"));
    declare(&mut text, 1, "minus_infinite", &infinite(""));
    let invalid = of_products(&|p| format!("({p}_infinite && {p}_zero)"), " || ");
    declare(&mut text, 1, "invalid", &format!("(plus_infinite && minus_infinite) || {invalid}"));

    let flags = |flags: Flags| if target.mask.is_empty() { String::new() } else { target.flags(flags) };
    let nan = target.ask(Exact::Nan { negative: false });
    let mut list = Vec::new();
    if operands.iter().any(|operand| operand.layout.format.has_nan()) {
        let is_passed_on = target.to.has_nan() && target.policy.invalid == InvalidRule::Signaling;
        let signals: Vec<String> = operands.iter().filter_map(signaling).collect();
        let invalid = flags(nan.flags | Flags::INVALID);
        let value = match is_passed_on {
            false => invalid,
            true if signals.is_empty() || !target.mask.contains(Flags::INVALID) => flags(Flags::NONE),
            true => format!("(({}) ? {invalid} : {})", signals.join(" || "), flags(Flags::NONE)),
        };
        list.push(("any_nan".to_owned(), target.code(nan.code), value));
    }
    if operands.iter().any(|operand| operand.layout.format.has_infinity()) {
        list.push(("invalid".to_owned(), target.code(nan.code), flags(nan.flags | Flags::INVALID)));
        let infinity = |negative| target.ask(Exact::Infinite { negative });
        let (code, raised) = target.by_sign("minus_infinite", infinity(false), infinity(true));
        list.push(("plus_infinite || minus_infinite".to_owned(), code, raised));
    }
    // Sums begin with +0, so that only zeros that are all positive are no sum of opposite terms.
    let (zero, cancelled) = (target.ask(Exact::finite(false, 0, 0)), target.ask(Exact::Cancelled));
    if zero != cancelled && !call.is_p3109 {
        let all = of_products(&|p| format!("{p}_zero && !{p}_negative"), " && ");
        list.push((format!("(m == 0) && {all}"), target.code(zero.code), flags(zero.flags)));
    }
    list.push(("m == 0".to_owned(), target.code(cancelled.code), flags(cancelled.flags)));
    let subnormal = any(&mut (0..operands.len()), "subnormal");
    text += &finish(call, target, &list, "any_nan", Some(&format!("({subnormal})")));
    text
}
