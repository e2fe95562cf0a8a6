//! A code → the bits of a binary32.

use smallfloat::Subnormals;

use crate::portable::KernelConstants;

const HIDDEN: u32 = 1 << 23;
const INFINITY: u32 = 0x7f80_0000;
const NAN: u32 = 0x7fc0_0000;

impl KernelConstants {
    /// Returns the bits of a code's value times 2^`shift` as a binary32, rounded to nearest even
    /// where that is a subnormal number that does not hold it. `shift` has a magnitude of at most
    /// 2^20.
    pub fn decode(&self, code: u32, shift: i32) -> u32 {
        let t = self.trailing;
        let negative = self.signed && code >> (self.width - 1) & 1 == 1;
        let index = code & ((1 << (self.width - u32::from(self.signed))) - 1);
        if index > self.largest.max(self.infinity_index.unwrap_or(0))
            || self.nan_is_negative_zero && negative && index == 0
        {
            return NAN;
        }
        let sign = u32::from(negative) << 31;
        if Some(index) == self.infinity_index {
            return INFINITY | sign;
        }
        let (field, tail) = (index >> t, index & ((1 << t) - 1));
        let has_subnormals = self.lowest_index > 0;
        let is_subnormal = has_subnormals && field == 0;
        let significand = match self.subnormals {
            _ if !has_subnormals && index == 0 && self.has_zero => 0,
            Subnormals::Flush if is_subnormal => 0,
            _ if is_subnormal => tail,
            _ => tail | 1 << t,
        };
        if significand == 0 {
            // Flushed codes of a format without −0 have no sign.
            return if self.nan_is_negative_zero { 0 } else { sign };
        }
        // Below the lowest binade the spacing is that binade's, or with Tesla's rule half of it.
        let is_gradual = is_subnormal && self.subnormals != Subnormals::Tesla;
        let binade = field.cast_signed() - i32::from(has_subnormals) + i32::from(is_gradual);
        let last = binade + self.lowest - t.cast_signed() + shift;
        let exponent = last + significand.ilog2().cast_signed() + 127;
        let fraction = significand << (23 - significand.ilog2()) & (HIDDEN - 1);
        if exponent >= 255 {
            return INFINITY | sign;
        }
        if exponent >= 1 {
            return exponent.unsigned_abs() << 23 | fraction | sign;
        }
        let places = (1 - exponent).min(25).unsigned_abs();
        let kept = fraction | HIDDEN;
        let low = kept >> places;
        let moves = 2 * (kept - (low << places)) + (low & 1) > 1 << places;
        (low + u32::from(moves)) | sign
    }
}
