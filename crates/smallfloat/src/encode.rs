//! Datum → code, where the datum is one of the format's.

use crate::projection::project;
use crate::{Class, Datum, Exact, Flags, Format, Preset, Rounded};

impl Format {
    /// The code of a datum, or `None` if the format does not have it. NaN gives the canonical NaN.
    ///
    /// ```
    /// use smallfloat::{Datum, formats::E4M3FN};
    /// assert_eq!(E4M3FN.encode(Datum::finite(false, 7, 6)), Some(0x7e)); // 448
    /// assert_eq!(E4M3FN.encode(Datum::Infinite { negative: false }), None);
    /// ```
    pub const fn encode(&self, datum: Datum) -> Option<u64> {
        let how = Preset::Ieee.projection(self);
        let Rounded { value, flags } = project(Exact::from_datum(datum), self, &how);
        let negative_zero = datum.is_zero() && datum.is_negative() && !self.has_negative_zero();
        let has = match datum {
            Datum::Nan { .. } => self.has_nan(),
            _ => flags.intersection(Flags::INEXACT.union(Flags::INVALID)).is_empty() && !negative_zero,
        };
        if has { Some(value) } else { None }
    }

    /// Is the code subnormal in this format? Such an operand raises [`Flags::DENORMAL`].
    pub(crate) const fn denormal_flag(&self, code: u64) -> Flags {
        if matches!(self.classify(code), Class::Subnormal) { Flags::DENORMAL } else { Flags::NONE }
    }
}
