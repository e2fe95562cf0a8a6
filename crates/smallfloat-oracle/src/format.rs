//! What a code means, written straight from the published tables of the formats.

use std::fmt;

use crate::Dyadic;

/// Which codes are not ordinary numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Specials {
    /// None: every code is a number (CFloat8, SHP, the OCP 6- and 4-bit formats).
    Finite,
    /// IEEE 754: exponent of ones is an infinity (mantissa 0) or a NaN.
    Ieee,
    /// All bits below the sign set is NaN, nothing else (OCP E4M3).
    NanAllOnes,
    /// The code of −0 is the one NaN, so there is one zero (the FNUZ formats).
    NanNegZero,
    /// The P3109 draft's extended domain: one NaN, infinities, one zero.
    P3109Extended,
    /// The P3109 draft's finite domain: one NaN, one zero.
    P3109Finite,
    /// OCP's scale format: code c is 2^(c − bias), all ones is NaN, no zero.
    E8m0,
}

/// What an exponent field of zero with a non-zero mantissa means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subnormals {
    /// 2^(1−bias) · 0.m, as in IEEE 754.
    Gradual,
    /// 2^(−bias) · 0.m, the formula of Tesla's paper, which leaves a hole below the smallest
    /// normal.
    Tesla,
    /// The codes exist but stand for zero; rounding sees them as if gradual, then flushes.
    Flush,
    /// 2^(−bias) · 1.m: one more binade of normal numbers, which gives its first code to zero.
    None,
}

/// A format by its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OracleFormat {
    /// Width in bits, at most 64.
    pub k: u32,
    /// Precision in bits, the hidden bit included.
    pub p: u32,
    /// Exponent bias.
    pub bias: i64,
    /// Whether the top bit is a sign.
    pub signed: bool,
    /// The codes that are not numbers.
    pub specials: Specials,
    /// The meaning of the lowest exponent field.
    pub subnormals: Subnormals,
}

/// What a code stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Not a number. Formats with one NaN have a positive one, whatever its top bit.
    Nan {
        /// The sign.
        negative: bool,
    },
    /// An infinity.
    Inf {
        /// The sign.
        negative: bool,
    },
    /// A number, and whether it is a negative zero.
    Finite(Dyadic, bool),
}

/// `NaN`, `Inf`, `-Inf`, `-0`, or the number as [`Dyadic`] prints it.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nan { .. } => f.write_str("NaN"),
            Self::Inf { negative } => f.write_str(if *negative { "-Inf" } else { "Inf" }),
            Self::Finite(_, true) => f.write_str("-0"),
            Self::Finite(x, false) => write!(f, "{x}"),
        }
    }
}

impl OracleFormat {
    /// The number of codes, 2^k.
    ///
    /// # Panics
    /// If k is 64.
    pub fn code_count(&self) -> u64 {
        assert!(self.k < 64, "2^64 codes do not fit a u64");
        1 << self.k
    }

    /// The sign bit, 0 for an unsigned format.
    pub fn sign_bit(&self) -> u64 {
        if self.signed { 1 << (self.k - 1) } else { 0 }
    }

    /// All bits below the sign.
    pub fn magnitude_mask(&self) -> u64 {
        let bits = if self.signed { self.k - 1 } else { self.k };
        u64::MAX >> (64 - bits)
    }

    // The exponent field (unbounded: `magnitude` may lie past the last code) and the mantissa
    // field.
    fn fields(&self, magnitude: u64) -> (u64, u64) {
        (magnitude >> (self.p - 1), magnitude & ((1 << (self.p - 1)) - 1))
    }

    fn all_ones_exponent(&self) -> u64 {
        self.magnitude_mask() >> (self.p - 1)
    }

    /// The number on the rounding grid with this magnitude code, as if no code were special and the
    /// exponent field had no upper end. Flushed codes are here the numbers that they would be if
    /// gradual.
    pub fn grid(&self, magnitude: u64) -> Dyadic {
        if self.specials == Specials::E8m0 {
            return Dyadic::new(1, magnitude.cast_signed() - self.bias);
        }
        let (e, m) = self.fields(magnitude);
        let hidden = 1u64 << (self.p - 1);
        // The weight of the mantissa's last place in a binade 2^0.
        let last = 1 - i64::from(self.p);
        match (e, self.subnormals) {
            (0, Subnormals::Gradual | Subnormals::Flush) => Dyadic::new(m, 1 - self.bias + last),
            (0, Subnormals::Tesla) => Dyadic::new(m, -self.bias + last),
            (0, Subnormals::None) if m == 0 => Dyadic::zero(),
            _ => Dyadic::new(hidden + m, e.cast_signed() - self.bias + last),
        }
    }

    // NaN or infinity, by the table of each family; `None` for a number.
    fn special(&self, code: u64) -> Option<Value> {
        let top_bit = 1u64 << (self.k - 1);
        let all_bits = u64::MAX >> (64 - self.k);
        let magnitude = code & self.magnitude_mask();
        let (e, m) = self.fields(magnitude);
        let ones = e == self.all_ones_exponent();
        let (nan, inf) = match self.specials {
            Specials::Finite => (false, false),
            Specials::Ieee => (ones && m != 0, ones && m == 0),
            Specials::NanAllOnes => (magnitude == self.magnitude_mask(), false),
            Specials::NanNegZero => (code == top_bit, false),
            Specials::P3109Extended if self.signed => {
                (code == top_bit, code == top_bit - 1 || code == all_bits)
            }
            Specials::P3109Extended => (code == all_bits, code == all_bits - 1),
            Specials::P3109Finite => (code == if self.signed { top_bit } else { all_bits }, false),
            Specials::E8m0 => (code == all_bits, false),
        };
        let negative = code & self.sign_bit() != 0;
        if nan {
            // Where NaN is one code, its top bit is no sign.
            return Some(Value::Nan { negative: negative && self.has_signed_nan() });
        }
        inf.then_some(Value::Inf { negative })
    }

    /// What a code stands for.
    ///
    /// # Panics
    /// If the code has more than k bits, or if the format gives the code of −0 to NaN and has no
    /// −0.
    pub fn value(&self, code: u64) -> Value {
        assert_eq!(code >> (self.k - 1) >> 1, 0, "code {code:#x} has more than {} bits", self.k);
        assert!(self.signed || self.specials != Specials::NanNegZero, "an unsigned format has no -0");
        if let Some(special) = self.special(code) {
            return special;
        }
        let flushed = self.subnormals == Subnormals::Flush && self.is_subnormal(code);
        let magnitude = if flushed { Dyadic::zero() } else { self.grid(code & self.magnitude_mask()) };
        let negative = code & self.sign_bit() != 0;
        // A negative code that is flushed becomes -0 only where the format has one.
        let negative_zero = negative && magnitude.is_zero() && self.has_negative_zero();
        Value::Finite(if negative { -&magnitude } else { magnitude }, negative_zero)
    }

    /// Whether a code has the exponent field zero and a mantissa, in a format where that means a
    /// subnormal (a flushed one included).
    pub fn is_subnormal(&self, code: u64) -> bool {
        let (e, m) = self.fields(code & self.magnitude_mask());
        self.specials != Specials::E8m0 && self.subnormals != Subnormals::None && e == 0 && m != 0
    }

    /// The magnitude code of the smallest normal number.
    pub fn min_normal_code(&self) -> u64 {
        match (self.specials, self.subnormals) {
            (Specials::E8m0, _) => 0,
            (_, Subnormals::None) => 1,
            _ => 1 << (self.p - 1),
        }
    }

    /// Whether the format can express zero.
    pub fn has_zero(&self) -> bool {
        self.specials != Specials::E8m0
    }

    /// Whether −0 has a code of its own.
    pub fn has_negative_zero(&self) -> bool {
        self.signed && matches!(self.specials, Specials::Finite | Specials::Ieee | Specials::NanAllOnes)
    }

    /// The code of an infinity, if there is one.
    pub fn inf_code(&self, negative: bool) -> Option<u64> {
        if negative && !self.signed {
            return None;
        }
        let sign = if negative { self.sign_bit() } else { 0 };
        match self.specials {
            Specials::Ieee => Some(sign | self.all_ones_exponent() << (self.p - 1)),
            // Signed: the last code of each half; unsigned: the last but one, before the NaN.
            Specials::P3109Extended if self.signed => Some(sign | self.magnitude_mask()),
            Specials::P3109Extended => Some(self.magnitude_mask() - 1),
            _ => None,
        }
    }

    /// The positive quiet NaN: exponent of ones with the top mantissa bit where the format is
    /// IEEE-like, the format's one NaN code otherwise; `None` for a format without NaN.
    pub fn nan_code(&self) -> Option<u64> {
        match self.specials {
            Specials::Finite => None,
            // Precision 1 leaves no mantissa bit to tell a NaN from an infinity.
            Specials::Ieee if self.p == 1 => None,
            Specials::Ieee => Some(self.all_ones_exponent() << (self.p - 1) | 1 << (self.p - 2)),
            Specials::NanNegZero => Some(self.sign_bit()),
            Specials::P3109Extended | Specials::P3109Finite if self.signed => Some(self.sign_bit()),
            // OCP E4M3, the unsigned P3109 formats and E8M0.
            _ => Some(self.magnitude_mask()),
        }
    }

    /// A NaN's code with this sign and the same payload; none where NaN has no sign.
    pub fn nan_with_sign(&self, code: u64, negative: bool) -> Option<u64> {
        let magnitude = code & self.magnitude_mask();
        self.has_signed_nan().then_some(if negative { magnitude | self.sign_bit() } else { magnitude })
    }

    /// Whether NaN exists with both signs.
    pub fn has_signed_nan(&self) -> bool {
        self.signed && matches!(self.specials, Specials::Ieee | Specials::NanAllOnes)
    }
}
