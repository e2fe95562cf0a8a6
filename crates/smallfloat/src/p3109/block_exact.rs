//! Exact results of block functions before they are rounded.
//!
//! Source: the P3109 draft (D1 revised, September 2026), sections "Block operations" (block decode,
//! block project) and "Reductions".
//!
//! An element of a block result is f(s₁·x₁, …) / S. The products are exact, f is exact or truncated
//! toward zero to more bits than the division takes away, and the quotient is truncated to 128
//! bits. Since ⌊⌊v·2^k⌋ / n⌋ = ⌊v·2^k / n⌋ for integers n > 0, truncating twice is truncating once,
//! and `project` rounds once.

use alloc::vec::Vec;

use dashu_base::BitTest;
use dashu_int::UBig;

use crate::format::datum::Datum;
use crate::math::wide::Wide;
use crate::ops::extrema::Extremum;
use crate::ops::operation::Operation;
use crate::ops::sum::Sum;
use crate::ops::{Outcome, Semantics};
use crate::p3109::reader::Read;
use crate::projection::exact::Exact;
use crate::projection::flags::Flags;
use crate::{math, ops};

/// scale × element, with the flags of both.
#[derive(Clone, Copy)]
pub(super) struct Product {
    pub(super) exact: Exact,
    pub(super) flags: Flags,
}

impl Product {
    /// What stands for operands that an operation does not have.
    pub(super) const UNUSED: Self = Self { exact: Exact::finite(false, 1, 0), flags: Flags::NONE };

    #[inline]
    pub(super) fn new(scale: Read, element: Read, semantics: Semantics) -> Self {
        let exact = ops::multiply(scale.datum, element.datum, semantics).exact;
        Self { exact, flags: scale.flags.union(element.flags) }
    }
}

/// f(products) / divisor, and the flags of the operands and of f.
pub(super) fn element(
    operation: Operation,
    products: [Product; 3],
    divisor: Read,
    semantics: Semantics,
) -> (Exact, Flags) {
    let operands = products.map(|product| product.exact);
    let Outcome { exact, flags } = match narrow_element(operation, operands, divisor.datum, semantics) {
        Some(outcome) => outcome,
        None => wide_element(operation, operands, divisor.datum, semantics),
    };
    (exact, products.iter().fold(flags.union(divisor.flags), |flags, product| flags.union(product.flags)))
}

/// The short way: where the products are data and the divisor moves nothing but the exponent.
fn narrow_element(
    operation: Operation,
    operands: [Exact; 3],
    divisor: Datum,
    semantics: Semantics,
) -> Option<Outcome> {
    if let Datum::Finite { significand: 2.., .. } = divisor {
        return None;
    }
    let [x, y, z] = operands.map(narrow);
    let (x, y, z) = (x?, y?, z?);
    let Outcome { exact, flags } = match operation {
        // The most usual one, without its way through memory.
        Operation::Convert => Outcome::datum(semantics.operand(x)),
        _ => operation.exact([x, y, z], semantics),
    };
    Some(Outcome { exact: over(exact, divisor, || exact), flags })
}

/// Enough for every destination: 53 bits of precision and 62 for a stochastic decision with 60
/// random bits.
const QUOTIENT_BITS: u32 = 128;

/// Returns an element's exact outcome for operands and divisors of any size.
fn wide_element(operation: Operation, operands: [Exact; 3], divisor: Datum, semantics: Semantics) -> Outcome {
    let n = match divisor {
        Datum::Finite { significand, .. } => significand.max(1),
        _ => 1,
    };
    let outcome =
        math::evaluate(operation, &operands.map(Wide::from), semantics, QUOTIENT_BITS + n.ilog2() + 1);
    let exact = over(outcome.value.to_exact(), divisor, || divided(&outcome.value, n).to_exact());
    Outcome { exact, flags: outcome.flags }
}

/// x / n truncated to at least [`QUOTIENT_BITS`], for a finite x that is exact or long enough.
fn divided(x: &Wide, n: u64) -> Wide {
    let Wide::Finite { negative, significand, exponent, sticky } = x else { return x.clone() };
    let wanted = (QUOTIENT_BITS + n.ilog2() + 1) as usize;
    // Only an exact value may be made longer: below a truncated one's last place, nothing is known.
    let shift = if *sticky { 0 } else { wanted.saturating_sub(significand.bit_len()) };
    let (dividend, n) = (significand << shift, UBig::from(n));
    let (quotient, rest) = (&dividend / &n, &dividend % &n);
    Wide::Finite {
        negative: *negative,
        significand: quotient,
        exponent: exponent - i64::try_from(shift).expect("at most the bits wanted"),
        sticky: *sticky || !rest.is_zero(),
    }
}

/// An exact value as a datum, if its significand fits.
fn narrow(x: Exact) -> Option<Datum> {
    match x {
        Exact::Nan { negative } => Some(Datum::Nan { negative }),
        Exact::Infinite { negative } => Some(Datum::Infinite { negative }),
        Exact::Finite { negative, significand, exponent, sticky: false } => {
            Some(Datum::finite(negative, u64::try_from(significand).ok()?, exponent))
        }
        _ => None,
    }
}

/// x / divisor by the draft's rules for the elements of a block: NaN over anything and anything
/// over NaN is NaN, else over 0 it is 0 (also ∞ over 0), and over ∞ it is the sign. The rules hold
/// in both semantics; ieee semantics sign the zeros.
///
/// `quotient` gives |x| over the divisor's significand, for x and divisor finite and not 0.
fn over(x: Exact, divisor: Datum, quotient: impl FnOnce() -> Exact) -> Exact {
    let negative = x.is_negative() != divisor.is_negative();
    match (x, divisor) {
        (Exact::Nan { .. }, _) | (_, Datum::Nan { .. }) => Exact::Nan { negative: false },
        (_, Datum::Finite { significand: 0, .. }) => Exact::finite(negative, 0, 0),
        (Exact::Cancelled, _) => Exact::Cancelled,
        _ if x.is_zero() => Exact::finite(negative, 0, 0),
        (_, Datum::Infinite { .. }) => Exact::finite(negative, 1, 0),
        (Exact::Infinite { .. }, _) => Exact::Infinite { negative },
        (_, Datum::Finite { exponent, .. }) => match quotient().scaled(-exponent) {
            Exact::Finite { significand, exponent, sticky, .. } => {
                Exact::Finite { negative, significand, exponent, sticky }
            }
            other => other,
        },
    }
}

/// The largest finite magnitude; ∞ if all but NaNs are infinite, NaN if all are NaN (a fold of
/// MaximumFinite over NaN and the magnitudes).
pub(super) fn largest_magnitude(elements: impl Iterator<Item = Exact>, semantics: Semantics) -> Exact {
    let largest =
        elements.filter_map(|x| narrow(x.magnitude())).fold(Datum::Nan { negative: false }, |largest, x| {
            let outcome = ops::extremum(Extremum::MaximumFinite, largest, x, semantics);
            narrow(outcome.exact).expect("one of the two operands")
        });
    Exact::from_datum(largest)
}

/// Σ xᵢ over the elements, exact until it is rounded, and their flags.
pub(super) fn sum(terms: impl Iterator<Item = Product>) -> (Exact, Flags) {
    let (mut sum, mut flags) = (Sum::new(), Flags::NONE);
    // The draft's folds start with 0, which matters for the sign of a sum of negative zeros.
    sum.add(Datum::ZERO);
    for term in terms {
        flags |= term.flags;
        sum.add_exact(term.exact);
    }
    (sum.exact(), flags)
}

/// Σ xᵢ·yᵢ, exact until it is rounded, and the flags of all.
pub(super) fn dot(pairs: impl Iterator<Item = (Product, Product)>, semantics: Semantics) -> (Exact, Flags) {
    let (mut sum, mut flags) = (Sum::new(), Flags::NONE);
    sum.add(Datum::ZERO);
    for (x, y) in pairs {
        flags |= x.flags | y.flags;
        match (narrow(x.exact), narrow(y.exact)) {
            (Some(x), Some(y)) => sum.add_exact(ops::multiply(x, y, semantics).exact),
            _ => terms(x.exact, y.exact, semantics).into_iter().for_each(|term| sum.add_exact(term)),
        }
    }
    (sum.exact(), flags)
}

/// x·y as a sum of terms that fit in an [`Exact`].
fn terms(x: Exact, y: Exact, semantics: Semantics) -> Vec<Exact> {
    let product =
        math::evaluate(Operation::Multiply, &[x, y, x].map(Wide::from), semantics, QUOTIENT_BITS).value;
    let Wide::Finite { negative, mut significand, mut exponent, .. } = product else {
        return alloc::vec![product.to_exact()];
    };
    let mut terms = Vec::new();
    while terms.is_empty() || !significand.is_zero() {
        let low = &significand & UBig::from(u128::MAX);
        let low = Wide::Finite { negative, significand: low, exponent, sticky: false };
        terms.push(low.to_exact());
        significand >>= 128;
        exponent += 128;
    }
    terms
}

/// Π xᵢ over the elements, exact until it is rounded, and their flags.
pub(super) fn product(factors: impl Iterator<Item = Product>) -> (Exact, Flags) {
    let mut flags = Flags::NONE;
    let exact = factors.map(|factor| {
        flags |= factor.flags;
        factor.exact
    });
    (exact_product(exact), flags)
}

fn exact_product(factors: impl Iterator<Item = Exact>) -> Exact {
    let (mut nan, mut infinite, mut zero, mut negative) = (false, false, false, false);
    let mut exponents = 0_i64;
    let mut significands = Vec::new();
    for factor in factors {
        negative ^= factor.is_negative();
        match factor {
            Exact::Nan { .. } => nan = true,
            Exact::Infinite { .. } => infinite = true,
            Exact::Cancelled | Exact::Finite { significand: 0, .. } => zero = true,
            Exact::Finite { significand, exponent, .. } => {
                exponents += i64::from(exponent);
                significands.push(UBig::from(significand));
            }
        }
    }
    match (nan || (infinite && zero), infinite, zero) {
        (true, ..) => return Exact::Nan { negative: false },
        (_, true, _) => return Exact::Infinite { negative },
        (.., true) => return Exact::finite(negative, 0, 0),
        _ => {}
    }
    // Factors of like size at each step, which is what fast multiplication wants.
    while significands.len() > 1 {
        significands = significands.chunks(2).map(|pair| pair.iter().product()).collect();
    }
    let significand = significands.pop().unwrap_or(UBig::ONE);
    Wide::Finite { negative, significand, exponent: exponents, sticky: false }.to_exact()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::projection::preset::Preset;
    use crate::projection::project;
    use crate::projection::rounding::{RandomBits, Rounding};

    fn datum(negative: bool, significand: u64, exponent: i32) -> Datum {
        Datum::finite(negative, significand, exponent)
    }

    const NAN: Datum = Datum::Nan { negative: false };
    const INFINITY: Datum = Datum::Infinite { negative: false };

    /// The short and the wide way give the same code, flags and random decisions, and so do the
    /// quotient by a power of two and by the same scale with a factor in the dividend.
    #[test]
    fn both_ways_agree() {
        let operands = [
            NAN,
            INFINITY,
            INFINITY.negated(),
            Datum::ZERO,
            Datum::ZERO.negated(),
            datum(false, 1, 0),
            datum(true, 1, 0),
            datum(false, 3, -1),
            datum(true, 5, -3),
            datum(false, 1, 70),
            datum(true, 0xffff_ffff_ffff_ffff, -64),
            datum(false, 9, -140),
        ];
        let divisors = [
            datum(false, 1, 0),
            datum(true, 1, 3),
            datum(false, 1, -40),
            Datum::ZERO,
            Datum::ZERO.negated(),
            INFINITY,
            INFINITY.negated(),
            NAN,
        ];
        let stochastic = |word| Rounding::StochasticC(RandomBits::new(8, word).expect("8 bits"));
        let modes = [Rounding::NearestEven, Rounding::TowardNegative, Rounding::ToOdd, stochastic(0x5a)];
        let formats = [
            crate::format::formats::E4M3FN,
            crate::format::formats::BINARY32,
            crate::format::formats::BINARY64,
        ];
        for operation in Operation::all() {
            for semantics in [Semantics::P3109, Semantics::Ieee] {
                for (i, x) in operands.into_iter().enumerate() {
                    for y in operands {
                        // The third operand follows the first two around, and the divisor follows
                        // all.
                        let z = operands[(i + 5) % operands.len()];
                        let exact = [x, y, z].map(Exact::from_datum);
                        let divisor = divisors[i % divisors.len()];
                        let narrow = narrow_element(operation, exact, divisor, semantics).expect("data");
                        let wide = wide_element(operation, exact, divisor, semantics);
                        assert_eq!(narrow.flags, wide.flags, "{operation:?} {x} {y} {z}");
                        for format in formats {
                            for mode in modes {
                                let projection = Preset::P3109SatNone.projection(&format).with_rounding(mode);
                                let [a, b] = [narrow, wide]
                                    .map(|outcome| project(outcome.exact, &format, &projection));
                                assert_eq!(
                                    a, b,
                                    "{operation:?} {x} {y} {z} over {divisor}, {semantics:?} {mode:?}"
                                );
                            }
                        }
                    }
                }
            }
        }
    }

    /// A long division truncates as the exact quotient does: k·n + r over n, for n of up to 53
    /// bits.
    #[test]
    fn quotients_are_truncated_once() {
        for n in [3, 5, 0xff, 0x1f_ffff_ffff_ffff_u64] {
            for r in [0, 1, n - 1] {
                let k = (UBig::ONE << 150) + UBig::from(0x1234_5678_9abc_def1_u64);
                let x = Wide::Finite { negative: true, significand: &k * n + r, exponent: -7, sticky: false };
                let expected =
                    Wide::Finite { negative: true, significand: k, exponent: -7, sticky: r != 0 }.to_exact();
                assert_eq!(divided(&x, n).to_exact(), expected, "{n} {r}");
            }
        }
        // 1/3 = 0.0101…b: the leading 128 bits, and a mark.
        let one = Exact::finite(false, 1, 0);
        let third = wide_element(Operation::Convert, [one; 3], datum(false, 3, 0), Semantics::P3109).exact;
        let Exact::Finite { significand, exponent, sticky, .. } = third else { panic!("{third:?}") };
        assert_eq!((significand, exponent, sticky), ((u128::MAX / 3) << 1, -129, true));
    }
}
