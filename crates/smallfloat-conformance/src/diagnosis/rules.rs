//! Policies in the place of the right ones: saturation, rules for what a format does not have,
//! presets, and policies for flags.

use smallfloat::{
    DenormalRule, FlagPolicy, InvalidRule, LostInfinity, MissingNan, MissingZero, NanResult, NanRule,
    NegativeRule, Preset, Projection, Saturation, Tininess, Unrepresentable, ZeroTimesInfinity,
};

use crate::diagnosis::edit::UnitEdit;
use crate::diagnosis::mistake::Mistake;
use crate::vectors::UnitUnderTest;

pub(super) fn saturations(unit: &UnitUnderTest) -> Vec<Mistake> {
    let Some(projection) = unit.operation().projection() else { return Vec::new() };
    let names = |saturation| match saturation {
        Saturation::SatFinite => "overflow and infinities clamp to the largest value",
        Saturation::SatPropagate => "overflow clamps to the largest value, infinities stay",
        Saturation::SatNone => "overflow gives infinity, or NaN where there is none, and does not clamp",
        _ => "overflow is that of P3109 version 4.0's SatNone",
    };
    let others = Saturation::ALL.iter().copied().filter(|saturation| *saturation != projection.saturation);
    others
        .filter_map(|saturation| {
            let edit = UnitEdit { saturation: Some(saturation), ..UnitEdit::default() };
            Mistake::of_unit(names(saturation), unit, edit)
        })
        .collect()
}

/// What NaN may become in a format without NaN.
const NANS: [(MissingNan, &str); 4] = [
    (MissingNan::Max, "NaN becomes the largest value"),
    (MissingNan::SignMax, "NaN becomes the largest value with the NaN's sign"),
    (MissingNan::Zero, "NaN becomes 0"),
    (MissingNan::OppositeZero, "NaN becomes a zero of the opposite sign"),
];
/// What negative values may become in a format without sign.
const NEGATIVES: [(NegativeRule, &str); 3] = [
    (NegativeRule::Nan, "negative values become NaN"),
    (NegativeRule::Zero, "negative values become 0"),
    (NegativeRule::Magnitude, "negative values lose their sign"),
];
/// What zero may become in a format without zero.
const ZEROS: [(MissingZero, &str); 2] =
    [(MissingZero::Nan, "zero becomes NaN"), (MissingZero::Min, "zero becomes the smallest value")];
/// Which code a NaN may have.
const NAN_CODES: [(NanRule, &str); 3] = [
    (NanRule::Quiet, "NaN results are the quiet NaN with sign 0"),
    (NanRule::QuietSigned, "NaN results have the operand's sign"),
    (NanRule::AllOnes, "NaN results have all significand bits set"),
];

/// Other rules for what the result's format does not have, and for NaN codes.
pub(super) fn missing(unit: &UnitUnderTest) -> Vec<Mistake> {
    let Some(to) = unit.operation().result() else { return Vec::new() };
    let Some(projection) = unit.operation().projection() else { return Vec::new() };
    let right = projection.unrepresentable;
    let rules = |projection: Projection, name: String| (projection.unrepresentable, name);
    let nans = NANS.map(|(rule, name)| rules(projection.with_missing_nan(rule), name.to_owned()));
    let negatives = NEGATIVES.map(|(rule, name)| rules(projection.with_negative(rule), name.to_owned()));
    let zeros = ZEROS.map(|(rule, name)| rules(projection.with_missing_zero(rule), name.to_owned()));
    let codes = NAN_CODES.map(|(rule, name)| rules(projection.with_nan(rule), name.to_owned()));
    let both = NEGATIVES.into_iter().flat_map(|(negative, name)| {
        ZEROS.map(|(missing_zero, zero)| {
            let projection = projection.with_negative(negative).with_missing_zero(missing_zero);
            rules(projection, format!("{zero}, and {name}"))
        })
    });
    let both = both.filter(|(rules, _)| {
        let differ = (rules.negative != right.negative, rules.missing_zero != right.missing_zero);
        differ == (true, true) && !to.is_signed() && !to.has_zero()
    });
    let rules = nans.into_iter().filter(|_| !to.has_nan());
    let rules = rules.chain(negatives.into_iter().filter(|_| !to.is_signed()));
    let rules = rules.chain(zeros.into_iter().filter(|_| !to.has_zero())).chain(both);
    let rules = rules.chain(codes.into_iter().filter(|_| to.has_nan()));
    let edit = |unrepresentable: Unrepresentable| UnitEdit {
        unrepresentable: Some(unrepresentable),
        ..UnitEdit::default()
    };
    rules.filter_map(|(rules, name)| Mistake::of_unit(name, unit, edit(rules))).collect()
}

/// Presets that differ in more than rounding.
pub(super) fn presets(unit: &UnitUnderTest) -> Vec<Mistake> {
    let Some(to) = unit.operation().result() else { return Vec::new() };
    let Some(projection) = unit.operation().projection() else { return Vec::new() };
    let mut seen = vec![*projection];
    let mut all = Vec::new();
    for &preset in Preset::ALL {
        let theirs = preset.projection(to).with_rounding(projection.rounding);
        if seen.contains(&theirs) {
            continue;
        }
        seen.push(theirs);
        let name = format!("treats NaN, infinities, zero and overflow as the preset {} does", preset.name());
        let edit = UnitEdit { preset: Some(preset), ..UnitEdit::default() };
        let other = Mistake::of_unit(name, unit, edit);
        all.extend(other.map(|other| other.with_preset(preset)));
    }
    all
}

/// Other policies for flags and NaN results: those with names, then those with one other rule.
pub(super) fn flag_policies(unit: &UnitUnderTest) -> Vec<Mistake> {
    let right = unit.flag_policy();
    let mut all = Vec::new();
    let mut add = |name: String, policy: FlagPolicy, keeps_semantics: bool| {
        let edit = UnitEdit { policy: Some((policy, keeps_semantics)), ..UnitEdit::default() };
        let other = Mistake::of_unit(name, unit, edit);
        all.extend(other.map(|other| other.with_policy(policy, right)));
    };
    for &(name, policy) in FlagPolicy::NAMED {
        if policy != right {
            add(format!("follows the flag policy {name}"), policy, true);
            if policy.is_of_hardware() {
                add(format!("follows the flag policy {name} in ieee semantics"), policy, false);
            }
        }
    }
    for (name, policy) in single_rules(right) {
        if policy != right && FlagPolicy::NAMED.iter().all(|(_, named)| *named != policy) {
            add(name.to_owned(), policy, true);
        }
    }
    all
}

/// A policy with one other rule, by what it does.
fn single_rules(right: FlagPolicy) -> [(&'static str, FlagPolicy); 15] {
    [
        ("underflow is detected before rounding", right.with_tininess(Tininess::Before)),
        ("underflow is detected after rounding", right.with_tininess(Tininess::After)),
        ("every NaN operand raises invalid", right.with_invalid(InvalidRule::AnyNan)),
        ("signaling NaNs alone raise invalid", right.with_invalid(InvalidRule::Signaling)),
        ("subnormal operands raise denormal", right.with_denormal(DenormalRule::Raised)),
        ("subnormal operands raise denormal as on x86", right.with_denormal(DenormalRule::X86)),
        ("subnormal operands raise nothing", right.with_denormal(DenormalRule::Never)),
        ("infinities that clamp raise overflow", right.with_infinity(LostInfinity::Overflow)),
        ("infinities that clamp raise nothing", right.with_infinity(LostInfinity::Silent)),
        ("0 · ∞ with a quiet NaN raises invalid", right.with_product(ZeroTimesInfinity::Invalid)),
        ("0 · ∞ with a quiet NaN raises nothing", right.with_product(ZeroTimesInfinity::Quiet)),
        ("NaN results are the preset's", right.with_nan(NanResult::Projection)),
        ("NaN results are the canonical NaN, as on RISC-V", right.with_nan(NanResult::Canonical)),
        ("NaN results are an operand's NaN, as on Arm", right.with_nan(NanResult::Arm)),
        ("NaN results are an operand's NaN, as on x86", right.with_nan(NanResult::X86)),
    ]
}
