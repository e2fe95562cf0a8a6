//! Datum → code, where the datum is one of the format's.

use crate::format::datum::Datum;
use crate::format::{Format, signed_code};
use crate::projection::exact::Exact;
use crate::projection::flags::{Flags, Rounded};
use crate::projection::preset::Preset;
use crate::projection::project;

impl Format {
    /// Returns the code of a datum, or `None` if the format does not have it. NaN gives the
    /// canonical NaN.
    ///
    /// ```
    /// use smallfloat::{Datum, formats::E4M3FN};
    /// assert_eq!(E4M3FN.encode(Datum::finite(false, 7, 6)), Some(0x7e)); // 448
    /// assert_eq!(E4M3FN.encode(Datum::Infinite { negative: false }), None);
    /// ```
    pub const fn encode(&self, datum: Datum) -> Option<u64> {
        if let Some(code) = self.encode_normal(datum) {
            return Some(code);
        }
        let projection = Preset::Ieee.projection(self);
        let Rounded { value, flags } = project(Exact::from_datum(datum), self, &projection);
        let negative_zero = datum.is_zero() && datum.is_negative() && !self.has_negative_zero();
        let has = match datum {
            Datum::Nan { .. } => self.has_nan(),
            _ => flags.intersection(Flags::INEXACT.union(Flags::INVALID)).is_empty() && !negative_zero,
        };
        if has { Some(value) } else { None }
    }

    /// The short way: the code of a normal value, from its index. Nothing for other data.
    const fn encode_normal(&self, datum: Datum) -> Option<u64> {
        let Datum::Finite { negative, significand: significand @ 1.., .. } = datum else {
            return None;
        };
        let leading = datum.exponent_of_leading_bit();
        if leading < self.lowest_exponent()
            || leading > self.highest_exponent()
            || (negative && !self.is_signed())
        {
            return None;
        }
        // As many bits as the format has, if the significand has no more.
        let Some(up) = (self.precision() + significand.leading_zeros()).checked_sub(64) else {
            return None;
        };
        let index = self.normal_index(leading, significand << up);
        if index == 0 && self.has_zero() { None } else { signed_code(index, negative, self) }
    }

    /// Returns whether the code is subnormal in this format. Such an operand raises
    /// [`Flags::DENORMAL`].
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
    use crate::format::datum::Class;
    use crate::format::formats::CATALOGUE;
    use crate::format::{Domain, Signedness};

    fn narrow_formats() -> impl Iterator<Item = Format> {
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
        named.chain(p3109).chain(others.into_iter().map(|name| name.parse().expect("a format")))
    }

    #[test]
    fn subnormal_operands_are_those_of_the_class() {
        let mut seen = 0;
        for format in narrow_formats() {
            for code in format.codes() {
                let expected = format.classify(code) == Class::Subnormal;
                assert_eq!(format.denormal_flag(code) == Flags::DENORMAL, expected, "{format} {code:#x}");
                seen += u32::from(expected);
            }
        }
        assert!(seen > 1000, "{seen}");
    }

    /// Normal values take the short way, and nothing else: neither what is subnormal, nor what has
    /// a bit too many, a binade too many or a sign too many.
    #[test]
    fn normal_values_are_encoded_by_their_index() {
        let mut seen = 0;
        for format in narrow_formats() {
            for code in format.codes() {
                let datum = format.decode(code);
                let is_normal = format.classify(code) == Class::Normal;
                assert_eq!(format.encode_normal(datum), is_normal.then_some(code), "{format} {code:#x}");
                let Datum::Finite { negative, significand, exponent } = datum else { continue };
                if !is_normal {
                    continue;
                }
                seen += 1;
                if !format.is_signed() {
                    assert_eq!(format.encode_normal(datum.negated()), None, "{format} -{datum}");
                }
                // A last bit below the format's: no value of it.
                let missing = format.precision() - significand.ilog2();
                let longer = Datum::finite(
                    negative,
                    significand << missing | 1,
                    exponent.saturating_sub_unsigned(missing),
                );
                assert_eq!(format.encode_normal(longer), None, "{format} {longer}");
            }
            let (lowest, highest) = format.exponent_range();
            for leading in [lowest - 1, highest + 1] {
                let power = Datum::finite(false, 1, leading);
                let code = format.encode_normal(power);
                assert!(code.is_none_or(|code| format.decode(code) == power), "{format} {power}");
            }
        }
        assert!(seen > 100_000, "{seen}");
    }
}
