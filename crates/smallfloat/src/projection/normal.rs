//! The short way of [`project`](super::project), in 64 bits: deterministic modes, among normal
//! values. It gives what [`Located`](super::Located) and [`round`](super::round) give.

use crate::cast::signed;
use crate::format::Format;
use crate::projection::flags::{Flags, Rounded};
use crate::projection::rounding::Rounding;
use crate::projection::with_sign;

/// Rounds (−1)^negative · (significand + δ) · 2^exponent, where 0 < δ < 1 if `sticky` and else 0,
/// to a normal value of the format. `None` for stochastic modes, and where the value is beyond the
/// normal ones or rounds to none of them.
#[inline]
pub(super) const fn round(
    negative: bool,
    significand: u128,
    exponent: i32,
    sticky: bool,
    format: &Format,
    rounding: Rounding,
) -> Option<Rounded<u64>> {
    const HALF: u64 = 1 << 63;
    if significand == 0 || (negative && !format.is_signed()) {
        return None;
    }
    let zeros = significand.leading_zeros();
    let leading = exponent.saturating_add(127 - signed(zeros));
    if leading < format.lowest_exponent() || leading > format.highest_exponent() {
        return None;
    }
    // The first 64 bits, and whether others follow.
    let shifted = significand << zeros;
    #[expect(clippy::cast_possible_truncation, reason = "the two halves")]
    let (significand, sticky) = ((shifted >> 64) as u64, sticky || shifted as u64 != 0);
    let t = format.trailing_bits();
    let lo = format.normal_index(leading, significand >> (63 - t));
    // What follows the last place, as a fraction of 2^64.
    let rest = significand << t << 1;
    let inexact = rest != 0 || sticky;
    let away = match rounding {
        _ if !inexact => false,
        Rounding::NearestEven => rest > HALF || (rest == HALF && (sticky || lo % 2 == 1)),
        Rounding::NearestAway => rest >= HALF,
        Rounding::TowardPositive => !negative,
        Rounding::TowardNegative => negative,
        Rounding::TowardZero => false,
        Rounding::ToOdd => lo % 2 == 0,
        Rounding::StochasticA(_) | Rounding::StochasticB(_) | Rounding::StochasticC(_) => return None,
    };
    let index = lo + away as u64;
    if lo < format.first_normal_index() || index > format.max_index() {
        return None;
    }
    let flags = if inexact { Flags::INEXACT } else { Flags::NONE };
    Some(Rounded { value: with_sign(format, index, negative), flags })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::formats::CATALOGUE;
    use crate::projection::{Located, round as round_anywhere};

    fn scramble(i: u64) -> u64 {
        let x = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (x ^ x >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    }

    /// Significands of 1 to 128 bits, among them ties, around both ends of the normal range.
    #[test]
    fn normal_values_round_as_all_do() {
        let more = [
            "cfloat8_1_4_3:bias=63",
            "binary8p1se",
            "binary8p3ue",
            "binary16p1se",
            "minifloat:k=8,p=4,bias=7,subnormals=none",
            "minifloat:k=8,p=1,bias=7,subnormals=none",
            "minifloat:k=8,p=4,bias=7,subnormals=flush",
        ];
        let named = CATALOGUE.iter().map(|row| row.format);
        let formats = named.chain(more.into_iter().map(|name| name.parse().expect("a format")));
        let (mut taken, mut left) = (0, 0);
        for format in formats {
            let (lowest, highest) = format.exponent_range();
            let projection = format.default_projection();
            let span = (highest - lowest + 6).unsigned_abs();
            for i in 0..20_000_u64 {
                let random = scramble(i);
                let ones = u128::from(scramble(!i)) << 64 | u128::from(scramble(i << 1));
                // Few bits and many, so that ties and values of the format occur.
                let significand = (ones & u128::MAX << (random % 128)) >> ((random >> 8) % 128);
                if significand == 0 {
                    continue;
                }
                let leading = lowest - 3 + signed((random >> 32) as u32 % span);
                let exponent = leading - signed(significand.ilog2());
                // Truncated results have many bits.
                let sticky = random & 1 == 1 && significand >> 120 != 0;
                let negative = random & 2 == 2;
                for &rounding in Rounding::DETERMINISTIC {
                    let short = round(negative, significand, exponent, sticky, &format, rounding);
                    let Some(short) = short else {
                        left += 1;
                        continue;
                    };
                    taken += 1;
                    let at = Located::new(significand, exponent, sticky, &format, rounding);
                    let expected =
                        round_anywhere(&at, &format, &projection.with_rounding(rounding), negative);
                    assert_eq!(short, expected, "{format} {rounding} {significand:#x} 2^{exponent} {sticky}");
                }
            }
        }
        assert!(taken > 2_000_000 && left > 100_000, "{taken} {left}");
    }
}
