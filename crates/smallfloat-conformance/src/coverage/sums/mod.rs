//! [`SumOfProducts`]: the coverage of sums of products in an accumulator.
//!
//! What an accumulator has of its own decides its bins: where terms are aligned and what is cut of
//! them, how deep they cancel and how far sums grow, where c lies beside the products, what groups
//! and scales do. They come from the steps by which it adds ([`replay`]); of several steps the
//! largest distance and the deepest cancellation count, and the rounding is that of the last.

mod classes;
mod possible;
mod replay;

use smallfloat::{Class, Datum, Exact, Flags, Format};

use crate::coverage::model::cross::{Axis, Cross, Decided};
use crate::coverage::model::crosses::Crosses;
use crate::coverage::model::reach::Witnesses;
use crate::coverage::model::search::Search;
use crate::coverage::model::subject::Subject;
use crate::error::Error;
use crate::features::{ABSENT, Feature, RoundedResult, code_values, of_operand};
use crate::vectors::generate::pools::of_fields;
use crate::vectors::generate::terms::in_each;
use crate::vectors::{CallOutcome, DotProduct, FixedUnit, VectorUnit, scale};
use classes::{Classes, KINDS, Products, SPECIALS, TERMS};
use possible::Possible;
use replay::{Accumulation, COMPLETE, Lost, Replay, Step};

/// A sum of products.
#[derive(Debug)]
pub(super) struct SumOfProducts {
    unit: VectorUnit,
    dot: DotProduct,
    way: Accumulation,
    result: RoundedResult,
    /// Those of the result, then those of c.
    features: Vec<Feature>,
    sides: [Classes; 2],
    scales: Option<Classes>,
    range: Ranges,
    crosses: Vec<Cross>,
}

/// Values of a sum's own, which follow those that other units have too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Slot {
    Alignment,
    Largest,
    Lost,
    Depth,
    Position,
    Terms,
    CSign,
    Special,
    CSpecial,
    Zeros,
    Lane,
    Kind,
    Sign,
    Groups,
    Carried,
    ScalesApart,
}

impl Slot {
    const COUNT: usize = Self::ScalesApart as usize + 1;
}

const LARGEST: [&str; 3] = ["accumulator largest", "a product largest", "accumulator and product largest"];
const LOST: [&str; 3] = ["nothing lost", "bits lost", "a term lost"];
const POSITIONS: [&str; 7] = [
    "c zero",
    "c alone",
    "c above the products",
    "c as large as a product",
    "c below, whole",
    "c below, bits lost",
    "c below, lost",
];
const C_SIGNS: [&str; 3] = ["c zero", "c positive", "c negative"];
const C_SPECIALS: [&str; 4] = ["finite c", "c positive infinity", "c negative infinity", "c NaN"];
const ZEROS: [&str; 6] = [
    "positive zeros alone",
    "negative zeros alone",
    "zeros of both signs",
    "terms that cancel",
    "terms of which nothing is left",
    "a sum that rounds to zero",
];
const PRODUCT_SIGNS: [&str; 2] = ["positive product", "negative product"];
const GROUPS: [&str; 6] = [
    "no group",
    "first group alone",
    "last group alone",
    "another group alone",
    "several groups",
    "all groups",
];
const CARRIED: [&str; 3] = ["zero before the last group", "a number before it", "no number before it"];

/// Ends of numbers that are counted.
#[derive(Clone, Copy, Debug)]
struct Ranges {
    /// From here on terms are far apart.
    far: i32,
    /// By how many bits a sum is longer than its largest term at most.
    growth: i32,
    /// The depth of terms that cancel to zero.
    complete: i32,
    /// By how many binades the leading bit of a term lies above the exponent that it is aligned by
    /// at most.
    above: i32,
}

fn signed(x: u32) -> i32 {
    x.cast_signed()
}

/// The exponents of the leading bits of the smallest and the largest value.
fn exponents(format: &Format) -> (i32, i32) {
    (format.min_positive().exponent_of_leading_bit(), format.max_finite().exponent_of_leading_bit())
}

impl Ranges {
    fn new(dot: &DotProduct, way: Accumulation) -> Self {
        let [x, y] = dot.formats();
        let bits = signed(x.precision() + y.precision());
        let growth = |terms: usize| signed((2 * terms).ilog2());
        match (way, way.fraction_bits()) {
            (Accumulation::Scaled { k, exact, .. }, Some(fraction_bits)) if exact > 1 => {
                // Sums of sixteen products are below 2^10, and significands of scales below 4.
                Self::aligned(fraction_bits, growth(k / exact + 1), 11)
            }
            (_, Some(fraction_bits)) => {
                let k = dot.group().unwrap_or(1).min(dot.length());
                let more = if way.is_cut_down() { 7 } else { 0 };
                Self::aligned(fraction_bits + more, growth(k + 1), 1)
            }
            (Accumulation::Exact, None) => {
                let ((x_low, x_high), (y_low, y_high)) = (exponents(x), exponents(y));
                let far = x_high + y_high + 1 - x_low - y_low;
                Self { far, growth: growth(dot.length()), complete: far + bits, above: 0 }
            }
            (_, None) => {
                let precision = signed(way.target().0.precision());
                Self { far: precision + 2, growth: 1, complete: precision.max(bits) + 1, above: 0 }
            }
        }
    }

    fn aligned(fraction_bits: i32, growth: i32, above: i32) -> Self {
        Self { far: fraction_bits + above + 1, growth, complete: fraction_bits + above + 1, above }
    }
}

impl SumOfProducts {
    pub(super) fn new(unit: &FixedUnit, dot: &DotProduct) -> Self {
        let way = Accumulation::of(dot);
        let (to, rounding) = way.target();
        let flags = dot.policy().map_or(Flags::NONE, |policy| policy.bits);
        let result = RoundedResult::new(&to, rounding, flags);
        let mut features = result.features();
        if dot.has_accumulator() {
            features.extend(of_operand(unit.operands().len() - 1, "c", &dot.register()));
        }
        let mut sum = Self {
            unit: unit.clone().into(),
            dot: dot.clone(),
            way,
            result,
            sides: dot.formats().map(|format| Classes::of_operand(&format)),
            scales: dot.scales().map(|scales| Classes::of_scale(&scales.format)),
            range: Ranges::new(dot, way),
            features,
            crosses: Vec::new(),
        };
        sum.crosses = sum.all_crosses();
        sum
    }

    fn axis(&self, name: &str, words: &[&str], slot: Slot) -> Axis {
        Axis::words(name, words.iter().copied(), self.features.len() + slot as usize)
    }

    fn all_crosses(&self) -> Vec<Cross> {
        let mut crosses = Crosses::of(&self.features);
        crosses.results();
        crosses.operands();
        let result_sign = crosses.axis(crate::features::Aspect::ResultSign);
        let mut all = crosses.into_all();
        let has_c = self.dot.has_accumulator();
        let mut push = |name: &str, about: &'static str, decided: Decided, axes: Vec<Option<Axis>>| {
            all.push(Cross::new(name, about, decided, axes.into_iter().flatten().collect()));
        };
        let (operands, both) = (Decided::Operands, Decided::Both);
        let numbers = |name: &str, low: i32, high: i32, last: &str, slot: Slot| {
            let word = |n: i32| if n == high { last.to_owned() } else { format!("{name} {n}") };
            Axis::words(name, (low..=high).map(word), self.features.len() + slot as usize).from(low)
        };
        let c_special = has_c.then(|| self.axis("c", &C_SPECIALS, Slot::CSpecial));
        let axes = vec![Some(self.axis("products", &SPECIALS, Slot::Special)), c_special];
        push("specials", "NaN and infinities among products and in c", operands, axes);
        let c_sign = has_c.then(|| self.axis("c", &C_SIGNS, Slot::CSign));
        let axes = vec![Some(self.axis("products", &TERMS, Slot::Terms)), c_sign];
        push("terms", "how many products there are, of which signs", operands, axes);
        let lane = |at: usize| format!("lane {at}");
        let first = self.features.len() + Slot::COUNT;
        let classes = |side: usize, name: &str| {
            let words = self.sides[side].words.iter().map(|word| format!("{name} {word}"));
            Axis::words(name, words, first + side).per_lane(2)
        };
        let axes = vec![
            Some(Axis::lanes("lane", (0..self.dot.length()).map(lane))),
            Some(classes(0, "x")),
            Some(classes(1, "y")),
        ];
        push("lanes", "the classes of both operands in each lane", operands, axes);
        let axes = vec![
            Some(Axis::words(
                "lane",
                (0..self.dot.length()).map(|at| format!("lane {at} alone")),
                self.features.len() + Slot::Lane as usize,
            )),
            Some(self.axis("kind", &KINDS, Slot::Kind)),
            Some(self.axis("sign", &PRODUCT_SIGNS, Slot::Sign)),
        ];
        push("single products", "the only product, or the only special one", operands, axes);
        let is_exact = matches!(self.way, Accumulation::Exact);
        let far = self.range.far;
        let axes = vec![
            Some(numbers("alignment", 0, far, &format!("alignment ≥ {far}"), Slot::Alignment)),
            (!is_exact).then(|| self.axis("largest", &LARGEST, Slot::Largest)),
            (!is_exact).then(|| self.axis("loss", &LOST, Slot::Lost)),
        ];
        push("alignment", "how far terms are apart at most, and what is lost", both, axes);
        let axes = vec![
            Some(numbers(
                "cancellation",
                -self.range.growth,
                self.range.complete,
                "terms that cancel to zero",
                Slot::Depth,
            )),
            result_sign.clone(),
        ];
        push("cancellation", "how far sums lie below their largest term, or grow above it", both, axes);
        if has_c {
            let c_sign = self.axis("c sign", &C_SIGNS, Slot::CSign);
            let axes = vec![Some(self.axis("position", &POSITIONS, Slot::Position)), Some(c_sign)];
            push("accumulator", "where c lies beside the products that it meets", both, axes);
        }
        let axes = vec![Some(self.axis("cause", &ZEROS, Slot::Zeros)), result_sign];
        push("zeros", "how a sum becomes zero", both, axes);
        if self.dot.group().is_some_and(|k| k < self.dot.length()) {
            let axes = vec![
                Some(self.axis("groups", &GROUPS, Slot::Groups)),
                Some(self.axis("carried", &CARRIED, Slot::Carried)),
            ];
            push("groups", "which groups have products, and what the last one begins with", both, axes);
        }
        if let (Some(classes), Some(scales)) = (&self.scales, self.dot.scales()) {
            let blocks = || (0..self.dot.blocks()).map(|at| format!("block {at}"));
            let first = first + 2 * self.dot.length();
            let of = |at: usize, name: &str| {
                let words = classes.words.iter().map(|word| format!("{name} {word}"));
                Some(Axis::words(name, words, first + at).per_lane(4))
            };
            let axes = vec![Some(Axis::lanes("block", blocks())), of(0, "s"), of(1, "t")];
            push("scales", "the classes of both scales of each block", operands, axes);
            if scales.format.is_signed() {
                let of = |at: usize, name: &str| {
                    let words = ["positive", "negative"].map(|word| format!("{name} {word}"));
                    Some(Axis::words(&format!("{name} sign"), words, first + at).per_lane(4))
                };
                let axes = vec![Some(Axis::lanes("block", blocks())), of(2, "s"), of(3, "t")];
                push("scale signs", "signs of scales, which mean nothing", operands, axes);
            }
            if self.dot.blocks() > 1 {
                let last = format!("scales apart ≥ {far}");
                let axes = vec![Some(numbers("scales apart", 0, far, &last, Slot::ScalesApart))];
                push("block scales", "how far the scales of blocks are apart", both, axes);
            }
        }
        all
    }

    /// What the steps of a sum have in common.
    fn of_steps(&self, steps: &[Step], mut set: impl FnMut(Slot, i32)) {
        let apart = steps.iter().filter_map(|step| step.apart);
        if let Some((distance, largest)) = apart.reduce(|a, b| if b.0 > a.0 { b } else { a }) {
            set(Slot::Alignment, distance.min(self.range.far));
            set(Slot::Largest, largest as i32);
        }
        if steps.iter().any(|step| step.exact.is_some()) {
            let lost = steps.iter().map(|step| step.lost).max().unwrap_or(Lost::Nothing);
            set(Slot::Lost, lost as i32);
        }
        let depths = || steps.iter().filter_map(|step| step.depth);
        let deepest = match depths().max() {
            Some(COMPLETE) => Some(self.range.complete),
            Some(deep @ 1..) => Some(deep.min(self.range.complete - 1)),
            _ => depths().min().map(|growth| growth.max(-self.range.growth)),
        };
        if let Some(depth) = deepest {
            set(Slot::Depth, depth);
        }
        if let Some(position) =
            steps.iter().find_map(|step| step.position).filter(|_| self.dot.has_accumulator())
        {
            set(Slot::Position, position as i32);
        }
    }

    /// How a sum became zero: `last` is what was rounded.
    fn cause_of_zero(
        &self,
        operands: &[u64],
        products: &Products,
        c: Option<Datum>,
        last: Option<Exact>,
    ) -> i32 {
        let is_zero = c.is_none_or(|c| c.is_zero()) && products.exact.iter().all(Exact::is_zero);
        if is_zero {
            let signs = products.exact.iter().map(Exact::is_negative).chain(c.map(|c| c.is_negative()));
            let (negative, all) = signs.fold((0, 0), |(n, all), sign| (n + i32::from(sign), all + 1));
            return if negative == 0 {
                0
            } else if negative == all {
                1
            } else {
                2
            };
        }
        match last {
            _ if self.dot.exact(operands).is_zero() => 3,
            Some(last) if !last.is_zero() => 5,
            _ => 4,
        }
    }

    /// Which groups have products.
    fn groups(&self, products: &Products) -> Option<i32> {
        let k = self.dot.group()?;
        let has: Vec<bool> =
            products.exact.chunks(k).map(|group| group.iter().any(|x| !x.is_zero())).collect();
        let count = has.iter().filter(|has| **has).count();
        Some(match count {
            0 => 0,
            n if n == has.len() => 5,
            1 if has[0] => 1,
            1 if has[has.len() - 1] => 2,
            1 => 3,
            _ => 4,
        })
    }

    /// Whether c is zero, and else its sign; what it is if it is no number.
    fn of_c(c: Datum) -> (Option<i32>, i32) {
        let sign = if c.is_zero() { 0 } else { 1 + i32::from(c.is_negative()) };
        match c {
            Datum::Finite { .. } => (Some(sign), 0),
            Datum::Infinite { negative } => (Some(sign), 1 + i32::from(negative)),
            Datum::Nan { .. } => (None, 3),
        }
    }

    /// The kind and the sign of the product in a lane.
    fn kind(&self, [x, y]: [u64; 2], product: Exact) -> (i32, i32) {
        let is = |class: Class| {
            let [of_x, of_y] = self.dot.formats();
            of_x.classify(x) == class || of_y.classify(y) == class
        };
        let is_largest = |side: usize, code: u64| {
            let place = self.sides[side].place(code);
            place.is_some_and(|place| self.sides[side].words[place] == "largest")
        };
        let kind = match product {
            Exact::Nan { .. } => return (4, 0),
            Exact::Infinite { .. } => 3,
            _ if is(Class::Subnormal) => 1,
            _ if is_largest(0, x) || is_largest(1, y) => 2,
            _ => 0,
        };
        (kind, i32::from(product.is_negative()))
    }

    /// By how many binades the scales of blocks are apart.
    fn scales_apart(&self, s: &[u64], t: &[u64]) -> Option<i32> {
        let format = self.dot.scales()?.format;
        let exponent = |(s, t): (&u64, &u64)| {
            let [s, t] = [s, t].map(|code| scale(&format, *code));
            let is_number = |x: &Datum| x.is_finite() && !x.is_zero();
            (is_number(&s) && is_number(&t))
                .then(|| s.exponent_of_leading_bit() + t.exponent_of_leading_bit())
        };
        let exponents: Vec<i32> = s.iter().zip(t).filter_map(exponent).collect();
        Some((exponents.iter().max()? - exponents.iter().min()?).min(self.range.far))
    }

    fn own_values(
        &self,
        operands: &[u64],
        outcome: &CallOutcome,
        replay: &Replay<'_>,
        values: &mut Vec<i32>,
    ) {
        let [x, y, s, t, c] = self.dot.parts(operands);
        let data = |side: usize, codes: &[u64]| -> Vec<Datum> {
            codes.iter().map(|code| self.dot.formats()[side].decode(*code)).collect()
        };
        let products = Products::new(&data(0, x), &data(1, y));
        let c = c.first().map(|c| self.dot.register().decode(*c));
        let first = values.len();
        values.resize(first + Slot::COUNT, ABSENT);
        let mut set = |slot: Slot, value: i32| values[first + slot as usize] = value;
        self.of_steps(&replay.steps, &mut set);
        if let Some(terms) = products.terms() {
            set(Slot::Terms, place(terms));
        }
        if let Some(c) = c {
            let (sign, special) = Self::of_c(c);
            if let Some(sign) = sign {
                set(Slot::CSign, sign);
            }
            set(Slot::CSpecial, special);
        }
        let has_nan_scale = self
            .dot
            .scales()
            .is_some_and(|scales| s.iter().chain(t).any(|code| scales.format.classify(*code) == Class::Nan));
        set(Slot::Special, if has_nan_scale { 6 } else { place(products.special()) });
        let result = self.dot.register().decode(outcome[0]);
        if result.is_zero() {
            let last = replay.steps.last().and_then(|step| step.exact);
            set(Slot::Zeros, self.cause_of_zero(operands, &products, c, last));
        }
        if let Some(lane) = products.only_lane() {
            let (kind, sign) = self.kind([x[lane], y[lane]], products.exact[lane]);
            set(Slot::Lane, place(lane));
            set(Slot::Kind, kind);
            set(Slot::Sign, sign);
        }
        if let Some(groups) = self.groups(&products) {
            set(Slot::Groups, groups);
        }
        if let Some(carried) = replay.carried {
            set(Slot::Carried, if carried.is_zero() { 0 } else { 2 - i32::from(carried.is_finite()) });
        }
        if let Some(apart) = self.scales_apart(s, t) {
            set(Slot::ScalesApart, apart);
        }
        for (x, y) in x.iter().zip(y) {
            let places = [(0, x), (1, y)].map(|(side, code)| self.sides[side].place(*code));
            values.extend(places.map(|at| at.map_or(ABSENT, place)));
        }
        if let (Some(classes), Some(scales)) = (&self.scales, self.dot.scales()) {
            for (s, t) in s.iter().zip(t) {
                values.extend([s, t].map(|code| classes.place(*code).map_or(ABSENT, place)));
                values.extend([s, t].map(|code| i32::from(scales.format.sign_bit(*code))));
            }
        }
    }
}

fn place(at: usize) -> i32 {
    i32::try_from(at).expect("few words")
}

impl Subject for SumOfProducts {
    fn unit(&self) -> &VectorUnit {
        &self.unit
    }

    fn crosses(&self) -> &[Cross] {
        &self.crosses
    }

    fn values(&self, operands: &[u64], values: &mut Vec<i32>) -> bool {
        let Ok(outcome) = self.unit.evaluate(operands) else { return false };
        values.clear();
        let replay = Replay::new(&self.dot, self.way, operands);
        let last = replay.steps.last();
        let exact = last.and_then(|step| step.exact);
        let flags = outcome.flags | last.map_or(Flags::NONE, |step| step.flags & Flags::OVERFLOW);
        let code = self.result.encode(self.dot.register().decode(outcome[0]));
        self.result.values(exact, (code, flags), values);
        if self.dot.has_accumulator() {
            code_values(&self.dot.register(), operands[operands.len() - 1], values);
        }
        self.own_values(operands, &outcome, &replay, values);
        true
    }

    fn search(&self, search: &mut Search<'_>) -> Result<(), Error> {
        for lines in in_each(&self.dot) {
            search.take(&lines);
        }
        if self.dot.has_accumulator() {
            let zeros = vec![0; self.unit.operands().len() - 1];
            let line = |code: u64| zeros.iter().copied().chain([code]);
            let lines: Vec<u64> = of_fields(&self.dot.register()).into_iter().flat_map(line).collect();
            search.take(&lines);
        }
        search.take_level_one()?;
        search.changes();
        Ok(())
    }

    fn possible<'a>(&'a self, _: &Witnesses) -> Box<dyn Fn(usize, usize) -> bool + 'a> {
        let possible = Possible::new(self);
        Box::new(move |at, bin| possible.allows(at, bin))
    }
}
