//! [`Digits`]: values as integers of a few digits, whose products instructions for bytes add up.
//!
//! As in `plan/exact.rs`, values are integers: multiples of a format's smallest step. A table gives
//! each digit, of seven bits, of a code's magnitude. The product of two values is the sum of all
//! products of their digits, each shifted by the places of both; so there is an integer for each
//! place, which adds up what belongs there, and nothing is rounded.

use smallfloat::Format;

use crate::plan::exact::Value;

/// Bits of a digit.
pub(crate) const BITS: u32 = 7;
/// The most digits of a value.
pub(crate) const MOST: usize = 5;
/// What the lowest digit has if a code is no number.
pub(crate) const NO_NUMBER: u8 = 1 << BITS;
/// Codes of a table.
const CODES: usize = 128;

/// The digits of a format's magnitudes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Digits {
    /// The lowest digit first, by the low seven bits of a code.
    pub(crate) tables: [[u8; CODES]; MOST],
    /// How many digits values have.
    pub(crate) count: usize,
    /// The bit of a code that says that a value is negative, or 0.
    pub(crate) sign: u8,
    /// The code 0x80 is no number, unlike the code 0.
    pub(crate) lacks_negative_zero: bool,
}

impl Digits {
    /// The digits, or `None` for formats they can't describe. Values have one entry a code.
    pub(crate) fn new(format: &Format, values: &[Value]) -> Option<Self> {
        let sign = if format.is_signed() { u8::try_from(values.len() / 2).ok()? } else { 0 };
        let value = |code: u8| values[usize::from(code) % values.len()];
        let lacks_negative_zero = value(0x80).is_none() && value(0).is_some();
        let mut digits = Self { tables: [[0; CODES]; MOST], count: 1, sign, lacks_negative_zero };
        for (code, i) in (0_u8..).zip(0..CODES) {
            let Some(value) = value(code) else {
                digits.tables[0][i] = NO_NUMBER;
                continue;
            };
            let mut rest = value.unsigned_abs();
            for (count, table) in (1..).zip(&mut digits.tables) {
                table[i] = u8::try_from(rest % (1 << BITS)).ok()?;
                rest >>= BITS;
                if table[i] != 0 {
                    digits.count = digits.count.max(count);
                }
            }
        }
        // Zeros fill what is left of a vector.
        let agrees = value(0) == Some(0) && (0..=255).all(|code| digits.value(code) == value(code));
        agrees.then_some(digits)
    }

    /// What the vector kernel takes a code for.
    fn value(&self, code: u8) -> Value {
        let i = usize::from(code) % CODES;
        if self.tables[0][i] == NO_NUMBER || code == 0x80 && self.lacks_negative_zero {
            return None;
        }
        let magnitude = self.tables.iter().rev().fold(0, |value, table| value << BITS | i64::from(table[i]));
        Some(if code & self.sign != 0 { -magnitude } else { magnitude })
    }
}

#[cfg(test)]
mod tests {
    use smallfloat::formats::{E2M1FN, E4M3FN, E4M3FNUZ, E5M2, E8M0FNU, UE4M3};
    use smallfloat::{Datum, Format};

    use super::{Digits, NO_NUMBER};

    /// Values in steps of 2^`exponent`.
    fn of(format: &Format, exponent: i32) -> Option<Digits> {
        let value = |code| match format.decode(code) {
            Datum::Finite { negative, significand, exponent: place } => {
                let magnitude = i64::try_from(significand << (place - exponent)).expect("63 bits");
                Some(if negative { -magnitude } else { magnitude })
            }
            _ => None,
        };
        Digits::new(format, &format.codes().map(value).collect::<Vec<_>>())
    }

    #[test]
    fn digits_are_of_magnitudes() {
        let of_code = |digits: &Digits, code: usize| digits.tables.map(|table| table[code]);
        let digits = of(&E4M3FN, -9).expect("18 bits");
        assert_eq!((digits.count, digits.sign, digits.lacks_negative_zero), (3, 0x80, false));
        // 448 · 2^9 = 14 · 2^14, 15 = 2^9 · (2^-6 + 7 · 2^-9), and 0x28 = 0.25 is 2^7.
        assert_eq!(of_code(&digits, 0x7e), [0, 0, 14, 0, 0]);
        assert_eq!(of_code(&digits, 0x0f), [15, 0, 0, 0, 0]);
        assert_eq!(of_code(&digits, 0x28), [0, 1, 0, 0, 0]);
        assert_eq!(of_code(&digits, 0x7f), [NO_NUMBER, 0, 0, 0, 0]);
        let digits = of(&E5M2, -16).expect("32 bits");
        // 57344 · 2^16 = 7 · 2^29 = 14 · 2^28.
        assert_eq!((digits.count, of_code(&digits, 0x7b)), (5, [0, 0, 0, 0, 14]));
        // 6 in halves, in codes of 4 bits that are repeated.
        let digits = of(&E2M1FN, -1).expect("4 bits");
        assert_eq!((digits.count, digits.sign), (1, 8));
        assert_eq!([7, 0x0f, 0x77].map(|code| of_code(&digits, code)[0]), [12; 3]);
        let digits = of(&E4M3FNUZ, -10).expect("18 bits");
        assert!(digits.lacks_negative_zero && digits.tables[0][0] == 0);
        assert!(of(&UE4M3, -9).is_some_and(|digits| digits.sign == 0));
    }

    #[test]
    fn other_formats_have_none() {
        // Eight bits without a sign; 36 bits; a code 0 that is no zero.
        assert!(of(&"binary8p4uf".parse().expect("a format"), -20).is_none());
        assert!(of(&E5M2, -20).is_none());
        assert!(Digits::new(&E8M0FNU, &[Some(1); 256]).is_none());
    }
}
