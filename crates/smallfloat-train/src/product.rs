//! Products of matrices that were encoded, in binary32 or exact.
//!
//! Codes are decoded, which is exact, and multiplied in blocks of rows that do not depend on the number of threads. So every
//! product is the same for any number of threads, with either accumulator, on one machine; the exact one on all machines.

use std::borrow::Cow;

use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2, Axis, Slice};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use smallfloat::Format;

use crate::coder::{Codes, power_of_two};
use crate::matrix::ROWS;
use crate::{Result, exact};

/// How products of matrices accumulate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Accumulate {
    /// In binary32. The order is fixed on one machine; another with other instructions may have another.
    #[default]
    F32,
    /// Exactly, rounded to binary32 once, to nearest even: the same bits in any order, on any machine.
    Exact,
}

/// A decoded matrix, as an operand.
#[derive(Clone, Debug)]
pub struct Operand<'a> {
    values: Cow<'a, [f32]>,
    columns: usize,
    transposed: bool,
    format: Option<Format>,
    exponent: i32,
}

impl<'a> Operand<'a> {
    /// A matrix with rows of this length. Decodes it.
    pub fn new(codes: &'a Codes, columns: usize) -> Self {
        Self {
            values: codes.scaled_values(),
            columns,
            transposed: false,
            format: codes.coder.as_ref().map(|coder| coder.format),
            exponent: codes.exponent,
        }
    }

    /// The transpose of the same matrix.
    pub fn transpose(&self) -> Operand<'_> {
        Operand {
            values: Cow::Borrowed(&self.values),
            columns: self.columns,
            transposed: !self.transposed,
            format: self.format,
            exponent: self.exponent,
        }
    }

    /// The format whose values the elements are; none for any binary32 values.
    pub fn format(&self) -> Option<&Format> {
        self.format.as_ref()
    }

    /// The exponent s of the scale 2^s that the elements still have in them.
    pub fn exponent(&self) -> i32 {
        self.exponent
    }

    pub(crate) fn is_transposed(&self) -> bool {
        self.transposed
    }

    pub(crate) fn stored(&self) -> (&[f32], usize) {
        (&self.values, self.columns)
    }

    /// Rows and columns.
    pub fn shape(&self) -> [usize; 2] {
        let rows = self.values.len() / self.columns.max(1);
        if self.transposed { [self.columns, rows] } else { [rows, self.columns] }
    }

    fn view(&self) -> ArrayView2<'_, f32> {
        view(&self.values, self.columns, self.transposed)
    }
}

/// Elements in C order as a matrix, or as its transpose.
pub(crate) fn view<T>(values: &[T], columns: usize, transposed: bool) -> ArrayView2<'_, T> {
    let rows = values.len() / columns.max(1);
    let view = ArrayView2::from_shape((rows, columns), values).expect("whole rows");
    if transposed { view.reversed_axes() } else { view }
}

/// A·B.
///
/// # Errors
/// Exact products of formats whose range is too wide, or of plain values.
///
/// # Panics
/// If A's rows are not as long as B's columns.
pub fn product(a: &Operand<'_>, b: &Operand<'_>, accumulate: Accumulate) -> Result<Vec<f32>> {
    let ([rows, depth], [inner, columns]) = (a.shape(), b.shape());
    assert_eq!(depth, inner, "rows of A must be as long as columns of B");
    let mut result = vec![0.0; rows * columns];
    if accumulate == Accumulate::Exact {
        exact::product(a, b, &mut result)?;
        return Ok(result);
    }
    let (left, right) = (a.view(), b.view());
    let scale = power_of_two(-a.exponent) * power_of_two(-b.exponent);
    // A block of rows packs all of B again, so blocks are long.
    let block = 8 * ROWS;
    result.par_chunks_mut(block * columns).enumerate().for_each(|(number, part)| {
        let height = part.len() / columns;
        let rows = left.slice_axis(Axis(0), Slice::from(number * block..number * block + height));
        let mut part = ArrayViewMut2::from_shape((height, columns), part).expect("whole rows");
        general_mat_mul(scale, &rows, &right, 0.0, &mut part);
    });
    Ok(result)
}
