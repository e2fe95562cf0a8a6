//! A short way to the sums of blocks: the scales stand before the sum, and what is added fits one
//! word of fixed point.
//!
//! Most reductions are such: formats of few exponents, blocks without NaN and infinities. All
//! others go through the sums of `block_exact.rs`, which give the same.

use crate::cast::signed;
use crate::format::Format;
use crate::format::datum::Datum;
use crate::p3109::block::Column;
use crate::projection::exact::Exact;
use crate::projection::flags::Flags;

/// Σ xᵢ, or Σ xᵢ·yᵢ with two factors, and the flags of all operands. Nothing where a datum is not
/// finite, where the word may not hold the sum, and for a sum of zero, whose sign is the terms'
/// matter.
#[inline]
pub(super) fn fixed_sum<const N: usize>(factors: &[Column<'_>; N]) -> Option<(Exact, Flags)> {
    let length = factors[0].elements.len();
    let (mut unit, mut bits) = (0, length.ilog2() + 2);
    let (mut negative, mut significand, mut exponent, mut flags) = (false, 1_u128, 0, Flags::NONE);
    for operand in factors {
        let (scale, reader) = (operand.scale(), operand.reader);
        let Datum::Finite { negative: minus, significand: factor, exponent: shift } = scale.datum else {
            return None;
        };
        negative ^= minus;
        significand *= u128::from(factor);
        exponent += shift;
        flags |= scale.flags;
        unit += lowest_place(reader.format());
        bits += word_bits(reader.format());
    }
    if bits > i128::BITS {
        return None;
    }
    let mut sum = 0_i128;
    for at in 0..length {
        let (mut minus, mut term, mut place) = (false, 1, -unit);
        for Column { elements, reader, .. } in factors {
            let read = reader.read(elements[at]);
            let Datum::Finite { negative, significand, exponent } = read.datum else { return None };
            minus ^= negative;
            term *= i128::from(significand);
            place += exponent;
            flags |= read.flags;
        }
        // A zero may have any place.
        if term != 0 {
            let term = term << place;
            sum += if minus { -term } else { term };
        }
    }
    negative ^= sum < 0;
    match significand.checked_mul(sum.unsigned_abs()) {
        None | Some(0) => None,
        Some(significand) => Some((Exact::finite(negative, significand, exponent + unit), flags)),
    }
}

/// A format's last place where it is lowest, or one below.
fn lowest_place(format: &Format) -> i32 {
    -format.bias() - signed(format.trailing_bits())
}

/// The bits of a finite magnitude in units of [`lowest_place`]: its significand's, above as many
/// places as exponent fields.
fn word_bits(format: &Format) -> u32 {
    let fields = format.highest_exponent() + format.bias();
    format.precision().saturating_add_signed(fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::formats;
    use crate::ops::Semantics;
    use crate::p3109::block_exact::{Product, dot, sum};
    use crate::p3109::reader::{Read, Reader};
    use crate::projection::project;
    use crate::projection::rounding::Rounding;

    /// Where the short way gives a sum, it is the one of the exact sums, to every last place and
    /// with the same flags.
    #[test]
    fn short_sums_are_the_exact_ones() {
        let names = [
            "e2m1fn",
            "e4m3fn",
            "e5m2",
            "e4m3b11fnuz",
            "cfloat8_1_4_3:bias=63",
            "cfloat8_1_5_2:bias=0",
            "shp:bias=31",
            "binary8p1se",
            "binary8p8uf",
            "binary6p3uf",
            "binary16",
            "minifloat:k=8,p=4,bias=-300",
            "minifloat:k=8,p=4,bias=300",
            "minifloat:k=8,p=4,bias=7,subnormals=none",
            "minifloat:k=8,p=4,bias=7,subnormals=flush",
            "minifloat:k=6,p=1,bias=3",
            "minifloat:k=12,p=2,bias=0",
            "bfloat16",
        ];
        let elements = names.map(|name| name.parse::<Format>().expect(name));
        let readers = Reader::of(&elements);
        let scales = Reader::of(&[formats::E8M0FNU, formats::E4M3FN, formats::BFLOAT16, formats::BINARY64]);
        let mut state = 1_u64;
        let mut random = move |format: &Format| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (state >> 11 ^ state >> 40) & format.max_code()
        };
        let binary64 = formats::BINARY64.default_projection();
        let projection =
            [Rounding::NearestEven, Rounding::TowardNegative].map(|mode| binary64.with_rounding(mode));
        let mut seen = [0_u32; 2];
        for (i, format) in elements.into_iter().enumerate() {
            for length in [1, 2, 3, 17] {
                for round in 0..200 {
                    let reader = &scales[round % scales.len()];
                    let at = (i + round) % elements.len();
                    let other = elements[at];
                    let mut codes = |format: &Format| {
                        let mut codes: alloc::vec::Vec<u64> = (0..length).map(|_| random(format)).collect();
                        // Now and then a block of one value and its negative: sums that cancel.
                        if round % 5 == 0 {
                            let negative = codes[0] ^ 1 << (format.width() - 1);
                            codes.iter_mut().skip(1).for_each(|code| *code = negative);
                        }
                        codes
                    };
                    let (x, y) = (codes(&format), codes(&other));
                    let mut scale = || Some((random(reader.format()), reader));
                    let x = Column { scale: scale(), elements: &x, reader: &readers[i] };
                    let y = Column { scale: scale(), elements: &y, reader: &readers[at] };
                    let semantics = [Semantics::P3109, Semantics::Ieee][round % 2];
                    let products = |operand: &Column<'_>| -> alloc::vec::Vec<Product> {
                        let read = |&code| {
                            Product::new(
                                operand.scale(),
                                Read::code(code, operand.reader.format()),
                                semantics,
                            )
                        };
                        operand.elements.iter().map(read).collect()
                    };
                    let both = products(&x).into_iter().zip(products(&y));
                    let answers = [
                        (fixed_sum(&[x]), sum(products(&x).into_iter())),
                        (fixed_sum(&[x, y]), dot(both, semantics)),
                    ];
                    for (seen, (short, (exact, flags))) in seen.iter_mut().zip(answers) {
                        let Some((sum, raised)) = short else { continue };
                        *seen += 1;
                        assert_eq!(raised, flags, "{format} {other}");
                        for projection in &projection {
                            let [a, b] = [sum, exact].map(|sum| project(sum, &formats::BINARY64, projection));
                            assert_eq!(a, b, "{format} {other} {:x?} {:x?}", x.elements, y.elements);
                        }
                    }
                }
            }
        }
        assert!(seen[0] > 5000 && seen[1] > 3000, "{seen:?}");
    }
}
