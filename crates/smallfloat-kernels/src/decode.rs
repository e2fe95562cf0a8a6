//! [`Decoder`]: codes → wide floats.

use smallfloat::{Format, Projection, convert};

use crate::decode_plan::DecodePlan;
use crate::encode::streams;
use crate::fast::FastDecode;
use crate::{Code, Element, Error, Events, Level, parallel};

/// Converts codes of one format into slices of `T`: a table of all codes, so any format costs the same.
#[derive(Clone, Debug)]
pub struct Decoder<T> {
    table: Vec<T>,
    plan: Option<DecodePlan>,
    level: Level,
    fast: Option<FastDecode>,
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
            .collect::<Vec<T>>();
        let plan = halves_of(&table).and_then(|halves| DecodePlan::new(format, &halves));
        Ok(Self { table, plan, level: Level::Portable, fast: None }.with_level(Level::detected()))
    }

    /// The same decoder with the kernels of another level; of a level that the machine can't run, the highest it can.
    /// The results are the same.
    #[must_use]
    pub fn with_level(mut self, level: Level) -> Self {
        self.level = level.at_most_available();
        self.fast = self.plan.as_ref().and_then(|plan| FastDecode::new(self.level, plan));
        self
    }

    /// The level of the kernels this decoder uses.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Decodes a slice. Bits of a code above the format's width are ignored.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn decode<C: Code>(&self, codes: &[C], values: &mut [T]) {
        assert_eq!(codes.len(), values.len(), "codes and values must have the same length");
        let mask = self.table.len() - 1;
        let stream = streams(size_of_val(codes) + size_of_val(values));
        parallel::zip(codes, values, |_, codes, values| {
            if self.fast.as_ref().and_then(|fast| fast.decode(codes, values, stream)).is_some() {
                return Events::default();
            }
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

/// The upper halves of all values as binary32, if the lower halves are zero or the type has none.
fn halves_of<T: Element>(table: &[T]) -> Option<Vec<u16>> {
    let trailing = T::SIZE.checked_sub(2)?.checked_mul(8)?;
    let half = |value: &T| {
        u16::try_from(value.bits() >> trailing)
            .ok()
            .filter(|_| value.bits().trailing_zeros() as usize >= trailing)
    };
    let same_exponent = T::FORMAT.exponent_bits() == smallfloat::formats::BINARY32.exponent_bits();
    same_exponent.then(|| table.iter().map(half).collect()).flatten()
}
