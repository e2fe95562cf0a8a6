//! Vectors of sums of products with block scales, against a unit in plain integers that shares no
//! code with them: every fault that is put into it shows, and has its name.

use std::fmt::Write as _;

use smallfloat_conformance::diagnosis::diagnose;
use smallfloat_conformance::vectors::{
    CheckOptions, CheckReport, CoverageLevel, FixedUnit, LineLayout, VectorPlan, VectorSet, check,
};

fn vectors(unit: &str) -> String {
    let unit: FixedUnit = unit.parse().expect(unit);
    let plan = VectorPlan::new(unit.clone(), Some(CoverageLevel::One), 5, Some(1500)).expect("a plan");
    let mut text = Vec::new();
    VectorSet::new(unit, plan, None).write(LineLayout::TestFloat, &mut text).expect("memory takes all");
    String::from_utf8(text).expect("text")
}

/// Every fifth line of a file.
fn thinned(text: &str) -> String {
    let (header, lines): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with('#'));
    let says_all = |line: &&str| ["# operation: ", "# flags: "].iter().any(|key| line.starts_with(key));
    let lines = lines.into_iter().step_by(5);
    header.into_iter().filter(says_all).chain(lines).flat_map(|line| [line, "\n"]).collect()
}

fn checked(text: &str) -> CheckReport {
    check(text.as_bytes(), &CheckOptions { show: 5, ..CheckOptions::default() }).expect("vectors")
}

/// The file with the results of a unit.
fn given_by(text: &str, unit: &Unit) -> String {
    let mut given = String::new();
    for line in text.lines() {
        if line.starts_with('#') {
            writeln!(given, "{line}").expect("a string takes all");
            continue;
        }
        let words: Vec<&str> = line.split(' ').collect();
        let operands = &words[..words.len() - 2];
        let number = |word: &&str| u32::from_str_radix(word, 16).expect("hexadecimal");
        let numbers: Vec<u32> = operands.iter().map(number).collect();
        writeln!(given, "{} {:08x} 00", operands.join(" "), unit.run(&numbers)).expect("a string takes all");
    }
    given
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Elements {
    E2M1,
    E2M3,
    E3M2,
    E4M3,
    E5M2,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Scales {
    E8M0,
    Ue4M3,
}

/// What is wrong; of the scales of x, y or both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    None,
    Ignored(Side),
    FirstForAll(Side),
    Late(Side),
    Exchanged(Side),
    PairsShare(Side),
    HalfOfThem(Side),
    Early(Side),
    Around(Side),
    Backward(Side),
    GroupAlike(Side),
    GroupBackward(Side),
    SixteensShare,
    BiasLarge(Side),
    BiasSmall(Side),
    Signed(Side),
    NanIsNumber(Side),
    NoSignificand(Side),
    ZeroScale(Side),
    Subnormal(Side),
    OtherScales,
    Stuck,
    /// The rounding: to nearest even, and what is cut goes down.
    Nearest,
    Down,
    CutNearest,
    ByLeadingBits,
    AccumulatorLeftOut,
    E8M13,
    Saturates,
    WithoutScales,
    Flushed,
    LanesExchanged,
    ZerosLeftOut,
    EveryProduct,
    RoundedFirst,
    NoAccumulator,
    LastBlockOfMany,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Side {
    X,
    Y,
    Both,
}

impl Side {
    fn has(self, side: usize) -> bool {
        self == Self::Both || (self == Self::X) == (side == 0)
    }
}

/// An exact number, integer · 2^unit, and the exponent by which it is aligned.
#[derive(Clone, Copy, Debug)]
struct Number {
    integer: i128,
    unit: i32,
    exponent: i32,
}

impl Number {
    const ZERO: Self = Self { integer: 0, unit: 0, exponent: -126 };

    fn times(self, other: Self) -> Self {
        Self {
            integer: self.integer * other.integer,
            unit: self.unit + other.unit,
            exponent: self.exponent + other.exponent,
        }
    }
}

/// Fields of a code as a number; `Err` for infinities and NaNs.
fn number(code: u32, exponent_bits: u32, trailing: u32, bias: i32) -> Number {
    let (field, fraction) = (code >> trailing & ((1 << exponent_bits) - 1), code & ((1 << trailing) - 1));
    let significand = i128::from(if field == 0 { fraction } else { fraction | 1 << trailing });
    if significand == 0 {
        return Number::ZERO;
    }
    let exponent = field.max(1).cast_signed() - bias;
    let sign = if code >> (exponent_bits + trailing) == 1 { -1 } else { 1 };
    Number { integer: sign * significand, unit: exponent - trailing.cast_signed(), exponent }
}

impl Elements {
    fn number(self, code: u32) -> Result<Number, f64> {
        let sign = if code >> 7 == 1 { -1.0 } else { 1.0 };
        match self {
            Self::E2M1 => Ok(number(code, 2, 1, 1)),
            Self::E2M3 => Ok(number(code, 2, 3, 1)),
            Self::E3M2 => Ok(number(code, 3, 2, 3)),
            Self::E4M3 if code & 0x7f == 0x7f => Err(f64::NAN),
            Self::E4M3 => Ok(number(code, 4, 3, 7)),
            Self::E5M2 if code & 0x7f == 0x7c => Err(sign * f64::INFINITY),
            Self::E5M2 if code & 0x7c == 0x7c => Err(f64::NAN),
            Self::E5M2 => Ok(number(code, 5, 2, 15)),
        }
    }
}

/// A unit as Blackwell's are described.
#[derive(Clone, Copy)]
struct Unit {
    length: usize,
    x: Elements,
    y: Elements,
    scales: Scales,
    block: usize,
    k: usize,
    fraction: i32,
    fault: Fault,
}

impl Unit {
    const NVFP4: Self = Self {
        length: 80,
        x: Elements::E2M1,
        y: Elements::E2M1,
        scales: Scales::Ue4M3,
        block: 16,
        k: 64,
        fraction: 35,
        fault: Fault::None,
    };
    const MXFP4: Self = Self { scales: Scales::E8M0, block: 32, ..Self::NVFP4 };
    const MXFP8: Self =
        Self { length: 96, x: Elements::E4M3, y: Elements::E5M2, k: 32, fraction: 25, ..Self::MXFP4 };

    fn with(self, fault: Fault) -> Self {
        match fault {
            Fault::WithoutScales => Self { fault, k: 32, fraction: 25, ..self },
            _ => Self { fault, ..self },
        }
    }

    fn element(&self, elements: Elements, code: u32) -> Result<Number, f64> {
        let exponent_field = match elements {
            Elements::E2M1 => 0x06,
            Elements::E2M3 => 0x18,
            Elements::E3M2 => 0x1c,
            Elements::E4M3 => 0x78,
            Elements::E5M2 => 0x7c,
        };
        let is_zero = self.fault == Fault::Flushed && code & exponent_field == 0;
        if is_zero { Ok(Number::ZERO) } else { elements.number(code) }
    }

    /// A scale; `None` for NaN.
    fn scale(&self, side: usize, code: u32) -> Option<Number> {
        let is = |fault: fn(Side) -> Fault| {
            [Side::X, Side::Y, Side::Both].iter().any(|one| one.has(side) && self.fault == fault(*one))
        };
        let scales = match (self.fault, self.scales) {
            (Fault::OtherScales, Scales::E8M0) => Scales::Ue4M3,
            (Fault::OtherScales, Scales::Ue4M3) => Scales::E8M0,
            (_, scales) => scales,
        };
        let mut scale = match scales {
            Scales::E8M0 => {
                if code == 255 && !is(Fault::NanIsNumber) {
                    return None;
                }
                let exponent = code.cast_signed() - 127;
                if code == 0 && is(Fault::ZeroScale) {
                    Number::ZERO
                } else {
                    Number { integer: 1, unit: exponent, exponent }
                }
            }
            Scales::Ue4M3 => {
                if code & 0x7f == 0x7f && !is(Fault::NanIsNumber) {
                    return None;
                }
                let code = if is(Fault::Signed) { code } else { code & 0x7f };
                let code = if is(Fault::NoSignificand) { code & !7 } else { code };
                let code = if is(Fault::Subnormal) && code & 0x78 == 0 { 0 } else { code };
                number(code, 4, 3, 7)
            }
        };
        let moved = i32::from(is(Fault::BiasSmall)) - i32::from(is(Fault::BiasLarge));
        if scale.integer != 0 {
            (scale.unit, scale.exponent) = (scale.unit + moved, scale.exponent + moved);
        }
        Some(scale)
    }

    /// The scale's code of the element at a place.
    fn code_at(&self, side: usize, codes: &[u32], place: usize) -> u32 {
        let one = if self.scales == Scales::E8M0 { 127 } else { 0x38 };
        let (at, last) = (place / self.block, codes.len() - 1);
        let per_group = self.k.div_ceil(self.block);
        match self.fault {
            Fault::Ignored(wrong) if wrong.has(side) => one,
            Fault::FirstForAll(wrong) if wrong.has(side) => codes[0],
            Fault::Late(wrong) if wrong.has(side) => codes[at.saturating_sub(1)],
            Fault::Exchanged(wrong) if wrong.has(side) => codes[(at ^ 1).min(last)],
            Fault::PairsShare(wrong) if wrong.has(side) => codes[at & !1],
            Fault::HalfOfThem(wrong) if wrong.has(side) => codes[at / 2],
            Fault::Early(wrong) if wrong.has(side) => codes[(at + 1).min(last)],
            Fault::Around(wrong) if wrong.has(side) => codes[(at + last) % (last + 1)],
            Fault::Backward(wrong) if wrong.has(side) => codes[last - at],
            Fault::GroupAlike(wrong) if wrong.has(side) => codes[at / per_group * per_group],
            Fault::GroupBackward(wrong) if wrong.has(side) => {
                let first = at / per_group * per_group;
                codes[first + (last - first).min(per_group - 1) - (at - first)]
            }
            Fault::WithoutScales => one,
            Fault::SixteensShare => codes[place / 64 * 2 + place % 64 / 16 % 2],
            Fault::Stuck if side == 1 && at % (self.k / self.block) == 1 => one,
            Fault::LastBlockOfMany if side == 0 && at == last => one,
            _ => codes[at],
        }
    }

    /// An integer times 2^unit as a multiple of 2^to.
    fn cut(&self, Number { integer, unit, .. }: Number, to: i32) -> i128 {
        let shift = (to - unit).unsigned_abs();
        if to <= unit {
            return if integer == 0 { 0 } else { integer << shift };
        }
        let shift = shift.min(126);
        match self.fault {
            Fault::Down => integer >> shift,
            Fault::CutNearest => (integer + integer.signum() * (1 << (shift - 1))) / (1 << shift),
            _ => integer / (1 << shift),
        }
    }

    /// The sum as a code of binary32, cut toward zero.
    fn rounded(&self, sum: i128, unit: i32, nearest: bool) -> u32 {
        let magnitude = sum.unsigned_abs();
        let Some(leading) = magnitude.checked_ilog2() else { return 0 };
        let sign = if sum < 0 { 0x8000_0000 } else { 0 };
        let missing = if self.fault == Fault::E8M13 { 10 } else { 0 };
        let step = (unit + leading.cast_signed() - 23 + missing).max(-149 + missing);
        let shift = (step - unit).unsigned_abs();
        let mut steps =
            if step <= unit { magnitude << shift } else { magnitude.checked_shr(shift).unwrap_or(0) };
        if nearest && step > unit && shift < 127 {
            let (dropped, half) = (magnitude & ((1 << shift) - 1), 1 << (shift - 1));
            steps += u128::from(dropped > half || dropped == half && steps % 2 == 1);
        }
        // A carry into the next binade is right in the code too.
        let (steps, step) = (u32::try_from(steps).expect("24 bits") << missing, step - missing);
        if steps == 0 {
            return 0;
        }
        let code = if steps < 1 << 23 { steps } else { ((step + 149).cast_unsigned() << 23) + steps };
        let most = if self.fault == Fault::Saturates { 0x7f7f_ffff } else { 0x7f80_0000 };
        sign | if step > 104 { most } else { code.min(most) }
    }

    fn group(&self, x: &[u32], y: &[u32], scales: [&[u32]; 2], first: usize, c: u32) -> u32 {
        let is_exact = self.x == Elements::E2M1
            && self.y == Elements::E2M1
            && !matches!(self.fault, Fault::EveryProduct | Fault::WithoutScales);
        let mut terms = Vec::new();
        let mut special = 0.0;
        for at in (0..x.len()).step_by(16) {
            let code = |side: usize| self.code_at(side, scales[side], first + at);
            let (Some(s), Some(t)) = (self.scale(0, code(0)), self.scale(1, code(1))) else {
                return 0x7fc0_0000;
            };
            let scale = s.times(t);
            let mut quarters = 0;
            for (x, y) in x[at..].iter().zip(&y[at..]).take(16) {
                match (self.element(self.x, *x), self.element(self.y, *y)) {
                    (Ok(x), Ok(y)) if is_exact => {
                        quarters += (x.integer * y.integer) << (x.unit + y.unit + 2).max(0);
                    }
                    (Ok(x), Ok(y)) => terms.push(x.times(y).times(scale)),
                    (x, y) => special += value(x) * value(y),
                }
            }
            if is_exact {
                terms.push(Number { integer: quarters, unit: -2, exponent: 0 }.times(scale));
            }
        }
        let value = f32::from_bits(c);
        if special != 0.0 || special.is_nan() || !value.is_finite() {
            let sum = special + f64::from(value);
            let sign = if sum < 0.0 { 0x8000_0000 } else { 0 };
            return if sum.is_nan() { 0x7fc0_0000 } else { sign | 0x7f80_0000 };
        }
        terms.push(number(c, 8, 23, 127));
        let last = terms.len() - 1;
        let exponents = terms.iter().enumerate().filter_map(|(at, term)| match self.fault {
            Fault::ZerosLeftOut if term.integer == 0 => None,
            Fault::AccumulatorLeftOut if at == last => None,
            Fault::ByLeadingBits if term.integer != 0 => {
                Some(term.unit + term.integer.unsigned_abs().ilog2().cast_signed())
            }
            _ => Some(term.exponent),
        });
        let Some(top) = exponents.max() else { return 0 };
        if terms[last].exponent - top > 60 {
            return if c == 0x8000_0000 { 0 } else { c };
        }
        let to = top - self.fraction;
        let sum = terms.iter().map(|term| self.cut(*term, to)).sum();
        self.rounded(sum, to, self.fault == Fault::Nearest)
    }

    fn run(&self, operands: &[u32]) -> u32 {
        let (length, blocks) = (self.length, self.length.div_ceil(self.block));
        let (mut x, y) = (operands[..length].to_vec(), &operands[length..2 * length]);
        if self.fault == Fault::LanesExchanged {
            x.chunks_mut(self.k).filter(|x| x.len() > 6).for_each(|x| x.swap(5, 6));
        }
        let scales = [0, blocks].map(|start| &operands[2 * length + start..][..blocks]);
        let mut c = operands[2 * length + 2 * blocks];
        if self.fault == Fault::NoAccumulator {
            c = 0;
        }
        if self.fault == Fault::RoundedFirst {
            return self.rounded_first(&x, y, scales, c);
        }
        for first in (0..length).step_by(self.k) {
            let end = (first + self.k).min(length);
            c = self.group(&x[first..end], &y[first..end], scales, first, c);
        }
        c
    }

    /// Sums of blocks rounded to binary32, then scaled and added to c, which is rounded too.
    fn rounded_first(&self, x: &[u32], y: &[u32], scales: [&[u32]; 2], mut c: u32) -> u32 {
        for (at, (x, y)) in x.chunks(self.block).zip(y.chunks(self.block)).enumerate() {
            let (Some(s), Some(t)) = (self.scale(0, scales[0][at]), self.scale(1, scales[1][at])) else {
                return 0x7fc0_0000;
            };
            let (mut block, mut special) = (0, 0.0);
            for (x, y) in x.iter().zip(y) {
                match (self.x.number(*x), self.y.number(*y)) {
                    // No product has bits below 2^-40.
                    (Ok(x), Ok(y)) => block += (x.integer * y.integer) << (x.unit + y.unit + 40),
                    (x, y) => special += value(x) * value(y),
                }
            }
            let own = f32::from_bits(c);
            if special != 0.0 || special.is_nan() || !own.is_finite() {
                let sum = special + f64::from(own);
                let sign = if sum < 0.0 { 0x8000_0000 } else { 0 };
                c = if sum.is_nan() { 0x7fc0_0000 } else { sign | 0x7f80_0000 };
                continue;
            }
            let product = number(self.rounded(block, -40, true), 8, 23, 127).times(s).times(t);
            let own = number(c, 8, 23, 127);
            let leading = |one: Number| {
                let bit = one.integer.unsigned_abs().checked_ilog2();
                bit.map_or(-1000, |bit| one.unit + bit.cast_signed())
            };
            let (high, low) = if leading(product) > leading(own) { (product, own) } else { (own, product) };
            c = if leading(high) - leading(low) > 60 {
                self.rounded(high.integer, high.unit, true)
            } else {
                let unit = high.unit.min(low.unit);
                // A zero may be any number of places above.
                let shifted =
                    |one: Number| if one.integer == 0 { 0 } else { one.integer << (one.unit - unit) };
                self.rounded([high, low].map(shifted).iter().sum(), unit, true)
            };
        }
        c
    }
}

/// An operand by its integer, or the infinity or NaN that it is.
fn value(one: Result<Number, f64>) -> f64 {
    one.map_or_else(|special| special, |one| f64::from(i32::try_from(one.integer).expect("few bits")))
}

/// The unit and its name.
fn units() -> [(&'static str, Unit); 9] {
    let (nvfp4, mxfp4, mxfp8) = (Unit::NVFP4, Unit::MXFP4, Unit::MXFP8);
    [
        ("Dot<80, e2m1fn, e2m1fn, blackwell, e4m3fn, 16>", nvfp4),
        ("Dot<80, e2m1fn, e2m1fn, rtx-blackwell, e4m3fn, 32>", Unit { block: 32, ..nvfp4 }),
        ("Dot<80, e2m1fn, e2m1fn, blackwell, e8m0fnu, 32>", mxfp4),
        ("Dot<56, e2m1fn, e2m1fn, blackwell, e8m0fnu, 16>", Unit { length: 56, block: 16, ..mxfp4 }),
        ("Dot<96, e4m3fn, e5m2, blackwell, e8m0fnu, 32>", mxfp8),
        ("Dot<40, e5m2, e5m2, rtx-blackwell, e8m0fnu, 32>", Unit { length: 40, x: Elements::E5M2, ..mxfp8 }),
        ("Dot<1, e4m3fn, e4m3fn, blackwell, e8m0fnu, 32>", Unit { length: 1, y: Elements::E4M3, ..mxfp8 }),
        (
            "Dot<64, e3m2fn, e2m3fn, blackwell, e8m0fnu, 32>",
            Unit { length: 64, x: Elements::E3M2, y: Elements::E2M3, ..mxfp8 },
        ),
        (
            "Dot<64, e2m1fn, e4m3fn, rtx-blackwell, e8m0fnu, 32>",
            Unit { length: 64, x: Elements::E2M1, y: Elements::E4M3, ..mxfp8 },
        ),
    ]
}

/// The vectors agree with the plain unit, line by line.
#[test]
fn vectors_agree_with_a_unit_in_integers() {
    for (name, unit) in units() {
        let text = vectors(name);
        let report = checked(&given_by(&text, &unit));
        assert_eq!(report.mismatches, 0, "{name}: {:x?}", report.first.first());
        assert!(report.passes() && report.vectors > 10_000, "{name}: {}", report.vectors);
        assert!(diagnose(&report).values.is_none(), "{name}: nothing is wrong");
    }
}

/// The names of faults, by unit.
const OF_NVFP4: &[(Fault, &str)] = &[
    (Fault::HalfOfThem(Side::X), "takes blocks of 32, and half of the scales of x"),
    (Fault::Early(Side::Both), "takes the scales one block early"),
    (Fault::Around(Side::Y), "takes the scales of y one block late, the last one first"),
    (Fault::Backward(Side::Both), "takes the scales from the last to the first"),
    (Fault::GroupAlike(Side::X), "takes the first scale of x of every 4 for all of them"),
    (Fault::GroupBackward(Side::Both), "takes every 4 scales from the last to the first"),
    (Fault::CutNearest, "rounds aligned terms to nearest"),
    (Fault::ByLeadingBits, "aligns terms by their leading bits"),
    (Fault::AccumulatorLeftOut, "leaves the accumulator out of the alignment"),
    (Fault::E8M13, "keeps sums in e8m13"),
    (Fault::WithoutScales, "ignores all scales, and adds as blackwell does without"),
    (Fault::Flushed, "takes subnormal operands for zeros"),
    (Fault::LanesExchanged, "exchanges x5 and x6 of every 64 products"),
    (Fault::Ignored(Side::Both), "ignores the scales"),
    (Fault::Ignored(Side::X), "ignores the scales of x"),
    (Fault::FirstForAll(Side::Y), "takes the first scale of y for all blocks"),
    (Fault::Late(Side::Both), "takes the scales one block late"),
    (Fault::Late(Side::X), "takes the scales of x one block late"),
    (Fault::Exchanged(Side::Y), "exchanges the scales of y of neighbouring blocks"),
    (Fault::PairsShare(Side::Both), "takes blocks of 32, with the first of two scales"),
    (Fault::BiasLarge(Side::X), "has a bias one too large for the scales of one side"),
    (Fault::BiasSmall(Side::Both), "has a bias one too small for the scales"),
    (Fault::Signed(Side::Both), "takes the sign of the scales"),
    (Fault::Signed(Side::Y), "takes the sign of the scales of y"),
    (Fault::NanIsNumber(Side::Both), "takes NaN among the scales for 480"),
    (Fault::NoSignificand(Side::X), "ignores the significand of the scales of x"),
    (Fault::Subnormal(Side::Both), "takes subnormal scales for zeros"),
    (Fault::OtherScales, "takes the scales for codes of e8m0fnu"),
    (Fault::Stuck, "takes t1 of every 4 for one"),
    (Fault::Nearest, "rounds sums nearest-even"),
    (Fault::Down, "cuts aligned terms toward −∞"),
    (Fault::ZerosLeftOut, "leaves zeros out of the alignment"),
    (Fault::EveryProduct, "aligns every product"),
    (Fault::RoundedFirst, "scales a block's sum, and adds it to the accumulator, rounded nearest-even"),
    (Fault::NoAccumulator, "ignores the accumulator"),
];
const OF_WIDE: &[(Fault, &str)] = &[
    (Fault::SixteensShare, "takes blocks of 16, and the scales of a group twice"),
    (Fault::Stuck, "takes t1 of every 2 for one"),
];
const OF_MXFP4: &[(Fault, &str)] = &[
    (Fault::BiasLarge(Side::Both), "has a bias one too large for the scales"),
    (Fault::ZeroScale(Side::Both), "takes the scale 2^-127 for zero"),
    (Fault::NanIsNumber(Side::X), "takes NaN among the scales of x for 2^128"),
    (Fault::OtherScales, "takes the scales for codes of e4m3fn"),
    (Fault::SixteensShare, "takes blocks of 16, and the scales of a group twice"),
    (Fault::Late(Side::Y), "takes the scales of y one block late"),
    (Fault::ZerosLeftOut, "leaves zeros out of the alignment"),
];
const OF_MXFP8: &[(Fault, &str)] = &[
    (
        Fault::RoundedFirst,
        "rounds a block's sum nearest-even before it is scaled, and adds it to the accumulator, rounded nearest-even",
    ),
    (Fault::CutNearest, "rounds aligned terms to nearest"),
    (Fault::ByLeadingBits, "aligns terms by their leading bits"),
    (Fault::AccumulatorLeftOut, "leaves the accumulator out of the alignment"),
    (Fault::Saturates, "saturates"),
    (Fault::Flushed, "takes subnormal operands for zeros"),
    (Fault::Ignored(Side::Y), "ignores the scales of y"),
    (Fault::FirstForAll(Side::Both), "takes the first scale for all blocks"),
    (Fault::Late(Side::X), "takes the scales of x one block late"),
    (Fault::BiasSmall(Side::Y), "has a bias one too small for the scales of one side"),
    (Fault::NanIsNumber(Side::Both), "takes NaN among the scales for 2^128"),
    (Fault::Nearest, "rounds sums nearest-even"),
    (Fault::Down, "cuts aligned terms toward −∞"),
    (Fault::ZerosLeftOut, "leaves zeros out of the alignment"),
    (Fault::NoAccumulator, "ignores the accumulator"),
];

/// A fault is named, alone or first of those that these vectors can't tell apart.
#[test]
fn faults_have_names() {
    let [nvfp4, wide, mxfp4, _, mxfp8, ..] = units();
    let all = [(nvfp4, OF_NVFP4), (wide, OF_WIDE), (mxfp4, OF_MXFP4), (mxfp8, OF_MXFP8)];
    let mut wrong = Vec::new();
    let mut expect = |text: &str, unit: Unit, words: &str| {
        let report = checked(&given_by(text, &unit));
        let diagnosis = diagnose(&report);
        let cause = diagnosis.cause().map(|cause| cause.mistake.to_string());
        if report.mismatches == 0 || cause.as_deref() != Some(words) {
            let first = &report.first[..report.first.len().min(1)];
            let hypotheses = diagnosis.values.map(|finding| {
                finding
                    .hypotheses
                    .iter()
                    .map(|one| (one.mistake.to_string(), one.explained, one.contradicted))
                    .collect::<Vec<_>>()
            });
            wrong
                .push(format!("{words}: {cause:?}, {} differ: {hypotheses:?} {first:x?}", report.mismatches));
        }
    };
    for ((name, unit), faults) in all {
        let text = thinned(&vectors(name));
        for (fault, words) in faults {
            expect(&text, unit.with(*fault), words);
        }
        for fraction in [unit.fraction - 1, unit.fraction + 1] {
            let words = format!("keeps {fraction} fraction bits of aligned terms");
            expect(&text, Unit { fraction, ..unit }, &words);
        }
        let k = unit.k / 2;
        expect(&text, Unit { k, ..unit }, &format!("adds {k} products at a time"));
        // One block of many has its scale stuck: no name is invented, and the vectors differ.
        if unit.scales == Scales::Ue4M3 && unit.block == 16 {
            let report = checked(&given_by(&text, &unit.with(Fault::LastBlockOfMany)));
            assert!(report.mismatches > 0 && diagnose(&report).cause().is_none(), "{name}");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A file says what it holds; other spellings of it are understood, and what no unit has is
/// refused.
#[test]
fn scaled_sums_have_names() {
    let text = vectors("dot<32, e2m1fn, e2m1fn, blackwell, e4m3fn>");
    for part in [
        "# operation: Dot<32, e2m1fn, e2m1fn, blackwell, e4m3fn, 16>\n# format: e2m1fn = ",
        "\n# format: e4m3fn = ",
        "\n# accumulator: fused:k=64,fraction=35,output=f32; sums of 16 products are exact\n",
        "\n# scales: s of x and t of y, each for 16 elements, whose sign is ignored\n# fields: x0:1 ",
        " y31:1 s0:2 s1:2 t0:2 t1:2 c:8 result:8 flags:2\n# flags: none\n",
        "; scales 1536; scales by block ",
        "; scaled alignment ",
        "; scaled cancelling ",
        "; extreme scales ",
        "; special scales ",
    ] {
        assert!(text.contains(part), "{part}: {}", &text[..2000]);
    }
    assert!(checked(&text).passes());
    for name in [
        "Dot<64, e5m2, e4m3fn, blackwell, e8m0fnu, 32>",
        "Dot<1024, e2m1fn, e2m1fn, rtx-blackwell, e8m0fnu, 16>",
        "Dot<4, e4m3fn, e4m3fn, fused:k=4,sum=pairwise,flush>",
    ] {
        assert_eq!(name.parse::<FixedUnit>().expect(name).to_string(), name);
    }
    for (name, words) in [
        ("Dot<0, e4m3fn, e4m3fn, blackwell, e8m0fnu, 32>", "1 to 1024 products, not 0"),
        (
            "Dot<4, e4m3fn, e4m3fn, hopper, e8m0fnu, 32>",
            "hopper, e8m0fnu, 32>`: block scales go with blackwell",
        ),
        (
            "Dot<4, e4m3fn, e4m3fn, f32, e8m0fnu>",
            "Dot<4, e4m3fn, e4m3fn, f32, e8m0fnu, 32>`: block scales go with",
        ),
        ("Dot<4, e4m3fn, e4m3fn, blackwell, e4m3fn, 16>", "block scales go with"),
        ("Dot<4, e2m1fn, e2m1fn, blackwell, e4m3fn, 0>", "block scales go with"),
        ("Dot<4, e4m3fn, e4m3fn, blackwell:output=f16, e8m0fnu, 32>", "block scales go with blackwell"),
        ("Dot<4, e2m1fn, e2m1fn, blackwell, e4m3fn, half>", "write `Dot<32, e4m3fn, e4m3fn, hopper>`"),
        ("Dot<4, e2m1fn, e2m1fn, blackwell, e4m3fn, 16, 2>", "write `Dot<32, e4m3fn, e4m3fn, hopper>`"),
        ("Dot<4, e2m1fn, e2m1fn, blackwell, e4m4>", "unknown format `e4m4`"),
    ] {
        let error = name.parse::<FixedUnit>().expect_err(name).to_string();
        assert!(error.contains(words), "{name}: {error}");
    }
}
