//! Exact sums of products: as multiples of the smallest product where 128 bits hold them, else in
//! one integer for each exponent that a product may have.

use smallfloat::ops::{Semantics, Sum};
use smallfloat::{Datum, Exact, Format, ops};

use crate::arch::level::Level;
use crate::arch::{Kernels, Machine};
use crate::plan::exact::{ExactPlan, Value};

/// Exact sums of products of two formats.
#[derive(Clone, Debug)]
pub(crate) struct ExactDot {
    formats: [Format; 2],
    classes: [Box<[u8; 256]>; 2],
    terms: Terms,
    /// The exponent of the smallest step of products.
    unit: i32,
}

/// Values of codes, in a format's smallest steps; 0 for what is no number.
#[derive(Clone, Debug)]
enum Terms {
    /// Products have at most 80 bits, so that sums of as many as memory holds have 128.
    Integers([Box<[i64; 256]>; 2], Option<Box<ExactPlan>>),
    Floats([Box<[Float; 256]>; 2]),
}

/// A significand and an exponent.
#[derive(Clone, Copy, Default, Debug)]
struct Float {
    significand: i32,
    exponent: u32,
}

/// What a code is.
const SPECIAL: u8 = 1;
const ZERO: u8 = 2;
const NEGATIVE: u8 = 4;

/// A format's codes, each repeated where bits above the format's width differ.
fn for_codes<T: Copy>(format: &Format, of: impl Fn(Datum) -> T) -> [T; 256] {
    std::array::from_fn(|code| of(format.decode(code as u64 & format.max_code())))
}

/// The exponent of a format's smallest step.
fn unit(format: &Format) -> i32 {
    let exponent = |code| match format.decode(code) {
        Datum::Finite { significand, exponent, .. } if significand > 0 => Some(exponent),
        _ => None,
    };
    format.codes().filter_map(exponent).min().unwrap_or(0)
}

/// A value as a significand and an exponent above the unit.
fn float(datum: Datum, unit: i32) -> Float {
    match datum {
        Datum::Finite { negative, significand, exponent } if significand > 0 => {
            let significand = i32::try_from(significand).expect("significands have 8 bits at most");
            let exponent = (exponent - unit).unsigned_abs();
            Float { significand: if negative { -significand } else { significand }, exponent }
        }
        _ => Float::default(),
    }
}

impl Float {
    /// The value in units, if it has 63 bits at most.
    fn integer(self) -> Option<i64> {
        let integer = i128::from(self.significand).checked_shl(self.exponent)?;
        (integer >> self.exponent == i128::from(self.significand)).then(|| i64::try_from(integer).ok())?
    }
}

impl ExactDot {
    /// The sums for two formats of at most 8 bits.
    pub(crate) fn new(x: &Format, y: &Format) -> Self {
        let formats = [*x, *y];
        let class = |datum: Datum| {
            let is_special = !matches!(datum, Datum::Finite { .. });
            let bit = |is: bool, bit: u8| if is { bit } else { 0 };
            bit(is_special, SPECIAL) | bit(datum.is_zero(), ZERO) | bit(datum.is_negative(), NEGATIVE)
        };
        Self {
            formats,
            classes: formats.map(|format| Box::new(for_codes(&format, class))),
            terms: Terms::integers(formats).unwrap_or_else(|| Terms::floats(formats)),
            unit: unit(x) + unit(y),
        }
    }

    /// Σ x·y.
    pub(crate) fn sum(&self, level: Level, x: &[u8], y: &[u8]) -> Exact {
        let sum = match &self.terms {
            Terms::Integers(values, plan) => self.integer_sum(level, values, plan.as_deref(), [x, y]),
            Terms::Floats(values) => self.sum_by_exponents(values, [x, y]),
        };
        sum.unwrap_or_else(|| self.sum_without_value(x, y))
    }

    /// The sum in integers, or `None` if it is zero, or ∞ or NaN is among the codes.
    fn integer_sum(
        &self,
        level: Level,
        [x_values, y_values]: &[Box<[i64; 256]>; 2],
        plan: Option<&ExactPlan>,
        [x, y]: [&[u8]; 2],
    ) -> Option<Exact> {
        let (mut total, done) = match (plan, Machine::new(level)) {
            (Some(plan), Some(machine)) => machine.exact_sum(plan, [x, y])?,
            _ => (0, 0),
        };
        let mut seen = 0;
        for (x, y) in x[done..].iter().zip(&y[done..]) {
            let (i, j) = (usize::from(*x), usize::from(*y));
            total += i128::from(x_values[i]) * i128::from(y_values[j]);
            seen |= self.classes[0][i] | self.classes[1][j];
        }
        // A zero's sign depends on its terms.
        (seen & SPECIAL == 0 && total != 0).then(|| Exact::from_i128(total).scaled(self.unit))
    }

    /// The sum of one integer for each exponent of products; `None` as for integers. Products have
    /// 16 bits, so each integer takes as many as memory holds.
    fn sum_by_exponents(
        &self,
        [x_values, y_values]: &[Box<[Float; 256]>; 2],
        [x, y]: [&[u8]; 2],
    ) -> Option<Exact> {
        let top = |values: &[Float; 256]| values.iter().map(|value| value.exponent).max();
        let mut sums = vec![0_i64; (top(x_values)? + top(y_values)?) as usize + 1];
        let mut seen = 0;
        for (x, y) in x.iter().zip(y) {
            let (i, j) = (usize::from(*x), usize::from(*y));
            let (x, y) = (x_values[i], y_values[j]);
            sums[(x.exponent + y.exponent) as usize] += i64::from(x.significand * y.significand);
            seen |= self.classes[0][i] | self.classes[1][j];
        }
        if seen & SPECIAL != 0 {
            return None;
        }
        let mut total = Sum::new();
        for (exponent, sum) in (self.unit..).zip(sums).filter(|(_, sum)| *sum != 0) {
            total.add_exact(Exact::from_i128(i128::from(sum)).scaled(exponent));
        }
        Some(total.exact()).filter(|sum| !sum.is_zero())
    }

    /// A sum that is ∞, NaN or a zero, by what its terms are.
    fn sum_without_value(&self, x: &[u8], y: &[u8]) -> Exact {
        let [a, b] = &self.formats;
        let (mut infinite, mut zeros, mut is_opposite) = ([false; 2], [false; 2], false);
        for (&x, &y) in x.iter().zip(y) {
            let (i, j) = (self.classes[0][usize::from(x)], self.classes[1][usize::from(y)]);
            let sign = usize::from((i ^ j) & NEGATIVE != 0);
            if (i | j) & SPECIAL != 0 {
                match ops::multiply(a.decode(u64::from(x)), b.decode(u64::from(y)), Semantics::Ieee).exact {
                    Exact::Infinite { .. } => infinite[sign] = true,
                    _ => return Exact::Nan { negative: false },
                }
            } else if (i | j) & ZERO != 0 {
                zeros[sign] = true;
            } else {
                is_opposite = true;
            }
        }
        match (infinite, is_opposite, zeros) {
            ([true, true], ..) => Exact::Nan { negative: false },
            ([true, false], ..) => Exact::Infinite { negative: false },
            ([false, true], ..) => Exact::Infinite { negative: true },
            (_, true, _) | (_, _, [true, true]) => Exact::Cancelled,
            (_, false, [_, negative]) => Exact::finite(negative, 0, 0),
        }
    }
}

impl Terms {
    /// `None` where products have more bits.
    fn integers(formats: [Format; 2]) -> Option<Self> {
        let [x, y] = formats;
        let integers = |format: &Format| -> Option<Vec<Value>> {
            let unit = unit(format);
            let value = |datum: Datum| match datum {
                Datum::Finite { .. } => float(datum, unit).integer().map(Some),
                _ => Some(None),
            };
            format.codes().map(|code| value(format.decode(code))).collect()
        };
        let (x_values, y_values) = (integers(&x)?, integers(&y)?);
        let largest = |values: &[Value]| values.iter().flatten().map(|value| value.unsigned_abs()).max();
        let product = u128::from(largest(&x_values)?) * u128::from(largest(&y_values)?);
        let tables = [(&x, unit(&x)), (&y, unit(&y))].map(|(format, unit)| {
            Box::new(for_codes(format, |datum| float(datum, unit).integer().unwrap_or(0)))
        });
        let plan = ExactPlan::new([&x, &y], [&x_values, &y_values]).map(Box::new);
        (product <= 1 << 80).then_some(Self::Integers(tables, plan))
    }

    fn floats(formats: [Format; 2]) -> Self {
        Self::Floats(formats.map(|format| {
            let unit = unit(&format);
            Box::new(for_codes(&format, |datum| float(datum, unit)))
        }))
    }
}

#[cfg(test)]
mod tests {
    use smallfloat::formats::{E2M1FN, E4M3FN, E5M2, E8M0FNU, UE4M3};

    use super::{ExactDot, Kernels, Level, Machine, NEGATIVE, SPECIAL, Terms, ZERO};
    use crate::plan::exact::Accumulators;

    #[test]
    fn values_are_integers() {
        let dot = ExactDot::new(&E4M3FN, &E5M2);
        assert_eq!(dot.unit, -9 - 16);
        let Terms::Integers([narrow, wide], _) = &dot.terms else { panic!("50 bits hold products") };
        assert_eq!([0, 0x80, 1, 0x81].map(|code| narrow[code]), [0, 0, 1, -1]);
        assert_eq!([0x7e, 0xfe, 0x7f, 0xff].map(|code| narrow[code]), [448 << 9, -448 << 9, 0, 0]);
        assert_eq!([1, 0x7b, 0xfb, 0x7c].map(|code| wide[code]), [1, 57344 << 16, -57344 << 16, 0]);
        let [narrow, wide] = &dot.classes;
        assert_eq!([0, 0x80, 1, 0x81].map(|code| narrow[code]), [ZERO, ZERO | NEGATIVE, 0, NEGATIVE]);
        assert_eq!([narrow[0x7f], narrow[0x7e]], [SPECIAL, 0]);
        assert_eq!([0x7c, 0xfc].map(|code| wide[code]), [SPECIAL, SPECIAL | NEGATIVE]);
        // Bits above the width are ignored.
        let dot = ExactDot::new(&E2M1FN, &E2M1FN);
        let Terms::Integers([values, _], _) = &dot.terms else { panic!("8 bits hold products") };
        assert_eq!([7, 0x17, 15, 0xff].map(|code| values[code]), [12, 12, -12, -12]);
        let dot = ExactDot::new(&E8M0FNU, &E4M3FN);
        let Terms::Floats([powers, _]) = &dot.terms else { panic!("254 bits and 18") };
        assert_eq!((dot.unit, powers[0xfe].significand, powers[0xfe].exponent), (-127 - 9, 1, 254));
    }

    /// By which accumulators vectors add, where they do.
    #[test]
    #[cfg_attr(smallfloat_arch = "scalar", ignore = "this machine has no such kernel")]
    fn vectors_are_used() {
        let of = |a, b| match ExactDot::new(a, b).terms {
            Terms::Integers(_, Some(plan)) => {
                let is_narrow = matches!(plan.accumulators, Accumulators::Binary32(_));
                (is_narrow, plan.nibbles.is_some(), plan.digits.map(|digits| digits.map(|some| some.count)))
            }
            terms => panic!("{terms:?}"),
        };
        assert_eq!(of(&E4M3FN, &E4M3FN), (true, true, Some([3, 3])));
        assert_eq!(of(&E2M1FN, &E2M1FN), (true, true, Some([1, 1])));
        assert_eq!(of(&E4M3FN, &E5M2), (false, true, Some([3, 5])));
        assert_eq!(of(&E5M2, &E5M2), (false, true, Some([5, 5])));
        assert_eq!(of(&E5M2, &E2M1FN), (true, true, Some([5, 1])));
        assert_eq!(of(&UE4M3, &E2M1FN), (true, false, Some([3, 1])));
        let Terms::Integers(_, Some(plan)) = ExactDot::new(&E4M3FN, &E5M2).terms else { panic!("50 bits") };
        // 1.75 · −0.5, in units of 2^-25.
        let (x, y) = ([0x3e_u8; 100], [0xb8_u8; 100]);
        assert!(Machine::new(Level::Portable).is_none());
        let Some(machine) =
            Level::with_kernels().and_then(Machine::new).filter(|machine| machine.has_vector_products())
        else {
            eprintln!("skipped: no vectors here");
            return;
        };
        assert_eq!(machine.exact_sum(&plan, [&x, &y]), Some((-96 * 7 * (1 << 22), 96)));
        if let Some(machine) = Machine::new(Level::Avx512).filter(|_| Level::Avx512.is_available()) {
            assert_eq!(machine.exact_sum(&plan, [&x, &y]), Some((-100 * 7 * (1 << 22), 100)));
        }
    }
}
