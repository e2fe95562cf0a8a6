//! Products of matrices that were encoded, in binary32, exact, or as a GPU's matrix unit has them.
//!
//! Codes are decoded, which is exact, and multiplied in blocks of rows that do not depend on the
//! number of threads. So every product is the same for any number of threads, with every
//! accumulator, on one machine; exact ones and those of matrix units on all machines.

use std::fmt;
use std::str::FromStr;

use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2, Axis, Slice};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use smallfloat::Format;
use smallfloat_kernels::{Accumulate, FusedDot, ScaledDot, divide_by_global_scales};
use smallfloat_tensor::{Granularity, Quantized, ScaleSpec, Scheme};

use crate::arithmetic::exact;
use crate::arithmetic::operand::MatrixOperand;
use crate::codes::coder::power_of_two;
use crate::error::{Error, Result};
use crate::matrix::ROWS;

/// The accumulator of products of matrices.
///
/// As text `f32`, `exact`, a GPU's matrix unit (`hopper`, `hopper:promote=128`) or the parameters
/// of one (`fused:k=32,fraction=13,output=e8m13`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Accumulation {
    /// In binary32. The order is fixed on one machine; another with other instructions may have
    /// another.
    #[default]
    F32,
    /// Exactly, rounded to binary32 once, to nearest even: the same bits in any order, on any
    /// machine.
    Exact,
    /// As a matrix unit does: [`Accumulate::Unit`] or [`Accumulate::Fused`]. The same bits on any
    /// machine.
    Unit(Accumulate),
}

impl fmt::Display for Accumulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::F32 => f.pad("f32"),
            Self::Exact => f.pad("exact"),
            Self::Unit(unit) => f.pad(&unit.to_string()),
        }
    }
}

impl FromStr for Accumulation {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.to_ascii_lowercase().parse() {
            Ok(Accumulate::F32) => Ok(Self::F32),
            Ok(Accumulate::Exact) => Ok(Self::Exact),
            Ok(unit @ (Accumulate::Unit(_) | Accumulate::Fused(_))) => Ok(Self::Unit(unit)),
            Err(error @ smallfloat_kernels::Error::Fused(_)) => Err(error.into()),
            _ => {
                let units: Vec<&str> = smallfloat_kernels::Gpu::ALL.iter().map(|gpu| gpu.name()).collect();
                Err(Error::config(format!(
                    "no way to accumulate `{text}`: there are f32, exact, {} (also as hopper:promote=128), and \
                     fused:k=32,fraction=13,output=e8m13",
                    units.join(", ")
                )))
            }
        }
    }
}

impl TryFrom<String> for Accumulation {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Accumulation> for String {
    fn from(accumulate: Accumulation) -> Self {
        accumulate.to_string()
    }
}

/// A matrix unit's sums of products of two formats.
pub(crate) fn unit_dot(unit: Accumulate, a: &Format, b: &Format) -> Result<FusedDot> {
    match unit {
        Accumulate::Unit(unit) => Ok(unit.dot(a, b)?),
        Accumulate::Fused(fused) => Ok(FusedDot::new(a, b, fused)?),
        _ => Err(Error::config(format!("{unit} is no matrix unit"))),
    }
}

/// What a matrix unit takes of an operand with block scales: the formats of elements and scales,
/// and the number of elements with one scale.
pub(crate) struct BlockFormats {
    element: Format,
    scale: Format,
    block: u64,
}

impl BlockFormats {
    pub(crate) fn of_scheme(scheme: &Scheme) -> Result<Self> {
        let element = scheme.codebook.is_none().then_some(scheme.element);
        Self::new(element, scheme.scale.as_ref(), scheme.granularity)
    }

    fn new(element: Option<Format>, scale: Option<&ScaleSpec>, granularity: Granularity) -> Result<Self> {
        let element = element.ok_or_else(|| {
            Error::config("matrix units take elements of a format, and these are from a list of values")
        })?;
        let scale = scale.expect("a block scheme has scales").format;
        match granularity {
            Granularity::Block { rows: 1, columns: block } => Ok(Self { element, scale, block }),
            _ => unreachable!("a block scheme has blocks of a row"),
        }
    }
}

/// A matrix unit's sums of products with block scales.
pub(crate) fn scaled_dot(unit: Accumulate, a: &BlockFormats, b: &BlockFormats) -> Result<ScaledDot> {
    let Accumulate::Unit(unit) = unit else {
        return Err(Error::config(format!(
            "{unit} has no place for block scales: accumulate in f32 or as blackwell or rtx-blackwell do"
        )));
    };
    if (a.scale, a.block) != (b.scale, b.block) {
        return Err(Error::config(format!(
            "{unit} takes one kind of block scales on both sides, not {} for {} elements and {} for {}",
            a.scale, a.block, b.scale, b.block
        )));
    }
    let block = usize::try_from(a.block).unwrap_or(usize::MAX);
    Ok(unit.scaled_dot(&a.element, &b.element, &a.scale, block)?)
}

/// A·Bᵀ of rows with block scales, divided by the scales of the tensors.
fn scaled_product(
    unit: Accumulate,
    [a, b]: [&Quantized<'_>; 2],
    depth: usize,
    sums: &mut [f32],
) -> Result<()> {
    let formats = |tensor: &Quantized<'_>| {
        BlockFormats::new(tensor.format().copied(), tensor.scale(), tensor.granularity())
    };
    let dot = scaled_dot(unit, &formats(a)?, &formats(b)?)?;
    if depth == 0 {
        return Ok(());
    }
    dot.matmul([a.codes(), b.codes()], depth, [a.scales(), b.scales()], sums);
    divide_by_global_scales(sums, [a.global_scale(), b.global_scale()]);
    Ok(())
}

/// A·B by a matrix unit.
fn unit_product(unit: Accumulate, [a, b]: [&MatrixOperand<'_>; 2], result: &mut [f32]) -> Result<()> {
    let (Some(left), Some(right)) = (a.format(), b.format()) else {
        return Err(Error::config(
            "matrix units need formats on both sides, or schemes with block scales on both",
        ));
    };
    let dot = unit_dot(unit, left, right)?;
    let [_, depth] = a.shape();
    if depth == 0 {
        return Ok(());
    }
    let rows = |view: ArrayView2<'_, f32>| view.as_standard_layout().into_owned().into_raw_vec_and_offset().0;
    dot.add_matmul([&rows(a.view()), &rows(b.view().reversed_axes())], depth, result);
    let scales = [power_of_two(-a.exponent()), power_of_two(-b.exponent())];
    for sum in result {
        *sum = *sum * scales[0] * scales[1];
    }
    Ok(())
}

/// Returns A·B.
///
/// # Errors
/// Exact products of formats whose range is too wide, and of blocks; exact ones and those of matrix
/// units of plain values; formats and schemes that a matrix unit does not take.
///
/// # Panics
/// If A's rows are not as long as B's columns.
pub fn product(a: &MatrixOperand<'_>, b: &MatrixOperand<'_>, accumulate: Accumulation) -> Result<Vec<f32>> {
    let ([rows, depth], [inner, columns]) = (a.shape(), b.shape());
    assert_eq!(depth, inner, "rows of A must be as long as columns of B");
    let mut result = vec![0.0; rows * columns];
    if let (Accumulation::Unit(unit), Some(a), Some(b)) = (accumulate, a.blocks(true), b.blocks(false)) {
        return scaled_product(unit, [a, b], depth, &mut result).map(|()| result);
    }
    let (a, b) = (&a.left(), &b.right());
    match accumulate {
        Accumulation::Exact => return exact::product(a, b, &mut result).map(|()| result),
        Accumulation::Unit(unit) => return unit_product(unit, [a, b], &mut result).map(|()| result),
        Accumulation::F32 => {}
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
