//! Sums, products, and both at once: the exact result as an integer, rounded once.

use smallfloat::ops::Operation;
use smallfloat::{Exact, Flags, InvalidRule, MissingNan, NanResult, NanRule, Specials, ZeroTimesInfinity};

use super::key::Key;
use super::operand::{OperandText, line};
use super::quiet::Quieting;
use super::round::Target;
use super::steps::Rule;
use super::text::{add, comment, declare, literal, low, padded};
use super::{Call, finish};

/// One addend: an operand or the product of two.
#[derive(Clone, Debug)]
pub(super) struct Term {
    name: String,
    factors: Vec<usize>,
    /// Whether it is subtracted.
    is_negated: bool,
    bits: u32,
    unit: i32,
}

/// The names of a sum's wires: its sign and its magnitude.
pub(super) const RESULT: [&str; 2] = ["negative", "m"];

/// The widest sum that is written down.
pub(super) const MAX_BITS: u32 = 2048;

fn terms(operation: Operation) -> Option<Vec<(Vec<usize>, bool)>> {
    Some(match operation {
        Operation::Add => vec![(vec![0], false), (vec![1], false)],
        Operation::Subtract => vec![(vec![0], false), (vec![1], true)],
        Operation::Multiply => vec![(vec![0, 1], false)],
        Operation::Fma => vec![(vec![0, 1], false), (vec![2], false)],
        Operation::Faa => vec![(vec![0], false), (vec![1], false), (vec![2], false)],
        _ => return None,
    })
}

/// Returns whether these operations are specified by their exact result.
pub(super) fn is_exact(operation: Operation) -> bool {
    terms(operation).is_some()
}

/// The body of the module; or why there is none.
pub(super) fn body(call: &Call, operation: Operation) -> Result<String, String> {
    let operands: Vec<OperandText> = ["x", "y", "z"]
        .into_iter()
        .zip(&call.operands)
        .map(|(name, format)| OperandText::new(name, format))
        .collect();
    let is_signed = operation == Operation::Subtract || operands.iter().any(|x| x.layout.format.is_signed());
    let target = Target { is_signed, ..call.target.clone() };
    let unsigned_nan = !matches!(target.projection.unrepresentable.nan, NanRule::QuietSigned)
        && !matches!(
            target.projection.unrepresentable.missing_nan,
            MissingNan::SignMax | MissingNan::OppositeZero
        );
    let can_be_nan = operands.iter().any(|x| x.layout.format.has_nan() || x.layout.format.has_infinity());
    if operation == Operation::Faa && can_be_nan && !unsigned_nan {
        return Err("the sign of a NaN result depends on the order of three addends".into());
    }
    let mut text = String::new();
    for operand in &operands {
        text += &operand.classes();
        line(&mut text, "");
    }
    for operand in &operands {
        text += &operand.significand();
    }
    let list = terms(operation).expect("the caller has asked");
    let mut addends = Vec::new();
    for (factors, is_negated) in list {
        addends.push(term(&mut text, &operands, "product", factors, is_negated));
    }
    if addends.iter().any(|addend| addend.bits > MAX_BITS) {
        return Err(format!("exact results have more than {MAX_BITS} bits"));
    }
    scale_by_bias(call, &mut text, &mut addends);
    let key = if let [product] = &addends[..] {
        declare(&mut text, 1, "negative", &format!("{}_sign", product.name));
        declare(&mut text, product.bits, "m", &product.name);
        Key::Fixed { bits: product.bits, unit: product.unit + call.scale }
    } else {
        sum(&mut text, &addends, RESULT)?
    };
    let key = match key {
        Key::Fixed { bits, unit } if addends.len() > 1 => Key::Fixed { bits, unit: unit + call.scale },
        other => other,
    };
    line(&mut text, "");
    text += &target.rounding(&key)?;
    text += &specials(call, &target, operation, &operands, &addends);
    Ok(text)
}

/// The wires of one addend: its sign and its magnitude; those of a product have a name.
pub(super) fn term(
    text: &mut String,
    operands: &[OperandText],
    product: &str,
    factors: Vec<usize>,
    is_negated: bool,
) -> Term {
    let of = |i: usize| (&operands[i].name, operands[i].magnitude());
    if let [only] = factors[..] {
        *text += &operands[only].fixed();
        let (name, magnitude) = of(only);
        if is_negated {
            declare(text, 1, "minus_y_sign", &format!("!{name}_sign"));
        }
        let sign = if is_negated { "minus_y" } else { name };
        return Term {
            name: name.clone(),
            factors,
            is_negated: sign != name,
            bits: magnitude.bits,
            unit: magnitude.unit,
        };
    }
    let ((x, a), (y, b)) = (of(factors[0]), of(factors[1]));
    line(text, "\n    // The exact product.");
    let significand_bits = a.significand_bits + b.significand_bits;
    let shift_bits = a.shift_bits.max(b.shift_bits) + 1;
    let bits = a.bits + b.bits;
    let wide = |name: &str, part: &str, from: u32, to: u32| padded(&format!("{name}_{part}"), from, to);
    declare(
        text,
        significand_bits,
        &format!("{product}_significand"),
        &format!(
            "{} * {}",
            wide(x, "significand", a.significand_bits, significand_bits),
            wide(y, "significand", b.significand_bits, significand_bits)
        ),
    );
    declare(
        text,
        shift_bits,
        &format!("{product}_shift"),
        &format!(
            "{} + {}",
            wide(x, "shift", a.shift_bits, shift_bits),
            wide(y, "shift", b.shift_bits, shift_bits)
        ),
    );
    // The significands' product may be wider than the largest product of values.
    let wide_bits = bits.max(significand_bits);
    let significand = padded(&format!("{product}_significand"), significand_bits, wide_bits);
    declare(text, wide_bits, product, &format!("{significand} << {product}_shift"));
    declare(text, 1, &format!("{product}_sign"), &format!("{x}_sign ^ {y}_sign"));
    Term { name: product.into(), factors, is_negated, bits: wide_bits, unit: a.unit + b.unit }
}

/// Where the bias is a port, addends are scaled by it, so that all is as with bias 0.
fn scale_by_bias(call: &Call, text: &mut String, addends: &mut [Term]) {
    let Some(biased) = &call.biased else { return };
    let degree = |term: &Term| {
        let count = term.factors.iter().filter(|i| biased.operands[**i]).count();
        u32::try_from(count).expect("at most two factors")
    };
    let of_result = u32::from(biased.result);
    let most = addends.iter().map(degree).max().expect("there are addends").max(of_result) - of_result;
    let is_plain = addends.iter().all(|term| degree(term) == of_result);
    if is_plain {
        return;
    }
    line(text, "    // Scaled by the bias: below, all is as with bias 0.");
    for term in addends {
        let own = degree(term);
        // term · 2^((of_result − own) · bias), times 2^(most · max) to keep it whole.
        let fixed = most * biased.max;
        let bits = term.bits + fixed + if of_result > own { biased.max } else { 0 };
        let max = literal(biased.bits, &biased.max.into());
        let shifted = padded(&source(term), term.bits, bits);
        let value = match own.cmp(&of_result) {
            std::cmp::Ordering::Equal => format!("{shifted} << {fixed}"),
            std::cmp::Ordering::Less => format!("({shifted} << {fixed}) << bias"),
            std::cmp::Ordering::Greater => {
                let rest = (most - (own - of_result)) * biased.max;
                format!("({shifted} << {rest}) << ({max} - bias)")
            }
        };
        let name = format!("{}_scaled", term.name);
        declare(text, bits, &name, &value);
        let sign = sign(term);
        declare(text, 1, &format!("{name}_sign"), &sign);
        *term = Term {
            name,
            is_negated: false,
            bits,
            unit: term.unit - fixed.cast_signed(),
            factors: term.factors.clone(),
        };
    }
}

/// The wire of a term's magnitude.
fn source(term: &Term) -> String {
    if term.factors.len() > 1 || term.name.ends_with("_scaled") {
        term.name.clone()
    } else {
        format!("{}_fixed", term.name)
    }
}

/// The wire of a term's sign.
fn sign(term: &Term) -> String {
    if term.is_negated { format!("minus_{}_sign", term.name) } else { format!("{}_sign", term.name) }
}

/// The exact sum, its sign and its magnitude, which have these names.
pub(super) fn sum(text: &mut String, addends: &[Term], [sign_name, name]: [&str; 2]) -> Result<Key, String> {
    let unit = addends.iter().map(|term| term.unit).min().expect("there are addends");
    let width = |term: &Term| term.bits + (term.unit - unit).unsigned_abs();
    let widest = addends.iter().map(width).max().expect("there are addends");
    // Room for the carries of three addends and more, and a sign.
    let bits = widest + addends.len().ilog2() + u32::from(addends.len() > 2);
    if bits > MAX_BITS {
        return Err(format!("exact results have more than {MAX_BITS} bits"));
    }
    let total = bits + 1;
    line(text, &format!("\n    // The exact sum, in units of 2^{unit}."));
    let mut parts = Vec::new();
    for term in addends {
        let zeros = (term.unit - unit).unsigned_abs();
        let value = source(term);
        let value = if zeros == 0 { value } else { format!("{{{value}, {zeros}'b0}}") };
        let name = format!("{}_addend", term.name);
        declare(text, total, &name, &padded(&value, term.bits + zeros, total));
        parts.push(format!("({} ? -{name} : {name})", sign(term)));
    }
    declare(text, total, "sum", &parts.join(" + "));
    declare(text, 1, sign_name, &format!("sum[{bits}]"));
    let low = low("sum", bits);
    declare(text, bits, name, &format!("{sign_name} ? -{low} : {low}"));
    Ok(Key::Fixed { bits, unit })
}

/// NaNs, infinities and zeros, and all together.
fn specials(
    call: &Call,
    target: &Target,
    operation: Operation,
    operands: &[OperandText],
    addends: &[Term],
) -> String {
    let mut text = String::from("\n    // What is not a finite number other than 0.\n");
    let names: Vec<&str> = operands.iter().map(|x| x.name.as_str()).collect();
    let any = |kind: &str| names.iter().map(|x| format!("{x}_{kind}")).collect::<Vec<_>>().join(" || ");
    declare(&mut text, 1, "any_nan", &any("nan"));
    let product = matches!(operation, Operation::Multiply | Operation::Fma);
    if product {
        declare(&mut text, 1, "product_invalid", "(x_infinite && y_zero) || (x_zero && y_infinite)");
        declare(&mut text, 1, "product_infinite", "x_infinite || y_infinite");
    }
    // The infinite addends with their signs.
    let infinite: Vec<(String, String)> = addends
        .iter()
        .map(|term| {
            let base = term.name.trim_end_matches("_scaled");
            (format!("{base}_infinite"), sign(term))
        })
        .collect();
    let mut invalid: Vec<String> = product.then(|| "product_invalid".to_owned()).into_iter().collect();
    for (i, (a, a_sign)) in infinite.iter().enumerate() {
        for (b, b_sign) in &infinite[i + 1..] {
            invalid.push(format!("({a} && {b} && ({a_sign} != {b_sign}))"));
        }
    }
    declare(&mut text, 1, "invalid", &invalid.join(" || "));
    let all_infinite: Vec<&str> = infinite.iter().map(|(name, _)| name.as_str()).collect();
    declare(&mut text, 1, "any_infinite", &all_infinite.join(" || "));
    let mut infinity_sign = infinite.last().expect("there are addends").1.clone();
    for (name, sign) in infinite.iter().rev().skip(1) {
        infinity_sign = format!("{name} ? {sign} : {infinity_sign}");
    }
    declare(&mut text, 1, "infinity_sign", &infinity_sign);

    let nan = |negative| target.ask(Exact::Nan { negative });
    let mut list = Vec::new();
    if operands.iter().any(|x| x.layout.format.has_nan()) {
        let (code, flags) = nan_operand(&mut text, target, operation, operands);
        list.push(("any_nan".to_owned(), code, flags));
    }
    let default = default_nan(target);
    if operands.iter().any(|x| x.layout.format.has_infinity()) {
        list.push((
            "invalid".to_owned(),
            default.map_or_else(|| target.code(nan(false).code), |code| target.code(code)),
            if target.mask.is_empty() {
                String::new()
            } else {
                target.flags(nan(false).flags | Flags::INVALID)
            },
        ));
        let infinity = |negative| target.ask(Exact::Infinite { negative });
        let (code, flags) = target.by_sign("infinity_sign", infinity(false), infinity(true));
        list.push(("any_infinite".to_owned(), code, flags));
    }
    let zero = |negative: bool| {
        let negative = negative && !call.is_p3109;
        target.ask(Exact::finite(negative, 0, 0))
    };
    if let [_] = addends {
        let (code, flags) = target.by_sign("negative", zero(false), zero(true));
        list.push(("m == 0".to_owned(), code, flags));
    } else {
        let cancelled = target.ask(Exact::Cancelled);
        // Addends with one sign leave a zero only where all are zeros of that sign.
        let signs: Vec<String> = addends.iter().map(sign).collect();
        let all = signs.join(" && ");
        let none = format!("!({})", signs.join(" || "));
        let rows = [(all, zero(true)), (none, zero(false))];
        for (condition, rule) in rows {
            if rule != cancelled {
                let flags = if target.mask.is_empty() { String::new() } else { target.flags(rule.flags) };
                list.push((format!("(m == 0) && {condition}"), target.code(rule.code), flags));
            }
        }
        let flags = if target.mask.is_empty() { String::new() } else { target.flags(cancelled.flags) };
        list.push(("m == 0".to_owned(), target.code(cancelled.code), flags));
    }
    let subnormal = any("subnormal");
    text += &finish(call, target, &list, "any_nan", Some(&format!("({subnormal})")));
    text
}

/// The code of a NaN that is no operand's, where a processor's policy says it.
fn default_nan(target: &Target) -> Option<u64> {
    let (rule, negative) = match target.policy.nan {
        NanResult::Projection => return None,
        NanResult::Canonical | NanResult::Arm => (NanRule::Quiet, false),
        NanResult::X86 => (NanRule::QuietSigned, true),
    };
    if !target.to.has_nan() {
        return None;
    }
    let projection = target.projection.with_nan(rule);
    Some(smallfloat::project(Exact::Nan { negative }, &target.to, &projection).value)
}

/// The code and the flags of the result where an operand is a NaN.
fn nan_operand(
    text: &mut String,
    target: &Target,
    operation: Operation,
    operands: &[OperandText],
) -> (String, String) {
    let nan = |negative| target.ask(Exact::Nan { negative });
    // The sign that the projection may keep: the first NaN's.
    let mut nan_sign = String::new();
    for operand in operands.iter().filter(|x| x.layout.format.has_nan()) {
        let name = &operand.name;
        // The only NaN of a format stands for one sign.
        let has_both = matches!(operand.layout.format.specials(), Specials::Ieee | Specials::NanAllOnes);
        let sign = if has_both { format!("{name}_sign") } else { "1'b0".to_owned() };
        add(&mut nan_sign, format_args!("{name}_nan ? {sign} : "));
    }
    let by_sign = |rule: [Rule; 2]| rule[0].code != rule[1].code;
    let rules = [nan(false), nan(true)];
    let mut projected = || {
        if by_sign(rules) && target.is_signed {
            declare(text, 1, "nan_sign", &format!("{nan_sign}1'b0"));
            format!("(nan_sign ? {} : {})", target.code(rules[1].code), target.code(rules[0].code))
        } else {
            target.code(rules[0].code)
        }
    };
    let code = if target.policy.nan == NanResult::Projection || !target.to.has_nan() {
        projected()
    } else {
        let default = target.code(default_nan(target).expect("a processor's policy has one"));
        match Quieting::new(target.policy, &target.to) {
            None => default,
            Some(quieting) => {
                let nans = operands.iter().filter(|x| x.layout.format.has_nan());
                let has_payloads = nans.clone().all(|x| quieting.quieted(x).is_some());
                let without = if has_payloads { String::new() } else { projected() };
                chosen_nan(text, target, operation, operands, quieting, [&default, &without])
            }
        }
    };
    if target.mask.is_empty() {
        return (code, String::new());
    }
    let mut flags = Flags::NONE;
    let passes = target.to.has_nan();
    if target.policy.invalid == InvalidRule::AnyNan || !passes {
        flags = flags | Flags::INVALID | rules[0].flags;
    }
    let mut value = target.flags(flags);
    let mut also: Vec<String> = Vec::new();
    if target.policy.invalid == InvalidRule::Signaling {
        also.extend(operands.iter().filter_map(signaling));
    }
    if operation == Operation::Fma && target.policy.product == ZeroTimesInfinity::Invalid {
        also.push("product_invalid".to_owned());
    }
    if !also.is_empty() && !flags.contains(Flags::INVALID) && target.mask.contains(Flags::INVALID) {
        value = format!("(({}) ? {} : {value})", also.join(" || "), target.flags(flags | Flags::INVALID));
    }
    (code, value)
}

/// A signaling NaN, as an expression.
pub(super) fn signaling(operand: &OperandText) -> Option<String> {
    let format = &operand.layout.format;
    matches!(format.specials(), Specials::Ieee).then(|| {
        let name = &operand.name;
        format!("({name}_nan && !{name}_index[{}])", format.trailing_bits() - 1)
    })
}

/// The NaN that a processor chooses among the operands'.
fn chosen_nan(
    text: &mut String,
    target: &Target,
    operation: Operation,
    operands: &[OperandText],
    quieting: Quieting,
    [default, without]: [&str; 2],
) -> String {
    *text += &comment(4, "Which operand's NaN the result is, made quiet.");
    let is_arm = target.policy.nan == NanResult::Arm;
    let mut order: Vec<&OperandText> = operands.iter().collect();
    if is_arm && operation == Operation::Fma {
        order.rotate_right(1);
    }
    let mut value = String::new();
    let quieted = |x: &OperandText| quieting.quieted(x).unwrap_or_else(|| without.to_owned());
    if is_arm {
        for x in &order {
            if let Some(condition) = signaling(x) {
                add(&mut value, format_args!("{condition} ? {} : ", quieted(x)));
            }
        }
        if operation == Operation::Fma {
            add(&mut value, format_args!("product_invalid ? {default} : "));
        }
    }
    for x in order.iter().filter(|x| x.layout.format.has_nan()) {
        add(&mut value, format_args!("{}_nan ? {} : ", x.name, quieted(x)));
    }
    declare(text, target.to.width(), "nan_code", &format!("{value}{default}"));
    "nan_code".to_owned()
}
