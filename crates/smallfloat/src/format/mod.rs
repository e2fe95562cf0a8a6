//! [`Format`]: the one descriptor of a format, and what follows from it.

pub(crate) mod datum;
pub(crate) mod decode;
pub(crate) mod error;
mod fits;
pub mod formats;
pub(crate) mod key;
pub(crate) mod name;
pub(crate) mod named;
pub(crate) mod operand;
mod values;

use crate::format::datum::{Class, Datum};
use crate::format::error::{Error, ErrorKind};
use crate::format::named::by_name;

/// Whether a format has a sign bit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Signedness {
    /// Sign and magnitude.
    Signed,
    /// No sign bit; magnitudes only.
    Unsigned,
}

/// Whether a P3109 format has infinities.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Domain {
    /// No infinity.
    Finite,
    /// With infinities.
    Extended,
}

/// Which codes of a format are not finite numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Specials {
    /// None: every code is a number (Tesla's CFloat8 and SHP, OCP's FP6 and FP4).
    Finite,
    /// The exponent field of ones holds ±∞ and NaN (IEEE 754, UHP, E5M2).
    Ieee,
    /// NaN where exponent and trailing significand are all ones; no infinity (E4M3FN).
    NanAllOnes,
    /// NaN on the code of negative zero; no infinity (the FNUZ formats).
    NanNegativeZero,
    /// P3109, extended: one NaN, infinities, no negative zero.
    P3109Extended,
    /// P3109, finite: one NaN, no infinity, no negative zero.
    P3109Finite,
    /// A scale: powers of two, no zero, NaN on the code of all ones (OCP MX, section 5.4.1).
    E8m0,
}

/// The meaning of the codes with exponent field 0 and a non-zero trailing significand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Subnormals {
    /// 2^(1−bias) · 0.m: the spacing of the smallest normal binade goes on down to zero (IEEE 754).
    Gradual,
    /// 2^−bias · 0.m: the formula of Tesla's paper. It leaves a hole below the smallest normal
    /// value.
    Tesla,
    /// The codes exist and decode to zero; results round on the gradual grid and flush to zero
    /// (UHP).
    Flush,
    /// 2^−bias · 1.m: an ordinary binade (the talk's column "without subnormals").
    None,
}

/// Which family of standards a format belongs to: it decides the name, the default preset and the
/// semantics.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Family {
    /// Tesla's CFloat8, SHP and UHP.
    Tesla,
    /// IEEE 754's formats, bfloat16, and other widths after their model.
    Ieee,
    /// The P3109 draft's `Binary{K}p{P}{s|u}{e|f}`.
    P3109,
    /// The formats of OCP, LLVM and XLA that the ml_dtypes library implements.
    MlDtypes,
    /// A format built from parameters (`minifloat:…`).
    Minifloat,
}

/// The parameters of [`Format::minifloat`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Parameters {
    /// Width of a code in bits, 2..=32. Above 16 the exponent has at most 11 bits.
    pub width: u32,
    /// Precision in bits, hidden bit included.
    pub precision: u32,
    /// Exponent bias, −32768..=32768: a normal value is 2^(e − bias) · 1.m.
    pub bias: i32,
    /// Signed or unsigned.
    pub signedness: Signedness,
    /// Which codes are not numbers.
    pub specials: Specials,
    /// What exponent field 0 means.
    pub subnormals: Subnormals,
}

impl Parameters {
    /// Returns the parameters of a signed format with gradual subnormals and the bias that puts 1
    /// where IEEE 754's formats have it, 2^(E − 1) − 1 for E exponent bits.
    ///
    /// ```
    /// use smallfloat::{Format, Parameters, Specials};
    /// let e2m5 = Format::minifloat(Parameters::signed(8, 6, Specials::Finite))?;
    /// assert_eq!((e2m5.bias(), e2m5.max_finite().to_f64()), (1, Some(7.875)));
    /// let shifted = Parameters::signed(8, 6, Specials::Finite).with_bias(3);
    /// assert_eq!(Format::minifloat(shifted)?.max_finite().to_f64(), Some(1.96875));
    /// # Ok::<(), smallfloat::Error>(())
    /// ```
    pub const fn signed(width: u32, precision: u32, specials: Specials) -> Self {
        let bias = match width.saturating_sub(precision) {
            exponent @ 1..=16 => (1 << (exponent - 1)) - 1,
            // No format has so many, or none: `Format::minifloat` says so.
            _ => 0,
        };
        let (signedness, subnormals) = (Signedness::Signed, Subnormals::Gradual);
        Self { width, precision, bias, signedness, specials, subnormals }
    }

    /// Returns the parameters with another bias, −32768..=32768.
    ///
    /// ```
    /// use smallfloat::{Format, Parameters, Specials};
    /// let e4m3 = Parameters::signed(8, 4, Specials::NanAllOnes);
    /// assert_eq!((e4m3.bias, e4m3.with_bias(11).bias), (7, 11));
    /// assert_eq!(Format::minifloat(e4m3.with_bias(11))?.max_finite().to_f64(), Some(28.0));
    /// # Ok::<(), smallfloat::Error>(())
    /// ```
    #[must_use]
    pub const fn with_bias(self, bias: i32) -> Self {
        Self { bias, ..self }
    }
}

/// A number format: a finite set of exact values and their codes.
///
/// Plain data, cheap to copy. A format holds no policy; what happens to values it does not have is
/// a [`Projection`](crate::Projection)'s business. Equality includes the [`Family`], so `e5m2` and
/// `ieee:k=8,p=3` have the same values and are different formats.
///
/// ```
/// use smallfloat::Format;
/// let f: Format = "cfloat8_1_4_3:bias=11".parse()?;
/// assert_eq!((f.width(), f.precision(), f.bias()), (8, 4, 11));
/// assert_eq!(f.max_finite().to_f64(), Some(30.0));
/// # Ok::<(), smallfloat::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Format {
    width: u8,
    precision: u8,
    bias: i32,
    signed: bool,
    specials: Specials,
    subnormals: Subnormals,
    family: Family,
    // What follows from these and is asked for again and again.
    field_0_is_a_binade: bool,
    max_index: u64,
}

/// The largest bias in magnitude: that of P3109's widest exponent (K = 16, P = 1, unsigned).
const MAX_BIAS: i32 = 32768;

/// The largest width of a format from parameters; binary64 is wider.
const MAX_WIDTH: u32 = 32;
/// Up to this width an exponent may have any number of bits: codes can be listed and tabulated.
pub(crate) const MAX_NARROW_WIDTH: u32 = 16;
/// The most exponent bits of wider formats, binary64's.
pub(crate) const MAX_WIDE_EXPONENT: u32 = 11;

/// Refuses exponents of more bits than binary64's in formats of more than 16 bits.
const fn check_exponent_bits(width: u32, precision: u32, signedness: Signedness) -> Result<(), Error> {
    let exponent = width - precision + matches!(signedness, Signedness::Unsigned) as u32;
    if width > MAX_NARROW_WIDTH && exponent > MAX_WIDE_EXPONENT {
        return Err(Error::new(ErrorKind::ExponentBits { width, precision, exponent }));
    }
    Ok(())
}

/// The index of the largest finite value ([`Format::max_index`]).
const fn max_index(width: u32, precision: u32, signed: bool, specials: Specials) -> u64 {
    let top = u64::MAX >> (64 - width + signed as u32);
    match specials {
        Specials::Finite | Specials::NanNegativeZero => top,
        // All of the highest exponent field are specials.
        Specials::Ieee => (top >> (precision - 1) << (precision - 1)).saturating_sub(1),
        Specials::NanAllOnes | Specials::E8m0 => top.saturating_sub(1),
        Specials::P3109Extended => top.saturating_sub(if signed { 1 } else { 2 }),
        Specials::P3109Finite => top.saturating_sub(!signed as u64),
    }
}

/// Returns whether a binade starts at exponent field 0, rather than subnormals.
const fn field_0_is_a_binade(precision: u32, specials: Specials, subnormals: Subnormals) -> bool {
    matches!(specials, Specials::E8m0) || (matches!(subnormals, Subnormals::None) && precision > 1)
}

/// Constructors.
impl Format {
    /// A row of the catalogue, whose legality a test checks.
    #[expect(clippy::cast_possible_truncation, reason = "widths and precisions are below 65")]
    pub(crate) const fn row(family: Family, p: Parameters) -> Self {
        let signed = matches!(p.signedness, Signedness::Signed);
        Self {
            width: p.width as u8,
            precision: p.precision as u8,
            bias: p.bias,
            signed,
            specials: p.specials,
            subnormals: p.subnormals,
            family,
            field_0_is_a_binade: field_0_is_a_binade(p.precision, p.specials, p.subnormals),
            max_index: max_index(p.width, p.precision, signed, p.specials),
        }
    }

    /// Returns a format from its parameters.
    ///
    /// # Errors
    /// A parameter outside its legal range, or a combination that leaves no normal value; the error
    /// states the range.
    pub const fn minifloat(p: Parameters) -> Result<Self, Error> {
        if p.width < 2 || p.width > MAX_WIDTH {
            return Err(Error::range("k", p.width as i64, 2, MAX_WIDTH as i64));
        }
        Self::checked(Family::Minifloat, p)
    }

    /// Checks everything but the width.
    pub(crate) const fn checked(family: Family, p: Parameters) -> Result<Self, Error> {
        let is_signed = matches!(p.signedness, Signedness::Signed);
        let max_precision = if is_signed { p.width - 1 } else { p.width };
        if p.precision < 1 || p.precision > max_precision {
            return Err(Error::range("p", p.precision as i64, 1, max_precision as i64));
        }
        if let Err(error) = check_exponent_bits(p.width, p.precision, p.signedness) {
            return Err(error);
        }
        if p.bias < -MAX_BIAS || p.bias > MAX_BIAS {
            return Err(Error::range("bias", p.bias as i64, -MAX_BIAS as i64, MAX_BIAS as i64));
        }
        let legal = match p.specials {
            Specials::Ieee => p.precision >= 2 && p.width - p.precision + (!is_signed) as u32 >= 2,
            Specials::NanNegativeZero => is_signed,
            Specials::E8m0 => !is_signed && p.precision == 1,
            _ => true,
        };
        let format = Self::row(family, p);
        if !legal || format.max_index() < format.first_normal_index() {
            return Err(Error::new(ErrorKind::NoSuchSpecials { specials: p.specials.name() }));
        }
        Ok(format)
    }

    const fn tesla(width: u32, precision: u32, bias: i32) -> Result<Self, Error> {
        if bias < 0 || bias > 63 {
            return Err(Error::range("bias", bias as i64, 0, 63));
        }
        Ok(Self::row(
            Family::Tesla,
            Parameters {
                width,
                precision,
                bias,
                signedness: Signedness::Signed,
                specials: Specials::Finite,
                subnormals: Subnormals::Tesla,
            },
        ))
    }

    /// Returns Tesla's CFloat8 with 4 exponent and 3 mantissa bits; bias 0..=63 (paper, Table 3).
    ///
    /// # Errors
    /// A bias outside 0..=63.
    pub const fn cfloat8_1_4_3(bias: i32) -> Result<Self, Error> {
        Self::tesla(8, 4, bias)
    }

    /// Returns Tesla's CFloat8 with 5 exponent and 2 mantissa bits; bias 0..=63 (paper, Table 3).
    ///
    /// # Errors
    /// A bias outside 0..=63.
    pub const fn cfloat8_1_5_2(bias: i32) -> Result<Self, Error> {
        Self::tesla(8, 3, bias)
    }

    /// Returns Tesla's signed half precision; bias 0..=63 (paper, Table 6).
    ///
    /// # Errors
    /// A bias outside 0..=63.
    pub const fn shp(bias: i32) -> Result<Self, Error> {
        Self::tesla(16, 11, bias)
    }

    /// Returns the P3109 draft's `Binary{K, P, Σ, Δ}` (section "Formats"), K = 3..=32.
    ///
    /// # Errors
    /// K or P outside its range: 1 ≤ P < K for signed formats, 1 ≤ P ≤ K for unsigned ones, and at
    /// most 11 exponent bits where K > 16.
    pub const fn p3109(k: u32, p: u32, signedness: Signedness, domain: Domain) -> Result<Self, Error> {
        if k < 3 || k > MAX_WIDTH {
            return Err(Error::range("K", k as i64, 3, MAX_WIDTH as i64));
        }
        let exponent_bits = match signedness {
            Signedness::Signed if p >= 1 && p < k => k - p - 1,
            Signedness::Unsigned if p >= 1 && p <= k => k - p,
            Signedness::Signed => return Err(Error::range("P", p as i64, 1, k as i64 - 1)),
            Signedness::Unsigned => return Err(Error::range("P", p as i64, 1, k as i64)),
        };
        if let Err(error) = check_exponent_bits(k, p, signedness) {
            return Err(error);
        }
        Ok(Self::row(
            Family::P3109,
            Parameters {
                width: k,
                precision: p,
                bias: 1 << exponent_bits,
                signedness,
                specials: match domain {
                    Domain::Extended => Specials::P3109Extended,
                    Domain::Finite => Specials::P3109Finite,
                },
                subnormals: Subnormals::Gradual,
            },
        ))
    }

    /// Returns a signed format after IEEE 754's model, with bias 2^(w−1) − 1 for w = `k` − `p`
    /// exponent bits: 4 ≤ `k` ≤ 32, or binary64.
    ///
    /// # Errors
    /// A width or precision outside its range: 2 ≤ `p` ≤ `k` − 2, and at most 11 exponent bits
    /// where `k` > 16.
    pub const fn ieee(k: u32, p: u32) -> Result<Self, Error> {
        let is_binary64 = k == 64 && p == 53;
        if !is_binary64 && (k < 4 || k > MAX_WIDTH) {
            return Err(Error::range("k", k as i64, 4, MAX_WIDTH as i64));
        }
        if p < 2 || p + 2 > k {
            return Err(Error::range("p", p as i64, 2, k as i64 - 2));
        }
        if let Err(error) = check_exponent_bits(k, p, Signedness::Signed) {
            return Err(error);
        }
        Ok(Self::row(
            Family::Ieee,
            Parameters {
                width: k,
                precision: p,
                bias: (1 << (k - p - 1)) - 1,
                signedness: Signedness::Signed,
                specials: Specials::Ieee,
                subnormals: Subnormals::Gradual,
            },
        ))
    }

    /// Returns the format with another bias.
    ///
    /// # Errors
    /// A bias outside 0..=63 for Tesla's formats; any bias for a format whose standard fixes it.
    pub const fn with_bias(self, bias: i32) -> Result<Self, Error> {
        if bias == self.bias {
            return Ok(self);
        }
        let Some((lo, hi)) = self.bias_range() else {
            return Err(Error::range("bias", bias as i64, self.bias as i64, self.bias as i64));
        };
        if bias < lo || bias > hi {
            return Err(Error::range("bias", bias as i64, lo as i64, hi as i64));
        }
        Ok(Self { bias, ..self })
    }

    /// Returns the Tesla or minifloat format with another reading of its subnormal codes.
    ///
    /// # Errors
    /// A format whose standard fixes the reading.
    pub const fn with_subnormals(self, subnormals: Subnormals) -> Result<Self, Error> {
        let free = match self.family {
            Family::Minifloat => true,
            Family::Tesla => {
                self.has_free_bias() && matches!(subnormals, Subnormals::Tesla | Subnormals::Gradual)
            }
            _ => false,
        };
        if !free {
            return Err(Error::new(ErrorKind::FixedSubnormals));
        }
        let field_0_is_a_binade = field_0_is_a_binade(self.precision(), self.specials, subnormals);
        Ok(Self { subnormals, field_0_is_a_binade, ..self })
    }
}

/// Parameters.
impl Format {
    /// Returns the width of a code in bits, K.
    #[inline]
    pub const fn width(&self) -> u32 {
        self.width as u32
    }

    /// Returns the precision in bits, hidden bit included, P.
    #[inline]
    pub const fn precision(&self) -> u32 {
        self.precision as u32
    }

    /// Returns the exponent bias: a normal value is 2^(e − bias) · 1.m.
    #[inline]
    pub const fn bias(&self) -> i32 {
        self.bias
    }

    /// Returns whether the format is signed or unsigned.
    pub const fn signedness(&self) -> Signedness {
        if self.signed { Signedness::Signed } else { Signedness::Unsigned }
    }

    /// Returns whether the format has a sign bit.
    #[inline]
    pub const fn is_signed(&self) -> bool {
        self.signed
    }

    /// Returns which codes are not numbers.
    #[inline]
    pub const fn specials(&self) -> Specials {
        self.specials
    }

    /// Returns what exponent field 0 means.
    #[inline]
    pub const fn subnormals(&self) -> Subnormals {
        self.subnormals
    }

    /// Returns the family of standards the format belongs to.
    #[inline]
    pub const fn family(&self) -> Family {
        self.family
    }

    /// Returns whether codes have more than 16 bits. Such formats have all operations and
    /// conversions; tables, slices of codes and tensors take narrower ones.
    #[inline]
    pub const fn is_wide(&self) -> bool {
        self.width() > MAX_NARROW_WIDTH
    }

    /// Returns whether the bias is data that may differ from tensor to tensor (Tesla's CFloat8 and
    /// SHP).
    #[inline]
    pub const fn has_free_bias(&self) -> bool {
        matches!((self.family, self.specials), (Family::Tesla, Specials::Finite))
    }

    /// Returns the biases that [`with_bias`](Self::with_bias) takes, or `None` where the standard
    /// fixes the bias.
    pub const fn bias_range(&self) -> Option<(i32, i32)> {
        match self.family {
            Family::Tesla if self.has_free_bias() => Some((0, 63)),
            Family::Minifloat => Some((-MAX_BIAS, MAX_BIAS)),
            _ => None,
        }
    }

    /// Returns the width of the exponent field in bits (P3109's ExponentBitwidthOf).
    #[inline]
    pub const fn exponent_bits(&self) -> u32 {
        self.width() - self.precision() + !self.signed as u32
    }

    /// Returns the width of the trailing significand field in bits, P − 1.
    #[inline]
    pub const fn trailing_bits(&self) -> u32 {
        self.precision() - 1
    }

    /// Returns the largest code, 2^K − 1.
    #[inline]
    pub const fn max_code(&self) -> u64 {
        u64::MAX >> (64 - self.width())
    }

    /// Returns how many hexadecimal digits a code takes, ⌈K/4⌉.
    pub const fn hex_digits(&self) -> usize {
        self.width().div_ceil(4) as usize
    }

    /// Returns whether `code` is below 2^K.
    ///
    /// # Errors
    /// Says the code and the largest legal one.
    pub const fn check_code(&self, code: u64) -> Result<u64, Error> {
        if code <= self.max_code() {
            Ok(code)
        } else {
            Err(Error::new(ErrorKind::CodeTooLarge { code, width: self.width() }))
        }
    }
}

/// The non-negative half of the format as indices: index = code where the code is a finite
/// magnitude. Indices sort as the values do. They go on past the largest finite value, as the grid
/// does with unbounded exponent.
impl Format {
    /// The index of the largest finite value.
    #[inline]
    pub(crate) const fn max_index(&self) -> u64 {
        self.max_index
    }

    /// The index of the smallest normal value.
    #[inline]
    pub(crate) const fn first_normal_index(&self) -> u64 {
        // Where field 0 is a binade, its power of two is zero, if the format has one.
        if self.field_0_is_a_binade { self.has_zero() as u64 } else { 1 << self.trailing_bits() }
    }

    /// The exponent of the lowest normal binade.
    #[inline]
    pub(crate) const fn lowest_exponent(&self) -> i32 {
        -self.bias + !self.field_0_is_a_binade as i32
    }

    /// The exponent of the binade of the largest finite value.
    #[inline]
    pub(crate) const fn highest_exponent(&self) -> i32 {
        #[expect(clippy::cast_possible_truncation, reason = "an exponent field has at most 16 bits")]
        let field = (self.max_index() >> self.trailing_bits()) as i32;
        field - self.bias
    }

    /// The index of the lowest normal binade's power of two, whether or not that is a value.
    #[inline]
    pub(crate) const fn lowest_binade_index(&self) -> u64 {
        if self.field_0_is_a_binade { 0 } else { 1 << self.trailing_bits() }
    }

    /// The index of a magnitude in the binade of 2^leading, not below the lowest: P bits of
    /// significand, the hidden one with them.
    #[inline]
    pub(crate) const fn normal_index(&self, leading: i32, significand: u64) -> u64 {
        let t = self.trailing_bits();
        let binade = (leading - self.lowest_exponent()).unsigned_abs() as u64;
        (binade << t) + significand - (1 << t) + self.lowest_binade_index()
    }

    /// The magnitude of an index: significand and exponent.
    #[inline]
    pub(crate) const fn magnitude(&self, index: u64) -> (u64, i32) {
        let t = self.trailing_bits();
        let (field, trailing) = (index >> t, index & ((1 << t) - 1));
        let hidden = 1 << t;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_possible_wrap,
            reason = "t < 64, field < 2^17"
        )]
        let (t, field) = (t as i32, field as i32);
        if self.field_0_is_a_binade {
            if index == 0 && !matches!(self.specials, Specials::E8m0) {
                return (0, 0);
            }
            return (hidden + trailing, field - self.bias - t);
        }
        match (field, self.subnormals) {
            (0, Subnormals::Tesla) => (trailing, -self.bias - t),
            (0, _) => (trailing, 1 - self.bias - t),
            _ => (hidden + trailing, field - self.bias - t),
        }
    }

    const fn datum_at(&self, index: u64) -> Datum {
        let (significand, exponent) = self.magnitude(index);
        Datum::finite(false, significand, exponent)
    }
}

/// Derived queries. Values are exact; counts are of codes unless they say values.
impl Format {
    /// Returns the largest finite value.
    pub const fn max_finite(&self) -> Datum {
        self.datum_at(self.max_index())
    }

    /// Returns the smallest finite value: −max for signed formats, 0 or the smallest scale for
    /// unsigned ones.
    pub const fn min_finite(&self) -> Datum {
        if self.signed { self.max_finite().negated() } else { self.datum_at(0) }
    }

    /// Returns the smallest positive value that results can take (a flushed subnormal is none).
    pub const fn min_positive(&self) -> Datum {
        match self.subnormals {
            Subnormals::Flush => self.min_normal(),
            _ if self.has_zero() => self.datum_at(1),
            _ => self.datum_at(0),
        }
    }

    /// Returns the smallest positive normal value.
    pub const fn min_normal(&self) -> Datum {
        self.datum_at(self.first_normal_index())
    }

    /// Returns the largest subnormal value, if the format has any.
    pub const fn max_subnormal(&self) -> Option<Datum> {
        match self.subnormals {
            Subnormals::Gradual | Subnormals::Tesla if self.precision > 1 => {
                Some(self.datum_at(self.first_normal_index() - 1))
            }
            _ => None,
        }
    }

    /// Returns the exponents E of normal values, 2^E ≤ |x| < 2^(E+1): smallest and largest.
    pub const fn exponent_range(&self) -> (i32, i32) {
        (self.lowest_exponent(), self.highest_exponent())
    }

    /// Returns whether the format has a code for zero.
    #[inline]
    pub const fn has_zero(&self) -> bool {
        !matches!(self.specials, Specials::E8m0)
    }

    /// Returns whether the format has a code for −0.
    #[inline]
    pub const fn has_negative_zero(&self) -> bool {
        self.signed && matches!(self.specials, Specials::Finite | Specials::Ieee | Specials::NanAllOnes)
    }

    /// Returns whether the format has infinities.
    #[inline]
    pub const fn has_infinity(&self) -> bool {
        matches!(self.specials, Specials::Ieee | Specials::P3109Extended)
    }

    /// Returns whether the format has a NaN.
    #[inline]
    pub const fn has_nan(&self) -> bool {
        !matches!(self.specials, Specials::Finite)
    }

    /// Returns whether the format has subnormal codes (flushed ones included).
    pub const fn has_subnormals(&self) -> bool {
        self.precision > 1 && !matches!(self.subnormals, Subnormals::None)
    }

    /// Returns how many codes are finite numbers.
    pub const fn finite_codes(&self) -> u64 {
        let magnitudes = self.max_index() + 1;
        match (self.signed, self.specials) {
            (false, _) => magnitudes,
            (true, Specials::NanNegativeZero | Specials::P3109Extended | Specials::P3109Finite) => {
                2 * magnitudes - 1
            }
            (true, _) => 2 * magnitudes,
        }
    }

    /// Returns how many different finite values the codes have: −0 equals 0, and flushed codes are
    /// 0.
    pub const fn finite_values(&self) -> u64 {
        let flushed = match self.subnormals {
            Subnormals::Flush if self.has_subnormals() && self.has_zero() => self.first_normal_index() - 1,
            _ => 0,
        };
        let sides = 1 + self.signed as u64;
        self.finite_codes() - self.has_negative_zero() as u64 - sides * flushed
    }

    /// Returns how many codes are NaN.
    pub const fn nan_codes(&self) -> u64 {
        let infinities = if self.has_infinity() { 1 + self.signed as u64 } else { 0 };
        self.max_code() - (self.finite_codes() - 1) - infinities
    }

    /// Returns what kind of datum a code is. Bits above K are ignored.
    #[inline]
    pub const fn classify(&self, code: u64) -> Class {
        match self.decode(code) {
            Datum::Nan { .. } => Class::Nan,
            Datum::Infinite { .. } => Class::Infinite,
            Datum::Finite { .. } => {
                let index = code & (self.max_code() >> self.signed as u32);
                if index == 0 && self.has_zero() {
                    Class::Zero
                } else if index < self.first_normal_index() {
                    Class::Subnormal
                } else {
                    Class::Normal
                }
            }
        }
    }

    /// Returns whether the code has its sign bit set. Unsigned formats have none.
    #[inline]
    pub const fn sign_bit(&self, code: u64) -> bool {
        self.signed && code >> (self.width - 1) & 1 == 1
    }
}

impl Specials {
    /// All of them, with the names they have in `minifloat:specials=…`.
    pub const NAMED: &'static [(&'static str, Self)] = &[
        ("finite", Self::Finite),
        ("ieee", Self::Ieee),
        ("nan-allones", Self::NanAllOnes),
        ("nan-negzero", Self::NanNegativeZero),
        ("p3109-extended", Self::P3109Extended),
        ("p3109-finite", Self::P3109Finite),
        ("e8m0", Self::E8m0),
    ];

    /// Returns the name in `minifloat:specials=…`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Finite => "finite",
            Self::Ieee => "ieee",
            Self::NanAllOnes => "nan-allones",
            Self::NanNegativeZero => "nan-negzero",
            Self::P3109Extended => "p3109-extended",
            Self::P3109Finite => "p3109-finite",
            Self::E8m0 => "e8m0",
        }
    }
}

impl Subnormals {
    /// All of them, with the names they have in `subnormals=…`.
    pub const NAMED: &'static [(&'static str, Self)] =
        &[("gradual", Self::Gradual), ("tesla", Self::Tesla), ("flush", Self::Flush), ("none", Self::None)];

    /// Returns the name in `subnormals=…`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gradual => "gradual",
            Self::Tesla => "tesla",
            Self::Flush => "flush",
            Self::None => "none",
        }
    }
}

impl Family {
    /// All families.
    pub const ALL: &'static [Self] = &[Self::Tesla, Self::Ieee, Self::P3109, Self::MlDtypes, Self::Minifloat];

    /// Returns the name: `tesla`, `ieee`, `p3109`, `ml-dtypes` or `minifloat`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tesla => "tesla",
            Self::Ieee => "ieee",
            Self::P3109 => "p3109",
            Self::MlDtypes => "ml-dtypes",
            Self::Minifloat => "minifloat",
        }
    }
}

by_name!(Family, Self::ALL.iter().copied(), "family", "tesla, ieee, p3109, ml-dtypes or minifloat");

/// The code of an index, unless it lies beyond the range.
#[expect(clippy::inline_always, reason = "a few instructions of the typed scalars' short path")]
#[inline(always)]
pub(crate) const fn signed_code(index: u64, negative: bool, to: &Format) -> Option<u64> {
    if index > to.max_index() {
        return None;
    }
    let signed = negative && (index > 0 || to.has_negative_zero());
    Some(index | (signed as u64) << (to.width() - 1))
}

by_name!(
    Specials,
    Self::NAMED.iter().map(|&(_, value)| value),
    "specials",
    "finite, ieee, nan-allones, nan-negzero, p3109-extended, p3109-finite or e8m0"
);
by_name!(
    Subnormals,
    Self::NAMED.iter().map(|&(_, value)| value),
    "subnormals",
    "gradual, tesla, flush or none"
);
