//! Conversions: between any two formats, and from Rust's numbers, each with one rounding.

use crate::format::Format;
use crate::format::formats::{BFLOAT16, BINARY16, BINARY32, BINARY64};
use crate::format::operand::Operand;
use crate::projection::exact::Exact;
use crate::projection::flag_policy::FlagPolicy;
use crate::projection::flags::{Flags, Rounded};
use crate::projection::{Projection, project};

/// Converts a code of one format into a code of another, rounding once.
///
/// The flags are those of [`FlagPolicy::TESLA`] if one of the formats is Tesla's, else of
/// [`FlagPolicy::IEEE_BEFORE`]; [`convert_with`] takes another policy. Bits of `code` above the
/// source's width are ignored.
///
/// ```
/// use smallfloat::{convert, formats::{E4M3FN, E5M2}};
/// let r = convert(0x7e, &E4M3FN, &E5M2, &E5M2.default_projection());
/// assert_eq!(r.value, 0x5f); // 448
/// ```
pub const fn convert(code: u64, from: &Format, to: &Format, projection: &Projection) -> Rounded<u64> {
    let policy = FlagPolicy::default_where(FlagPolicy::is_tesla(from) || FlagPolicy::is_tesla(to));
    convert_with(code, from, to, projection, policy)
}

/// Returns what [`convert`] gives, with flags and NaN results by a policy of the caller's.
///
/// ```
/// use smallfloat::{FlagPolicy, Flags, convert_with, formats::{BINARY32, E5M2}};
/// let nan = |policy| convert_with(0x7fc0_0000, &BINARY32, &E5M2, &E5M2.default_projection(), policy).flags;
/// assert_eq!(nan(FlagPolicy::TESLA), Flags::INVALID);
/// assert_eq!(nan(FlagPolicy::IEEE_AFTER), Flags::NONE);
/// ```
pub const fn convert_with(
    code: u64,
    from: &Format,
    to: &Format,
    projection: &Projection,
    policy: FlagPolicy,
) -> Rounded<u64> {
    let datum = from.decode(code);
    let exact = Exact::from_datum(datum);
    let Rounded { value, flags } = project(exact, to, projection);
    let facts = policy.facts_of_conversion(from.facts(code, &datum), from, to);
    let flags = policy.raise(facts, &exact, flags, to, projection.rounding);
    if datum.is_nan() {
        if let Some(value) = policy.nan_code(&[Operand::new(code, from)], facts, to, projection) {
            return Rounded { value, flags };
        }
    }
    Rounded { value, flags }
}

/// Returns what [`project`] gives, with flags by a policy of the caller's. A NaN is taken for a
/// quiet one.
pub const fn project_with(
    x: Exact,
    format: &Format,
    projection: &Projection,
    policy: FlagPolicy,
) -> Rounded<u64> {
    let Rounded { value, flags } = project(x, format, projection);
    let facts = if x.is_nan() { Flags::NAN_OPERAND } else { Flags::NONE };
    Rounded { value, flags: policy.raise(facts, &x, flags, format, projection.rounding) }
}

impl Format {
    /// Rounds an `f64` to a code of this format.
    pub const fn encode_f64(&self, x: f64, projection: &Projection) -> Rounded<u64> {
        convert(x.to_bits(), &BINARY64, self, projection)
    }

    /// Rounds an `f32` to a code of this format.
    pub const fn encode_f32(&self, x: f32, projection: &Projection) -> Rounded<u64> {
        convert(x.to_bits() as u64, &BINARY32, self, projection)
    }

    /// Rounds a binary16, given as its bits, to a code of this format.
    pub const fn encode_f16_bits(&self, bits: u16, projection: &Projection) -> Rounded<u64> {
        convert(bits as u64, &BINARY16, self, projection)
    }

    /// Rounds a bfloat16, given as its bits, to a code of this format.
    pub const fn encode_bf16_bits(&self, bits: u16, projection: &Projection) -> Rounded<u64> {
        convert(bits as u64, &BFLOAT16, self, projection)
    }

    /// Rounds an integer to a code of this format.
    pub const fn encode_integer(&self, x: i128, projection: &Projection) -> Rounded<u64> {
        project(Exact::from_i128(x), self, projection)
    }

    /// Returns the `f64` of a code, rounded to nearest even where `f64` can't hold the value
    /// (P3109's widest ranges).
    pub const fn decode_f64(&self, code: u64) -> Rounded<f64> {
        let Rounded { value, flags } = convert(code, self, &BINARY64, &BINARY64.default_projection());
        Rounded { value: f64::from_bits(value), flags }
    }

    /// Returns the `f32` of a code, rounded to nearest even where `f32` can't hold the value.
    pub const fn decode_f32(&self, code: u64) -> Rounded<f32> {
        let Rounded { value, flags } = convert(code, self, &BINARY32, &BINARY32.default_projection());
        #[expect(clippy::cast_possible_truncation, reason = "a binary32 code has 32 bits")]
        Rounded { value: f32::from_bits(value as u32), flags }
    }
}
