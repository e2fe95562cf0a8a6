//! Projection: round once, then apply the range policy. [`project`] is the only function that
//! rounds.
//!
//! Sources: the P3109 draft, sections "Rounding to precision", "Saturation" and "Projection";
//! Tesla's paper for what clamps; [semantics](crate::semantics) S2–S4 where these leave a choice.

pub(crate) mod convert;
pub(crate) mod encode;
pub(crate) mod exact;
pub(crate) mod flag_policy;
pub(crate) mod flags;
pub(crate) mod grid;
pub(crate) mod neighbours;
pub(crate) mod preset;
mod raise;
pub(crate) mod rounding;
mod rules;
#[cfg(feature = "serde")]
mod serde;
mod text;

use crate::cast::signed;
use crate::format::named::by_name;
use crate::format::{Format, Specials, Subnormals};
use crate::projection::exact::Exact;
use crate::projection::flags::{Flags, Rounded};
use crate::projection::preset::Preset;
use crate::projection::rounding::{Position, Rounding};

/// The treatment of a finite value beyond the range, and of infinities (P3109 draft, section
/// "Saturation").
///
/// A format with neither infinity nor NaN clamps in every mode: it has nothing else to give.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Saturation {
    /// Everything clamps to the largest finite value, infinities too.
    SatFinite,
    /// Finite values clamp; an infinity stays if the format has it.
    SatPropagate,
    /// As IEEE 754 overflows: to infinity, or to NaN where the format has no infinity, unless the
    /// rounding mode stops at the largest finite value.
    SatNone,
    /// SatNone as version 4.0 of the P3109 report had it: formats without infinity clamp, and so
    /// does rounding to odd in unsigned formats.
    SatNoneV40,
}

/// Which code a NaN gets in a format that has NaNs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum NanRule {
    /// The quiet NaN with sign 0 and no other significand bit.
    Quiet,
    /// The quiet NaN with the sign of the operand, where the format has NaNs of both signs.
    QuietSigned,
    /// The NaN with sign 0 and all significand bits set.
    AllOnes,
}

/// The result for a NaN in a format that has none; always with [`Flags::INVALID`], which tells it
/// from a number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum MissingNan {
    /// The largest finite value.
    Max,
    /// The largest finite value with the NaN's sign.
    SignMax,
    /// +0.
    Zero,
    /// A zero of the opposite sign, as ml_dtypes gives in its 4- and 6-bit formats.
    OppositeZero,
}

/// The result for a negative value in an unsigned format if it does not round to zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum NegativeRule {
    /// What the saturation mode says: 0 or NaN (P3109).
    BySaturation,
    /// NaN, or 0 where the format has no NaN.
    Nan,
    /// 0.
    Zero,
    /// The value without its sign.
    Magnitude,
}

/// The result for zero in a format without zero (E8M0).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum MissingZero {
    /// NaN.
    Nan,
    /// The smallest value.
    Min,
}

/// The result for −0 in a format that has it; elsewhere −0 becomes 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NegativeZero {
    /// It stays.
    Keep,
    /// +0.
    Positive,
}

/// The treatment of data that the destination does not have.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Unrepresentable {
    /// The code of a NaN.
    pub nan: NanRule,
    /// NaN in a format without NaN.
    pub missing_nan: MissingNan,
    /// Negative values in an unsigned format.
    pub negative: NegativeRule,
    /// Zero in a format without zero.
    pub missing_zero: MissingZero,
    /// −0.
    pub negative_zero: NegativeZero,
}

/// The way from exact results to codes: rounding × saturation × what to do with the
/// unrepresentable.
///
/// Most callers start from a [`Preset`] or from [`Format::default_projection`] and change a part.
/// `Display` and `FromStr` write and read all of it, as in
/// `nearest-even,satfinite,nan=quiet,missing-nan=max,negative=nan,missing-zero=min,negative-zero=keep`.
///
/// ```
/// use smallfloat::{Preset, Rounding, Saturation, formats::E4M3FN};
/// let how = Preset::OcpSaturate.projection(&E4M3FN).with_rounding(Rounding::TowardZero);
/// assert_eq!(E4M3FN.encode_f32(1e9, &how).value, 0x7e); // 448
/// let how = how.with_saturation(Saturation::SatNone).with_rounding(Rounding::NearestEven);
/// assert_eq!(E4M3FN.encode_f32(1e9, &how).value, 0x7f); // NaN
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Projection {
    /// How a value between two neighbours is rounded.
    pub rounding: Rounding,
    /// What happens beyond the range.
    pub saturation: Saturation,
    /// What happens to data that the destination does not have.
    pub unrepresentable: Unrepresentable,
}

impl Projection {
    /// Returns the projection with another rounding mode.
    #[must_use]
    pub const fn with_rounding(self, rounding: Rounding) -> Self {
        Self { rounding, ..self }
    }

    /// Returns the projection with another saturation mode.
    #[must_use]
    pub const fn with_saturation(self, saturation: Saturation) -> Self {
        Self { saturation, ..self }
    }
}

/// Rules for what a format does not have.
impl Projection {
    /// Returns the projection with other rules for what the destination does not have.
    #[must_use]
    pub const fn with_unrepresentable(self, unrepresentable: Unrepresentable) -> Self {
        Self { unrepresentable, ..self }
    }

    /// Returns the projection with another code for a NaN.
    #[must_use]
    pub const fn with_nan(self, nan: NanRule) -> Self {
        Self { unrepresentable: Unrepresentable { nan, ..self.unrepresentable }, ..self }
    }

    /// Returns the projection with another rule for a NaN in a format without NaN.
    #[must_use]
    pub const fn with_missing_nan(self, missing_nan: MissingNan) -> Self {
        Self { unrepresentable: Unrepresentable { missing_nan, ..self.unrepresentable }, ..self }
    }

    /// Returns the projection with another rule for negative values in an unsigned format.
    #[must_use]
    pub const fn with_negative(self, negative: NegativeRule) -> Self {
        Self { unrepresentable: Unrepresentable { negative, ..self.unrepresentable }, ..self }
    }

    /// Returns the projection with another rule for zero in a format without zero.
    #[must_use]
    pub const fn with_missing_zero(self, missing_zero: MissingZero) -> Self {
        Self { unrepresentable: Unrepresentable { missing_zero, ..self.unrepresentable }, ..self }
    }

    /// Returns the projection with another rule for −0.
    #[must_use]
    pub const fn with_negative_zero(self, negative_zero: NegativeZero) -> Self {
        Self { unrepresentable: Unrepresentable { negative_zero, ..self.unrepresentable }, ..self }
    }
}

impl Saturation {
    /// Returns the name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SatFinite => "satfinite",
            Self::SatPropagate => "satpropagate",
            Self::SatNone => "satnone",
            Self::SatNoneV40 => "satnone-v40",
        }
    }

    /// All modes.
    pub const ALL: &'static [Self] = &[Self::SatFinite, Self::SatPropagate, Self::SatNone, Self::SatNoneV40];
}

/// Rounds an exact value once, applies the range policy and gives the destination's code.
///
/// The flags are those of [`FlagPolicy::TESLA`](crate::FlagPolicy): a NaN raises "invalid", for an
/// exact value does not say whether it came from a quiet one, and tininess is that of the exact
/// value. [`Flags::DENORMAL`] belongs to operands. [`convert`](crate::convert) and
/// [`Operation::evaluate`](crate::ops::Operation::evaluate) know the operands and have a policy.
pub const fn project(x: Exact, format: &Format, projection: &Projection) -> Rounded<u64> {
    if let Exact::Finite { negative, significand, exponent, sticky } = x {
        if let Some(rounded) =
            round_to_normal(negative, significand, exponent, sticky, format, projection.rounding)
        {
            return rounded;
        }
    }
    let keeps_magnitude = matches!(projection.unrepresentable.negative, NegativeRule::Magnitude);
    if x.is_negative() && !x.is_zero() && !x.is_nan() && !format.is_signed() && keeps_magnitude {
        let Rounded { value, flags } = project(x.magnitude(), format, projection);
        let tiny = if is_below_normal(x, format) { Flags::UNDERFLOW } else { Flags::NONE };
        return raise(value, flags.union(Flags::INEXACT).union(tiny));
    }
    match x {
        Exact::Nan { negative } => raise(nan_code(format, projection, negative), Flags::INVALID),
        Exact::Infinite { negative } => infinity(format, projection, negative),
        Exact::Finite { negative, significand: 0, .. } => zero(format, projection, negative),
        Exact::Cancelled => zero(format, projection, matches!(projection.rounding, Rounding::TowardNegative)),
        Exact::Finite { negative, significand, exponent, sticky } => {
            let at = Located::new(significand, exponent, sticky, format, projection.rounding);
            round(&at, format, projection, negative)
        }
    }
}

/// Rounds (−1)^negative · (significand + δ) · 2^exponent, where 0 < δ < 1 if `sticky` and else 0,
/// to a normal value of the format. `None` for stochastic modes, and where the value is beyond the
/// normal ones or rounds to none of them.
#[inline]
const fn round_to_normal(
    negative: bool,
    significand: u128,
    exponent: i32,
    sticky: bool,
    format: &Format,
    rounding: Rounding,
) -> Option<Rounded<u64>> {
    const HALF: u64 = 1 << 63;
    if significand == 0 || (negative && !format.is_signed()) {
        return None;
    }
    let zeros = significand.leading_zeros();
    let leading = exponent.saturating_add(127 - signed(zeros));
    if leading < format.lowest_exponent() || leading > format.highest_exponent() {
        return None;
    }
    // The first 64 bits, and whether others follow.
    let shifted = significand << zeros;
    #[expect(clippy::cast_possible_truncation, reason = "the two halves")]
    let (significand, sticky) = ((shifted >> 64) as u64, sticky || shifted as u64 != 0);
    let t = format.trailing_bits();
    let lo = format.normal_index(leading, significand >> (63 - t));
    // What follows the last place, as a fraction of 2^64.
    let rest = significand << t << 1;
    let inexact = rest != 0 || sticky;
    let away = match rounding {
        _ if !inexact => false,
        Rounding::NearestEven => rest > HALF || (rest == HALF && (sticky || lo % 2 == 1)),
        Rounding::NearestAway => rest >= HALF,
        Rounding::TowardPositive => !negative,
        Rounding::TowardNegative => negative,
        Rounding::TowardZero => false,
        Rounding::ToOdd => lo % 2 == 0,
        Rounding::StochasticA(_) | Rounding::StochasticB(_) | Rounding::StochasticC(_) => return None,
    };
    let index = lo + away as u64;
    if lo < format.first_normal_index() || index > format.max_index() {
        return None;
    }
    let flags = if inexact { Flags::INEXACT } else { Flags::NONE };
    Some(Rounded { value: with_sign(format, index, negative), flags })
}

/// Returns whether a magnitude that lost its sign, and so is inexact, is below the smallest normal
/// value.
const fn is_below_normal(x: Exact, format: &Format) -> bool {
    match x {
        Exact::Finite { significand, exponent, sticky, .. } => {
            Located::new(significand, exponent, sticky, format, Rounding::NearestEven).tiny
        }
        _ => false,
    }
}

const fn raise(value: u64, flags: Flags) -> Rounded<u64> {
    Rounded { value, flags }
}

const INEXACT_OVERFLOW: Flags = Flags::OVERFLOW.union(Flags::INEXACT);

/// Where a non-zero magnitude lies on the format's grid, continued above with unbounded exponent.
struct Located {
    /// The index of the neighbour at or below, capped just above the largest finite value.
    lo: u64,
    position: Position,
    /// Below the smallest normal value?
    tiny: bool,
}

impl Located {
    const fn new(
        significand: u128,
        exponent: i32,
        sticky: bool,
        format: &Format,
        rounding: Rounding,
    ) -> Self {
        let trailing = signed(format.trailing_bits());
        let lowest = format.lowest_exponent();
        let leading = exponent.saturating_add(signed(significand.ilog2()));
        if leading > format.highest_exponent() + 1 {
            let position = Position { fraction: 1, sticky: true, steps: 1, lo_is_even: true };
            return Self { lo: format.max_index() + 1, position, tiny: false };
        }

        // The local step is 2^step; below the lowest binade it is that of the subnormals.
        let below = leading < lowest;
        let step = if !below {
            leading - trailing
        } else if matches!(format.subnormals(), Subnormals::Tesla) {
            lowest - 1 - trailing
        } else {
            lowest - trailing
        };
        let spare = rounding.bits_needed() + 1;
        let shift = exponent.saturating_sub(step - signed(spare));
        let (scaled, sticky) = shift_with_sticky(significand, shift, sticky);
        #[expect(clippy::cast_possible_truncation, reason = "a significand of the format")]
        let whole = (scaled >> spare) as u64;
        let index = if below { whole } else { format.normal_index(leading, whole) };

        // A gap of more than one step: Tesla's hole below the smallest normal, or no values next to
        // zero.
        let (lo, steps) = match format.subnormals() {
            Subnormals::Tesla if below && whole >= (1 << trailing) - 1 => {
                ((1 << trailing) - 1, (1 << trailing) + 1)
            }
            Subnormals::None if format.trailing_bits() > 0 && (below || index == 0) && format.has_zero() => {
                (0, (1 << trailing) + 1)
            }
            _ => (index, 1),
        };
        // `lo` in steps, which is not its index only in normal binades.
        let lo_whole = if steps == 1 { whole } else { lo };
        let fraction = scaled - ((lo_whole as u128) << spare);
        let position = Position { fraction, sticky, steps, lo_is_even: lo % 2 == 0 };
        let tiny = if below { true } else { lo < format.first_normal_index() };
        Self { lo, position, tiny }
    }
}

/// `significand · 2^shift`, cut to an integer, and whether anything non-zero was cut.
pub(crate) const fn shift_with_sticky(significand: u128, shift: i32, sticky: bool) -> (u128, bool) {
    if shift >= 0 {
        return (significand << shift, sticky);
    }
    let right = shift.unsigned_abs();
    if right >= 128 {
        return (0, true);
    }
    let kept = significand >> right;
    (kept, sticky || kept << right != significand)
}

const fn round(at: &Located, format: &Format, projection: &Projection, negative: bool) -> Rounded<u64> {
    let away = projection.rounding.moves_away(&at.position, negative);
    let mut index = at.lo + away as u64;
    let mut inexact = !at.position.is_exact();
    if matches!(format.subnormals(), Subnormals::Flush) && index < format.first_normal_index() {
        inexact = inexact || index != 0;
        index = 0;
    }
    // A format without zero has nothing below its smallest value, whatever the rounding mode.
    if at.tiny && !format.has_zero() {
        index = 0;
        inexact = true;
    }

    if negative && !format.is_signed() && (index > 0 || !format.has_zero()) {
        let code = negative_code(format, projection, projection.rounding.stops_at_largest(true));
        return raise(code, Flags::INVALID);
    }
    let negative = negative && format.is_signed();
    if index > format.max_index() {
        return raise(overflow_code(format, projection, negative), INEXACT_OVERFLOW);
    }
    let flags = match (inexact, at.tiny) {
        (false, _) => Flags::NONE,
        (true, false) => Flags::INEXACT,
        (true, true) => Flags::INEXACT.union(Flags::UNDERFLOW),
    };
    if index == 0 && format.has_zero() {
        return raise(signed_zero(format, projection, negative), flags);
    }
    raise(with_sign(format, index, negative), flags)
}

const fn infinity(format: &Format, projection: &Projection, negative: bool) -> Rounded<u64> {
    if negative && !format.is_signed() {
        // No rounding mode stops at an infinity.
        return raise(negative_code(format, projection, false), Flags::INVALID);
    }
    let kept = match projection.saturation {
        Saturation::SatFinite => None,
        _ => format.infinity_index(),
    };
    match (kept, projection.saturation) {
        (Some(index), _) => raise(with_sign(format, index, negative), Flags::NONE),
        (None, Saturation::SatNone) if format.has_nan() => {
            raise(nan_code(format, projection, negative), INEXACT_OVERFLOW)
        }
        (None, _) => raise(with_sign(format, format.max_index(), negative), INEXACT_OVERFLOW),
    }
}

const fn zero(format: &Format, projection: &Projection, negative: bool) -> Rounded<u64> {
    if format.has_zero() {
        return raise(signed_zero(format, projection, negative), Flags::NONE);
    }
    match projection.unrepresentable.missing_zero {
        MissingZero::Nan => raise(nan_code(format, projection, false), Flags::INVALID),
        MissingZero::Min => raise(0, Flags::INEXACT),
    }
}

const fn signed_zero(format: &Format, projection: &Projection, negative: bool) -> u64 {
    let kept =
        matches!(projection.unrepresentable.negative_zero, NegativeZero::Keep) && format.has_negative_zero();
    with_sign(format, 0, negative && kept)
}

/// What a finite value beyond the range becomes.
const fn overflow_code(format: &Format, projection: &Projection, negative: bool) -> u64 {
    let stops = projection.rounding.stops_at_largest(negative);
    let kept_by_v40 = !format.is_signed() && matches!(projection.rounding, Rounding::ToOdd);
    match (projection.saturation, format.infinity_index()) {
        (Saturation::SatNone, Some(infinity)) if !stops => with_sign(format, infinity, negative),
        (Saturation::SatNoneV40, Some(infinity)) if !stops && !kept_by_v40 => {
            with_sign(format, infinity, negative)
        }
        (Saturation::SatNone, None) if !stops && format.has_nan() => nan_code(format, projection, negative),
        _ => with_sign(format, format.max_index(), negative),
    }
}

/// What a negative value becomes in an unsigned format, where `stops` says that the rounding mode
/// holds at the range's end.
const fn negative_code(format: &Format, projection: &Projection, stops: bool) -> u64 {
    let none = matches!(projection.saturation, Saturation::SatNone | Saturation::SatNoneV40) && !stops;
    match projection.unrepresentable.negative {
        NegativeRule::Nan if format.has_nan() => nan_code(format, projection, false),
        NegativeRule::BySaturation if none && format.has_nan() => nan_code(format, projection, false),
        NegativeRule::Zero => zero(format, projection, false).value,
        // The smallest value: zero, where the format has it.
        _ => 0,
    }
}

const fn nan_code(format: &Format, projection: &Projection, negative: bool) -> u64 {
    let rule = projection.unrepresentable.nan;
    if !format.has_nan() {
        return match projection.unrepresentable.missing_nan {
            MissingNan::Max => with_sign(format, format.max_index(), false),
            MissingNan::SignMax => with_sign(format, format.max_index(), negative),
            MissingNan::Zero => 0,
            MissingNan::OppositeZero => signed_zero(format, projection, !negative),
        };
    }
    let negative = negative && matches!(rule, NanRule::QuietSigned);
    match format.specials() {
        Specials::Ieee => {
            let infinity = format.max_index() + 1;
            let significand = match rule {
                NanRule::AllOnes => (1 << format.trailing_bits()) - 1,
                NanRule::Quiet | NanRule::QuietSigned => 1 << (format.trailing_bits() - 1),
            };
            with_sign(format, infinity | significand, negative)
        }
        Specials::NanAllOnes => with_sign(format, format.max_index() + 1, negative),
        // The code of −0, or in unsigned formats the largest.
        _ if format.is_signed() => 1 << (format.width() - 1),
        _ => format.max_code(),
    }
}

/// The code of an index and a sign; unsigned formats have none.
const fn with_sign(format: &Format, index: u64, negative: bool) -> u64 {
    let sign = (negative && format.is_signed()) as u64;
    index | sign << (format.width() - 1)
}

impl Format {
    /// Returns the projection of the format's default preset ([semantics](crate::semantics) S2).
    pub const fn default_projection(&self) -> Projection {
        Preset::default_for(self).projection(self)
    }
}

by_name!(
    Saturation,
    Self::ALL.iter().copied(),
    "saturation",
    "satfinite, satpropagate, satnone or satnone-v40"
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::formats::CATALOGUE;

    fn scramble(i: u64) -> u64 {
        let x = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (x ^ x >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    }

    /// Significands of 1 to 128 bits, among them ties, around both ends of the normal range.
    #[test]
    fn normal_values_round_as_all_do() {
        let more = [
            "cfloat8_1_4_3:bias=63",
            "binary8p1se",
            "binary8p3ue",
            "binary16p1se",
            "minifloat:k=8,p=4,bias=7,subnormals=none",
            "minifloat:k=8,p=1,bias=7,subnormals=none",
            "minifloat:k=8,p=4,bias=7,subnormals=flush",
        ];
        let named = CATALOGUE.iter().map(|row| row.format);
        let formats = named.chain(more.into_iter().map(|name| name.parse().expect("a format")));
        let (mut taken, mut left) = (0, 0);
        for format in formats {
            let (lowest, highest) = format.exponent_range();
            let projection = format.default_projection();
            let span = (highest - lowest + 6).unsigned_abs();
            for i in 0..20_000_u64 {
                let random = scramble(i);
                let ones = u128::from(scramble(!i)) << 64 | u128::from(scramble(i << 1));
                // Few bits and many, so that ties and values of the format occur.
                let significand = (ones & u128::MAX << (random % 128)) >> ((random >> 8) % 128);
                if significand == 0 {
                    continue;
                }
                let leading = lowest - 3 + signed((random >> 32) as u32 % span);
                let exponent = leading - signed(significand.ilog2());
                // Truncated results have many bits.
                let sticky = random & 1 == 1 && significand >> 120 != 0;
                let negative = random & 2 == 2;
                for &rounding in Rounding::DETERMINISTIC {
                    let short = round_to_normal(negative, significand, exponent, sticky, &format, rounding);
                    let Some(short) = short else {
                        left += 1;
                        continue;
                    };
                    taken += 1;
                    let at = Located::new(significand, exponent, sticky, &format, rounding);
                    let expected = round(&at, &format, &projection.with_rounding(rounding), negative);
                    assert_eq!(short, expected, "{format} {rounding} {significand:#x} 2^{exponent} {sticky}");
                }
            }
        }
        assert!(taken > 2_000_000 && left > 100_000, "{taken} {left}");
    }
}
