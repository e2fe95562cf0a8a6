//! [`ExactPlan`]: how vectors of floats add up products exactly.
//!
//! Values are integers here: multiples of a format's smallest step. An accumulator near a power of
//! two so large that no sum leaves its binade takes of each product the multiple of its last place;
//! what a product has below that goes to a second accumulator, near zero. Nothing is lost as long
//! as the second one's sums stay below its 24 or 53 bits, so after some additions both are emptied.
//! All of this holds in every rounding mode: what is taken is off by less than the last place.

use smallfloat::formats::BINARY32;
use smallfloat::{Datum, Format};

use crate::plan::decode::DecodePlan;
use crate::plan::digits::Digits;
use crate::plan::nibbles::NibblePlan;

/// Constants of an exact sum of products.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExactPlan {
    /// Decoders to the integers, with ∞ for what is no number.
    pub(crate) bytes: [DecodePlan; 2],
    /// These constants by nibbles, with NaN as well, where both formats have such constants.
    pub(crate) nibbles: Option<[NibblePlan; 2]>,
    pub(crate) accumulators: Accumulators,
    /// Digits of the integers, where both formats have such tables.
    pub(crate) digits: Option<[Digits; 2]>,
}

/// Accumulators of products, by whose type products are cut in two.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Accumulators {
    Binary32(Cut),
    Binary64(Cut),
}

/// How far sums may go.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Cut {
    /// What the accumulator of the upper parts starts at.
    pub(crate) start: f64,
    /// So many additions leave both accumulators exact.
    pub(crate) additions: usize,
    /// So many products add up exactly in binary64.
    pub(crate) products: usize,
}

/// A code's value as an integer, or `None` if it is no number.
pub(crate) type Value = Option<i64>;

impl ExactPlan {
    /// The constants, or `None` for formats they can't describe. Values have one entry a code.
    pub(crate) fn new(formats: [&Format; 2], values: [&[Value]; 2]) -> Option<Self> {
        let [x, y] = values.map(|values| values.iter().flatten().map(|x| x.unsigned_abs()).max());
        let accumulators = Accumulators::new(u128::from(x?).checked_mul(u128::from(y?))?)?;
        let table = |i: usize| DecodePlan::new(formats[i], &halves(values[i], [0x7f80, 0xff80])?);
        let nibbles = |i: usize| {
            let halves = formats[i].is_signed().then(|| halves(values[i], [0x7fc0; 2]))?;
            NibblePlan::new(&halves?)
        };
        let digits = |i: usize| Digits::new(formats[i], values[i]);
        Some(Self {
            bytes: [table(0)?, table(1)?],
            nibbles: nibbles(0).zip(nibbles(1)).map(|(x, y)| [x, y]),
            accumulators,
            digits: digits(0).zip(digits(1)).map(|(x, y)| [x, y]),
        })
    }
}

/// The upper halves of binary32 values; `others` are those of codes in the lower and in the upper
/// half that are no numbers.
fn halves(values: &[Value], others: [u16; 2]) -> Option<Vec<u16>> {
    let middle = values.len() / 2;
    let half = |(code, value): (usize, &Value)| {
        let is_upper = code >= middle;
        let Some(value) = value else { return Some(others[usize::from(is_upper)]) };
        // A zero with the sign of its code needs no table.
        let negative = *value < 0 || *value == 0 && is_upper;
        let datum = Datum::finite(negative, value.unsigned_abs(), 0);
        // Values have 8 significant bits at most, so the upper half of a binary32 holds them.
        let exact = BINARY32.encode(datum)?.to_le_bytes();
        (exact[..2] == [0, 0]).then_some(u16::from_le_bytes([exact[2], exact[3]]))
    };
    values.iter().enumerate().map(half).collect()
}

impl Accumulators {
    /// Those for products of at most this magnitude.
    fn new(largest: u128) -> Option<Self> {
        let narrow = || (4..=10).rev().find_map(|power| Cut::new(24, power, largest)).map(Self::Binary32);
        let wide = || (8..=16).rev().find_map(|power| Cut::new(53, power, largest)).map(Self::Binary64);
        // The totals are integers of 128 bits, for more terms than addresses.
        (largest <= 1 << 80).then(|| narrow().or_else(wide))?
    }
}

impl Cut {
    /// The sums of 2^power products in floats of so many bits, if they stay exact.
    fn new(bits: u32, power: u32, largest: u128) -> Option<Self> {
        let additions = 1_u128 << power;
        // Sums of the lower parts, each at most a last place, have no more than the bits.
        let top = (2 * bits - 1).checked_sub(power)?;
        // Sums of the upper parts stay within half a binade around the start.
        let place = |exponent: u32| 1_u128 << exponent.saturating_sub(bits - 1);
        let exponent = (1..=top)
            .find(|&exponent| additions * (largest + place(exponent)) <= 1_u128 << (exponent - 1))?;
        let start = 1.5 * f64::from_bits(u64::from(1023 + exponent) << 52);
        let products = (1_u128 << 53) / (largest + 2 * place(exponent));
        Some(Self { start, additions: 1 << power, products: usize::try_from(products).ok()?.min(1 << 20) })
    }
}

#[cfg(test)]
mod tests {
    use super::{Accumulators, Cut};

    /// The bounds that make sums exact, with the accumulators' last places worked out again.
    #[test]
    #[expect(clippy::cast_precision_loss, reason = "bounds are not met to the last place")]
    fn parts_of_products_fit() {
        for largest in
            [1, 144, 225, 1 << 16, (448 << 9) * (448 << 9), 1 << 50, 57344_u128.pow(2) << 32, 1 << 80]
        {
            let accumulators = Accumulators::new(largest).expect("80 bits at most");
            let (bits, Cut { start, additions, products }) = match accumulators {
                Accumulators::Binary32(cut) => (24, cut),
                Accumulators::Binary64(cut) => (53, cut),
            };
            let (n, largest) = (additions as f64, largest as f64);
            let binade = start / 1.5;
            let place = binade * 2_f64.powi(1 - bits);
            assert_eq!(binade.log2().fract().to_bits(), 0, "{accumulators:?}");
            assert!(start - n * (largest + place) >= binade, "{accumulators:?}");
            assert!(start + n * (largest + place) <= 2.0 * binade, "{accumulators:?}");
            assert!(n * place <= 2_f64.powi(bits), "{accumulators:?}");
            assert!(bits == 53 || products as f64 * (largest + 2.0 * place) <= 2_f64.powi(53));
            assert!(additions >= 16, "{accumulators:?}");
        }
        assert_eq!(Accumulators::new((1 << 80) + 1), None);
        let e4m3fn = Cut { start: 1.5 * 2_f64.powi(42), additions: 32, products: 171_192 };
        assert_eq!(Accumulators::new((448 << 9) * (448 << 9)), Some(Accumulators::Binary32(e4m3fn)));
    }
}
