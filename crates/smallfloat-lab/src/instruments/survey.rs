//! What real and made-up networks' tensors become in a format, with a power of two of their own or
//! without.

use smallfloat::{Class, Format};
use smallfloat_kernels::Encoder;
use smallfloat_tensor::headroom;

use crate::error::Error;
use crate::instruments::data::{Tensor, scaled};
use crate::instruments::unit::{ArithmeticUnit, Overflow, datum, float};
use crate::named::by_name;

/// Whether a tensor is multiplied by a power of two before it is rounded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scaling {
    /// As it is.
    None,
    /// By the power of two that brings its largest element into the format's top binade.
    Tensor,
}

impl Scaling {
    pub(crate) const ALL: [Self; 2] = [Self::None, Self::Tensor];

    const NAMED: [(&'static str, Self); 2] = [("none", Self::None), ("power of two", Self::Tensor)];

    /// The exponent of the factor.
    pub(crate) fn exponent(self, tensor: &Tensor, format: &Format) -> i32 {
        match self {
            Self::Tensor if tensor.amax() > 0.0 => headroom(format, &datum(tensor.amax())),
            _ => 0,
        }
    }
}

by_name!(Scaling);

/// Counts over a tensor's finite elements.
#[derive(Clone, Copy, Default)]
pub(crate) struct Survey {
    pub(crate) elements: u64,
    /// Elements that are not 0, and those of them that became 0.
    pub(crate) nonzero: u64,
    pub(crate) underflowed: u64,
    /// Results with a negative sign and no magnitude: from −0, and from negative elements.
    pub(crate) negative_zeros: u64,
    pub(crate) negative_underflowed: u64,
    pub(crate) subnormal: u64,
    pub(crate) saturated: u64,
}

impl Survey {
    pub(crate) fn joined(self, other: Self) -> Self {
        Self {
            elements: self.elements + other.elements,
            nonzero: self.nonzero + other.nonzero,
            underflowed: self.underflowed + other.underflowed,
            negative_zeros: self.negative_zeros + other.negative_zeros,
            negative_underflowed: self.negative_underflowed + other.negative_underflowed,
            subnormal: self.subnormal + other.subnormal,
            saturated: self.saturated + other.saturated,
        }
    }
}

/// A tensor's codes in a format, rounded to nearest even and saturating.
pub(crate) fn codes(tensor: &Tensor, format: &Format, scaling: Scaling) -> Result<Vec<u16>, Error> {
    let e = scaling.exponent(tensor, format);
    let values: Vec<f64> = tensor.values.iter().map(|&x| scaled(x, e)).collect();
    let projection = ArithmeticUnit::new(format, Overflow::Saturate).projection();
    let encoder = Encoder::for_length(format, &projection, values.len())
        .map_err(|e| Error::Step { step: "rounding a tensor", cause: e.to_string() })?;
    let mut codes = vec![0_u16; values.len()];
    encoder.encode_uncounted(&values, &mut codes);
    Ok(codes)
}

/// What becomes of a tensor in a format.
pub(crate) fn survey(tensor: &Tensor, format: &Format, scaling: Scaling) -> Result<Survey, Error> {
    let e = scaling.exponent(tensor, format);
    let largest = float(format.max_finite());
    let classes: Vec<Class> = (0..=format.max_code()).map(|code| format.classify(code)).collect();
    let mut survey = Survey::default();
    for (&x, code) in tensor.values.iter().zip(codes(tensor, format, scaling)?) {
        if !x.is_finite() {
            continue;
        }
        let class = classes[usize::from(code)];
        let is_zero = class == Class::Zero;
        survey.elements += 1;
        survey.nonzero += u64::from(x != 0.0);
        survey.underflowed += u64::from(x != 0.0 && is_zero);
        survey.negative_zeros += u64::from(x == 0.0 && x.is_sign_negative());
        survey.negative_underflowed += u64::from(x < 0.0 && is_zero);
        survey.subnormal += u64::from(class == Class::Subnormal);
        survey.saturated += u64::from(scaled(x, e).abs() > largest);
    }
    Ok(survey)
}

/// Returns the counts of all tensors together.
pub(crate) fn survey_all(tensors: &[Tensor], format: &Format, scaling: Scaling) -> Result<Survey, Error> {
    let mut all = Survey::default();
    for tensor in tensors {
        all = all.joined(survey(tensor, format, scaling)?);
    }
    Ok(all)
}
