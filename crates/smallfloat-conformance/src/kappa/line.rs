//! [`ValueLine`]: the finite values of a format in a row, so that steps between two of them can be
//! counted.

use smallfloat::{Datum, Format, Subnormals};

use crate::kappa::Kappa;

/// The finite values of a format, numbered in ascending order with 0 at zero.
///
/// Values are counted, not codes: −0 and 0 are one value, and codes that decode to zero because the
/// format flushes are that value too. The hole of Tesla's denormals holds no value and so is one
/// step wide.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ValueLine {
    format: Format,
    /// How many codes next to zero decode to zero.
    flushed: u64,
}

/// The place of a code on the line of a format's values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinePlace {
    /// It is NaN.
    Nan,
    /// It is ±∞.
    Infinite {
        /// Whether it is −∞.
        negative: bool,
    },
    /// It is the value of this number, negative below zero.
    Finite(i64),
}

impl ValueLine {
    /// Returns the line of a format.
    pub fn new(format: &Format) -> Self {
        let flushes = matches!(format.subnormals(), Subnormals::Flush) && format.has_subnormals();
        let first_normal = format.encode(format.min_normal()).filter(|_| flushes);
        Self { format: *format, flushed: first_normal.map_or(0, |code| code.saturating_sub(1)) }
    }

    /// Returns the format.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// Returns where a code lies. Bits above the format's width are ignored.
    #[expect(
        clippy::cast_possible_wrap,
        reason = "a signed code's magnitude has at most 63 bits, an unsigned code 16"
    )]
    pub fn place(&self, code: u64) -> LinePlace {
        let format = &self.format;
        match format.decode(code) {
            Datum::Nan { .. } => LinePlace::Nan,
            Datum::Infinite { negative } => LinePlace::Infinite { negative },
            datum @ Datum::Finite { .. } if datum.is_zero() => LinePlace::Finite(0),
            Datum::Finite { negative, .. } => {
                let magnitude = code & (format.max_code() >> u32::from(format.is_signed()));
                let rank = (magnitude - self.flushed) as i64;
                LinePlace::Finite(if negative { -rank } else { rank })
            }
        }
    }

    /// Returns the place as one number that sorts as the extended reals do; `None` for NaN.
    pub fn rank(&self, code: u64) -> Option<i64> {
        match self.place(code) {
            LinePlace::Nan => None,
            LinePlace::Infinite { negative: true } => Some(i64::MIN),
            LinePlace::Infinite { negative: false } => Some(i64::MAX),
            LinePlace::Finite(rank) => Some(rank),
        }
    }

    /// The rank of a value that the format has.
    pub(super) fn rank_of(&self, datum: Datum) -> i64 {
        let code = self.format.encode(datum).expect("the format has the value");
        self.rank(code).expect("a value is not NaN")
    }

    /// Returns κ of one result: how far `given` is from `defined` (P3109 draft, section
    /// "Approximation").
    pub fn steps(&self, defined: u64, given: u64) -> Kappa {
        if defined == given {
            return Kappa::Steps(0);
        }
        match (self.place(defined), self.place(given)) {
            (LinePlace::Nan, LinePlace::Nan) => Kappa::Steps(0),
            (LinePlace::Nan, _) | (_, LinePlace::Nan) => Kappa::Nan,
            (LinePlace::Finite(a), LinePlace::Finite(b)) => Kappa::Steps(a.abs_diff(b)),
            (a, b) if a == b => Kappa::Steps(0),
            _ => Kappa::Infinite,
        }
    }
}

#[cfg(test)]
mod tests {
    use smallfloat::formats::{BINARY32, BINARY64, E8M0FNU, UHP};

    use super::*;

    fn line(name: &str) -> ValueLine {
        ValueLine::new(&name.parse().expect("a format's name"))
    }

    /// Sorting all codes by value and numbering the different ones is the definition, spelled out.
    #[test]
    fn ranks_number_the_different_values() {
        let names = [
            "binary8p4se",
            "binary6p3sf",
            "binary8p1uf",
            "e4m3fn",
            "e5m2",
            "e4m3fnuz",
            "e8m0fnu",
            "e2m1fn",
            "uhp",
            "cfloat8_1_4_3:bias=7",
            "shp:bias=20",
            "minifloat:k=6,p=3,bias=3,subnormals=none",
            "minifloat:k=7,p=3,bias=3,subnormals=flush",
        ];
        for name in names {
            let line = line(name);
            let format = line.format();
            let mut finite: Vec<u64> = format.codes().filter(|&c| format.decode(c).is_finite()).collect();
            let value = |code: u64| format.decode(code).to_f64().expect("f64 has it");
            finite.sort_by(|&a, &b| value(a).partial_cmp(&value(b)).expect("no NaN"));
            let mut rank = line.rank(finite[0]).expect("a finite code");
            for pair in finite.windows(2) {
                rank += i64::from(value(pair[0]) < value(pair[1]));
                assert_eq!(line.rank(pair[1]), Some(rank), "code {:#x} of {name}", pair[1]);
            }
            let zero = if format.has_zero() { Some(0) } else { line.rank(0) };
            assert!(line.rank(0) == zero && !format.decode(0).is_negative());
        }
    }

    #[test]
    fn zeros_are_one_value_and_special_codes_match_by_kind() {
        let line = line("e5m2");
        assert_eq!(line.steps(0x00, 0x80), Kappa::Steps(0));
        assert_eq!(line.steps(0x01, 0x81), Kappa::Steps(2));
        assert_eq!(line.steps(0x7f, 0xfe), Kappa::Steps(0)); // two NaNs
        assert_eq!(line.steps(0x7b, 0x7c), Kappa::Infinite);
        assert_eq!(line.steps(0x7c, 0xfc), Kappa::Infinite);
        assert_eq!(line.steps(0x7c, 0x7e), Kappa::Nan);
    }

    #[test]
    fn the_widest_lines_fit() {
        let line = ValueLine::new(&BINARY64);
        assert_eq!(line.rank((-f64::MAX).to_bits()), Some(-0x7fef_ffff_ffff_ffff));
        // All of binary32's 2^32 − 2^24 finite codes, of which two are zero, lie between its ends.
        let ends = [f32::MAX, -f32::MAX].map(|x| u64::from(x.to_bits()));
        let all = (1_u64 << 32) - (1 << 24) - 1;
        assert_eq!(ValueLine::new(&BINARY32).steps(ends[0], ends[1]), Kappa::Steps(all - 1));
        // UHP's flushed codes are zero; its smallest value is one step above.
        assert_eq!(ValueLine::new(&UHP).steps(0x03ff, 0x0400), Kappa::Steps(1));
        assert_eq!(ValueLine::new(&E8M0FNU).steps(0x00, 0xfe), Kappa::Steps(254));
    }
}
