//! [`ScaleSpec`]: which scale a group of elements gets, and the one rounding of x / scale.
//!
//! Element values are multiplied by the scale when they are read. Let amax be the largest finite
//! magnitude of a group, max the element format's largest value, and e(x) = ⌊log2 x⌋. All rules are
//! evaluated exactly, on the bits of amax.
//!
//! | rule | scale | source |
//! | --- | --- | --- |
//! | `floor` | 2^(e(amax) − e(max)) | OCP Microscaling Formats 1.0, section 6.3 |
//! | `ceil` | 2^(⌈log2 amax⌉ − e(max)) | torchao `ScaleCalculationMode.CEIL` |
//! | `even` | `floor` of amax rounded to the element's precision, ties up | torchao `ScaleCalculationMode.EVEN` |
//! | `rceil` | 2^⌈log2(amax / max)⌉: the least power of two at which nothing saturates | cuBLAS documentation, "1D Block Scaling"; torchao `RCEIL` |
//! | `amax` | amax / max, rounded to nearest even in the scale's format | HF/vLLM `fp8`, DeepSeek-V3, compressed-tensors |
//! | `max-abs-finite` | amax, rounded to nearest even, saturating | P3109 `ConvertToBlockMaxAbsFinite` |
//! | `four-over-six` | amax / 6 or amax / 4, that with the least squared error | arXiv 2512.02010 |
//! | `least-error` | of those around `rceil` or `amax` the one with the least squared error | `search.rs` |
//!
//! A scale beyond its format's range becomes the nearest end. A group of zeros gets the smallest
//! scale under the four power-of-two rules (their limit) and 1 under `amax`; its elements are zeros
//! under all.

use smallfloat::formats::{BINARY16, BINARY32, E4M3FN, E8M0FNU};
use smallfloat::{Codebook, Datum, F16, Format, Preset, Projection, Rounding, Saturation};
use smallfloat_kernels::{Element, Lanes, Level, largest_of_groups};

use crate::error::{Error, Result, by_name};
use crate::scale::range::Scan;

/// The scale of the largest block by four-over-six, at amax / 6 (arXiv 2512.02010, section 3.2).
const TOP_OF_FOUR_OVER_SIX: f64 = 256.0;

/// The rule by which the scale of a group follows from its largest magnitude.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ScaleRule {
    /// 2^(⌊log2 amax⌋ − ⌊log2 max⌋).
    Floor,
    /// 2^(⌈log2 amax⌉ − ⌊log2 max⌋).
    Ceil,
    /// `Floor` of amax rounded to the element's precision, ties up.
    Even,
    /// 2^⌈log2(amax / max)⌉.
    Rceil,
    /// amax / max in the scale's format.
    Amax,
    /// amax in the scale's format.
    MaxAbsFinite,
    /// Of amax / 6 and amax / 4 in E4M3 the one with the least squared error of elements in E2M1;
    /// of equals the first.
    FourOverSix,
    /// Of scales around [`Rceil`](Self::Rceil), in formats of powers of two, or
    /// [`Amax`](Self::Amax) the one with the least squared error, perhaps weighed by activations.
    LeastError,
}

impl ScaleRule {
    /// Every rule.
    pub const ALL: &'static [Self] = &[
        Self::Floor,
        Self::Ceil,
        Self::Even,
        Self::Rceil,
        Self::Amax,
        Self::MaxAbsFinite,
        Self::FourOverSix,
        Self::LeastError,
    ];

    /// Returns the name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Floor => "floor",
            Self::Ceil => "ceil",
            Self::Even => "even",
            Self::Rceil => "rceil",
            Self::Amax => "amax",
            Self::MaxAbsFinite => "max-abs-finite",
            Self::FourOverSix => "four-over-six",
            Self::LeastError => "least-error",
        }
    }
}

impl ScaleRule {
    /// The least fraction of amax, in 52 bits, at which the scale is twice 2^(e(amax) − e(max)).
    #[inline(always)]
    fn threshold(self, element: &ScaledElement) -> u64 {
        match self {
            Self::Ceil => 1,
            Self::Even => (1 << 52) - (1 << (51 - element.trailing_bits)),
            Self::Rceil => Split::of(element.max).fraction + 1,
            _ => 1 << 52,
        }
    }
}

by_name!(ScaleRule, Self::ALL.iter().copied(), "scale rule");

/// The F32 number that divides all block scales of a tensor (NVFP4): with it the block of the
/// largest magnitude gets a scale in range. Let top be the largest scale times the largest element,
/// 448 · 6 = 2688 for NVFP4.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum GlobalScale {
    /// The largest power of two not above top / amax. Every decoded value is exact in F32, so that
    /// all readers agree whatever the order of their products; it costs the smallest blocks at most
    /// one binade of E4M3's range of scales.
    PowerOfTwo,
    /// top / amax in F32, to nearest even: NVIDIA's recipe (TensorRT Model Optimizer,
    /// `NVFP4QTensor`; compressed-tensors, `generate_gparam`). Decoded values are quotients that no
    /// binary format holds.
    Amax,
}

impl GlobalScale {
    /// Every rule.
    pub const ALL: &'static [Self] = &[Self::PowerOfTwo, Self::Amax];

    /// Returns the name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PowerOfTwo => "power-of-two",
            Self::Amax => "amax",
        }
    }
}

by_name!(GlobalScale, Self::ALL.iter().copied(), "global scale");

/// The scales of a tensor: their format, their rule, and whether one F32 number divides them all
/// (NVFP4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScaleSpec {
    /// The format of the scales: at most 16 bits wide, or binary32.
    pub format: Format,
    /// How they are chosen.
    pub rule: ScaleRule,
    /// By which F32 scale of the tensor the values of scale codes are divided, if by any.
    /// What is read has it as stored.
    pub global: Option<GlobalScale>,
}

/// What decides the scale of a group.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Extent {
    /// The largest finite magnitude.
    pub(crate) amax: f64,
    pub(crate) finite: bool,
    pub(crate) nan: bool,
    pub(crate) infinite: bool,
}

impl Extent {
    /// Of a group's elements.
    #[inline(always)]
    pub(crate) fn of<T: Scan>(values: &[T]) -> Self {
        match T::greatest_if_finite(values) {
            Some(amax) => Self { amax, finite: !values.is_empty(), nan: false, infinite: false },
            None => Self::of_some_not_finite(values),
        }
    }

    /// Of finite elements, some of which there are, with this largest magnitude.
    pub(crate) fn of_finite(amax: f32) -> Self {
        Self { amax: amax.into(), finite: true, nan: false, infinite: false }
    }

    /// As [`of`](Self::of), for many elements.
    pub(crate) fn of_many<T: Scan>(values: &[T]) -> Self {
        let mut amax = [0.0];
        if let Lanes::F32(short) = T::lanes(values)
            && !short.is_empty()
            && largest_of_groups(Level::detected(), short.len(), short, &mut amax)
        {
            return Self::of_finite(amax[0]);
        }
        Level::detected().vectorize(
            #[inline(always)]
            || Self::of(values),
        )
    }

    #[cold]
    fn of_some_not_finite<T: Scan>(values: &[T]) -> Self {
        let some = |is: fn(f64) -> bool| values.iter().any(|x| is(x.to_f64()));
        Self {
            amax: T::range(values).greatest,
            finite: some(f64::is_finite),
            nan: some(f64::is_nan),
            infinite: some(f64::is_infinite),
        }
    }

    /// amax / divisor, on its side of every place where rounding to at most 24 bits changes.
    #[inline(always)]
    pub(crate) fn over(&self, divisor: f64, global: f64) -> f64 {
        let product = self.amax * global;
        let q = product / divisor;
        // Places have 25 bits.
        if is_far_from_places(product, q, (1 << 28) - 1) {
            return q;
        }
        divide_to_odd(multiply_to_odd(self.amax, global), divisor)
    }

    /// amax / max, as [`over`](Self::over) has it; `global` is 1 where there is none.
    #[inline(always)]
    pub(crate) fn over_max(&self, element: &ScaledElement, global: f64) -> f64 {
        self.over(element.max, global)
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.amax = self.amax.max(other.amax);
        self.finite |= other.finite;
        self.nan |= other.nan;
        self.infinite |= other.infinite;
    }
}

/// What of an element format decides scales.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScaledElement {
    /// The largest finite value.
    max: f64,
    trailing_bits: u32,
    has_nan: bool,
}

impl ScaledElement {
    pub(crate) fn of_codebook(codebook: Codebook) -> Self {
        // The rule that asks for bits is for formats.
        Self { max: codebook.largest().into(), trailing_bits: 0, has_nan: false }
    }

    pub(crate) fn new(format: &Format) -> Self {
        let (trailing_bits, has_nan) = (format.trailing_bits(), format.has_nan());
        Self { max: magnitude(format), trailing_bits, has_nan }
    }
}

/// One scale: its bits in its format, and the number that elements are multiplied by.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Scale {
    pub(crate) code: u64,
    /// What the code stands for.
    pub(crate) unit: f64,
    /// What divides it: 1, or the F32 number of the tensor.
    pub(crate) over: f64,
    /// unit / over, to nearest even; exact where `over` is a power of two.
    pub(crate) value: f64,
}

impl Scale {
    /// A bias as a scale: 2^−bias.
    pub(crate) fn of_bias(bias: i32) -> Self {
        Self::new(u64::from(bias.unsigned_abs()), power(-bias), 1.0)
    }

    #[inline(always)]
    pub(crate) fn new(code: u64, unit: f64, over: f64) -> Self {
        let value = if over.to_bits() == 1.0_f64.to_bits() { unit } else { unit / over };
        Self { code, unit, over, value }
    }

    /// Whether all values of elements are numbers of f64.
    pub(crate) fn is_exact(&self) -> bool {
        is_power_of_two(self.over)
    }

    /// The scale as a positive f32 number, if it is one.
    pub(crate) fn as_f32(&self) -> Option<f32> {
        #[expect(clippy::cast_possible_truncation, reason = "checked right below")]
        let short = self.value as f32;
        let exact = self.is_exact() && f64::from(short).to_bits() == self.value.to_bits();
        (exact && short > 0.0 && short.is_finite()).then_some(short)
    }

    /// The scale as a number, where it is one of f64; else NaN.
    pub(crate) fn exact(&self) -> f64 {
        if self.is_exact() { self.value } else { f64::NAN }
    }

    /// The value of an element, to nearest even, or to odd for what will be rounded again.
    pub(crate) fn times(&self, element: f64, odd: bool) -> f64 {
        if self.is_exact() {
            return element * self.value;
        }
        // Both factors have few bits: the product is exact.
        let product = element * self.unit;
        if odd { divide_to_odd(product, self.over) } else { product / self.over }
    }
}

/// Returns whether this positive normal number is a power of two.
pub(crate) fn is_power_of_two(x: f64) -> bool {
    x.to_bits() & ((1 << 52) - 1) == 0
}

/// 2^exponent for exponents of normal f64.
pub(crate) fn power(exponent: i32) -> f64 {
    f64::from_bits(u64::from((exponent.clamp(-1022, 1023) + 1023).unsigned_abs()) << 52)
}

impl ScaleSpec {
    /// Refuses scales that can't be stored, and rules that make no sense for them.
    pub(crate) fn check(&self) -> Result<()> {
        let format = &self.format;
        if format.is_wide() && *format != BINARY32 {
            let what =
                format!("scales in {format} are not stored: choose a format of at most 16 bits or binary32");
            return Err(Error::option(what));
        }
        Ok(())
    }

    /// The F32 number that divides the scales of a tensor with this largest magnitude.
    pub(crate) fn global_of(&self, element: &Format, amax: f64) -> f64 {
        let (Some(rule), true) = (self.global, amax > 0.0) else { return 1.0 };
        // At amax / 4 the scale of a block is half as large again, and must be in range too.
        let top =
            if self.rule == ScaleRule::FourOverSix { TOP_OF_FOUR_OVER_SIX } else { magnitude(&self.format) };
        let largest = top * magnitude(element);
        if rule == GlobalScale::Amax {
            // Rounded to odd first, so that this is the only rounding.
            #[expect(clippy::cast_possible_truncation, reason = "rounded to nearest even")]
            let nearest = divide_to_odd(largest, amax) as f32;
            return f64::from(nearest.clamp(f32::MIN_POSITIVE, f32::MAX));
        }
        let (top, amax) = (Split::of(largest), Split::of(amax));
        let exponent = top.exponent - amax.exponent - i32::from(amax.fraction > top.fraction);
        power(exponent.clamp(-126, 127))
    }

    /// The scale of a group, or that which a search begins at; `global` is 1 where there is none.
    #[inline(always)]
    pub(crate) fn choose(&self, element: &ScaledElement, extent: &Extent, global: f64) -> Scale {
        let (max, amax) = (element.max, extent.amax);
        let rule = match self.rule {
            ScaleRule::LeastError if self.format.precision() == 1 => ScaleRule::Rceil,
            ScaleRule::LeastError | ScaleRule::FourOverSix => ScaleRule::Amax,
            rule => rule,
        };
        let wanted = match rule {
            // P3109: a maximum that prefers numbers to NaN and finite numbers to infinities.
            ScaleRule::MaxAbsFinite if !extent.finite && extent.infinite => f64::INFINITY,
            ScaleRule::MaxAbsFinite if !extent.finite && extent.nan => f64::NAN,
            ScaleRule::MaxAbsFinite => return self.scale(amax, global, false),
            // Elements that can't say NaN leave it to their block.
            _ if (extent.nan || extent.infinite) && self.format.has_nan() && !element.has_nan => f64::NAN,
            ScaleRule::Amax if amax == 0.0 => 1.0,
            ScaleRule::Amax => extent.over_max(element, global),
            _ if amax == 0.0 => 0.0,
            rule => {
                let (amax, max) = (Split::of(amax), Split::of(max));
                let up = amax.fraction >= rule.threshold(element);
                power(amax.exponent - max.exponent + i32::from(up))
            }
        };
        self.scale(wanted, global, true)
    }

    /// Of E8M0's rules that need no search and look at finite elements alone: ⌊log2 max⌋, and the
    /// least fraction of amax, in 23 bits, at which the scale is twice as large.
    pub(crate) fn power_rule(&self, element: &ScaledElement) -> Option<(i32, u32)> {
        let by_power =
            matches!(self.rule, ScaleRule::Floor | ScaleRule::Ceil | ScaleRule::Even | ScaleRule::Rceil);
        if self.format != E8M0FNU || self.global.is_some() || !by_power {
            return None;
        }
        let threshold = self.rule.threshold(element).div_ceil(1 << (52 - 23));
        Some((Split::of(element.max).exponent, u32::try_from(threshold).ok()?))
    }

    /// The scale nearest to a wanted positive one.
    pub(crate) fn nearest(&self, wanted: f64, global: f64) -> Scale {
        self.scale(wanted, global, true)
    }

    /// The scale nearest to a wanted one; never zero unless the rule allows it.
    #[inline(always)]
    fn scale(&self, wanted: f64, global: f64, positive: bool) -> Scale {
        if self.format == E8M0FNU && wanted.is_normal() && is_power_of_two(wanted) {
            // What most rules want is a number of the format, or beyond its ends.
            let field = (wanted.to_bits() >> 52) as i32 - 1023 + 127;
            let field = field.clamp(0, 254);
            return Scale::new(u64::from(field.unsigned_abs()), power(field - 127), global);
        }
        if self.format == BINARY32 && positive && wanted.is_finite() {
            // A subnormal scale would be zero to readers that flush.
            #[expect(clippy::cast_possible_truncation, reason = "rounded to nearest even")]
            let nearest = (wanted as f32).clamp(f32::MIN_POSITIVE, f32::MAX);
            return Scale::new(nearest.to_bits().into(), nearest.into(), global);
        }
        if let Some((code, unit)) = self.rounded_in_range(wanted) {
            return Scale::new(code, unit, global);
        }
        self.rounded(wanted, global, positive)
    }

    /// Of the formats that most scales have: code and value of the nearest number, to even, where
    /// that is a normal one.
    #[inline(always)]
    fn rounded_in_range(&self, wanted: f64) -> Option<(u64, f64)> {
        let (trailing, lowest, largest) = match self.format.width() {
            8 if self.format == E4M3FN => (3, -6, 448.0),
            16 if self.format == BINARY16 => (10, -14, 65504.0),
            _ => return None,
        };
        let dropped = 52 - trailing;
        let bits = wanted.to_bits();
        // A carry goes into the exponent, as it should.
        let half = (1 << (dropped - 1)) - 1 + (bits >> dropped & 1);
        let index = bits.wrapping_add(half) >> dropped;
        let unit = f64::from_bits(index << dropped);
        let first = u64::from((1023_i32 + lowest - 1).unsigned_abs()) << trailing;
        (power(lowest) <= wanted && unit <= largest).then(|| (index - first, unit))
    }

    /// Returns the scale rounded to the format of scales, at least its smallest normal number where
    /// `positive`.
    fn rounded(&self, wanted: f64, global: f64, positive: bool) -> Scale {
        let mut code = self.format.encode_f64(wanted, &self.projection(wanted.is_finite())).value;
        // A subnormal F32 scale would be zero to readers that flush; no other format has so small
        // ones.
        let least =
            if self.format == BINARY32 { self.format.min_normal() } else { self.format.min_positive() };
        // Zero itself may be NaN in a format that has none.
        let below = self.format.decode(code).compare(&least).is_some_and(std::cmp::Ordering::is_lt);
        if positive && (wanted == 0.0 || below) {
            code = self.format.encode(least).unwrap_or(code);
        }
        self.stored(code, global)
    }

    /// How wanted scales are rounded.
    pub(crate) fn projection(&self, is_finite: bool) -> Projection {
        let saturation = if is_finite { Saturation::SatFinite } else { Saturation::SatPropagate };
        let preset = Preset::default_for(&self.format).projection(&self.format);
        preset.with_rounding(Rounding::NearestEven).with_saturation(saturation)
    }

    /// Of rules that look at finite elements alone, need no search and round one quotient to a
    /// format of bytes with zero: what the largest magnitude is multiplied and divided by, and
    /// whether all scales are positive.
    pub(crate) fn float_rule(&self, element: &ScaledElement, global: f64) -> Option<((f64, f64), bool)> {
        let is_small = self.format.width() <= 8 && self.format.has_zero();
        match self.rule {
            ScaleRule::Amax if is_small => Some(((global, element.max), true)),
            ScaleRule::MaxAbsFinite if is_small => Some(((1.0, 1.0), false)),
            _ => None,
        }
    }

    /// The bytes of a stored scale.
    pub(crate) fn code_size(&self) -> usize {
        usize::try_from(self.format.width().div_ceil(8)).expect("a few bytes")
    }

    /// What a stored scale means.
    #[inline]
    pub(crate) fn stored(&self, code: u64, global: f64) -> Scale {
        let unit = if self.format == E8M0FNU && code < 255 {
            power(i32::try_from(code).expect("E8M0 codes are bytes") - 127)
        } else if self.format == BINARY32 {
            f64::from(f32::from_bits(u32::try_from(code).expect("binary32 codes have 32 bits")))
        } else if self.format == BINARY16 && !code & 0x7c00 != 0 {
            let bits = u16::try_from(code).expect("binary16 codes have 16 bits");
            // Of two ways to the same number the faster one.
            Element::to_f64(F16::from_bits(bits))
        } else {
            let exact = self.format.decode(code).to_f64();
            exact.unwrap_or_else(|| self.format.decode_f64(code).value)
        };
        Scale::new(code, unit, global)
    }
}

/// The largest finite value of a format whose values are well inside f64's range.
pub(crate) fn magnitude(format: &Format) -> f64 {
    match format.max_finite() {
        Datum::Finite { .. } => format.max_finite().to_f64().unwrap_or(f64::MAX),
        _ => f64::MAX,
    }
}

/// A positive number as 2^exponent · (1 + fraction · 2^−52).
struct Split {
    exponent: i32,
    fraction: u64,
}

impl Split {
    fn of(x: f64) -> Self {
        // Subnormals are far below every scale: any exponent as low will do.
        let bits = x.to_bits();
        let exponent = (bits >> 52) as i32 - 1023;
        Self { exponent, fraction: bits & ((1 << 52) - 1) }
    }
}

/// x / s for s > 0, rounded to odd: truncated, and the last bit set where anything was cut off.
///
/// Elements are then rounded from this quotient by the usual encoder, and that equals one rounding
/// of the exact x / s. Proof. Every place where the rounding of an element format of precision P ≤
/// 11 changes, in any mode, is a number of at most P + 1 bits, or for a stochastic mode with N ≤ 32
/// bits one of at most P + N + 4 ≤ 47 bits (Tesla's hole is up to 1025 steps wide, of which P
/// counts ten). All of them are f64 numbers whose last bit is 0. If x / s is an f64, it is
/// returned. If not, it lies strictly between two neighbouring f64; the result is the one whose
/// last bit is 1, so it is none of those places, and because no such place lies strictly between
/// neighbours, it is on the same side of each of them as x / s. The remainder x − q·s that decides
/// is exact in one fused operation, unless it is below f64's range: then |x| < 2^−900, and with s ≥
/// 2^−149 the quotient is below every such place but 0, which it is kept from.
pub(crate) fn divide_to_odd(x: f64, s: f64) -> f64 {
    let q = x / s;
    if x == 0.0 || !x.is_finite() {
        return q;
    }
    if q.is_infinite() {
        return f64::MAX.copysign(x);
    }
    if q == 0.0 {
        return f64::MIN_POSITIVE.copysign(x);
    }
    let remainder = (-q).mul_add(s, x);
    if remainder == 0.0 || q.to_bits() & 1 == 1 {
        return q;
    }
    let beyond = (remainder > 0.0) == (x > 0.0);
    f64::from_bits(if beyond { q.to_bits() + 1 } else { q.to_bits() - 1 })
}

/// x · y for y > 0, rounded to odd as [`divide_to_odd`] does.
///
/// A quotient of it by a block scale s of at most 5 bits is on the right side of every place p of
/// at most 47 bits: p · s has at most 52 bits, so that the product rounded to odd is on the same
/// side of it as the product.
pub(crate) fn multiply_to_odd(x: f64, y: f64) -> f64 {
    let p = x * y;
    if x == 0.0 || !x.is_finite() {
        return p;
    }
    if p.is_infinite() {
        return f64::MAX.copysign(x);
    }
    // Far below every place but 0, and the remainder below might not be exact.
    if p.abs() < power(-900) {
        return power(-900).copysign(x);
    }
    let remainder = x.mul_add(y, -p);
    if remainder == 0.0 || p.to_bits() & 1 == 1 {
        return p;
    }
    let beyond = (remainder > 0.0) == (x > 0.0);
    f64::from_bits(if beyond { p.to_bits() + 1 } else { p.to_bits() - 1 })
}

/// Returns whether the exact quotient is on the same side as `q` of every f64 whose `low_bits` are
/// all 0: `q` is a product in f64, divided in f64, at most three steps of f64 away from it.
#[inline(always)]
pub(crate) fn is_far_from_places(product: f64, q: f64, low_bits: u64) -> bool {
    const STEPS: u64 = 8;
    let near = (q.to_bits().wrapping_add(STEPS) & low_bits) <= 2 * STEPS;
    // Below it a product may have lost bits.
    !near & (product.abs() >= power(-900))
}

/// Division by one scale, prepared.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Divisor {
    /// A power of two: its inverse.
    Power(f64),
    /// Any other positive number.
    Value(f64),
    /// A block scale over the number that divides it, which is no power of two.
    Ratio {
        /// The block scale.
        unit: f64,
        /// What divides it.
        over: f64,
    },
    /// NaN for all elements.
    Nan,
    /// Zeros for all elements: only the scale says that they are NaN.
    Silent,
    /// P3109: 0 whatever the elements, NaN excepted.
    Zero,
    /// P3109: the elements' signs.
    Infinite,
}

impl Divisor {
    #[inline(always)]
    pub(crate) fn new(scale: f64) -> Self {
        if scale.is_nan() {
            Self::Nan
        } else if scale == 0.0 {
            Self::Zero
        } else if scale.is_infinite() {
            Self::Infinite
        } else if is_power_of_two(scale) {
            Self::Power(1.0 / scale)
        } else {
            Self::Value(scale)
        }
    }

    /// Of a scale that may be divided.
    #[inline(always)]
    pub(crate) fn of(scale: &Scale) -> Self {
        match Self::new(scale.value) {
            Self::Power(_) | Self::Value(_) if !is_power_of_two(scale.over) => {
                Self::Ratio { unit: scale.unit, over: scale.over }
            }
            divisor => divisor,
        }
    }

    /// x / scale, exact or rounded to odd; finite if x is.
    pub(crate) fn apply(self, x: f64) -> f64 {
        match self {
            Self::Power(inverse) => times_power(x, inverse),
            Self::Value(scale) => divide_to_odd(x, scale),
            Self::Ratio { unit, over } => divide_to_odd(multiply_to_odd(x, over), unit),
            Self::Nan => f64::NAN,
            Self::Zero if x.is_nan() => x,
            Self::Silent | Self::Zero => 0.0,
            Self::Infinite if x.is_nan() || x == 0.0 => x,
            Self::Infinite => 1.0_f64.copysign(x),
        }
    }
}

/// x times a power of two, kept from 0 and from infinity if x is neither.
#[inline(always)]
pub(crate) fn times_power(x: f64, power: f64) -> f64 {
    let product = x * power;
    if (product == 0.0) != (x == 0.0) {
        f64::MIN_POSITIVE.copysign(x)
    } else if product.is_infinite() && x.is_finite() {
        f64::MAX.copysign(x)
    } else {
        product
    }
}

#[cfg(test)]
mod tests;
