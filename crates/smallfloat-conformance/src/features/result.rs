//! Features of results: the code's, and where the exact value lies on its format's grid.

use smallfloat::ops::{Operation, OperationOptions, Semantics, Sum, multiply};
use smallfloat::p3109::Specialization;
use smallfloat::{Class, Datum, Exact, Flags, Format, Remainder, Rounding, project};

use crate::features::operands::{Layout, Part, field, last_field, pattern};
use crate::features::{
    ABSENT, AWAY, Aspect, CARRY, EFFECTIVE, Exactly, Feature, GUARD, LAST_BIT, LOW_BIT, PATTERNS, RANGES,
    REMAINDERS, RESULT_CLASSES, SIGNS, STICKY, exact_of, of_flags,
};

/// The features of a result's code.
pub(super) fn of_code(to: &Format) -> Vec<Feature> {
    let mut features = vec![Feature::named(Aspect::ResultClass, "result class", RESULT_CLASSES)];
    if to.is_signed() {
        features.push(Feature::named(Aspect::ResultSign, "result sign", SIGNS));
    }
    if to.exponent_bits() > 0 {
        features.push(Feature::number(Aspect::ResultField, "result exponent field", 0, last_field(to)));
    }
    if to.trailing_bits() > 0 {
        features.push(Feature::named(Aspect::ResultPattern, "significand", PATTERNS).of("result"));
    }
    features.push(Feature::named(Aspect::ResultLowBit, "last bit", LOW_BIT).of("result"));
    features
}

pub(super) fn code_values(to: &Format, code: u64, values: &mut Vec<i32>) {
    let class = to.classify(code);
    let is_finite = !matches!(class, Class::Nan | Class::Infinite);
    let where_finite = |value: i32| if is_finite { value } else { ABSENT };
    values.push(match class {
        Class::Nan => 0,
        Class::Infinite => 1,
        Class::Zero => 2,
        Class::Subnormal => 3,
        Class::Normal => 4,
    });
    if to.is_signed() {
        values.push(if class == Class::Nan { ABSENT } else { i32::from(to.sign_bit(code)) });
    }
    if to.exponent_bits() > 0 {
        values.push(where_finite(field(to, code)));
    }
    if to.trailing_bits() > 0 {
        values.push(where_finite(pattern(to, code)));
    }
    values.push(where_finite(i32::from(code & 1 == 1)));
}

/// What a result's arithmetic is, where its exact value is known.
#[derive(Clone, Debug)]
pub(super) struct Arithmetic {
    exactly: Exactly,
    options: OperationOptions,
    rounding: Rounding,
    /// How many bits the terms of a sum have at most, and how many terms there are.
    terms: Option<Terms>,
}

/// The terms of a sum.
#[derive(Clone, Copy, Debug)]
struct Terms {
    bits: i32,
    count: usize,
    /// The bits of the result, beyond which terms lie apart without meeting.
    precision: i32,
}

impl Terms {
    /// From how many binades on terms count as far apart.
    fn far(&self) -> i32 {
        self.bits + self.precision + 2
    }

    /// By how many bits a sum is longer than its largest term at most.
    fn growth(&self) -> i32 {
        i32::try_from(self.count.next_power_of_two().ilog2()).expect("at most 64")
    }

    /// The depth that stands for terms that cancel to zero.
    fn complete(&self) -> i32 {
        self.bits + 1
    }
}

fn precision(format: &Format) -> i32 {
    i32::try_from(format.precision()).expect("a precision is small")
}

impl Arithmetic {
    pub(super) fn of(operation: &Specialization) -> Option<Self> {
        let exactly = exact_of(operation)?;
        let to = operation.result()?;
        let rounding = operation.projections().first()?.rounding;
        let operands = operation.operands();
        let widest = |formats: &[Format]| formats.iter().map(precision).max().unwrap_or(0);
        let terms = |bits: i32, count: usize| Some(Terms { bits, count, precision: precision(to) });
        let length = operation.length().unwrap_or(1);
        // Scale × element is a datum again.
        if exactly == Exactly::Dot
            && operands.chunks(2).any(|pair| pair.iter().map(precision).sum::<i32>() > 64)
        {
            return None;
        }
        let terms = match exactly {
            Exactly::Operation(Operation::Add | Operation::Subtract) => terms(widest(operands), 2),
            Exactly::Operation(Operation::Faa) => terms(widest(operands), 3),
            Exactly::Operation(Operation::Fma) => {
                let [x, y, z] = [0, 1, 2].map(|at| precision(&operands[at]));
                terms((x + y).max(z), 2)
            }
            // Scales and elements of both blocks.
            Exactly::Dot => terms(operands.iter().map(precision).sum(), length),
            Exactly::Sum => terms(widest(operands), length),
            Exactly::Operation(_) => None,
        };
        Some(Self { exactly, options: operation.arithmetic(), rounding, terms })
    }

    /// What the normalization step is called where the operation has one.
    fn normalization(&self) -> Option<&'static [&'static str]> {
        match self.exactly {
            Exactly::Operation(Operation::Multiply | Operation::Fma) => {
                Some(&["product below 2", "product of 2 or more"])
            }
            Exactly::Operation(Operation::Divide | Operation::Recip) => {
                Some(&["quotient of 1 or more", "quotient below 1"])
            }
            Exactly::Operation(Operation::Sqrt) => Some(&["even exponent", "odd exponent"]),
            _ => None,
        }
    }

    pub(super) fn features(&self, to: &Format) -> Vec<Feature> {
        let mut features = of_rounding(to);
        if let Some(terms) = &self.terms {
            let far = terms.far();
            let nearest = if terms.count == 2 { -far } else { 0 };
            features.extend([
                Feature::named(Aspect::Effective, "effective operation", EFFECTIVE),
                Feature::number(Aspect::Alignment, "alignment", nearest, far),
                Feature::number(Aspect::Cancellation, "cancellation", -terms.growth(), terms.complete()),
            ]);
        }
        features.extend(
            self.normalization().map(|words| Feature::named(Aspect::Normalization, "normalization", words)),
        );
        features
    }

    pub(super) fn values(
        &self,
        layout: &Layout,
        operands: &[u64],
        (to, code, flags): (&Format, u64, Flags),
        values: &mut Vec<i32>,
    ) {
        let mut terms = Vec::new();
        let (exact, normalization) = self.exact(layout, operands, &mut terms);
        let scaled = exact.scaled(self.options.scale);
        values.extend(rounding(scaled, to, self.rounding, (code, flags)));
        if let Some(of) = &self.terms {
            values.extend(sum_values(of, &terms, exact));
        }
        if self.normalization().is_some() {
            values.push(normalization.unwrap_or(ABSENT));
        }
    }

    /// The exact result, the terms of a sum, and whether the result is normalized by a step.
    fn exact(&self, layout: &Layout, operands: &[u64], terms: &mut Vec<Exact>) -> (Exact, Option<i32>) {
        let operation = match self.exactly {
            Exactly::Operation(operation) => operation,
            Exactly::Dot | Exactly::Sum => {
                self.block_terms(layout, operands, terms);
                let mut sum = Sum::new();
                // The draft's folds start with 0, which matters for the sign of a sum of negative
                // zeros.
                sum.add(Datum::ZERO);
                for term in &*terms {
                    sum.add_exact(*term);
                }
                return (sum.exact(), None);
            }
        };
        let mut data = [Datum::ZERO; 3];
        for (datum, part) in data.iter_mut().zip(layout.parts()) {
            if let Part::Code { at, format, .. } = part {
                *datum = format.decode(operands[*at]);
            }
        }
        let [x, y, z] = data;
        let exact = operation.exact(data, self.options.semantics).exact;
        let product = || multiply(x, y, self.options.semantics).exact;
        match operation {
            Operation::Add => terms.extend([x, y].map(Exact::from)),
            Operation::Subtract => terms.extend([x, y.negated()].map(Exact::from)),
            Operation::Faa => terms.extend(data.map(Exact::from)),
            Operation::Fma => terms.extend([product(), Exact::from(z)]),
            _ => {}
        }
        let [of_x, of_y] = [x, y].map(|x| leading(Exact::from(x)));
        let step = match operation {
            Operation::Multiply | Operation::Fma => {
                leading(product()).zip(of_x).zip(of_y).map(|((product, x), y)| product - x - y)
            }
            Operation::Divide => {
                leading(exact).zip(of_x).zip(of_y).map(|((quotient, x), y)| x - y - quotient)
            }
            Operation::Recip => leading(exact).zip(of_x).map(|(quotient, x)| -x - quotient),
            Operation::Sqrt => leading(exact).and(of_x).map(|x| x.rem_euclid(2)),
            _ => None,
        };
        (exact, step)
    }

    /// The terms of a block's sum: scale × element, or the products of both blocks' of these.
    fn block_terms(&self, layout: &Layout, operands: &[u64], terms: &mut Vec<Exact>) {
        let semantics = self.options.semantics;
        let mut blocks = Vec::new();
        let mut scale = Datum::finite(false, 1, 0);
        for part in layout.parts() {
            match part {
                Part::Code { at, format, .. } => scale = format.decode(operands[*at]),
                Part::Elements { at, format, .. } => {
                    let elements: Vec<_> =
                        operands[at.clone()].iter().map(|code| format.decode(*code)).collect();
                    blocks.push((scale, elements));
                }
                Part::Integer { .. } | Part::Word { .. } => {}
            }
        }
        let scaled = |(scale, element): (Datum, Datum)| multiply(scale, element, semantics).exact;
        match &blocks[..] {
            [(scale, elements)] => terms.extend(elements.iter().map(|element| scaled((*scale, *element)))),
            [(s, xs), (t, ys)] => {
                terms.extend(
                    xs.iter().zip(ys).map(|(x, y)| product(scaled((*s, *x)), scaled((*t, *y)), semantics)),
                );
            }
            _ => unreachable!("a reduction has one block, a dot product two"),
        }
    }
}

/// The product of two exact values of at most 64 bits.
fn product(x: Exact, y: Exact, semantics: Semantics) -> Exact {
    let narrow = |x: Exact| match x {
        Exact::Finite { negative, significand, exponent, .. } => {
            let significand = u64::try_from(significand).expect("scale and element have 64 bits together");
            Datum::finite(negative, significand, exponent)
        }
        Exact::Nan { negative } => Datum::Nan { negative },
        Exact::Infinite { negative } => Datum::Infinite { negative },
        Exact::Cancelled => Datum::ZERO,
    };
    multiply(narrow(x), narrow(y), semantics).exact
}

fn signed(x: u32) -> i32 {
    i32::try_from(x).expect("a number of bits")
}

/// The exponent of the leading bit of a finite value other than 0.
fn leading(x: Exact) -> Option<i32> {
    match x {
        Exact::Finite { significand: significand @ 1.., exponent, .. } => {
            Some(exponent.saturating_add(signed(significand.ilog2())))
        }
        _ => None,
    }
}

/// The features of an exact result's rounding.
fn of_rounding(to: &Format) -> Vec<Feature> {
    let (lowest, highest) = to.exponent_range();
    let low = lowest - precision(to) - 1;
    vec![
        Feature::number(Aspect::Exponent, "exponent", low, highest + 2),
        Feature::named(Aspect::Remainder, "rounding", REMAINDERS),
        Feature::named(Aspect::Guard, "guard bit", GUARD),
        Feature::named(Aspect::Sticky, "sticky bit", STICKY),
        Feature::named(Aspect::LastBit, "last bit", LAST_BIT),
        Feature::named(Aspect::Away, "direction", AWAY),
        Feature::named(Aspect::Carry, "carry", CARRY),
        Feature::named(Aspect::Range, "range", RANGES),
    ]
}

/// The features of a result that is rounded once, with those flags that it may raise, of a unit
/// that is no function of formats.
#[derive(Clone, Debug)]
pub(crate) struct RoundedResult {
    to: Format,
    rounding: Rounding,
    flags: Flags,
}

impl RoundedResult {
    pub(crate) fn new(to: &Format, rounding: Rounding, flags: Flags) -> Self {
        Self { to: *to, rounding, flags }
    }

    /// The code of a value that the format has, or of the like.
    pub(crate) fn encode(&self, datum: Datum) -> u64 {
        project(Exact::from_datum(datum), &self.to, &self.to.default_projection()).value
    }

    pub(crate) fn features(&self) -> Vec<Feature> {
        let mut features = of_code(&self.to);
        features.extend(of_rounding(&self.to));
        features.extend(of_flags(self.flags));
        features
    }

    /// The features of a code and its flags; `exact` is what was rounded, if anything was. Overflow
    /// counts among the flags whether or not the unit raises it.
    pub(crate) fn values(&self, exact: Option<Exact>, (code, flags): (u64, Flags), values: &mut Vec<i32>) {
        code_values(&self.to, code, values);
        values.extend(
            exact.map_or([ABSENT; 8], |exact| rounding(exact, &self.to, self.rounding, (code, flags))),
        );
        let own = Flags::LETTERS.iter().filter(|(flag, _)| self.flags.contains(*flag));
        values.extend(own.map(|(flag, _)| i32::from(flags.contains(*flag))));
    }
}

/// Exponent, remainder, guard, sticky, last bit, direction, carry and range.
pub(super) fn rounding(
    exact: Exact,
    to: &Format,
    rounding: Rounding,
    (code, flags): (u64, Flags),
) -> [i32; 8] {
    let mut values = [ABSENT; 8];
    let Some(exponent) = leading(exact) else { return values };
    if exact.is_negative() && !to.is_signed() {
        return values;
    }
    let (lowest, highest) = to.exponent_range();
    values[0] = exponent.clamp(lowest - precision(to) - 1, highest + 2);
    let Some(at) = to.grid_position(exact) else {
        values[7] = place(RANGES, "beyond the range");
        return values;
    };
    let index_of = |datum: Datum| to.encode(datum).expect("a value of the format");
    let (largest, normal) = (index_of(to.max_finite()), index_of(to.min_normal()));
    let overflows = at.below == largest && flags.contains(Flags::OVERFLOW);
    let index = if overflows { largest + 1 } else { code & (to.max_code() >> u32::from(to.is_signed())) };
    let is_away = index > at.below;
    let carries = is_away && index & ((1 << to.trailing_bits()) - 1) == 0;
    let is_zero = to.has_zero() && index == 0;
    let range = match () {
        () if overflows => "overflows by rounding",
        () if at.below == largest => "largest value",
        () if is_zero => "rounds to zero",
        () if is_away && at.below == 0 && to.has_zero() => "rounds up to the smallest value",
        () if at.below < normal && index == normal && to.rounds_to_normal(exact, rounding) => RANGES[4],
        () if at.below < normal && index == normal => RANGES[3],
        () if at.below < normal => "subnormal",
        () if index == normal => "smallest normal value",
        () => "normal",
    };
    let has_guard = matches!(at.remainder, Remainder::Half | Remainder::AboveHalf);
    let has_sticky = matches!(at.remainder, Remainder::BelowHalf | Remainder::AboveHalf);
    values[1] = at.remainder as i32;
    values[2] = i32::from(has_guard);
    values[3] = i32::from(has_sticky);
    values[4] = i32::from(at.below % 2 == 1);
    values[5] = i32::from(is_away);
    values[6] = i32::from(carries);
    values[7] = place(RANGES, range);
    values
}

/// The place of a word.
fn place(words: &[&str], word: &str) -> i32 {
    let at = words.iter().position(|known| *known == word).expect("one of the words");
    i32::try_from(at).expect("few words")
}

/// Effective operation, alignment and cancellation of a sum.
fn sum_values(of: &Terms, terms: &[Exact], sum: Exact) -> [i32; 3] {
    let mut values = [ABSENT; 3];
    let is_finite = |term: &Exact| matches!(term, Exact::Finite { .. });
    if !terms.iter().all(is_finite) {
        return values;
    }
    let finite: Vec<(i32, bool)> =
        terms.iter().filter_map(|term| Some((leading(*term)?, term.is_negative()))).collect();
    let exponents = finite.iter().map(|(exponent, _)| *exponent);
    let (Some(largest), Some(smallest), true) = (exponents.clone().max(), exponents.min(), finite.len() > 1)
    else {
        return values;
    };
    let has_both =
        finite.iter().any(|(_, negative)| *negative) && finite.iter().any(|(_, negative)| !negative);
    values[0] = i32::from(has_both);
    let apart = if of.count == 2 { finite[0].0 - finite[1].0 } else { largest - smallest };
    values[1] = apart.clamp(-of.far(), of.far());
    values[2] = match leading(sum) {
        Some(sum) => (largest - sum).clamp(-of.growth(), of.complete() - 1),
        None => of.complete(),
    };
    values
}
