//! From what operands and a result are to flags and NaN codes, by a [`FlagPolicy`].

use crate::cast::signed;
use crate::format::datum::Datum;
use crate::format::operand::Operand;
use crate::format::{Format, Specials};
use crate::projection::exact::Exact;
use crate::projection::flag_policy::{
    DenormalRule, FlagPolicy, InvalidRule, LostInfinity, NanResult, Tininess, ZeroTimesInfinity,
};
use crate::projection::flags::Flags;
use crate::projection::rounding::{Position, Rounding};
use crate::projection::{NanRule, Projection, project, shift_with_sticky};

impl Format {
    /// Returns whether the code is a signaling NaN: one whose highest significand bit is 0. Only
    /// formats with IEEE 754's special values have such; all others have quiet NaNs.
    ///
    /// ```
    /// use smallfloat::formats::{BINARY16, E4M3FN};
    /// assert!(BINARY16.is_signaling(0x7d00) && !BINARY16.is_signaling(0x7e00));
    /// assert!(!E4M3FN.is_signaling(0x7f));
    /// ```
    pub const fn is_signaling(&self, code: u64) -> bool {
        matches!(self.specials(), Specials::Ieee)
            && self.decode(code).is_nan()
            && code >> (self.trailing_bits() - 1) & 1 == 0
    }

    /// What a code is as an operand: [`Flags::DENORMAL`], and the facts [`Flags::NAN_OPERAND`] and
    /// [`Flags::SIGNALING_OPERAND`], of which a policy makes flags.
    pub(crate) const fn facts(&self, code: u64, datum: &Datum) -> Flags {
        if !datum.is_nan() {
            return self.denormal_flag(code);
        }
        let signaling = if self.is_signaling(code) { Flags::SIGNALING_OPERAND } else { Flags::NONE };
        Flags::NAN_OPERAND.union(signaling)
    }
}

impl FlagPolicy {
    /// The flags of a result: `raised` are facts of the operands with what the operation raised,
    /// `projected` what [`project`] raised for the exact result.
    #[inline]
    pub(crate) const fn raise(
        self,
        raised: Flags,
        exact: &Exact,
        projected: Flags,
        to: &Format,
        rounding: Rounding,
    ) -> Flags {
        let mut flags = projected;
        match self.invalid {
            InvalidRule::AnyNan if raised.contains(Flags::NAN_OPERAND) => {
                flags = flags.union(Flags::INVALID);
            }
            InvalidRule::Signaling if raised.contains(Flags::NAN_OPERAND) => {
                // A quiet NaN that is passed on.
                if exact.is_nan() && to.has_nan() {
                    flags = flags.without(Flags::INVALID);
                }
                if raised.contains(Flags::SIGNALING_OPERAND) {
                    flags = flags.union(Flags::INVALID);
                }
            }
            _ => {}
        }
        let is_lost = matches!(exact, Exact::Infinite { .. }) && flags.contains(Flags::OVERFLOW);
        if is_lost && matches!(self.infinity, LostInfinity::Silent) {
            flags = flags.without(Flags::OVERFLOW.union(Flags::INEXACT));
        }
        let is_tiny = flags.contains(Flags::UNDERFLOW);
        if is_tiny && matches!(self.tininess, Tininess::After) && rounds_to_normal(exact, to, rounding) {
            flags = flags.without(Flags::UNDERFLOW);
        }
        flags = flags.union(raised.intersection(Flags::DIVISION_BY_ZERO.union(Flags::INVALID)));
        let comes_first = flags.intersection(Flags::INVALID.union(Flags::DIVISION_BY_ZERO));
        match self.denormal {
            DenormalRule::Raised => flags.union(raised.intersection(Flags::DENORMAL)),
            DenormalRule::X86 if comes_first.is_empty() && !raised.contains(Flags::NAN_OPERAND) => {
                flags.union(raised.intersection(Flags::DENORMAL))
            }
            DenormalRule::X86 | DenormalRule::Never => flags,
        }
    }

    /// What a conversion's operand is to this policy: x86 widens binary16 without "denormal".
    pub(crate) const fn facts_of_conversion(self, raised: Flags, from: &Format, to: &Format) -> Flags {
        let is_binary16 = from.width() == 16 && from.precision() == 11;
        match self.denormal {
            DenormalRule::X86 if is_binary16 && to.width() > 16 => raised.without(Flags::DENORMAL),
            _ => raised,
        }
    }

    /// What 0 · ∞ raises beside a quiet NaN.
    pub(crate) const fn flags_of_product(self, x: &Datum, y: &Datum) -> Flags {
        let zero_and_infinity = matches!((x, y), (Datum::Infinite { .. }, other) | (other, Datum::Infinite { .. }) if other.is_zero());
        match self.product {
            ZeroTimesInfinity::Invalid if zero_and_infinity => Flags::INVALID,
            _ => Flags::NONE,
        }
    }

    /// The code of a NaN result; nothing where the projection's holds. `raised` are the facts of
    /// the operands with what 0 · ∞ raised.
    pub(crate) const fn nan_code(
        self,
        operands: &[Operand<'_>],
        raised: Flags,
        to: &Format,
        projection: &Projection,
    ) -> Option<u64> {
        if !to.has_nan() {
            return None;
        }
        let is_fma = operands.len() == 3;
        let operand = match self.nan {
            NanResult::Projection => return None,
            NanResult::Canonical => None,
            NanResult::X86 => first_nan(operands, false, false),
            NanResult::Arm => match first_nan(operands, true, is_fma) {
                Some(signaling) => Some(signaling),
                None if raised.contains(Flags::INVALID) => None,
                None => first_nan(operands, false, is_fma),
            },
        };
        let negative = matches!(self.nan, NanResult::X86);
        if let Some(operand) = operand {
            return quieted(operand, to);
        }
        let rule = if negative { NanRule::QuietSigned } else { NanRule::Quiet };
        Some(project(Exact::Nan { negative }, to, &projection.with_nan(rule)).value)
    }
}

/// The first operand that is a NaN, or a signaling one; the third one first for `addend_first`.
const fn first_nan<'a>(operands: &[Operand<'a>], signaling: bool, addend_first: bool) -> Option<Operand<'a>> {
    let (count, start) = (operands.len(), if addend_first { 2 } else { 0 });
    let mut i = 0;
    while i < count {
        let operand = operands[(start + i) % count];
        let found =
            if signaling { operand.format.is_signaling(operand.code) } else { operand.datum().is_nan() };
        if found {
            return Some(operand);
        }
        i += 1;
    }
    None
}

/// A NaN operand with its sign and its payload, made quiet, in the result's format; nothing where
/// one of the formats has no payloads.
const fn quieted(operand: Operand<'_>, to: &Format) -> Option<u64> {
    let from = operand.format;
    if !matches!((from.specials(), to.specials()), (Specials::Ieee, Specials::Ieee)) {
        return None;
    }
    let (given, wanted) = (from.trailing_bits(), to.trailing_bits());
    let payload = operand.code & ((1 << given) - 1);
    let payload = if wanted >= given { payload << (wanted - given) } else { payload >> (given - wanted) };
    let negative = from.sign_bit(operand.code) && to.is_signed();
    let sign = (negative as u64) << (to.width() - 1);
    Some(sign | (to.max_index() + 1) | payload | 1 << (wanted - 1))
}

/// Returns whether a value below the smallest normal one rounds to it or above, as if the exponent
/// were unbounded.
pub(super) const fn rounds_to_normal(exact: &Exact, to: &Format, rounding: Rounding) -> bool {
    let Exact::Finite { negative, significand: significand @ 1.., exponent, sticky } = *exact else {
        return false;
    };
    let least = to.min_normal();
    let Datum::Finite { significand: least_significand, exponent: least_exponent, .. } = least else {
        return false;
    };
    let leading = exponent.saturating_add(signed(significand.ilog2()));
    // It rounds to the next power of two at most.
    if leading < least.exponent_of_leading_bit() - 1 {
        return false;
    }
    let trailing = to.trailing_bits();
    let step = leading - signed(trailing);
    let spare = rounding.bits_needed() + 1;
    let shift = exponent.saturating_sub(step - signed(spare));
    let (scaled, sticky) = shift_with_sticky(significand, shift, sticky);
    let whole = scaled >> spare;
    // The parity of the code, with the grid continued below.
    let lo_is_even = if trailing > 0 {
        whole % 2 == 0
    } else {
        ((leading - to.lowest_exponent()) % 2 == 0) == (to.lowest_binade_index() % 2 == 0)
    };
    let position = Position { fraction: scaled - (whole << spare), sticky, steps: 1, lo_is_even };
    let away = rounding.moves_away(&position, negative && to.is_signed());
    let in_steps = (least_exponent - step).unsigned_abs();
    whole + away as u128 >= (least_significand as u128) << in_steps
}
