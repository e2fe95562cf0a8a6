//! [`KernelConstants`]: a conversion as plain integers, for kernels in other languages.
//!
//! One algorithm in 32-bit unsigned arithmetic serves every format of up to 16 bits, every bias and
//! every rounding that devices have; the constants are its arguments. [`KernelConstants::encode`]
//! and [`KernelConstants::decode`] are that algorithm, step by step as the Triton kernels of the
//! Python package have it (`smallfloat/gpu`), so that tests can hold this one to the core and the
//! kernels to both.

mod decode;
mod encode;

use smallfloat::{
    Datum, Exact, FlagPolicy, Flags, Format, NegativeRule, Projection, RandomBits, Rounded, Rounding,
    Specials, Subnormals, project_with,
};

use crate::error::Error;

/// The constants of a format of at most 16 bits and of a projection.
///
/// An *index* is a code without its sign. Indices continue past the largest finite value as the
/// grid does with unbounded exponent. Pairs are for a positive and a negative operand.
///
/// ```
/// use smallfloat::{Rounding, formats::E4M3FN};
/// use smallfloat_kernels::KernelConstants;
///
/// let constants = KernelConstants::new(&E4M3FN, &E4M3FN.default_projection())?;
/// let code = constants.encode(0.3_f32.to_bits(), 0, 0);
/// assert_eq!((code, f32::from_bits(constants.decode(code, 0))), (0x2a, 0.3125));
/// # Ok::<(), smallfloat_kernels::Error>(())
/// ```
#[expect(clippy::struct_excessive_bools, reason = "independent properties of a format")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct KernelConstants {
    /// Bits of a code; the sign, if there is one, is the highest.
    pub width: u32,
    /// Bits of the significand behind the hidden one.
    pub trailing: u32,
    /// The exponent of the lowest binade.
    pub lowest: i32,
    /// The exponent of the highest binade.
    pub highest: i32,
    /// The index of the largest finite value.
    pub largest: u32,
    /// The index of the smallest normal value.
    pub first_normal: u32,
    /// The index of 2^`lowest`, whether or not that is a value.
    pub lowest_index: u32,
    /// Whether codes have a sign.
    pub signed: bool,
    /// Whether there is a code for zero.
    pub has_zero: bool,
    /// What lies below the smallest normal value.
    pub subnormals: Subnormals,
    /// The index of infinity; larger ones are NaN.
    pub infinity_index: Option<u32>,
    /// Whether the code of −0 is NaN.
    pub nan_is_negative_zero: bool,
    /// How values between two neighbours are rounded. A random word is an argument of `encode`.
    pub rounding: Rounding,
    /// How many bits of a random word decide; 0 where there is none.
    pub random_bits: u32,
    /// The codes of zeros.
    pub zero: [u32; 2],
    /// The codes of finite values beyond the range. In unsigned formats the second one stands for
    /// all negative values that do not round to zero.
    pub overflow: [u32; 2],
    /// The codes of infinities.
    pub infinity: [u32; 2],
    /// The codes of NaNs.
    pub nan: [u32; 2],
    /// The flags that `overflow`, `infinity` and `nan` raise by [`FlagPolicy::TESLA`].
    pub flags: [[Flags; 2]; 3],
    /// Whether two neighbours are more than a step apart: below the smallest normal value, or above
    /// zero.
    pub has_gap: bool,
    /// The width of that gap in steps; 1 where there is none.
    pub steps: u32,
}

impl KernelConstants {
    /// Returns the constants of a conversion.
    ///
    /// # Errors
    /// [`Error::TooWide`] for a format of more than 16 bits, [`Error::NotPortable`] for a rounding
    /// or a rule that the algorithm lacks.
    pub fn new(format: &Format, projection: &Projection) -> Result<Self, Error> {
        if format.is_wide() {
            return Err(Error::TooWide { format: *format });
        }
        let lacks = |what| Err(Error::NotPortable { what });
        if matches!(projection.rounding, Rounding::StochasticB(_) | Rounding::StochasticC(_)) {
            return lacks(projection.rounding.name());
        }
        let random_bits = projection.rounding.random_bits().map_or(0, RandomBits::count);
        if random_bits > u32::BITS {
            return lacks("more than 32 random bits");
        }
        if !format.is_signed() && projection.unrepresentable.negative == NegativeRule::Magnitude {
            return lacks("an unsigned format that keeps the magnitudes of negative values");
        }
        let trailing = format.trailing_bits();
        let (lowest, highest) = format.exponent_range();
        let largest = index_of(format, format.max_finite());
        let first_normal = index_of(format, format.min_normal());
        let has_zero = format.has_zero();
        let subnormals = format.subnormals();
        let begins_above_zero = subnormals == Subnormals::None && trailing > 0 && has_zero;
        let has_gap = subnormals == Subnormals::Tesla || begins_above_zero;
        let both = |of: &dyn Fn(bool) -> Exact| {
            let [positive, negative] = [false, true].map(|negative| result(of(negative), format, projection));
            ([positive.0, negative.0], [positive.1, negative.1])
        };
        let (zero, _) = both(&|negative| Exact::finite(negative, 0, 0));
        let (overflow, overflow_flags) = both(&|negative| Exact::finite(negative, 1, highest + 2));
        let (infinity, infinity_flags) = both(&|negative| Exact::Infinite { negative });
        let (nan, nan_flags) = both(&|negative| Exact::Nan { negative });
        Ok(Self {
            width: format.width(),
            trailing,
            lowest,
            highest,
            largest,
            first_normal,
            // Where exponent field 0 is a binade, it is the lowest one.
            lowest_index: if first_normal < 1 << trailing { 0 } else { 1 << trailing },
            signed: format.is_signed(),
            has_zero,
            subnormals,
            infinity_index: format.has_infinity().then_some(largest + 1),
            nan_is_negative_zero: format.is_signed()
                && matches!(
                    format.specials(),
                    Specials::NanNegativeZero | Specials::P3109Extended | Specials::P3109Finite
                ),
            rounding: projection.rounding,
            random_bits,
            zero,
            overflow,
            infinity,
            nan,
            flags: [overflow_flags, infinity_flags, nan_flags],
            has_gap,
            steps: if has_gap { (1 << trailing) + 1 } else { 1 },
        })
    }
}

/// The index of a value of a format.
fn index_of(format: &Format, value: Datum) -> u32 {
    let code = format.encode(value).expect("the ends of a format's range are values of it");
    u32::try_from(code).expect("codes have at most 16 bits")
}

/// The code of an exact value, and the flags that it raises.
fn result(x: Exact, format: &Format, projection: &Projection) -> (u32, Flags) {
    let Rounded { value, flags } = project_with(x, format, projection, FlagPolicy::TESLA);
    (u32::try_from(value).expect("codes have at most 16 bits"), flags)
}
