//! Classes of operands, of scales, and of what terms are, as words.

use smallfloat::ops::{Semantics, multiply};
use smallfloat::{Class, Datum, Exact, Format};

/// The classes that a format has, the largest numbers and the smallest of scales apart.
#[derive(Clone, Debug)]
pub(super) struct Classes {
    format: Format,
    pub(super) words: Vec<&'static str>,
    largest: u64,
    /// The smallest positive number, if that is a class.
    smallest: Option<u64>,
}

const ZERO: &str = "zero";
const SMALLEST: &str = "smallest";
const SUBNORMAL: &str = "subnormal";
const NORMAL: &str = "normal";
const LARGEST: &str = "largest";
const INFINITE: &str = "infinite";
const NAN: &str = "NaN";

impl Classes {
    fn new(format: &Format, smallest: Option<u64>) -> Self {
        let largest = format.encode(format.max_finite()).expect("a value of the format");
        let mut classes = Self { format: *format, words: Vec::new(), largest, smallest };
        let all = [ZERO, SMALLEST, SUBNORMAL, NORMAL, LARGEST, INFINITE, NAN];
        let has = |word: &str| match word {
            _ if format.width() <= 8 => (0..=format.max_code()).any(|code| classes.word(code) == word),
            ZERO => format.has_zero(),
            SMALLEST => smallest.is_some(),
            SUBNORMAL => format.max_subnormal().is_some(),
            INFINITE => format.has_infinity(),
            NAN => format.encode(Datum::Nan { negative: false }).is_some(),
            _ => true,
        };
        classes.words = all.into_iter().filter(|word| has(word)).collect();
        classes
    }

    /// The classes of an operand.
    pub(super) fn of_operand(format: &Format) -> Self {
        Self::new(format, None)
    }

    /// The classes of a scale, whose sign means nothing.
    pub(super) fn of_scale(format: &Format) -> Self {
        let first = u64::from(format.has_zero());
        Self::new(format, Some(first))
    }

    fn word(&self, code: u64) -> &'static str {
        let sign = if self.format.is_signed() { 1 << (self.format.width() - 1) } else { 0 };
        match self.format.classify(code) {
            Class::Nan => NAN,
            Class::Infinite => INFINITE,
            Class::Zero => ZERO,
            _ if self.smallest == Some(code & !sign) => SMALLEST,
            _ if code & !sign == self.largest => LARGEST,
            Class::Subnormal => SUBNORMAL,
            Class::Normal => NORMAL,
        }
    }

    /// The place of a code's class among the words.
    pub(super) fn place(&self, code: u64) -> Option<usize> {
        let word = self.word(code);
        self.words.iter().position(|known| *known == word)
    }
}

/// What the products of a vector are.
#[derive(Debug)]
pub(super) struct Products {
    /// Each product, which has no value where an operand is special.
    pub(super) exact: Vec<Exact>,
    pub(super) has_nan_operand: bool,
}

impl Products {
    pub(super) fn new(x: &[Datum], y: &[Datum]) -> Self {
        let exact = x.iter().zip(y).map(|(x, y)| multiply(*x, *y, Semantics::Ieee).exact).collect();
        Self { exact, has_nan_operand: x.iter().chain(y).any(Datum::is_nan) }
    }

    fn is_finite(x: &Exact) -> bool {
        !matches!(x, Exact::Nan { .. } | Exact::Infinite { .. })
    }

    pub(super) fn are_finite(&self) -> bool {
        self.exact.iter().all(Self::is_finite)
    }

    /// The place in [`SPECIALS`].
    pub(super) fn special(&self) -> usize {
        let infinite = |sign: bool| {
            self.exact.iter().any(|x| matches!(x, Exact::Infinite { negative } if *negative == sign))
        };
        match (infinite(false), infinite(true)) {
            _ if self.has_nan_operand => 1,
            _ if self.exact.iter().any(Exact::is_nan) => 2,
            (true, true) => 5,
            (true, false) => 3,
            (false, true) => 4,
            (false, false) => 0,
        }
    }

    /// The place in [`TERMS`]; `None` where a product is special.
    pub(super) fn terms(&self) -> Option<usize> {
        if !self.are_finite() {
            return None;
        }
        let numbers = || self.exact.iter().filter(|x| !x.is_zero());
        let (count, negative) = (numbers().count(), numbers().filter(|x| x.is_negative()).count());
        let signs = match negative {
            0 => 0,
            n if n == count => 1,
            _ => 2,
        };
        Some(match count {
            0 => 0,
            1 => 1 + signs,
            n if n == self.exact.len() => 6 + signs,
            _ => 3 + signs,
        })
    }

    /// The only lane whose product is special, or else is not zero.
    pub(super) fn only_lane(&self) -> Option<usize> {
        let only = |test: fn(&Exact) -> bool| {
            let mut lanes = self.exact.iter().enumerate().filter(|(_, x)| test(x)).map(|(lane, _)| lane);
            lanes.next().filter(|_| lanes.next().is_none())
        };
        if self.are_finite() { only(|x| !x.is_zero()) } else { only(|x| !Self::is_finite(x)) }
    }
}

/// What products are special.
pub(super) const SPECIALS: [&str; 7] = [
    "finite products",
    "a NaN operand",
    "zero times infinity",
    "positive infinity",
    "negative infinity",
    "infinities of both signs",
    "a NaN scale",
];

/// How many products are not zero, and their signs.
pub(super) const TERMS: [&str; 9] = [
    "no product",
    "one positive product",
    "one negative product",
    "some positive products",
    "some negative products",
    "some products of both signs",
    "all products positive",
    "all products negative",
    "all products of both signs",
];

/// What a product is that is alone.
pub(super) const KINDS: [&str; 5] =
    ["normal operands", "a subnormal operand", "a largest operand", "infinite", "NaN"];
