//! Vectors of sums of products, against a matrix unit in plain integers that shares no code with
//! them: every mistake that is made in it shows.

use std::fmt::Write as _;

use smallfloat_conformance::diagnosis::diagnose;
use smallfloat_conformance::vectors::{
    CheckOptions, CheckReport, CoverageLevel, FixedUnit, LineLayout, VectorPlan, VectorSet, check,
};

fn set(unit: &str, level: Option<CoverageLevel>, random: u64) -> VectorSet {
    let unit: FixedUnit = unit.parse().expect(unit);
    let plan = VectorPlan::new(unit.clone(), level, 5, Some(random)).expect("a plan");
    VectorSet::new(unit, plan, None)
}

fn text(set: &VectorSet) -> String {
    let mut text = Vec::new();
    set.write(LineLayout::TestFloat, &mut text).expect("memory takes all");
    String::from_utf8(text).expect("text")
}

fn checked(text: &str) -> CheckReport {
    check(text.as_bytes(), &CheckOptions { show: 5, ..CheckOptions::default() }).expect("vectors")
}

/// The file with the results of another unit, which is given the numbers of a line.
fn given_by(text: &str, unit: impl Fn(&[u32]) -> u32) -> String {
    let mut given = String::new();
    for line in text.lines() {
        if line.starts_with('#') {
            writeln!(given, "{line}").expect("a string takes all");
            continue;
        }
        let words: Vec<&str> = line.split(' ').collect();
        let (operands, result) = (&words[..words.len() - 2], words[words.len() - 2]);
        let numbers: Vec<u32> =
            operands.iter().map(|word| u32::from_str_radix(word, 16).expect("hexadecimal")).collect();
        let digits = result.len();
        writeln!(given, "{} {:0digits$x} 00", operands.join(" "), unit(&numbers))
            .expect("a string takes all");
    }
    given
}

/// A finite number: an integer times 2^unit, and the exponent by which units align.
#[derive(Clone, Copy)]
struct Number {
    integer: i128,
    unit: i32,
    exponent: i32,
}

/// A matrix unit for E4M3 or E5M2, as Hopper's is described, and what may be wrong in it.
#[derive(Clone, Copy)]
struct Unit {
    /// Fraction bits of the operands: 3 or 2.
    trailing: u32,
    k: usize,
    fraction: i32,
    /// The accumulator is binary16, rounded to nearest even; else e8m13, truncated.
    is_half: bool,
    mistake: Mistake,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mistake {
    None,
    /// The last rounding goes to nearest even, or away from zero.
    Nearest,
    /// Terms are cut toward −∞, or rounded.
    CutDown,
    CutNearest,
    /// Nothing of the accumulator is cut; it is dropped; it decides no alignment.
    WideAccumulator,
    NoAccumulator,
    AlignedToProducts,
    /// Subnormal operands are zero, or have the exponents of their leading bits.
    Flushed,
    Normalized,
    /// Of every group two elements are exchanged, or one is taken twice; the last sign is lost.
    Exchanged,
    Twice,
    Unsigned,
    /// A NaN is a number, an infinity that meets its opposite too.
    NanIgnored,
    /// Beyond the range is the largest value.
    Saturates,
    /// All bits of sums are kept: 23 fraction bits.
    Wide,
}

impl Unit {
    const HOPPER: Self = Self { trailing: 3, k: 32, fraction: 13, is_half: false, mistake: Mistake::None };

    fn with(self, mistake: Mistake) -> Self {
        Self { mistake, ..self }
    }

    /// An operand; an infinity or NaN as itself.
    fn operand(&self, code: u32) -> Result<Number, f64> {
        let (exponents, bias) = if self.trailing == 3 { (15, 7) } else { (31, 15) };
        let (field, fraction) = (code >> self.trailing & exponents, code & ((1 << self.trailing) - 1));
        let sign = if code >> 7 == 1 { -1 } else { 1 };
        if self.trailing == 3 && code & 0x7f == 0x7f && self.mistake != Mistake::NanIgnored {
            return Err(f64::NAN);
        }
        if self.trailing == 2 && field == 31 {
            return Err(if fraction == 0 { f64::from(sign) * f64::INFINITY } else { f64::NAN });
        }
        let significand = if field == 0 { fraction } else { fraction | 1 << self.trailing };
        let significand = if field == 0 && self.mistake == Mistake::Flushed { 0 } else { significand };
        let exponent = field.max(1).cast_signed() - bias;
        let unit = exponent - self.trailing.cast_signed();
        let leading = significand.checked_ilog2().map_or(-126, |bit| unit + bit.cast_signed());
        let is_normalized = significand == 0 || self.mistake == Mistake::Normalized;
        let exponent = if is_normalized { leading } else { exponent };
        Ok(Number { integer: i128::from(sign) * i128::from(significand), unit, exponent })
    }

    /// An accumulator in its register.
    fn accumulator(&self, code: u32) -> Result<Number, f64> {
        let (trailing, exponents, bias, width) =
            if self.is_half { (10, 31, 15, 16) } else { (23, 255, 127, 32) };
        let (field, fraction) = (code >> trailing & exponents, code & ((1 << trailing) - 1));
        let sign = if code >> (width - 1) == 1 { -1 } else { 1 };
        if field == exponents {
            return Err(if fraction == 0 { f64::from(sign) * f64::INFINITY } else { f64::NAN });
        }
        let significand = if field == 0 { fraction } else { fraction | 1 << trailing };
        let exponent = field.max(1).cast_signed() - bias;
        let unit = exponent - trailing;
        let integer = i128::from(sign) * i128::from(significand);
        Ok(Number { integer, unit, exponent: if significand == 0 { -126 } else { exponent } })
    }

    /// An integer times 2^unit as a multiple of 2^to; what lies below is cut.
    fn cut(&self, integer: i128, unit: i32, to: i32) -> i128 {
        let shift = (to - unit).unsigned_abs();
        if to <= unit {
            // A zero may be any number of places above.
            return if integer == 0 { 0 } else { integer << shift };
        }
        let magnitude = integer.unsigned_abs().checked_shr(shift).unwrap_or(0).cast_signed();
        let is_cut = integer != 0 && (shift > 126 || integer.trailing_zeros() < shift);
        let half = shift < 127 && integer.unsigned_abs().checked_shr(shift - 1).unwrap_or(0) & 1 == 1;
        match self.mistake {
            Mistake::CutDown if integer < 0 && is_cut => -magnitude - 1,
            Mistake::CutNearest if half => integer.signum() * (magnitude + 1),
            _ => integer.signum() * magnitude,
        }
    }

    /// The sum as a code of the register.
    fn rounded(&self, sum: i128, unit: i32) -> u32 {
        let wide = self.mistake == Mistake::Wide;
        let (significant, lowest, top, trailing, width): (i32, i32, i32, i32, u32) =
            match (self.is_half, wide) {
                (true, _) => (11, -24, 15, 10, 16),
                (false, true) => (24, -149, 127, 23, 32),
                (false, false) => (14, -139, 127, 23, 32),
            };
        let magnitude = sum.unsigned_abs();
        let Some(leading) = magnitude.checked_ilog2() else { return 0 };
        let to = (unit + leading.cast_signed() + 1 - significant).max(lowest);
        let shift = to - unit;
        let (mut kept, dropped) = match shift {
            ..=0 => (magnitude << shift.unsigned_abs(), 0),
            127.. => (0, 0),
            _ => (magnitude >> shift, magnitude & ((1 << shift) - 1)),
        };
        let half = if shift > 0 && shift < 127 { 1 << (shift - 1) } else { u128::MAX };
        if (self.is_half || self.mistake == Mistake::Nearest)
            && (dropped > half || dropped == half && kept % 2 == 1)
        {
            kept += 1;
        }
        // kept · 2^to as a code.
        let sign = if sum < 0 { 1 << (width - 1) } else { 0 };
        // No zero is negative.
        let Some(bit) = kept.checked_ilog2() else { return 0 };
        let exponent = to + bit.cast_signed();
        let infinity = ((2 * top + 1).cast_unsigned()) << trailing;
        if exponent > top {
            let is_saturated = self.mistake == Mistake::Saturates;
            return sign | if is_saturated { infinity - 1 } else { infinity };
        }
        let kept = u32::try_from(kept).expect("a significand");
        let place = to - if exponent < 1 - top { 1 - top - trailing } else { exponent - trailing };
        // What is rounded up to a power of two has a bit more.
        let significand = if place < 0 { kept >> place.unsigned_abs() } else { kept << place };
        let field = if exponent < 1 - top { 0 } else { (exponent + top).cast_unsigned() };
        sign | field << trailing | significand & ((1 << trailing) - 1)
    }

    fn group(&self, x: &[u32], y: &[u32], c: u32) -> u32 {
        let (mut terms, mut special) = (Vec::new(), 0.0);
        let value = |number: Result<Number, f64>| match number {
            Ok(Number { integer, .. }) => f64::from(i32::try_from(integer).expect("24 bits")),
            Err(special) => special,
        };
        for (x, y) in x.iter().zip(y) {
            match (self.operand(*x), self.operand(*y)) {
                (Ok(x), Ok(y)) => terms.push(Number {
                    integer: x.integer * y.integer,
                    unit: x.unit + y.unit,
                    exponent: x.exponent + y.exponent,
                }),
                (x, y) => special += value(x) * value(y),
            }
        }
        let own = match self.accumulator(c) {
            Ok(own) => own,
            Err(c) => {
                special += c;
                Number { integer: 0, unit: 0, exponent: -126 }
            }
        };
        let (infinity, nan) = if self.is_half { (0x7c00, 0x7e00) } else { (0x7f80_0000, 0x7fc0_0000) };
        if special.is_nan() {
            return nan;
        }
        if special != 0.0 {
            let sign = if self.is_half { 0x8000 } else { 0x8000_0000 };
            return infinity | if special < 0.0 { sign } else { 0 };
        }
        terms.push(own);
        let counted = terms.len() - usize::from(self.mistake == Mistake::AlignedToProducts);
        let top = terms[..counted].iter().map(|term| term.exponent).max().expect("a term");
        let to = top - self.fraction;
        if self.mistake == Mistake::AlignedToProducts && own.exponent - top > 60 {
            return self.rounded(own.integer, own.unit);
        }
        if self.mistake == Mistake::WideAccumulator && own.unit < to && to - own.unit < 60 {
            let products = terms[..terms.len() - 1].iter().map(|term| self.cut(term.integer, term.unit, to));
            return self.rounded((products.sum::<i128>() << (to - own.unit)) + own.integer, own.unit);
        }
        let sum = terms.iter().map(|term| self.cut(term.integer, term.unit, to)).sum();
        self.rounded(sum, to)
    }

    fn run(&self, operands: &[u32]) -> u32 {
        let length = operands.len() / 2;
        let (mut x, y) = (operands[..length].to_vec(), &operands[length..2 * length]);
        match self.mistake {
            Mistake::Exchanged => x.chunks_mut(self.k).for_each(|x| x.swap(5, 6)),
            Mistake::Twice => x.chunks_mut(self.k).for_each(|x| x[7] = x[6]),
            Mistake::Unsigned => x[length - 1] &= 0x7f,
            _ => {}
        }
        let groups = x.chunks(self.k).zip(y.chunks(self.k));
        let c = if self.mistake == Mistake::NoAccumulator { 0 } else { operands[2 * length] };
        groups.fold(c, |c, (x, y)| self.group(x, y, c))
    }
}

const MISTAKES: [Mistake; 14] = [
    Mistake::Nearest,
    Mistake::CutDown,
    Mistake::CutNearest,
    Mistake::WideAccumulator,
    Mistake::NoAccumulator,
    Mistake::AlignedToProducts,
    Mistake::Flushed,
    Mistake::Normalized,
    Mistake::Exchanged,
    Mistake::Twice,
    Mistake::Unsigned,
    Mistake::NanIgnored,
    Mistake::Saturates,
    Mistake::Wide,
];

/// The vectors agree with the plain unit, and with no unit that has a mistake in it.
#[test]
fn mistakes_in_a_matrix_unit_show() {
    let hopper = Unit::HOPPER;
    for (name, right) in [
        ("Dot<32, e4m3fn, e4m3fn, hopper>", hopper),
        ("Dot<48, e4m3fn, e4m3fn, hopper>", hopper),
        ("Dot<32, e5m2, e5m2, hopper:output=f16>", Unit { trailing: 2, is_half: true, ..hopper }),
    ] {
        let text = text(&set(name, Some(CoverageLevel::One), 2000));
        let report = checked(&given_by(&text, |operands| right.run(operands)));
        assert_eq!(report.mismatches, 0, "{name}: {:x?}", report.first.first());
        assert!(report.passes() && report.vectors > 4000, "{name}: {}", report.vectors);
        let differing = |wrong: Unit| checked(&given_by(&text, |operands| wrong.run(operands))).mismatches;
        for mistake in MISTAKES {
            // binary16 has no more bits, rounds to nearest, and ends above what subnormal products
            // lose; e8m13 is never passed by these products; E5M2 has its NaNs elsewhere.
            let is_none = match mistake {
                Mistake::Nearest | Mistake::Wide | Mistake::NanIgnored | Mistake::Normalized => right.is_half,
                Mistake::Saturates => !right.is_half,
                _ => false,
            };
            assert_eq!(differing(right.with(mistake)) == 0, is_none, "{name}: {mistake:?}");
        }
        for fraction in [11, 12, 14, 15, 25] {
            assert!(differing(Unit { fraction, ..right }) > 0, "{name}: {fraction} fraction bits");
        }
        for k in [4, 8, 16] {
            assert!(differing(Unit { k, ..right }) > 0, "{name}: {k} at a time");
        }
    }
}

/// Sums that have no unit of their own, in the machine's arithmetic.
#[test]
fn other_accumulators_add_as_they_say() {
    let values = |codes: &[u32]| codes.iter().map(|code| f32::from_bits(*code)).collect::<Vec<_>>();
    let bits = |x: f32| if x.is_nan() { 0x7fc0_0000 } else { x.to_bits() };
    // One FMA after another, from c on.
    let chain = text(&set("Dot<5, binary32, binary32, cdna3>", Some(CoverageLevel::One), 2000));
    let report = checked(&given_by(&chain, |operands| {
        let all = values(operands);
        bits((0..5).fold(all[10], |sum, i| all[i].mul_add(all[i + 5], sum)))
    }));
    assert!(report.passes(), "{:x?}", report.first.first());
    // Products of bfloat16 rounded to binary32, two of them added, then c.
    let pairs = text(&set("Dot<4, bfloat16, bfloat16, cdna1>", Some(CoverageLevel::One), 2000));
    let report = checked(&given_by(&pairs, |operands| {
        let wide: Vec<u32> = operands[..8].iter().map(|code| code << 16).collect();
        let (all, c) = (values(&wide), f32::from_bits(operands[8]));
        let product = |i: usize| all[i] * all[i + 4];
        // A sum of zero is +0.
        bits((product(2) + product(3)) + ((product(0) + product(1)) + c) + 0.0)
    }));
    assert!(report.passes(), "{:x?}", report.first.first());
    // All pairs of E2M1 twice: exact sums, which binary32 holds.
    let exact = set("Dot<2, e2m1fn, e2m1fn, exact>", None, 0);
    assert_eq!(exact.plan().to_string(), "all operands 65536");
    let text = text(&exact);
    assert!(text.contains("\n# flags: iouxz\n") && !text.contains("# flag policy"), "{text}");
    let value = |code: u32| {
        let magnitude = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0_f32][code as usize & 7];
        if code & 8 == 8 { -magnitude } else { magnitude }
    };
    let report =
        checked(&given_by(&text, |o| (value(o[0]) * value(o[2]) + value(o[1]) * value(o[3])).to_bits()));
    assert!(report.passes(), "{:x?}", report.first.first());
}

/// A file says what it holds, and names that mean nothing are refused.
#[test]
fn sums_have_names() {
    let text = text(&set("dot<8, e4m3fn, e5m2, hopper:promote=128>", Some(CoverageLevel::One), 20));
    for part in [
        "# operation: Dot<8, e4m3fn, e5m2, hopper:promote=128>\n# format: e4m3fn = ",
        "\n# format: e5m2 = ",
        "\n# accumulator: fused:k=32,fraction=13,output=e8m13,promote=128\n# fields: x0:2 x1:2 ",
        " y7:2 c:8 result:8 flags:2\n# flags: none\n",
        "# models: single products ",
        "; alignment ",
        "; cancelling ",
        "; subnormal ",
        "; saturating ",
        "; special ",
    ] {
        assert!(text.contains(part), "{part}: {}", &text[..2000]);
    }
    assert!(checked(&text).passes());
    for name in ["Dot<2, ieee:k=6,p=3, e5m2, fused:k=4,sum=pairwise,flush>", "Dot<1024, e2m1fn, e2m1fn, f32>"]
    {
        assert_eq!(name.parse::<FixedUnit>().expect(name).to_string(), name);
    }
    for (name, words) in [
        ("Dot<0, e4m3fn, e4m3fn, hopper>", "1 to 1024 products, not 0"),
        ("Dot<1025, e4m3fn, e4m3fn, hopper>", "1 to 1024 products, not 1025"),
        ("Dot<e4m3fn, e4m3fn, hopper>", "write `Dot<32, e4m3fn, e4m3fn, hopper>`"),
        ("Dot<4, e4m3fn, e4m3fn>", "write `Dot<32, e4m3fn, e4m3fn, hopper>`"),
        ("Dot<4, e4m3fn, e4m3, pascal>", "volta, turing"),
        ("Dot<4, binary64, binary64, hopper>", "binary64"),
        ("Dot<4, bfloat16, bfloat16, volta>", "volta"),
        ("Dot<4, e4m3fn, bfloat16, exact>", "at most 8 bits, and bfloat16 has 16"),
        ("Sum<4, bfloat16>", "is not understood"),
    ] {
        let error = name.parse::<FixedUnit>().expect_err(name).to_string();
        assert!(error.contains(words), "{name}: {error}");
    }
    let set = set("Dot<4, e4m3fn, e4m3fn, hopper>", Some(CoverageLevel::One), 10);
    let plan = VectorPlan::new(set.unit(), Some(CoverageLevel::Exhaustive), 0, None);
    assert!(plan.expect_err("96 bits").to_string().contains("Dot has operands of 96 bits"));
}

/// A mistake that is another accumulator's way is named.
#[test]
fn mistakes_have_names() {
    let cause = |text: &str| {
        let report = checked(text);
        let diagnosis = diagnose(&report);
        let cause = diagnosis.cause().map(|cause| cause.mistake.to_string());
        let named = report.first.first().map(|first| diagnosis.explanations(&report, first).len());
        (cause.unwrap_or_else(|| format!("{:?}", diagnosis.values)), named)
    };
    let hopper = Unit::HOPPER;
    let dots = text(&set("Dot<64, e4m3fn, e4m3fn, hopper>", Some(CoverageLevel::One), 2000));
    for (wrong, words) in [
        (Unit { fraction: 14, ..hopper }, "keeps 14 fraction bits of aligned terms"),
        (Unit { k: 16, ..hopper }, "adds 16 products at a time"),
        (hopper.with(Mistake::Nearest), "rounds sums nearest-even"),
        (hopper.with(Mistake::Wide), "keeps sums in f32"),
        (hopper.with(Mistake::NoAccumulator), "ignores the accumulator"),
        (hopper.with(Mistake::Flushed), "takes subnormal operands for zeros"),
        (hopper.with(Mistake::Exchanged), "exchanges x5 and x6 of every 32 products"),
        (hopper.with(Mistake::Twice), "takes x6 for x7 of every 32 products"),
        (Unit { fraction: 25, ..hopper }.with(Mistake::Wide), "adds as blackwell or rtx-blackwell does"),
    ] {
        let (name, named) = cause(&given_by(&dots, |operands| wrong.run(operands)));
        assert_eq!((&*name, named.is_some_and(|count| count > 0)), (words, true));
    }
    // A sign that is lost in one of two groups has no name, and the vectors differ.
    let report = checked(&given_by(&dots, |operands| hopper.with(Mistake::Unsigned).run(operands)));
    assert!(report.mismatches > 0 && diagnose(&report).cause().is_none());
}
