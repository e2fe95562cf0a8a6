//! Functions by table and linear interpolation, as the special function units of accelerators
//! compute them: the operand's leading significand bits choose an entry, the rest interpolates to
//! the next, the exponent is set apart. Table, differences and interpolation are rounded in the
//! working format.

use std::f64::consts::LOG2_E;

use smallfloat::{Datum, Exact, Format};

use crate::error::Error;
use crate::implementation::working::{Exponents, Working, extreme, floor};

/// The functions: name, what the operand is reduced to, and the tabulated function on [1, 2), or on
/// [0, 1) of an exponent. Of a root the second table is for odd exponents.
const CURVES: [Curve; 5] = [
    ("Exp", Reduction::Exponent { per_unit: LOG2_E }, libm::exp2),
    ("Exp2", Reduction::Exponent { per_unit: 1.0 }, libm::exp2),
    ("Recip", Reduction::Significand { root: false, inverse: true }, |m| 1.0 / m),
    ("Sqrt", Reduction::Significand { root: true, inverse: false }, libm::sqrt),
    ("RSqrt", Reduction::Significand { root: true, inverse: true }, |m| 1.0 / libm::sqrt(m)),
];

type Curve = (&'static str, Reduction, fn(f64) -> f64);

#[derive(Clone, Copy, Debug)]
enum Reduction {
    /// 2^t for t = x times this, reduced to t's fraction.
    Exponent { per_unit: f64 },
    /// x = m·2^e with 1 ≤ m < 2, of a root 1 ≤ m < 4 and e even.
    Significand { root: bool, inverse: bool },
}

pub(super) fn names() -> impl Iterator<Item = &'static str> {
    CURVES.iter().map(|curve| curve.0)
}

/// Beyond this magnitude of an operand, exponentials are beyond the range of every format.
const RANGE: f64 = 32_768.0;

#[derive(Clone, Debug)]
pub(super) struct InterpolationTable {
    w: Working,
    exponents: Exponents,
    reduction: Reduction,
    per_unit: u64,
    /// log2 of the number of entries.
    index_bits: u32,
    /// Value and difference to the next, for even exponents; then for odd ones.
    entries: [Vec<(u64, u64)>; 2],
}

impl InterpolationTable {
    /// For results in the format `to`; `None` for a function that it does not compute.
    pub(super) fn new(
        name: &str,
        entries: u32,
        working: &Format,
        to: &Format,
    ) -> Result<Option<Self>, Error> {
        let w = Working::new(working)?;
        let Some(&(_, reduction, curve)) = CURVES.iter().find(|row| row.0 == name) else {
            return Ok(None);
        };
        let (start, per_unit) = match reduction {
            Reduction::Exponent { per_unit } => (0.0, per_unit),
            Reduction::Significand { .. } => (1.0, 1.0),
        };
        let table = |factor: f64| {
            let at = |i: u32| w.constant(curve(factor * (start + f64::from(i) / f64::from(entries))));
            (0..entries).map(|i| (at(i), w.subtract(at(i + 1), at(i)))).collect()
        };
        let entries_of = match reduction {
            Reduction::Significand { root: true, .. } => [table(1.0), table(2.0)],
            _ => [table(1.0), Vec::new()],
        };
        let per_unit = w.constant(per_unit);
        Ok(Some(Self {
            w,
            exponents: Exponents::of(to),
            reduction,
            per_unit,
            index_bits: entries.ilog2(),
            entries: entries_of,
        }))
    }

    /// The value before the last rounding; `None` for operands that hardware treats apart.
    pub(super) fn value(&self, x: Datum) -> Option<Exact> {
        if !x.is_finite() {
            return None;
        }
        let w = &self.w;
        let rounded = w.round(x);
        match self.reduction {
            Reduction::Exponent { .. } => {
                if w.value(rounded).abs() >= RANGE {
                    return Some(extreme(false, w.value(rounded) > 0.0));
                }
                let (whole, fraction) = floor(w.datum(w.multiply(rounded, self.per_unit)));
                if let Some(extreme) = self.exponents.beyond(whole) {
                    return Some(extreme);
                }
                let value = self.interpolate(0, fraction);
                let whole = i32::try_from(whole).expect("within the range of exponents");
                Some(Exact::from_datum(value).scaled(whole))
            }
            Reduction::Significand { root, inverse } => {
                let Datum::Finite { negative, significand, exponent } = w.datum(rounded) else {
                    // The working format's overflow: the reciprocal's underflow.
                    return Some(extreme(x.is_negative(), !inverse)).filter(|_| !(root && x.is_negative()));
                };
                if significand == 0 || (root && negative) {
                    return None;
                }
                let e = exponent + significand.ilog2().cast_signed();
                let fraction = significand << (63 - significand.ilog2()) & !(1 << 63);
                let (odd, e) = if root { (e.rem_euclid(2), e.div_euclid(2)) } else { (0, e) };
                let value = self.interpolate(usize::from(odd == 1), fraction);
                let value = if negative { value.negated() } else { value };
                Some(Exact::from_datum(value).scaled(if inverse { -e } else { e }))
            }
        }
    }

    /// The tabulated function at a fraction of [0, 1), given times 2^63.
    fn interpolate(&self, table: usize, fraction: u64) -> Datum {
        let rest_bits = 63 - self.index_bits;
        let index = usize::try_from(fraction >> rest_bits).expect("at most 16 bits");
        let rest = fraction & ((1 << rest_bits) - 1);
        let (value, difference) = self.entries[table][index];
        let weight = self.w.round(Datum::finite(false, rest, -rest_bits.cast_signed()));
        self.w.datum(self.w.fma(weight, difference, value))
    }
}
