//! [`Numbers`]: the elements of a tensor as numbers, in a file, in memory, or as codes with scales.

use smallfloat::{Bf16, F16};
use smallfloat_kernels::{Element, Lanes};

use crate::error::Result;
use crate::file::dtype::Dtype;
use crate::layout::convention::Order;
use crate::scale::range::Scan;
use crate::stored::quantized::{Products, Quantized};
use crate::stored::reader::Reader;
use crate::stored::transposed::Transposed;

/// The numbers that are quantized: a slice of `f32`, `f64`, [`F16`] or [`Bf16`], or a tensor that
/// is quantized already.
///
/// ```
/// use smallfloat_tensor::Numbers;
///
/// let x = vec![1.0_f32; 32];
/// assert_eq!(Numbers::from(&x).len(), 32);
/// ```
#[derive(Debug)]
pub struct Numbers<'a>(Kind<'a>);

#[derive(Debug)]
enum Kind<'a> {
    F64(&'a [f64]),
    F32(&'a [f32]),
    F16(&'a [F16]),
    Bf16(&'a [Bf16]),
    Codes(Products<'a>),
    /// Of a tensor of a file.
    Stored(Reader<'a>),
    /// Of a tensor of a file, each matrix as its transpose.
    Transposed(Reader<'a>, Transposed),
}

impl<'a, T: Element> From<&'a [T]> for Numbers<'a> {
    fn from(values: &'a [T]) -> Self {
        Self(match T::lanes(values) {
            Lanes::F64(values) => Kind::F64(values),
            Lanes::F32(values) => Kind::F32(values),
            Lanes::F16(values) => Kind::F16(values),
            Lanes::Bf16(values) => Kind::Bf16(values),
        })
    }
}

impl<'a, T: Element> From<&'a Vec<T>> for Numbers<'a> {
    fn from(values: &'a Vec<T>) -> Self {
        values.as_slice().into()
    }
}

impl<'a, T: Element, const N: usize> From<&'a [T; N]> for Numbers<'a> {
    fn from(values: &'a [T; N]) -> Self {
        values.as_slice().into()
    }
}

impl<'a> From<&'a Quantized<'_>> for Numbers<'a> {
    fn from(quantized: &'a Quantized<'_>) -> Self {
        Self(Kind::Codes(Products::new(quantized)))
    }
}

impl<'a> Numbers<'a> {
    /// Of a tensor of a file in the order in which a layout has the elements of a tensor of this
    /// shape.
    pub(crate) fn ordered(reader: Reader<'a>, order: Order, shape: &[u64]) -> Self {
        match order {
            Order::Transposed => Self(Kind::Transposed(reader, Transposed::new(&order.of_elements(shape)))),
            Order::Rows | Order::Tiles | Order::Flat => Self(Kind::Stored(reader)),
        }
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        match &self.0 {
            Kind::F64(values) => values.len(),
            Kind::F32(values) => values.len(),
            Kind::F16(values) => values.len(),
            Kind::Bf16(values) => values.len(),
            Kind::Codes(products) => products.len(),
            Kind::Stored(reader) | Kind::Transposed(reader, _) => reader.len(),
        }
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The type of the numbers; `None` where they are products of codes and scales, which are
    /// numbers of f64 or rounded to odd.
    pub(crate) fn dtype(&self) -> Option<Dtype> {
        match &self.0 {
            Kind::F64(_) => Some(Dtype::F64),
            Kind::F32(_) => Some(Dtype::F32),
            Kind::F16(_) => Some(Dtype::F16),
            Kind::Bf16(_) => Some(Dtype::BF16),
            Kind::Codes(_) => None,
            Kind::Stored(reader) | Kind::Transposed(reader, _) => reader.dtype(),
        }
    }

    /// Whether all are known to be numbers of f32.
    pub(crate) fn is_short(&self) -> bool {
        match &self.0 {
            Kind::Stored(reader) | Kind::Transposed(reader, _) => reader.is_short(),
            _ => self.dtype().is_some_and(|dtype| dtype != Dtype::F64),
        }
    }

    /// Fills `values` with the numbers from `first` on, all of which the type must hold; `bytes` is
    /// room for those of a file.
    pub(crate) fn fill<T: Held>(&self, first: u64, values: &mut [T], bytes: &mut Vec<u8>) -> Result<()> {
        /// Numbers from `first` on in another type.
        fn convert<S: Copy, T>(source: &[S], first: u64, values: &mut [T], to: impl Fn(S) -> T) {
            let first = usize::try_from(first).expect("slices are shorter");
            values.iter_mut().zip(&source[first..]).for_each(|(value, &x)| *value = to(x));
        }
        match &self.0 {
            Kind::F64(source) => convert(source, first, values, T::of_f64),
            Kind::F32(source) => convert(source, first, values, T::of_f32),
            Kind::F16(source) => convert(source, first, values, T::of_f16),
            Kind::Bf16(source) => convert(source, first, values, |x| T::of_f32(of_bf16(x))),
            Kind::Codes(products) => products.fill(first, values),
            Kind::Stored(reader) => return reader.fill(first, values, bytes),
            Kind::Transposed(reader, transposed) => {
                let line = |first, elements: &mut [f64]| reader.read(first, elements);
                return transposed.read(first, values.len(), &line, |at, run| {
                    values[at..].iter_mut().zip(run).for_each(|(value, &x)| *value = T::of_f64(x));
                });
            }
        }
        Ok(())
    }
}

/// A type that elements are held in while they are quantized.
pub(crate) trait Held: Scan {
    /// Returns the number of a binary16 source, which every type holds.
    fn of_f16(x: F16) -> Self;
    /// Returns the number of a binary32 source, exact where this type was chosen for the source.
    fn of_f32(x: f32) -> Self;
    /// Returns the number of a binary64 source, exact where this type was chosen for the source.
    fn of_f64(x: f64) -> Self;
    /// All elements, where they lie in memory as this type.
    fn lying<'a>(numbers: &'a Numbers<'_>) -> Option<&'a [Self]>;
}

macro_rules! held {
    ($type:ty, $variant:ident, $of_f16:expr, $of_f32:expr, $of_f64:expr) => {
        #[allow(clippy::cast_possible_truncation, reason = "numbers of the type")]
        impl Held for $type {
            fn of_f16(x: F16) -> Self {
                $of_f16(x)
            }

            fn of_f32(x: f32) -> Self {
                $of_f32(x)
            }

            fn of_f64(x: f64) -> Self {
                $of_f64(x)
            }

            fn lying<'a>(numbers: &'a Numbers<'_>) -> Option<&'a [Self]> {
                match numbers.0 {
                    Kind::$variant(values) => Some(values),
                    _ => None,
                }
            }
        }
    };
}

held!(F16, F16, |x| x, F16::from_f32, F16::from_f64);
held!(f32, F32, of_f16, |x| x, |x| x as f32);
held!(f64, F64, |x| of_f16(x).into(), f64::from, |x| x);

/// Returns the number in binary32; a NaN keeps its sign, which some presets keep in codes.
fn of_f16(x: F16) -> f32 {
    x.to_f32().copysign(if x.to_bits() >> 15 == 0 { 1.0 } else { -1.0 })
}

/// Returns the number in binary64, a NaN with its sign and payload.
pub(crate) fn of_bf16(x: Bf16) -> f32 {
    f32::from_bits(u32::from(x.to_bits()) << 16)
}
