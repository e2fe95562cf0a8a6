//! [`Matrix`]: rows of binary32, between the layers.

use std::ops::Range;

use rayon::prelude::*;

/// Rows that a thread takes at once. Fixed, so that the number of threads changes no bit.
pub(crate) const ROWS: usize = 64;

/// A matrix in C order. A batch of sequences is a matrix with a row for each token, a batch of
/// images one with a row for each image.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Matrix {
    /// The length of a row.
    pub columns: usize,
    /// The elements.
    pub values: Vec<f32>,
}

impl Matrix {
    /// Returns a matrix of zeros.
    pub fn zeros(rows: usize, columns: usize) -> Self {
        Self { columns, values: vec![0.0; rows * columns] }
    }

    /// Returns the number of rows; 0 where a row has no elements.
    pub fn rows(&self) -> usize {
        match self.columns {
            0 => 0,
            columns => self.values.len() / columns,
        }
    }

    /// Returns a row.
    ///
    /// # Panics
    /// If there is none of this number.
    pub fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.columns..][..self.columns]
    }

    /// Returns the elements of some rows.
    pub fn range(&self, rows: Range<usize>) -> &[f32] {
        &self.values[rows.start * self.columns..rows.end * self.columns]
    }

    /// Adds another matrix of this shape.
    pub(crate) fn add(&mut self, other: &Self) {
        let pieces = self.values.par_chunks_mut(1 << 14).zip(other.values.par_chunks(1 << 14));
        pieces.for_each(|(to, from)| {
            for (to, from) in to.iter_mut().zip(from) {
                *to += from;
            }
        });
    }

    /// Adds the sums of all columns, row by row in order, to `sums`.
    pub(crate) fn add_columns_to(&self, sums: &mut [f32]) {
        for row in self.values.chunks_exact(self.columns) {
            for (sum, x) in sums.iter_mut().zip(row) {
                *sum += x;
            }
        }
    }

    /// The matrix of `f` of each element of this one and its place among the other's.
    pub(crate) fn map2(&self, other: &Self, f: impl Fn(f32, f32) -> f32 + Sync) -> Self {
        let mut result = Self::zeros(self.rows(), self.columns);
        let inputs = self.values.par_chunks(1 << 14).zip(other.values.par_chunks(1 << 14));
        result.values.par_chunks_mut(1 << 14).zip(inputs).for_each(|(to, (a, b))| {
            for ((to, a), b) in to.iter_mut().zip(a).zip(b) {
                *to = f(*a, *b);
            }
        });
        result
    }

    /// The matrix of `f` of each element.
    pub(crate) fn map(&self, f: impl Fn(f32) -> f32 + Sync) -> Self {
        let mut result = Self::zeros(self.rows(), self.columns);
        result.values.par_chunks_mut(1 << 14).zip(self.values.par_chunks(1 << 14)).for_each(|(to, from)| {
            for (to, from) in to.iter_mut().zip(from) {
                *to = f(*from);
            }
        });
        result
    }
}
