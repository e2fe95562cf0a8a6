//! Datum → code, where the datum is one of the format's.

use crate::projection::project;
use crate::{Datum, Exact, Flags, Format, Preset, Rounded};

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
        // As `classify` has it, without decoding: few codes are so small that the rest is asked.
        let index = code & (self.max_code() >> self.is_signed() as u32);
        let small = index < self.first_normal_index();
        let subnormal = small && !(index == 0 && self.has_zero()) && index <= self.max_index();
        if subnormal { Flags::DENORMAL } else { Flags::NONE }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::CATALOGUE;
    use crate::{Class, Domain, Signedness};

    #[test]
    fn subnormal_operands_are_those_of_the_class() {
        let named = CATALOGUE.iter().map(|row| row.format).filter(|format| format.width() <= 16);
        let p3109 = (3..=8).flat_map(|k| {
            (1..=k).flat_map(move |p| {
                [Signedness::Signed, Signedness::Unsigned].into_iter().flat_map(move |signedness| {
                    [Domain::Finite, Domain::Extended]
                        .into_iter()
                        .filter_map(move |domain| Format::p3109(k, p, signedness, domain).ok())
                })
            })
        });
        let others =
            ["minifloat:k=8,p=4,bias=7,subnormals=none", "minifloat:k=8,p=4,bias=7,subnormals=flush"];
        let others = others.into_iter().map(|name| name.parse().expect("a format"));
        let mut seen = 0;
        for format in named.chain(p3109).chain(others) {
            for code in 0..=format.max_code() {
                let expected = format.classify(code) == Class::Subnormal;
                assert_eq!(format.denormal_flag(code) == Flags::DENORMAL, expected, "{format} {code:#x}");
                seen += u32::from(expected);
            }
        }
        assert!(seen > 1000, "{seen}");
    }
}
