//! [`Codebook`]: at most 256 values in a list, for codes that no exponent and precision describe.
//!
//! Such are the normal floats of quantized checkpoints, whose values are quantiles, and integers in
//! two's complement. A codebook is no [`Format`](crate::Format): it has no exponent, no precision
//! and no special values, and there is one way to round to it, to the nearest value.

use core::cmp::Ordering;

use crate::cast::signed;
use crate::format::datum::Datum;
use crate::format::formats::{BINARY32, BINARY64};
use crate::format::named::by_name;
use crate::projection::exact::Exact;

/// Which of two values a number becomes that lies in the middle between them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Ties {
    /// That with the even code.
    Even,
    /// The lower one.
    Lower,
    /// That nearer to zero.
    TowardZero,
}

impl Ties {
    /// Returns the rule in words, after "ties": `to the even code`, `to the lower value` or
    /// `toward zero`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Even => "to the even code",
            Self::Lower => "to the lower value",
            Self::TowardZero => "toward zero",
        }
    }
}

/// The values of codes, in a list.
///
/// ```
/// use smallfloat::Codebook;
///
/// let nf4: Codebook = "nf4".parse()?;
/// assert_eq!(nf4.value(15), 1.0);
/// assert_eq!(nf4.encode_f64(0.04), Some(8));   // 0.0796, since the middle to 0 is 0.0398
/// # Ok::<(), smallfloat::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Codebook(&'static Row);

#[derive(Debug)]
struct Row {
    name: &'static str,
    source: &'static str,
    width: u32,
    values: Values,
    ties: Ties,
}

#[derive(Debug)]
enum Values {
    List {
        by_code: &'static [f32],
        /// The codes that rounding gives, by ascending value.
        ascending: &'static [u8],
    },
    /// Two's complement, times 2^exponent.
    Integers {
        exponent: i32,
        /// Whether rounding never gives the lowest, whose opposite is missing.
        is_symmetric: bool,
    },
}

const SORTED: &[u8; 16] = &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

/// NF4 of QLoRA: quantiles of the normal distribution (arXiv 2305.14314, appendix E).
pub const NF4: Codebook = Codebook(&Row {
    name: "nf4",
    source: "QLoRA, arXiv 2305.14314; bitsandbytes",
    width: 4,
    values: Values::List {
        by_code: &[
            -1.0,
            -0.696_192_8,
            -0.525_073_05,
            -0.394_917_5,
            -0.284_441_38,
            -0.184_773_43,
            -0.091_050_036,
            0.0,
            0.079_580_3,
            0.160_930_2,
            0.246_112_3,
            0.337_915_24,
            0.440_709_83,
            0.562_617,
            0.722_956_84,
            1.0,
        ],
        ascending: SORTED,
    },
    ties: Ties::Lower,
});

/// SF4: quantiles of Student's t-distribution of five degrees of freedom (arXiv 2405.03103).
pub const SF4: Codebook = Codebook(&Row {
    name: "sf4",
    source: "Dotzel et al., arXiv 2405.03103, and its code",
    width: 4,
    values: Values::List {
        by_code: &[
            -1.0, -0.627_781, -0.454_736, -0.334_331, -0.237_434, -0.152_899, -0.074_982, 0.0, 0.065_513,
            0.132_965, 0.204_661, 0.283_835, 0.375_805, 0.491_076, 0.656_781, 1.0,
        ],
        ascending: SORTED,
    },
    ties: Ties::Lower,
});

/// bitsandbytes' FP4: a sign and 0, 1/192, 1/6, 1/4, 1/3, 1/2, 2/3 or 1 in binary32.
pub const BNB_FP4: Codebook = Codebook(&Row {
    name: "bnb-fp4",
    source: "bitsandbytes, get_4bit_type",
    width: 4,
    values: Values::List {
        by_code: &[
            0.0,
            0.005_208_333_5,
            0.666_666_7,
            1.0,
            0.333_333_34,
            0.5,
            0.166_666_67,
            0.25,
            0.0,
            -0.005_208_333_5,
            -0.666_666_7,
            -1.0,
            -0.333_333_34,
            -0.5,
            -0.166_666_67,
            -0.25,
        ],
        ascending: &[11, 10, 13, 12, 15, 14, 9, 0, 1, 6, 7, 4, 5, 2, 3],
    },
    ties: Ties::TowardZero,
});

const fn integers(
    name: &'static str,
    source: &'static str,
    width: u32,
    exponent: i32,
    is_symmetric: bool,
) -> Row {
    Row { name, source, width, values: Values::Integers { exponent, is_symmetric }, ties: Ties::Even }
}

/// Integers of four bits, −8 to 7.
pub const INT4: Codebook = Codebook(&integers("int4", "two's complement", 4, 0, false));
/// Integers of eight bits, −128 to 127.
pub const INT8: Codebook = Codebook(&integers("int8", "two's complement", 8, 0, false));
/// The elements of MXINT8: integers of eight bits times 2^−6. Rounding gives ±127/64 at most; −2
/// has no opposite, and a code that stands for it is read.
pub const MXINT8: Codebook =
    Codebook(&integers("mxint8", "OCP Microscaling Formats 1.0, section 5.3.4", 8, -6, true));

impl Codebook {
    /// Every codebook.
    pub const ALL: &'static [Self] = &[NF4, SF4, BNB_FP4, INT4, INT8, MXINT8];

    /// Returns the name.
    pub const fn name(&self) -> &'static str {
        self.0.name
    }

    /// Returns where it is defined.
    pub const fn source(&self) -> &'static str {
        self.0.source
    }

    /// Returns the number of bits of a code.
    pub const fn width(&self) -> u32 {
        self.0.width
    }

    /// Returns the largest code.
    pub const fn max_code(&self) -> u32 {
        (1 << self.width()) - 1
    }

    /// Returns what becomes of a number in the middle between two values.
    pub const fn ties(&self) -> Ties {
        self.0.ties
    }

    /// Returns the value of a code, which binary32 holds.
    ///
    /// # Panics
    /// If the code has more bits than the codes have.
    #[expect(clippy::cast_precision_loss, reason = "at most 8 bits")]
    pub const fn value(&self, code: u32) -> f32 {
        assert!(code <= self.max_code(), "the code has more bits than codes have");
        match &self.0.values {
            Values::List { by_code, .. } => by_code[code as usize],
            Values::Integers { exponent, .. } => {
                let is_negative = code >> (self.width() - 1) == 1;
                let integer = signed(code) - if is_negative { 1 << self.width() } else { 0 };
                // 2^exponent, which is small.
                integer as f32 * f32::from_bits((127 + *exponent).unsigned_abs() << 23)
            }
        }
    }

    /// Returns what a code means.
    ///
    /// # Panics
    /// If the code has more bits than the codes have.
    pub const fn decode(&self, code: u32) -> Datum {
        BINARY32.decode(self.value(code).to_bits() as u64)
    }

    /// Returns how many values rounding gives.
    pub const fn len(&self) -> usize {
        match &self.0.values {
            Values::List { ascending, .. } => ascending.len(),
            Values::Integers { is_symmetric, .. } => (1 << self.width()) - *is_symmetric as usize,
        }
    }

    /// Returns `false`: there are values.
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// Returns the code of one of the values that rounding gives, counted from the lowest.
    ///
    /// # Panics
    /// If there are not so many.
    #[expect(clippy::cast_possible_truncation, reason = "at most 256 values")]
    pub const fn code_at(&self, rank: usize) -> u32 {
        assert!(rank < self.len(), "there are not so many values");
        match &self.0.values {
            Values::List { ascending, .. } => ascending[rank] as u32,
            Values::Integers { is_symmetric, .. } => {
                let lowest = 1_u32 << (self.width() - 1);
                (lowest + *is_symmetric as u32 + rank as u32) & self.max_code()
            }
        }
    }

    /// Returns the codes that rounding gives, by ascending value.
    pub fn ascending(&self) -> impl ExactSizeIterator<Item = u32> + use<'_> {
        (0..self.len()).map(|rank| self.code_at(rank))
    }

    /// Returns the largest magnitude that values of both signs have.
    pub fn largest(&self) -> f32 {
        let (low, high) = (self.value(self.code_at(0)), self.value(self.code_at(self.len() - 1)));
        if -low < high { -low } else { high }
    }

    /// Returns whether the number in the middle of a value and the next one, counted from the
    /// lowest, becomes the next one.
    pub fn is_tie_up(&self, rank: usize) -> bool {
        let next = self.code_at(rank + 1);
        match self.ties() {
            Ties::Even => next % 2 == 0,
            Ties::Lower => false,
            Ties::TowardZero => self.value(next) <= 0.0,
        }
    }

    /// Returns the number in the middle between a value and the next one, counted from the lowest:
    /// where rounding decides between them.
    ///
    /// # Panics
    /// If there is no next value.
    pub fn midpoint(&self, rank: usize) -> Datum {
        let (integer, exponent) = self.middle(rank);
        let zeros = if integer == 0 { 0 } else { integer.trailing_zeros() };
        let significand =
            u64::try_from(integer.unsigned_abs() >> zeros).expect("values lie within a few dozen binades");
        Datum::Finite { negative: integer < 0, significand, exponent: exponent + signed(zeros) }
    }

    /// Returns the code of the nearest value, [`ties`](Self::ties) as the codebook has them; beyond
    /// the ends it is that of the end. `None` for NaN.
    pub fn encode(&self, x: Exact) -> Option<u32> {
        if x.is_nan() {
            return None;
        }
        // The value is that of the first rank whose middle to the next is not passed.
        let (mut low, mut high) = (0, self.len() - 1);
        while low < high {
            let rank = usize::midpoint(low, high);
            let is_above = match compare(x, self.middle(rank)) {
                Ordering::Less => false,
                Ordering::Equal => self.is_tie_up(rank),
                Ordering::Greater => true,
            };
            if is_above {
                low = rank + 1;
            } else {
                high = rank;
            }
        }
        Some(self.code_at(low))
    }

    /// Returns what [`encode`](Self::encode) gives for a binary64 number.
    pub fn encode_f64(&self, x: f64) -> Option<u32> {
        self.encode(Exact::from_datum(BINARY64.decode(x.to_bits())))
    }

    /// The middle of a value and the next one, as an integer and the exponent of two.
    fn middle(self, rank: usize) -> (i128, i32) {
        let integer = |datum: Datum| match datum {
            Datum::Finite { negative, significand, exponent } => {
                let magnitude = i128::from(significand);
                (if negative { -magnitude } else { magnitude }, exponent)
            }
            _ => unreachable!("values are finite"),
        };
        let (a, p) = integer(self.decode(self.code_at(rank)));
        let (b, q) = integer(self.decode(self.code_at(rank + 1)));
        // Values lie within a few dozen binades.
        let exponent = p.min(q);
        ((a << (p - exponent)) + (b << (q - exponent)), exponent - 1)
    }
}

/// Compares an exact number, which is not NaN, with an integer times a power of two.
fn compare(x: Exact, (integer, exponent): (i128, i32)) -> Ordering {
    let (negative, significand, own, sticky) = match x {
        Exact::Infinite { negative: true } => return Ordering::Less,
        Exact::Infinite { negative: false } | Exact::Nan { .. } => return Ordering::Greater,
        Exact::Cancelled => (false, 0, 0, false),
        Exact::Finite { negative, significand, exponent, sticky } => {
            (negative, significand, exponent, sticky)
        }
    };
    let sign = if significand == 0 { 0 } else { 1 - 2 * i128::from(negative) };
    if sign != integer.signum() || sign == 0 {
        return sign.cmp(&integer.signum());
    }
    // Both with their leading bits at the top.
    let top = |magnitude: u128, exponent: i32| {
        let zeros = magnitude.leading_zeros();
        (i64::from(exponent) - i64::from(zeros), magnitude << zeros)
    };
    let (x, y) = (top(significand, own), top(integer.unsigned_abs(), exponent));
    let magnitude = x.cmp(&y).then(if sticky { Ordering::Greater } else { Ordering::Equal });
    if negative { magnitude.reverse() } else { magnitude }
}

impl PartialEq for Codebook {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Codebook {}

by_name!(Codebook, Self::ALL.iter().copied(), "codebook", "nf4, sf4, bnb-fp4, int4, int8 or mxint8");
