//! Slices of scalars: conversions, sums and dot products.

#[cfg(feature = "alloc")]
use alloc::vec::Vec;

use crate::format::formats::{BINARY32, BINARY64};
use crate::ops::Semantics;
use crate::ops::add::multiply;
use crate::projection::exact::Exact;
use crate::projection::project;
use crate::scalar::code::accumulate::Accumulator;
use crate::scalar::traits::SmallFloat;

/// A type that an exact result can be rounded to: every scalar, `f32` and `f64`.
#[diagnostic::on_unimplemented(
    message = "an exact result is not rounded to `{Self}`",
    label = "not a typed scalar, `f32` or `f64`",
    note = "results are `f32`, `f64` and the types of `smallfloat`, such as `Bf16` or `E4M3Fn`"
)]
pub trait FromExact: Copy {
    /// Rounds once: a scalar by its format's default projection, `f32` and `f64` to nearest, ties
    /// to even.
    fn rounded_from(x: Exact) -> Self;
}

impl<T: SmallFloat> FromExact for T {
    fn rounded_from(x: Exact) -> Self {
        SmallFloat::from_exact(x)
    }
}

impl FromExact for f32 {
    fn rounded_from(x: Exact) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "a code of binary32")]
        Self::from_bits(project(x, &BINARY32, &BINARY32.default_projection()).value as u32)
    }
}

impl FromExact for f64 {
    fn rounded_from(x: Exact) -> Self {
        Self::from_bits(project(x, &BINARY64, &BINARY64.default_projection()).value)
    }
}

/// Slices of a scalar type: conversions of all elements, each rounded once, and sums and products
/// that are exact until they are rounded.
///
/// ```
/// use smallfloat::{E4M3Fn, E5M2, F16, ScalarSlice};
///
/// let mut x = [E4M3Fn::ZERO; 3];
/// x.convert_from_f32_slice(&[1.1, -0.3, 448.0]);
/// assert_eq!(x.to_f32_vec(), [1.125, -0.3125, 448.0]);
///
/// let y = [2.0, 8.0, 0.5].map(E5M2::from_f32);
/// // 2.25 − 2.5 + 224
/// assert_eq!(x.exact_dot::<f32, _>(&y), 223.75);
/// assert_eq!(x.exact_dot::<F16, _>(&y).to_f32(), 223.75);
/// assert_eq!(x.exact_sum::<E4M3Fn>().to_f32(), 448.0);
/// ```
pub trait ScalarSlice<S: SmallFloat> {
    /// Rounds each `f32` by the type's default projection.
    ///
    /// # Panics
    /// If the slices differ in length.
    fn convert_from_f32_slice(&mut self, values: &[f32]);

    /// Rounds each `f64` by the type's default projection.
    ///
    /// # Panics
    /// If the slices differ in length.
    fn convert_from_f64_slice(&mut self, values: &[f64]);

    /// Writes each value as `f32`, exactly.
    ///
    /// # Panics
    /// If the slices differ in length.
    fn convert_to_f32_slice(&self, values: &mut [f32]);

    /// Writes each value as `f64`, exactly.
    ///
    /// # Panics
    /// If the slices differ in length.
    fn convert_to_f64_slice(&self, values: &mut [f64]);

    /// The values as `f32`, exactly.
    #[cfg(feature = "alloc")]
    fn to_f32_vec(&self) -> Vec<f32>;

    /// The values as `f64`, exactly.
    #[cfg(feature = "alloc")]
    fn to_f64_vec(&self) -> Vec<f64>;

    /// Σ xᵢ in another type, exact until it is rounded once; in any order the same.
    fn exact_sum<T: FromExact>(&self) -> T;

    /// Σ xᵢ·yᵢ in another type, exact until it is rounded once; in any order the same.
    ///
    /// # Panics
    /// If the slices differ in length.
    fn exact_dot<T: FromExact, Y: SmallFloat>(&self, other: &[Y]) -> T;
}

/// Says both lengths where they differ.
#[track_caller]
fn same_length(scalars: usize, others: usize) {
    assert!(
        scalars == others,
        "a slice of {scalars} scalars and one of {others} elements: lengths must be equal"
    );
}

impl<S: SmallFloat> ScalarSlice<S> for [S] {
    fn convert_from_f32_slice(&mut self, values: &[f32]) {
        same_length(self.len(), values.len());
        for (scalar, &value) in self.iter_mut().zip(values) {
            *scalar = S::from_f32(value);
        }
    }

    fn convert_from_f64_slice(&mut self, values: &[f64]) {
        same_length(self.len(), values.len());
        for (scalar, &value) in self.iter_mut().zip(values) {
            *scalar = S::from_f64(value);
        }
    }

    fn convert_to_f32_slice(&self, values: &mut [f32]) {
        same_length(self.len(), values.len());
        for (scalar, value) in self.iter().zip(values) {
            *value = scalar.to_f32();
        }
    }

    fn convert_to_f64_slice(&self, values: &mut [f64]) {
        same_length(self.len(), values.len());
        for (scalar, value) in self.iter().zip(values) {
            *value = scalar.to_f64();
        }
    }

    #[cfg(feature = "alloc")]
    fn to_f32_vec(&self) -> Vec<f32> {
        self.iter().map(|scalar| scalar.to_f32()).collect()
    }

    #[cfg(feature = "alloc")]
    fn to_f64_vec(&self) -> Vec<f64> {
        self.iter().map(|scalar| scalar.to_f64()).collect()
    }

    fn exact_sum<T: FromExact>(&self) -> T {
        let mut sum = Accumulator::new();
        for x in self {
            sum.add(Exact::from_datum(x.to_datum()));
        }
        T::rounded_from(sum.exact())
    }

    fn exact_dot<T: FromExact, Y: SmallFloat>(&self, other: &[Y]) -> T {
        same_length(self.len(), other.len());
        let mut sum = Accumulator::new();
        for (x, y) in self.iter().zip(other) {
            sum.add(multiply(x.to_datum(), y.to_datum(), Semantics::Ieee).exact);
        }
        T::rounded_from(sum.exact())
    }
}
