//! Code → datum.

use crate::format::datum::Datum;
use crate::format::{Format, Subnormals};

impl Format {
    /// Returns the datum of a code. Bits above K are ignored; [`check_code`](Self::check_code)
    /// refuses them.
    ///
    /// ```
    /// use smallfloat::{Format, formats};
    /// // Tesla's denormals are 2^−bias · 0.m: half of what IEEE 754's formula gives.
    /// assert_eq!(Format::cfloat8_1_4_3(7)?.decode(0x01).to_string(), "1p-10");
    /// assert_eq!(formats::E4M3FN.decode(0x01).to_string(), "1p-9");
    /// # Ok::<(), smallfloat::Error>(())
    /// ```
    pub const fn decode(&self, code: u64) -> Datum {
        let code = code & self.max_code();
        let negative = self.sign_bit(code);
        let index = code & (self.max_code() >> self.is_signed() as u32);
        if index > self.max_index() {
            return match self.infinity_index() {
                Some(infinity) if index == infinity => Datum::Infinite { negative },
                _ => Datum::Nan { negative },
            };
        }
        if negative && index == 0 && !self.has_negative_zero() {
            return Datum::Nan { negative: false };
        }
        if matches!(self.subnormals(), Subnormals::Flush) && index < self.first_normal_index() {
            return Datum::finite(negative && self.has_negative_zero(), 0, 0);
        }
        let (significand, exponent) = self.magnitude(index);
        Datum::finite(negative, significand, exponent)
    }

    /// The index of +∞: it follows the largest finite value in every format that has it.
    pub(crate) const fn infinity_index(&self) -> Option<u64> {
        if self.has_infinity() { Some(self.max_index() + 1) } else { None }
    }
}
