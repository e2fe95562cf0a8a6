//! [`Draw`]: the three stochastic roundings as StochasticA with 32 bits.
//!
//! With ν·2^32 as an integer, StochasticA moves away where it and w = R·2^(32−N) carry out of 32
//! bits. StochasticB's ⌊ν·2^(N+1)⌋ + 2R + 1 ≥ 2^(N+1) is StochasticA with N + 1 bits and the word
//! 2R + 1. StochasticC's RNITE(ν·2^N) + R ≥ 2^N asks whether ν·2^N reaches k − 1/2 where
//! k = 2^N − R is even, or exceeds it where k is odd: w is then that of StochasticB, or one less.

use smallfloat::{Format, Rounding};

/// Which word decides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Draw {
    /// R·2^(32−N).
    A,
    /// With half of R's last place added.
    B,
    /// With that, less one where R is odd.
    C,
}

impl Draw {
    /// Returns the rule of a stochastic rounding of values of a format, or `None` for other
    /// roundings, and where 32 bits of ν do not decide.
    ///
    /// For StochasticC they must hold all of ν where it reaches 2^-(N+1), the least that moves
    /// away: sources are rounded to odd in binary32 if they are wider, so N + P ≤ 32 with at most
    /// its 24 bits.
    pub(crate) fn new(rounding: Rounding, from: &Format) -> Option<Self> {
        let count = rounding.random_bits()?.count();
        let precision = from.precision().min(24);
        let (draw, fits) = match rounding {
            Rounding::StochasticA(_) => (Self::A, count <= 32),
            Rounding::StochasticB(_) => (Self::B, count <= 31),
            _ => (Self::C, count + precision <= 32),
        };
        fits.then_some(draw)
    }

    /// How many bits of ν decide with N random bits.
    pub(crate) fn bits(self, count: u32) -> u32 {
        if self == Self::A { count } else { count + 1 }
    }

    /// Makes the deciding words of random ones, whose upper N bits are R; StochasticA's are these
    /// with the lower bits left out.
    #[inline(always)]
    pub(crate) fn decide(self, count: u32, words: &mut [u32]) {
        let (mask, half) = (u32::MAX << (32 - count), 1_u32.checked_shl(31 - count.min(31)).unwrap_or(0));
        match self {
            Self::A => {}
            Self::B => {
                for word in words {
                    *word = *word & mask | half;
                }
            }
            Self::C => {
                for word in words {
                    *word = (*word & mask | half) - (*word >> (32 - count) & 1);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use smallfloat::RandomBits;
    use smallfloat::formats::{BFLOAT16, BINARY32, BINARY64};

    use super::{Draw, Format, Rounding};

    /// The definitions for every ν of ten bits and every R of up to six.
    #[test]
    fn words_decide_as_the_definitions_do() {
        for count in 1..=6_u32 {
            for r in 0..1_u64 << count {
                let low = 0x0123_4567 & (u32::MAX >> count);
                let word = u32::try_from(r).expect("six bits") << (32 - count) | low;
                for nu in 0..1_u64 << 10 {
                    let carries = |draw: Draw| {
                        let mut words = [word];
                        draw.decide(count, &mut words);
                        let [decides] =
                            words.map(|w| if draw == Draw::A { w & u32::MAX << (32 - count) } else { w });
                        (nu << 22) + u64::from(decides) >= 1 << 32
                    };
                    let (scaled, one) = (nu << count, 1_u64 << 10);
                    let whole = scaled / one;
                    let nearest = match (scaled % one).cmp(&(one / 2)) {
                        std::cmp::Ordering::Less => whole,
                        std::cmp::Ordering::Equal => whole.next_multiple_of(2),
                        std::cmp::Ordering::Greater => whole + 1,
                    };
                    let expected = [
                        whole + r >= 1 << count,
                        2 * scaled / one + (2 * r + 1) >= 2 << count,
                        nearest + r >= 1 << count,
                    ];
                    assert_eq!([Draw::A, Draw::B, Draw::C].map(carries), expected, "{count} {r} {nu}");
                }
            }
        }
    }

    #[test]
    fn where_32_bits_decide() {
        fn most(rounding: fn(RandomBits) -> Rounding, from: &Format) -> Option<u32> {
            let fits =
                |count: &u32| Draw::new(rounding(RandomBits::new(*count, 0).expect("bits")), from).is_some();
            (1..=32).rev().find(fits)
        }
        assert_eq!(
            [most(Rounding::StochasticA, &BINARY32), most(Rounding::StochasticB, &BINARY32)],
            [Some(32), Some(31)]
        );
        let c = [BINARY32, BINARY64, BFLOAT16].map(|from| most(Rounding::StochasticC, &from));
        assert_eq!(c, [Some(8), Some(8), Some(24)]);
        assert_eq!(Draw::new(Rounding::NearestEven, &BINARY32), None);
    }
}
