//! [`MatrixOperand`]: a decoded matrix with the format its values came from.

use std::borrow::Cow;

use ndarray::ArrayView2;
use smallfloat::Format;
use smallfloat_tensor::Quantized;

use crate::codes::blocks::Blocks;
use crate::codes::coder::{Elements, EncodedTensor};

/// A decoded matrix, as an operand.
#[derive(Clone, Debug)]
pub struct MatrixOperand<'a> {
    values: Cow<'a, [f32]>,
    columns: usize,
    transposed: bool,
    format: Option<Format>,
    exponent: i32,
    /// Instead of values: which blocks are decoded depends on the side of the product.
    blocks: Option<&'a Blocks>,
}

impl<'a> MatrixOperand<'a> {
    /// Returns a matrix with rows of this length. Decodes it; a scheme's blocks are decoded by the
    /// product, which takes those along its sums.
    pub fn new(codes: &'a EncodedTensor, columns: usize) -> Self {
        let (values, blocks) = match &codes.data {
            Elements::Blocks(blocks) => (Cow::Owned(Vec::new()), Some(&**blocks)),
            _ => (codes.scaled_values(), None),
        };
        Self {
            values,
            columns,
            transposed: false,
            format: codes.coder.as_ref().map(|coder| coder.format),
            exponent: codes.exponent,
            blocks,
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
            blocks: self.blocks,
        }
    }

    /// Returns the matrix as the left side of a product, whose sums go along its rows.
    pub(crate) fn left(&self) -> MatrixOperand<'_> {
        self.side(self.transposed)
    }

    /// Returns the matrix as the right side of a product, whose sums go along its columns.
    pub(crate) fn right(&self) -> MatrixOperand<'_> {
        self.side(!self.transposed)
    }

    /// Returns the blocks along the sums of a product whose left or right side this is, as rows of
    /// codes and scales; none where the matrix has no blocks.
    pub(crate) fn blocks(&self, is_left: bool) -> Option<&'a Quantized<'static>> {
        self.blocks.map(|blocks| if self.transposed == is_left { &blocks.columns } else { blocks.rows() })
    }

    /// Returns the matrix with values; those of blocks along the columns of what is stored, or
    /// along its rows.
    fn side(&self, along_columns: bool) -> MatrixOperand<'_> {
        let same = MatrixOperand { values: Cow::Borrowed(&self.values), blocks: None, ..*self };
        match self.blocks {
            None => same,
            Some(blocks) if along_columns => MatrixOperand {
                values: blocks.columns.to_vec().into(),
                columns: blocks.len() / self.columns.max(1),
                transposed: !self.transposed,
                ..same
            },
            Some(blocks) => MatrixOperand { values: blocks.rows().to_vec().into(), ..same },
        }
    }

    /// Returns the format whose values the elements are; none for any binary32 values, and for
    /// blocks.
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
        let length = self.blocks.map_or(self.values.len(), Blocks::len);
        let rows = length / self.columns.max(1);
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
