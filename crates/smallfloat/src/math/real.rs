//! [`Real`]: finite numbers of any size, truncated toward zero and marked where they are not exact.

use core::cmp::Ordering;

use dashu_base::{BitTest, DivRem, PowerOfTwo, SquareRootRem};
use dashu_int::UBig;

/// (−1)^negative · (significand + δ) · 2^exponent with 0 < δ < 1 if `sticky`, else δ = 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Real {
    pub(super) negative: bool,
    pub(super) significand: UBig,
    pub(super) exponent: i64,
    pub(super) sticky: bool,
}

/// The number of bits of an integer.
pub(super) fn length(x: &UBig) -> i64 {
    i64::try_from(x.bit_len()).expect("an integer in memory has fewer than 2^63 bits")
}

/// A distance between exponents as a shift, 0 for negative distances.
pub(super) fn shift(distance: i64) -> usize {
    usize::try_from(distance.max(0)).expect("no integer is as long as a larger distance")
}

impl Real {
    pub(super) const fn exact(negative: bool, significand: UBig, exponent: i64) -> Self {
        Self { negative, significand, exponent, sticky: false }
    }

    /// A small integer times a power of two.
    pub(super) fn small(significand: u64, exponent: i64) -> Self {
        Self::exact(false, UBig::from(significand), exponent)
    }

    pub(super) const fn is_zero(&self) -> bool {
        self.significand.is_zero()
    }

    /// ⌊log2 |x|⌋ of a number other than 0.
    pub(super) fn leading(&self) -> i64 {
        self.exponent + length(&self.significand) - 1
    }

    /// |x|, or −|x|.
    pub(super) fn with_sign(self, negative: bool) -> Self {
        Self { negative, ..self }
    }

    /// Returns the number with an odd significand, if it is exact and not 0.
    pub(super) fn reduced(self) -> Self {
        match self.significand.trailing_zeros() {
            Some(zeros) if !self.sticky && zeros > 0 => Self {
                exponent: self.exponent + i64::try_from(zeros).expect("fewer zeros than bits"),
                significand: self.significand >> zeros,
                ..self
            },
            _ => self,
        }
    }

    /// Returns whether it is ±2^k.
    pub(super) fn is_power_of_two(&self) -> bool {
        !self.sticky && self.significand.is_power_of_two()
    }

    /// Returns whether |x| is significand · 2^exponent exactly.
    pub(super) fn magnitude_is(&self, significand: u64, exponent: i64) -> bool {
        !self.sticky && self.compare_magnitude(&Self::small(significand, exponent)) == Ordering::Equal
    }

    /// Orders |x| and |y|, as far as the significands say.
    pub(super) fn compare_magnitude(&self, other: &Self) -> Ordering {
        match (self.is_zero(), other.is_zero()) {
            (true, true) => return Ordering::Equal,
            (true, false) => return Ordering::Less,
            (false, true) => return Ordering::Greater,
            (false, false) => {}
        }
        self.leading().cmp(&other.leading()).then_with(|| {
            // The same leading bit: aligning makes the shorter one as long as the other.
            let (x, y) = aligned(self, other);
            x.cmp(&y)
        })
    }

    /// The exponent of the last place in which this exact number, shown with at least `bits` + 1
    /// bits, may be changed.
    pub(super) fn window(&self, bits: u32) -> i64 {
        self.exponent.min(self.leading() - i64::from(bits) - 1)
    }

    /// This exact number, not 0, plus or minus some 0 < δ < 2^below: truncated to at least `bits`
    /// bits, or nothing where that takes more of δ than its sign.
    pub(super) fn nudged(&self, toward_zero: bool, below: i64, bits: u32) -> Option<Self> {
        let window = self.window(bits);
        if below > window {
            return None;
        }
        let significand = &self.significand << shift(self.exponent - window);
        let significand = if toward_zero { significand - UBig::ONE } else { significand };
        Some(Self { negative: self.negative, significand, exponent: window, sticky: true })
    }
}

/// Both significands in units of the smaller exponent.
fn aligned(x: &Real, y: &Real) -> (UBig, UBig) {
    (&x.significand << shift(x.exponent - y.exponent), &y.significand << shift(y.exponent - x.exponent))
}

/// x + y, exactly: as long as the exponents lie apart.
pub(super) fn add_exactly(x: &Real, y: &Real) -> Real {
    let exponent = x.exponent.min(y.exponent);
    let (a, b) = aligned(x, y);
    if x.negative == y.negative {
        return Real::exact(x.negative, a + b, exponent);
    }
    if a >= b { Real::exact(x.negative, a - b, exponent) } else { Real::exact(y.negative, b - a, exponent) }
}

/// x + y, exact or truncated to at least `bits` bits. The smaller term may be truncated itself if
/// it lies below the larger one's window.
pub(super) fn add(x: &Real, y: &Real, bits: u32) -> Real {
    match (x.is_zero(), y.is_zero()) {
        (true, _) => return y.clone(),
        (_, true) => return x.clone(),
        _ => {}
    }
    let (x, y) = if x.leading() < y.leading() { (y, x) } else { (x, y) };
    x.nudged(x.negative != y.negative, y.leading() + 1, bits).unwrap_or_else(|| add_exactly(x, y))
}

/// x + y + z of exact terms, exact or truncated to at least `bits` bits.
pub(super) fn add_three(terms: [Real; 3], bits: u32) -> Real {
    let mut terms = terms;
    // From large to small, zeros last.
    terms.sort_by(|x, y| match (x.is_zero(), y.is_zero()) {
        (false, false) => y.leading().cmp(&x.leading()),
        (x_zero, y_zero) => x_zero.cmp(&y_zero),
    });
    let [x, y, z] = &terms;
    if y.is_zero() {
        return x.clone();
    }
    // y + z may reach one binade higher than y.
    if y.leading() + 2 <= x.window(bits) {
        return add(x, &add(y, z, bits), bits);
    }
    add(&add_exactly(x, y), z, bits)
}

/// x · y, exactly.
pub(super) fn multiply(x: &Real, y: &Real) -> Real {
    Real::exact(x.negative != y.negative, &x.significand * &y.significand, x.exponent + y.exponent)
}

/// x / y of exact numbers, y not 0: exact, or truncated to at least `bits` bits.
pub(super) fn divide(x: &Real, y: &Real, bits: u32) -> Real {
    // With an odd divisor the quotient is a dyadic number exactly if it is an integer here.
    let y = y.clone().reduced();
    let up = (i64::from(bits) + length(&y.significand) - length(&x.significand)).max(0);
    let (quotient, rest) = (&x.significand << shift(up)).div_rem(&y.significand);
    Real {
        negative: x.negative != y.negative,
        significand: quotient,
        exponent: x.exponent - y.exponent - up,
        sticky: !rest.is_zero(),
    }
}

/// √x of x ≥ 0: exact, or truncated to at least `bits` bits. A truncated x needs 2·`bits` + 2 bits.
pub(super) fn sqrt(x: &Real, bits: u32) -> Real {
    let up = if x.sticky { 0 } else { (2 * i64::from(bits) - length(&x.significand)).max(0) };
    let odd = (x.exponent - up).rem_euclid(2);
    // An even exponent: one place more, or one less where the next place is not known.
    let (radicand, exponent, lost) = if x.sticky {
        (&x.significand >> shift(odd), x.exponent + odd, true)
    } else {
        (&x.significand << shift(up + odd), x.exponent - up - odd, false)
    };
    let (root, rest) = radicand.sqrt_rem();
    Real { negative: false, significand: root, exponent: exponent / 2, sticky: lost || !rest.is_zero() }
}

/// 1 / √x of exact x > 0: exact, or truncated to at least `bits` bits.
///
/// ⌊√(2^2k / s)⌋ = ⌊√⌊2^2k / s⌋⌋, since the square of an integer is not above a number if it is not
/// above its floor.
pub(super) fn reciprocal_sqrt(x: &Real, bits: u32) -> Real {
    let odd = x.exponent.rem_euclid(2);
    let (significand, exponent) = (&x.significand << shift(odd), x.exponent - odd);
    let k = i64::from(bits) + length(&significand);
    let (quotient, rest) = (UBig::ONE << shift(2 * k)).div_rem(&significand);
    let (root, left) = quotient.sqrt_rem();
    let sticky = !(rest.is_zero() && left.is_zero());
    Real { negative: false, significand: root, exponent: -k - exponent / 2, sticky }
}

/// √(x² + y²) of exact numbers: exact, or truncated to at least `bits` bits.
pub(super) fn hypot(x: &Real, y: &Real, bits: u32) -> Real {
    sqrt(&add(&multiply(x, x), &multiply(y, y), 2 * bits + 3), bits)
}

/// x − n·y for exact numbers, y not 0: n is x / y rounded to the nearest (even on a tie) or
/// truncated. A zero result has x's sign.
pub(super) fn modulo(x: &Real, y: &Real, nearest: bool) -> Real {
    // A divisor more than twice as large leaves x.
    if y.leading() > x.leading() + 1 {
        return x.clone();
    }
    let exponent = x.exponent.min(y.exponent);
    let (dividend, divisor) = aligned(x, y);
    let (n, rest) = dividend.div_rem(&divisor);
    let twice = &rest << 1;
    if nearest && (twice > divisor || twice == divisor && n.bit(0)) {
        return Real::exact(!x.negative, divisor - rest, exponent);
    }
    Real::exact(x.negative, rest, exponent)
}
