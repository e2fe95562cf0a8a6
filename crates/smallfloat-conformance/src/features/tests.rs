//! Features of single vectors, worked out by hand.

use smallfloat::Flags;

use super::{ABSENT, Aspect, FeatureSet, RANGES};
use crate::vectors::UnitUnderTest;

struct Probe {
    unit: UnitUnderTest,
    features: FeatureSet,
}

impl Probe {
    fn new(operation: &str) -> Self {
        let unit = UnitUnderTest::new(operation.parse().expect(operation), None).expect(operation);
        let features = unit.features();
        Self { unit, features }
    }

    /// The features of a vector that are asked for, in words.
    fn words(&self, operands: &[u64], aspects: &[Aspect]) -> Vec<String> {
        let outcome = self.unit.evaluate(operands).expect("operands of the unit");
        let mut values = Vec::new();
        self.features.values(operands, outcome.results(), outcome.flags, &mut values);
        assert_eq!(values.len(), self.features.list().len());
        let word = |aspect: &Aspect| {
            let at = self.features.find(*aspect).unwrap_or_else(|| panic!("{aspect:?}"));
            self.features.list()[at].describe(values[at])
        };
        aspects.iter().map(word).collect()
    }
}

#[test]
fn a_conversion_has_a_place_on_its_grid() {
    let probe = Probe::new("Convert<binary32, e4m3fn>");
    let rounding =
        [Aspect::Remainder, Aspect::Guard, Aspect::Sticky, Aspect::LastBit, Aspect::Away, Aspect::Carry];
    let range = [Aspect::ResultClass, Aspect::Exponent, Aspect::Range];
    for (operand, of_rounding, of_range) in [
        // −1.1875 lies in the middle of −1.125 (odd) and −1.25.
        (
            0xbf98_0000,
            ["tie", "guard 1", "sticky 0", "odd", "rounded up", "no carry"],
            ["result normal", "exponent 0", "normal"],
        ),
        // 1.9375 of 1.875 (odd, the last of its binade) and 2.
        (
            0x3ff8_0000,
            ["tie", "guard 1", "sticky 0", "odd", "rounded up", "carry out of the significand"],
            ["result normal", "exponent 0", "normal"],
        ),
        (
            0x3f80_0001,
            ["below half", "guard 0", "sticky 1", "even", "not rounded up", "no carry"],
            ["result normal", "exponent 0", "normal"],
        ),
        // 464 = 448 + 16 is the middle of 448 and the 480 that is not there.
        (
            0x43e8_0000,
            ["tie", "guard 1", "sticky 0", "even", "not rounded up", "no carry"],
            ["result normal", "exponent 8", "largest value"],
        ),
        // 2^-10 is half of the smallest subnormal.
        (
            0x3a80_0000,
            ["tie", "guard 1", "sticky 0", "even", "not rounded up", "no carry"],
            ["result zero", "exponent -10", "rounds to zero"],
        ),
        // The largest subnormal is 0.875 · 2^-6. 0.9375 · 2^-6, half way to the smallest normal
        // value, has four bits; 0.96875 · 2^-6 has five, and rounds to 2^-6 as if the exponent went
        // on.
        (
            0x3c70_0000,
            ["tie", "guard 1", "sticky 0", "odd", "rounded up", "carry out of the significand"],
            ["result normal", "exponent -7", RANGES[3]],
        ),
        (
            0x3c78_0000,
            ["above half", "guard 1", "sticky 1", "odd", "rounded up", "carry out of the significand"],
            ["result normal", "exponent -7", RANGES[4]],
        ),
    ] {
        assert_eq!(probe.words(&[operand], &rounding), of_rounding, "{operand:08x}");
        assert_eq!(probe.words(&[operand], &range), of_range, "{operand:08x}");
    }
    // Beyond the range nothing is rounded, and a NaN has no place at all.
    assert_eq!(
        probe.words(&[0x4480_0000], &[Aspect::Range, Aspect::Flag(Flags::OVERFLOW), Aspect::Remainder]),
        ["beyond the range", "overflow", "no rounding"]
    );
    assert_eq!(
        probe.words(&[0x7fa0_0000], &[Aspect::Class(0), Aspect::Flag(Flags::INVALID), Aspect::Range]),
        ["x signaling NaN", "invalid", "no range"]
    );
}

#[test]
fn sums_align_and_cancel() {
    let probe = Probe::new("Subtract<e5m2, e5m2, e5m2>");
    let aspects =
        [Aspect::Effective, Aspect::Alignment, Aspect::Cancellation, Aspect::Order, Aspect::MagnitudeOrder];
    for (operands, words) in [
        // 1 − 1.75·2^-1 = 0.125.
        ([0x3c, 0x3b], ["terms of opposite signs", "alignment 1", "cancellation 3", "x > y", "|x| > |y|"]),
        ([0x3c, 0xbc], ["terms of one sign", "alignment 0", "cancellation -1", "x > y", "|x| = |y|"]),
        (
            [0x3c, 0x3c],
            ["terms of opposite signs", "alignment 0", "terms that cancel to zero", "x = y", "|x| = |y|"],
        ),
        ([0x04, 0x7b], ["terms of opposite signs", "alignment ≤ -8", "cancellation 0", "x < y", "|x| < |y|"]),
    ] {
        assert_eq!(probe.words(&operands, &aspects), words, "{operands:02x?}");
    }
    assert_eq!(probe.words(&[0x7c, 0x3c], &aspects[..1]), ["no effective operation"]);
    let probe = Probe::new("FMA<e4m3fn, e4m3fn, e4m3fn, e4m3fn>");
    let aspects = [Aspect::Normalization, Aspect::Alignment, Aspect::Cancellation];
    // 1.5 · 1.5 − 2 = 2.25 − 2.
    assert_eq!(
        probe.words(&[0x3c, 0x3c, 0xc0], &aspects),
        ["product of 2 or more", "alignment 0", "cancellation 3"]
    );
}

#[test]
fn operands_have_classes_and_patterns() {
    let probe = Probe::new("Divide<e4m3fn, e5m2, bfloat16>");
    let aspects =
        [Aspect::Class(0), Aspect::Sign(1), Aspect::Field(1), Aspect::Pattern(0), Aspect::Normalization];
    assert_eq!(
        probe.words(&[0x3f, 0xbd], &aspects),
        ["x normal", "y negative", "y exponent field 15", "x significand 1.1…1", "quotient of 1 or more"]
    );
    let probe = Probe::new("CompareLess<e4m3fn, e4m3fn>");
    assert_eq!(probe.words(&[0x38, 0x7f], &[Aspect::Truth, Aspect::Order]), ["false", "unordered"]);
}

#[test]
fn a_dot_product_is_a_sum_of_products() {
    let probe = Probe::new("BlockDotProduct<2, e8m0fnu, e2m1fn, e8m0fnu, e2m1fn, binary32>");
    let aspects =
        [Aspect::Effective, Aspect::Alignment, Aspect::Cancellation, Aspect::Signs(1), Aspect::Elements(4)];
    // 6·6 + 4·(−6) = 12; 1·1 − 1·1 with scales of 2^-127.
    assert_eq!(
        probe.words(&[0x7f, 7, 6, 0x80, 7, 0xf], &aspects),
        ["terms of opposite signs", "alignment 1", "cancellation 2", "x all positive", "y no zero"]
    );
    assert_eq!(
        probe.words(&[0, 2, 2, 0, 2, 0xa], &aspects[..3]),
        ["terms of opposite signs", "alignment 0", "terms that cancel to zero"]
    );
}

/// Every operation that has vectors has features, and they never fail.
#[test]
fn all_kinds_of_operations() {
    for operation in [
        "Convert<binary64, cfloat8_1_4_3:bias=7>",
        "Convert<binary32, e8m0fnu>",
        "Convert<binary32, uhp:bias=31>",
        "Add<binary8p4se, binary8p4se, binary8p4se>",
        "FAA<e4m3fn, e4m3fn, e4m3fn, binary32>",
        "Sqrt<binary16, e4m3fn>",
        "Recip<bfloat16, e8m0fnu>",
        "Exp<binary8p3se, binary8p3se>",
        "MinimumNumber<e5m2, e5m2, e5m2>",
        "Class<e5m2>",
        "IsNormal<e5m2>",
        "TotalOrder<binary8p3se, binary8p3se>",
        "NextGreaterThan<binary8p3se>",
        "ScaledAdd<(e8m0fnu, e4m3fn), (e8m0fnu, e4m3fn), binary32>",
        "BlockAdd<2, (e8m0fnu, e2m1fn), (e8m0fnu, e2m1fn), e8m0fnu, e2m1fn>",
        "ConvertToBlock<2, binary32, e8m0fnu, e2m1fn>",
        "BlockReduceAdd<3, e8m0fnu, e4m3fn, binary32>",
        "Add<e4m3fn, e4m3fn, e4m3fn, (StochasticA<4>, SatFinite)>",
    ] {
        let Ok(operation) = operation.parse() else { panic!("{operation} is not understood") };
        let unit = UnitUnderTest::new(operation, None).expect("a unit");
        let features = unit.features();
        let mut values = Vec::new();
        for round in 0..2000_u64 {
            let operand = |(i, field): (usize, &crate::vectors::Field)| {
                (round + 7 * i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17) & field.max()
            };
            let operands: Vec<u64> = unit.operands().iter().enumerate().map(operand).collect();
            let outcome = unit.evaluate(&operands).expect("operands of the unit");
            features.values(&operands, outcome.results(), outcome.flags, &mut values);
            for (feature, value) in features.list().iter().zip(&values) {
                let is_in_range = match feature.kind {
                    super::FeatureKind::Named(words) => {
                        usize::try_from(*value).is_ok_and(|at| at < words.len())
                    }
                    super::FeatureKind::Number { low, high } => (low..=high).contains(value),
                };
                assert!(is_in_range || *value == ABSENT, "{} = {value} of {operands:x?}", feature.name);
                assert!(!feature.describe(*value).is_empty());
            }
        }
    }
}
