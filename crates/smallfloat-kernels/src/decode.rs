//! [`Decoder`]: codes → wide floats.

use smallfloat::{Format, Projection, convert};

use crate::{Code, Element, Error, Events, parallel};

/// Converts codes of one format into slices of `T`: a table of all codes, so any format costs the same.
#[derive(Clone, Debug)]
pub struct Decoder<T> {
    table: Vec<T>,
}

impl<T: Element> Decoder<T> {
    /// A decoder for a format of at most 16 bits. NaN becomes the canonical quiet NaN.
    ///
    /// With `how` = `None` every finite value must be exact in `T`; otherwise values are rounded as it says.
    ///
    /// # Errors
    /// A wider format, or one with values that `T` can't hold and no rounding given.
    pub fn new(format: &Format, how: Option<&Projection>) -> Result<Self, Error> {
        if format.is_wide() {
            return Err(Error::TooWide { format: *format });
        }
        let how = match how {
            Some(how) if how.rounding.is_stochastic() => {
                return Err(Error::NoRandomWords { mode: how.rounding.name() });
            }
            Some(how) => *how,
            None if format.fits_in(&T::FORMAT) => T::FORMAT.default_projection(),
            None => return Err(Error::Inexact { format: *format, destination: T::FORMAT }),
        };
        let table = (0..=format.max_code())
            .map(|code| T::from_bits(convert(code, format, &T::FORMAT, &how).value))
            .collect();
        Ok(Self { table })
    }

    /// Decodes a slice. Bits of a code above the format's width are ignored.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn decode<C: Code>(&self, codes: &[C], values: &mut [T]) {
        assert_eq!(codes.len(), values.len(), "codes and values must have the same length");
        let mask = self.table.len() - 1;
        parallel::zip(codes, values, |_, codes, values| {
            for (code, value) in codes.iter().zip(values) {
                *value = self.table[code.code() & mask];
            }
            Events::default()
        });
    }

    /// The value of one code. Bits above the format's width are ignored.
    pub fn value(&self, code: usize) -> T {
        self.table[code & (self.table.len() - 1)]
    }
}
