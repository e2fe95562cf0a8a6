//! Exact results of operations, located once on a format's grid, from which every deterministic
//! rounding and saturation mode follows.

use smallfloat::ops::{Operation, Semantics};
use smallfloat::{Format, Projection, Rounding, Saturation};
use smallfloat_oracle::fast::{Grid, Item, Spot};
use smallfloat_oracle::{self as oracle, Exact, Policy, ops, selection};

use crate::{catalogue, extensive, oracle_policy, p3109, tesla};

/// The catalogue's formats of at most 8 bits, Tesla's at two biases in both readings, and four of
/// the P3109 draft's; in extensive runs all of the draft's with 8 bits, and Tesla's at both ends of
/// the biases.
pub fn small_formats() -> Vec<Format> {
    let mut list = catalogue(8);
    for name in ["cfloat8_1_4_3", "cfloat8_1_5_2"] {
        for bias in [7, 15] {
            for subnormals in ["tesla", "gradual"] {
                list.push(crate::format(&format!("{name}:bias={bias},subnormals={subnormals}")));
            }
        }
    }
    list.extend(["binary8p3se", "binary8p4se", "binary8p3sf", "binary8p1uf"].map(crate::format));
    if extensive() {
        list.extend(tesla([0, 63]).into_iter().filter(|format| format.width() == 8));
        list.extend(p3109(8..=8));
    }
    let mut distinct: Vec<Format> = Vec::new();
    for format in list {
        if !distinct.contains(&format) {
            distinct.push(format);
        }
    }
    distinct
}

/// A projection in both vocabularies.
#[derive(Clone, Copy, Debug)]
pub struct ProjectionPair {
    /// The core's.
    pub core: Projection,
    /// The oracle's.
    pub oracle: Policy,
}

impl ProjectionPair {
    /// A projection as results of these semantics have it.
    pub fn new(core: Projection, semantics: Semantics) -> Self {
        let policy = oracle_policy(&core);
        let oracle = match semantics {
            // No result of P3109's semantics is −0, whatever the preset.
            Semantics::P3109 => Policy { negative_zero: oracle::NegativeZero::Zero, ..policy },
            Semantics::Ieee => policy,
        };
        Self { core, oracle }
    }
}

/// A format's deterministic roundings × SatFinite, SatPropagate, SatNone.
pub fn projections(format: &Format, semantics: Semantics) -> Vec<ProjectionPair> {
    let mut list = Vec::new();
    for &rounding in Rounding::DETERMINISTIC {
        for saturation in [Saturation::SatFinite, Saturation::SatPropagate, Saturation::SatNone] {
            let core = format.default_projection().with_rounding(rounding).with_saturation(saturation);
            list.push(ProjectionPair::new(core, semantics));
        }
    }
    list
}

/// Returns the oracle's name of the semantics.
pub fn oracle_semantics(semantics: Semantics) -> ops::Semantics {
    match semantics {
        Semantics::Ieee => ops::Semantics::Ieee,
        Semantics::P3109 => ops::Semantics::P3109,
    }
}

/// An exact result's place on a grid, with the flags of the operation and of its operands.
#[derive(Clone, Copy, Debug)]
pub struct Located<'a> {
    /// The place.
    pub spot: Spot,
    /// The flags before rounding.
    pub raised: oracle::Flags,
    /// The operand of which a sign operation passes on a NaN.
    pub passed: Option<&'a Item>,
}

impl<'a> Located<'a> {
    /// A result of arithmetic.
    fn arithmetic((spot, raised): (Spot, oracle::Flags), operands: &[&Item]) -> Self {
        Self { spot, raised: raised | operand_flags(operands), passed: None }
    }

    /// A result of a sign operation, which raises nothing by itself.
    pub fn passed(spot: Spot, operand: &'a Item) -> Self {
        Self { spot, raised: oracle::Flags::NONE, passed: Some(operand) }
    }

    /// The code and the flags of the result.
    pub fn project(&self, grid: &Grid, semantics: ops::Semantics, policy: &Policy) -> (u64, oracle::Flags) {
        self.projected(grid, semantics, grid.project(self.spot, policy))
    }

    /// The code and the flags of the result, from those of its place.
    pub fn projected(
        &self,
        grid: &Grid,
        semantics: ops::Semantics,
        (code, rounded): (u64, oracle::Flags),
    ) -> (u64, oracle::Flags) {
        let (Some(operand), Spot::Nan { negative }) = (self.passed, self.spot) else {
            return (code, rounded | self.raised);
        };
        // With IEEE's semantics nothing but the sign of a NaN changes.
        let kept = (semantics == ops::Semantics::Ieee)
            .then(|| grid.format().nan_with_sign(operand.code, negative))
            .flatten();
        let has_nan = grid.format().nan_code().is_some();
        (kept.unwrap_or(code), if has_nan { oracle::Flags::NONE } else { rounded })
    }
}

/// The flags of operands: D and I.
pub fn operand_flags(items: &[&Item]) -> oracle::Flags {
    let mut flags = oracle::Flags::NONE;
    for item in items {
        if item.subnormal {
            flags |= oracle::Flags::DENORMAL;
        }
        if item.exact.is_nan() {
            flags |= oracle::Flags::INVALID;
        }
    }
    flags
}

/// The place of an outcome of the slow operations, which are asked where an operand is special or a
/// zero and for formats too wide for integers. The sign of a zero that the rounding mode decides
/// shows by asking for two modes.
fn slow_spot(grid: &Grid, outcome: impl Fn(oracle::Rounding) -> ops::Outcome) -> (Spot, oracle::Flags) {
    let (exact, flags) = outcome(oracle::Rounding::NearestEven);
    let spot = grid.locate_exact(&exact);
    if let Spot::Zero { negative: Some(negative) } = spot {
        let down = outcome(oracle::Rounding::TowardNegative).0.is_negative();
        return (Spot::Zero { negative: (negative == down).then_some(negative) }, flags);
    }
    (spot, flags)
}

/// The result of an operation on one code.
///
/// # Panics
/// For an operation that is not basic or has more operands.
pub fn unary<'a>(operation: Operation, grid: &Grid, x: &'a Item, semantics: ops::Semantics) -> Located<'a> {
    let of = |exact: &Exact, raised| Located::arithmetic((grid.locate_exact(exact), raised), &[x]);
    match operation {
        Operation::Convert => of(&x.exact, oracle::Flags::NONE),
        Operation::Negate => Located::passed(grid.locate_exact(&ops::negate(&x.exact)), x),
        Operation::Abs => Located::passed(grid.locate_exact(&selection::absolute(&x.exact)), x),
        Operation::Sqrt => {
            let (exact, raised) = ops::sqrt(&x.exact, semantics);
            of(&exact, raised)
        }
        Operation::Recip => {
            let (exact, raised) = ops::div(&Exact::ratio(1, 1), &x.exact, semantics);
            of(&exact, raised)
        }
        other => panic!("no oracle for {other:?}"),
    }
}

/// The result of arithmetic on two codes.
///
/// # Panics
/// For other operations.
pub fn pair<'a>(
    operation: Operation,
    grid: &Grid,
    [x, y]: [&'a Item; 2],
    semantics: ops::Semantics,
) -> Located<'a> {
    let place = if let (Some(a), Some(b)) = (x.steps, y.steps) {
        let spot = match operation {
            Operation::Add => grid.sum(a + b),
            Operation::Subtract => grid.sum(a - b),
            Operation::Multiply => grid.product(a * b),
            Operation::Divide => grid.quotient(a, b),
            Operation::Remainder => grid.remainder(a, b, true),
            Operation::Fmod => grid.remainder(a, b, false),
            other => panic!("{other:?} is no arithmetic of two operands"),
        };
        (spot, oracle::Flags::NONE)
    } else {
        let (a, b) = (&x.exact, &y.exact);
        slow_spot(grid, |rounding| match operation {
            Operation::Add => ops::add(a, b, rounding, semantics),
            Operation::Subtract => ops::sub(a, b, rounding, semantics),
            Operation::Multiply => ops::mul(a, b, semantics),
            Operation::Divide => ops::div(a, b, semantics),
            Operation::Remainder => ops::remainder(a, b, true, semantics),
            Operation::Fmod => ops::remainder(a, b, false, semantics),
            other => panic!("{other:?} is no arithmetic of two operands"),
        })
    };
    Located::arithmetic(place, &[x, y])
}

/// The result of x·y + z or x + y + z.
///
/// # Panics
/// For other operations, and if the grid's smallest step is above 1.
pub fn triple<'a>(
    operation: Operation,
    grid: &Grid,
    [x, y, z]: [&'a Item; 3],
    semantics: ops::Semantics,
) -> Located<'a> {
    let place = if let (Some(a), Some(b), Some(c)) = (x.steps, y.steps, z.steps) {
        let spot = match operation {
            Operation::Fma => grid.product(a * b + c * i128::try_from(grid.one()).expect("small")),
            Operation::Faa => grid.sum(a + b + c),
            other => panic!("{other:?} is no arithmetic of three operands"),
        };
        (spot, oracle::Flags::NONE)
    } else {
        slow_spot(grid, |rounding| match operation {
            Operation::Fma => ops::fma(&x.exact, &y.exact, &z.exact, rounding, semantics),
            Operation::Faa => ops::faa(&x.exact, &y.exact, &z.exact, rounding, semantics),
            other => panic!("{other:?} is no arithmetic of three operands"),
        })
    };
    Located::arithmetic(place, &[x, y, z])
}
