//! Products of matrices that were encoded, in binary32 or exact.
//!
//! Codes are decoded, which is exact, and multiplied in blocks of rows that do not depend on the
//! number of threads. So every product is the same for any number of threads, with either
//! accumulator, on one machine; the exact one on all machines.

use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayViewMut2, Axis, Slice};
use rayon::prelude::*;

use crate::arithmetic::exact;
use crate::arithmetic::operand::MatrixOperand;
use crate::codes::coder::power_of_two;
use crate::config::named::named;
use crate::error::Result;
use crate::matrix::ROWS;

/// How products of matrices accumulate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Accumulation {
    /// In binary32. The order is fixed on one machine; another with other instructions may have
    /// another.
    #[default]
    F32,
    /// Exactly, rounded to binary32 once, to nearest even: the same bits in any order, on any
    /// machine.
    Exact,
}

named! { Accumulation, "way to accumulate": F32 = "f32", Exact = "exact", }

/// A·B.
///
/// # Errors
/// Exact products of formats whose range is too wide, or of plain values.
///
/// # Panics
/// If A's rows are not as long as B's columns.
pub fn product(a: &MatrixOperand<'_>, b: &MatrixOperand<'_>, accumulate: Accumulation) -> Result<Vec<f32>> {
    let ([rows, depth], [inner, columns]) = (a.shape(), b.shape());
    assert_eq!(depth, inner, "rows of A must be as long as columns of B");
    let mut result = vec![0.0; rows * columns];
    if accumulate == Accumulation::Exact {
        exact::product(a, b, &mut result)?;
        return Ok(result);
    }
    let (left, right) = (a.view(), b.view());
    let scale = power_of_two(-a.exponent()) * power_of_two(-b.exponent());
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
