//! [`MatrixOperand`]: a decoded matrix with the format its values came from.

use std::borrow::Cow;

use ndarray::ArrayView2;
use smallfloat::Format;

use crate::codes::coder::EncodedTensor;

/// A decoded matrix, as an operand.
#[derive(Clone, Debug)]
pub struct MatrixOperand<'a> {
    values: Cow<'a, [f32]>,
    columns: usize,
    transposed: bool,
    format: Option<Format>,
    exponent: i32,
}

impl<'a> MatrixOperand<'a> {
    /// Returns a matrix with rows of this length. Decodes it.
    pub fn new(codes: &'a EncodedTensor, columns: usize) -> Self {
        Self {
            values: codes.scaled_values(),
            columns,
            transposed: false,
            format: codes.coder.as_ref().map(|coder| coder.format),
            exponent: codes.exponent,
        }
    }

    /// Returns the transpose of the same matrix.
    pub fn transpose(&self) -> MatrixOperand<'_> {
        MatrixOperand {
            values: Cow::Borrowed(&self.values),
            columns: self.columns,
            transposed: !self.transposed,
            format: self.format,
            exponent: self.exponent,
        }
    }

    /// Returns the format whose values the elements are; none for any binary32 values.
    pub fn format(&self) -> Option<&Format> {
        self.format.as_ref()
    }

    /// Returns the exponent s of the scale 2^s that the elements still have in them.
    pub fn exponent(&self) -> i32 {
        self.exponent
    }

    pub(crate) fn is_transposed(&self) -> bool {
        self.transposed
    }

    pub(crate) fn stored(&self) -> (&[f32], usize) {
        (&self.values, self.columns)
    }

    /// Returns the numbers of rows and columns.
    pub fn shape(&self) -> [usize; 2] {
        let rows = self.values.len() / self.columns.max(1);
        if self.transposed { [self.columns, rows] } else { [rows, self.columns] }
    }

    pub(crate) fn view(&self) -> ArrayView2<'_, f32> {
        view(&self.values, self.columns, self.transposed)
    }
}

/// Elements in C order as a matrix, or as its transpose.
pub(crate) fn view<T>(values: &[T], columns: usize, transposed: bool) -> ArrayView2<'_, T> {
    let rows = values.len() / columns.max(1);
    let view = ArrayView2::from_shape((rows, columns), values).expect("whole rows");
    if transposed { view.reversed_axes() } else { view }
}
