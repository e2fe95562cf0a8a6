//! Which results an operation can have at most: bins outside are proved to be unreachable.
//!
//! Whatever its operands, a sum is a multiple of the smallest step of its terms' formats; a product
//! has no more bits than its factors together; a quotient that ends has no more bits than the
//! dividend, and a root that ends half as many as its operand; and each has a largest and a
//! smallest magnitude. Between two neighbours of the destination's grid, features change at
//! quarters alone. So the quarters, and between two of them the value with the fewest bits, decide
//! for every bin whether such a result exists. Exact zeros, infinities and NaNs are not among them:
//! they follow from the operands' classes, each combination of which is tried.

use std::cmp::Ordering;

use smallfloat::ops::{Operation, Semantics, add, divide};
use smallfloat::p3109::{BlockFunction, Function, Specialization};
use smallfloat::{Datum, Exact, Format, NegativeZero, RandomBits, Rounded, Rounding, project_with};

/// A range of magnitudes and what their digits are at most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The exponent of the last place of every result.
    quantum: Option<i32>,
    /// The bits of every result.
    bits: Option<u32>,
    /// The bits of a result that ends, where others do not.
    ending: Option<u32>,
    largest: Exact,
    smallest: Exact,
    has_negative: bool,
}

fn signed(x: u32) -> i32 {
    i32::try_from(x).expect("a number of bits")
}

/// The exponent of the smallest step between two values.
fn quantum(format: &Format) -> i32 {
    let normal = format.encode(format.min_normal()).expect("a value of the format");
    let codes = [0, 1, 2, normal, normal + 1, normal + 2];
    let exponent = |code: u64| match format.decode(code) {
        Datum::Finite { significand: 1.., exponent, .. } => Some(exponent),
        _ => None,
    };
    codes.into_iter().filter_map(exponent).min().expect("every format has a normal value")
}

fn smallest(format: &Format) -> Datum {
    // The smallest value of an operand: subnormals that results flush may be read.
    let least = |code: u64| match format.decode(code) {
        datum @ Datum::Finite { significand: 1.., .. } => Some(datum),
        _ => None,
    };
    least(0).or_else(|| least(1)).unwrap_or_else(|| format.min_positive())
}

fn times(x: Exact, y: Exact) -> Exact {
    let (
        Exact::Finite { significand: a, exponent: p, .. },
        Exact::Finite { significand: b, exponent: q, .. },
    ) = (x, y)
    else {
        return Exact::finite(false, u128::MAX, 1 << 20);
    };
    match a.checked_mul(b) {
        Some(product) => Exact::finite(false, product, p + q),
        // Bounds may be too wide.
        None => Exact::finite(false, 1, p + q + 256),
    }
}

/// x · 2^n is at least x · count.
fn grown(x: Exact, count: usize) -> Exact {
    x.scaled(signed(count.next_power_of_two().ilog2()))
}

/// The exponent of a power of two above a magnitude.
fn exponent_above(x: Exact) -> i32 {
    match x {
        Exact::Finite { significand: significand @ 1.., exponent, .. } => {
            exponent + signed(significand.ilog2()) + 1
        }
        _ => 0,
    }
}

/// x + y, or a little more.
fn added(x: Exact, y: Exact) -> Exact {
    let Some((x_datum, y_datum)) = datum(x).zip(datum(y)) else { return grown(larger(x, y), 2) };
    match add(x_datum, y_datum, Semantics::Ieee).exact {
        Exact::Finite { negative, significand, exponent, sticky: true } => {
            Exact::finite(negative, significand + 1, exponent)
        }
        other => other,
    }
}

fn datum(x: Exact) -> Option<Datum> {
    match x {
        Exact::Finite { significand, exponent, .. } => {
            Some(Datum::finite(false, u64::try_from(significand).ok()?, exponent))
        }
        _ => None,
    }
}

/// The order of two finite magnitudes other than 0.
fn compare(x: Exact, y: Exact) -> Ordering {
    let key = |x: Exact| match x {
        Exact::Finite { significand, exponent, .. } => (
            i64::from(exponent) - i64::from(significand.leading_zeros()),
            significand << significand.leading_zeros(),
        ),
        _ => (i64::MAX, u128::MAX),
    };
    key(x).cmp(&key(y))
}

fn larger(x: Exact, y: Exact) -> Exact {
    if compare(x, y) == Ordering::Less { y } else { x }
}

impl Limits {
    /// What holds for an operation's results; `None` where nothing is known of them.
    pub(super) fn of(operation: &Specialization) -> Option<Self> {
        // So few random words that quarters of a step do not stand for what is between them.
        let bits = operation.projections().first()?.rounding.random_bits();
        if bits.is_some_and(|bits| bits.count() < 3) {
            return None;
        }
        let limits = match operation.function() {
            Function::Numeric(numeric) => Self::of_numeric(numeric, operation.operands())?,
            Function::Block(BlockFunction::DotProduct) => Self::of_blocks(operation, 4)?,
            Function::Block(BlockFunction::ReduceAdd) => Self::of_blocks(operation, 2)?,
            _ => return None,
        };
        let scale = operation.arithmetic().scale;
        Some(Self {
            quantum: limits.quantum.map(|quantum| quantum + scale),
            largest: limits.largest.scaled(scale),
            smallest: limits.smallest.scaled(scale),
            ..limits
        })
    }

    /// Sums of so many products, each of which may be rounded on the way.
    pub(crate) fn of_products(formats: &[Format; 2], count: usize) -> Self {
        let [x, y] = formats;
        let last_place = quantum(x) + quantum(y);
        let largest = times(Exact::from(x.max_finite()), Exact::from(y.max_finite()));
        Self {
            quantum: Some(last_place),
            bits: None,
            ending: None,
            largest: grown(largest, 2 * count),
            smallest: Exact::finite(false, 1, last_place),
            has_negative: formats.iter().any(Format::is_signed),
        }
    }

    /// Any number.
    pub(crate) fn none() -> Self {
        const FAR: i32 = 1 << 20;
        let (largest, smallest) = (Exact::finite(false, 1, FAR), Exact::finite(false, 1, -FAR));
        Self { quantum: None, bits: None, ending: None, largest, smallest, has_negative: true }
    }

    /// One of the operands, or less.
    fn of_operands(formats: &[Format]) -> Option<Self> {
        let least = |x, y| if compare(x, y) == Ordering::Less { x } else { y };
        Some(Self {
            quantum: formats.iter().map(quantum).min(),
            bits: formats.iter().map(Format::precision).max(),
            ending: None,
            largest: formats.iter().map(|format| Exact::from(format.max_finite())).reduce(larger)?,
            smallest: formats.iter().map(|format| Exact::from(smallest(format))).reduce(least)?,
            has_negative: formats.iter().any(Format::is_signed),
        })
    }

    fn of_numeric(operation: Operation, formats: &[Format]) -> Option<Self> {
        let plain = Self::of_operands(formats)?;
        let precision = |at: usize| formats[at].precision();
        let max = |at: usize| Exact::from(formats[at].max_finite());
        let min = |at: usize| Exact::from(smallest(&formats[at]));
        // Terms that cancel leave less than the smallest of them, down to a step.
        let sum = |quantum: Option<i32>, largest: Exact| {
            Some(Self { quantum, bits: None, largest, smallest: Exact::finite(false, 1, quantum?), ..plain })
        };
        let product_quantum = || quantum(&formats[0]) + quantum(&formats[1]);
        let quotient = |ending: u32, largest: Option<Exact>, smallest: Option<Exact>| {
            let (largest, smallest) = (largest?, smallest?);
            Some(Self { quantum: None, bits: None, ending: Some(ending), largest, smallest, ..plain })
        };
        match operation {
            Operation::Convert | Operation::CopySign | Operation::Extremum(_) | Operation::Clamp => {
                Some(plain)
            }
            Operation::Negate => Some(Self { has_negative: true, ..plain }),
            Operation::Abs => Some(Self { has_negative: false, ..plain }),
            Operation::Add => sum(plain.quantum, added(max(0), max(1))),
            Operation::Subtract => {
                Some(Self { has_negative: true, ..sum(plain.quantum, added(max(0), max(1)))? })
            }
            Operation::Faa => sum(plain.quantum, added(max(0), added(max(1), max(2)))),
            Operation::Remainder | Operation::Fmod => {
                Some(Self { has_negative: true, ..sum(plain.quantum, plain.largest)? })
            }
            Operation::Multiply => Some(Self {
                quantum: Some(product_quantum()),
                bits: Some(precision(0) + precision(1)),
                largest: times(max(0), max(1)),
                smallest: times(min(0), min(1)),
                ..plain
            }),
            Operation::Fma => {
                let quantum = product_quantum().min(quantum(&formats[2]));
                sum(Some(quantum), added(times(max(0), max(1)), max(2)))
            }
            Operation::Divide => quotient(precision(0), divided(max(0), min(1)), divided(min(0), max(1))),
            Operation::Recip => {
                let one = Exact::from(1);
                quotient(1, divided(one, min(0)), divided(one, max(0)))
            }
            Operation::Sqrt => {
                // The root of what is below 2^(2n+2) is below 2^(n+1).
                let root = |x: Exact| exponent_above(x.scaled(-1)).div_euclid(2);
                let power = |exponent: i32| Some(Exact::finite(false, 1, exponent));
                let roots = quotient(precision(0).div_ceil(2), power(root(max(0)) + 1), power(root(min(0))));
                Some(Self { has_negative: false, ..roots? })
            }
            _ => None,
        }
    }

    /// Sums over blocks: the formats of a scale and of its elements, of one block or of two.
    fn of_blocks(operation: &Specialization, factors: usize) -> Option<Self> {
        let formats = &operation.operands()[..factors];
        let scales = || formats.iter().step_by(2);
        let elements = || formats.iter().skip(1).step_by(2);
        let max = |format: &Format| Exact::from(format.max_finite());
        let length = operation.length()?;
        let largest = grown(elements().map(max).reduce(times)?, length);
        // A multiple of the scales' product, whatever that is, by a number of so many steps.
        let steps = exponent_above(largest) - elements().map(quantum).sum::<i32>();
        let quantum = formats.iter().map(quantum).sum();
        Some(Self {
            quantum: Some(quantum),
            bits: Some(u32::try_from(steps).ok()? + scales().map(Format::precision).sum::<u32>()),
            ending: None,
            largest: times(largest, scales().map(max).reduce(times)?),
            smallest: Exact::finite(false, 1, quantum),
            has_negative: formats.iter().any(Format::is_signed),
        })
    }

    /// Returns whether there may be such a result: at a quarter of a step, or between this one and
    /// the next, where this is the value with the fewest bits.
    fn allow(&self, x: Exact, is_quarter: bool) -> bool {
        let Exact::Finite { significand, exponent, .. } = x else { return false };
        let zeros = significand.trailing_zeros();
        let bits = u128::BITS - significand.leading_zeros() - zeros;
        self.quantum.is_none_or(|quantum| exponent + signed(zeros) >= quantum)
            && self.bits.is_none_or(|most| bits <= most)
            && self.ending.is_none_or(|most| !is_quarter || bits <= most)
            && (compare(x, self.largest) != Ordering::Greater || !is_quarter && self.reaches_into(x))
            && (compare(x, self.smallest) != Ordering::Less || !is_quarter && self.reaches_up_to(x))
    }

    /// Between quarters a value may be below the largest though the one given is above it.
    fn reaches_into(&self, x: Exact) -> bool {
        compare(x.scaled(-1), self.largest) != Ordering::Greater
    }

    fn reaches_up_to(&self, x: Exact) -> bool {
        compare(x.scaled(1), self.smallest) != Ordering::Less
    }
}

/// x / y, or a little more or less: bounds need no more.
fn divided(x: Exact, y: Exact) -> Option<Exact> {
    let exact = divide(datum(x)?, datum(y)?, Semantics::Ieee).exact;
    Some(match exact {
        Exact::Finite { negative, significand, exponent, .. } => {
            Exact::finite(negative, significand, exponent)
        }
        other => other,
    })
}

/// The indices around which a format's results are looked at: all of a narrow one, of a wide one
/// those at the ends of each binade and with special significands.
fn indices(to: &Format) -> Vec<u64> {
    let largest = to.encode(to.max_finite()).expect("a value of the format");
    if largest < 1 << 12 {
        return (0..=largest).collect();
    }
    let trailing = to.trailing_bits();
    let ones = (1_u64 << trailing) - 1;
    let half = ones / 2 + 1;
    // Odd ones, and of even ones those of few bits that features tell apart.
    let few = [0, 2, half >> 1, half, half | half >> 1];
    let odd = [1, 3, half + 1, half.saturating_sub(1), ones];
    let mut low: Vec<u64> = few.into_iter().chain(odd).chain([ones.saturating_sub(1)]).collect();
    low.retain(|low| *low <= ones);
    low.sort_unstable();
    low.dedup();
    let fields = 0..=largest >> trailing;
    let indices = fields.flat_map(|field| low.iter().map(move |low| field << trailing | low));
    let mut indices: Vec<u64> = indices.filter(|index| *index < largest - 1).collect();
    indices.extend([largest - 1, largest]);
    indices
}

/// A magnitude in units of 2^exponent.
fn units(x: Datum, exponent: i32) -> Option<u128> {
    match x {
        Datum::Finite { significand: 0, .. } => Some(0),
        Datum::Finite { significand, exponent: own, .. } => {
            let shift = u32::try_from(own - exponent).ok().filter(|shift| *shift < 64)?;
            Some(u128::from(significand) << shift)
        }
        _ => None,
    }
}

/// Results that stand for all that there may be, of both signs where there are both.
pub(crate) fn representatives(limits: &Limits, to: &Format) -> Vec<Exact> {
    let largest = to.encode(to.max_finite()).expect("a value of the format");
    let mut found = Vec::new();
    for index in indices(to) {
        let low = to.decode(index);
        let Datum::Finite { significand, exponent, .. } = low else { continue };
        let step = low.exponent_of_leading_bit() - signed(to.trailing_bits());
        let high = if index < largest { to.decode(index + 1) } else { Datum::finite(false, 0, 0) };
        let base = match (significand, high) {
            (_, Datum::Finite { exponent: of_high, significand: 1.., .. }) if significand == 0 => of_high,
            (_, Datum::Finite { exponent: of_high, significand: 1.., .. }) => exponent.min(of_high),
            _ => step.min(exponent),
        };
        let Some(low) = units(low, base) else { continue };
        let high = if index < largest { units(high, base) } else { Some(low + (1 << (step - base))) };
        let Some(high) = high else { continue };
        // In the hole of Tesla's denormals quarters are no places of few bits: all may be.
        let is_uneven = !(high - low).is_power_of_two();
        let places = if index == largest { 0..=8 } else { 0..=7 };
        for eighth in places {
            let exact = Exact::finite(false, 8 * low + (high - low) * eighth, base - 3);
            if exact.is_zero() || !is_uneven && !limits.allow(exact, eighth % 2 == 0) {
                continue;
            }
            found.push(exact);
            if limits.has_negative {
                let Exact::Finite { significand, exponent, .. } = exact else { continue };
                found.push(Exact::finite(true, significand, exponent));
            }
        }
    }
    found
}

/// The code and flags of a result with each of the words that it may be rounded with.
pub(super) fn rounded(
    exact: Exact,
    operation: &Specialization,
    to: &Format,
) -> Vec<(Rounded<u64>, Rounding)> {
    let projection = match operation.arithmetic().semantics {
        Semantics::P3109 => operation.projections()[0].with_negative_zero(NegativeZero::Positive),
        Semantics::Ieee => operation.projections()[0],
    };
    let policy = operation.flag_policy();
    let words = match projection.rounding.random_bits() {
        None => vec![None],
        Some(bits) => {
            let ones = u64::MAX >> (64 - bits.count());
            [0, 1, ones / 2, ones / 2 + 1, ones]
                .into_iter()
                .filter_map(|word| RandomBits::new(bits.count(), word).ok())
                .map(Some)
                .collect()
        }
    };
    let with = |bits: Option<RandomBits>| {
        let rounding = bits.map_or(projection.rounding, |bits| projection.rounding.with_random_bits(bits));
        (project_with(exact, to, &projection.with_rounding(rounding), policy), rounding)
    };
    words.into_iter().map(with).collect()
}

/// What the terms of a sum are like.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    /// By how many binades they are apart, at least and at most.
    apart: (i32, i32),
    /// The bits of the first and the second of two terms; nothing where there are more.
    bits: Option<[i32; 2]>,
    /// The bits of the result.
    precision: i32,
    /// Whether the steps of the terms are not finer than half of the result's finest step.
    fits: bool,
}

impl Terms {
    /// The terms of an operation that is a sum of codes or of products.
    pub(super) fn of(operation: &Specialization) -> Option<Self> {
        let range = |format: &Format| {
            (smallest(format).exponent_of_leading_bit(), format.max_finite().exponent_of_leading_bit())
        };
        let bits = |at: usize| signed(operation.operands()[at].precision());
        let formats = operation.operands();
        let to = operation.result()?;
        let two = |x: (i32, i32), y: (i32, i32)| (x.0 - y.1, x.1 - y.0);
        let product = |x: (i32, i32), y: (i32, i32)| (x.0 + y.0, x.1 + y.1 + 1);
        let (apart, bits) = match operation.function() {
            Function::Numeric(Operation::Add | Operation::Subtract) => {
                (two(range(&formats[0]), range(&formats[1])), Some([bits(0), bits(1)]))
            }
            Function::Numeric(Operation::Fma) => {
                let apart = two(product(range(&formats[0]), range(&formats[1])), range(&formats[2]));
                (apart, Some([bits(0) + bits(1), bits(2)]))
            }
            Function::Numeric(Operation::Faa) => {
                let ranges = formats.iter().map(range);
                let (least, most) = (ranges.clone().map(|r| r.0).min()?, ranges.map(|r| r.1).max()?);
                ((0, most - least), None)
            }
            // The scales are those of all terms.
            Function::Block(BlockFunction::DotProduct) => {
                let (least, most) = product(range(&formats[1]), range(&formats[3]));
                ((0, most - least), None)
            }
            Function::Block(BlockFunction::ReduceAdd) => {
                let (least, most) = range(&formats[1]);
                ((0, most - least), None)
            }
            _ => return None,
        };
        let step = Limits::of(operation)?.quantum?;
        Some(Self { apart, bits, precision: signed(to.precision()), fits: step >= quantum(to) - 1 })
    }

    /// Returns whether terms can't be so far apart, or can't leave such a sticky bit.
    pub(super) fn exclude(&self, alignment: i32, opposite: bool, sticky: Option<bool>) -> bool {
        if !(self.apart.0..=self.apart.1).contains(&alignment) {
            return true;
        }
        let (Some([x, y]), Some(sticky)) = (self.bits, sticky) else { return false };
        let (larger, smaller, distance) = if alignment >= 0 { (x, y, alignment) } else { (y, x, -alignment) };
        if sticky {
            // From the carry down to the last place of either there are too few bits to lose two.
            let span = (larger - 1).max(distance + smaller - 1) + 1 + i32::from(!opposite);
            self.fits && span <= self.precision + 1
        } else {
            // The smaller term lies below the larger one's last place, and its bits below what the
            // result keeps with a guard bit. A difference may be one bit shorter.
            distance > (larger - 1).max(self.precision + i32::from(opposite))
        }
    }
}

/// Returns whether NaN operands decide the result by their class alone, and whether infinite ones
/// do.
pub(super) fn specials_decide(operation: &Specialization) -> (bool, bool) {
    if reduces(operation) || matches!(operation.function(), Function::Compare(_)) {
        return (true, false);
    }
    let decides = match operation.function() {
        // A number beside a NaN or an infinity may be the result.
        Function::Numeric(
            Operation::Extremum(_)
            | Operation::Clamp
            | Operation::CopySign
            | Operation::Remainder
            | Operation::Fmod,
        ) => false,
        Function::Numeric(operation) => operation.is_basic(),
        _ => false,
    };
    (decides, decides)
}

/// Returns whether it is a sum over blocks.
pub(super) fn reduces(operation: &Specialization) -> bool {
    matches!(operation.function(), Function::Block(BlockFunction::DotProduct | BlockFunction::ReduceAdd))
}
