//! [`Crosses`]: the crosses of features that results and operands of most units have.
//!
//! The full product of all features has more bins than anybody reads, and most of them say nothing
//! that a smaller cross does not. So there is a cross for each place of a unit in which bugs are
//! made: the rounder, the incrementer's carry, the classes, each exponent, each operand's decoder,
//! the aligner, the normalizer.

use smallfloat::Flags;

use crate::coverage::model::cross::{Axis, Cross, Decided};
use crate::features::{Aspect, Feature, find};

/// A cross of more bins than this is left out: fields of very wide formats.
const LARGEST: usize = 1 << 20;

/// The flags that come from the exact result, and those that come from the operands.
const OF_ROUNDING: Flags = Flags::OVERFLOW.union(Flags::UNDERFLOW).union(Flags::INEXACT);
const OF_OPERANDS: Flags = Flags::ALL.without(OF_ROUNDING);

/// Crosses as they are made.
pub(crate) struct Crosses<'a> {
    features: &'a [Feature],
    all: Vec<Cross>,
    /// The fields that are codes by themselves, and those at which elements of blocks begin.
    codes: Vec<usize>,
    elements: Vec<usize>,
}

impl<'a> Crosses<'a> {
    /// None yet, of these features.
    pub(crate) fn of(features: &'a [Feature]) -> Self {
        let places = |of: fn(Aspect) -> Option<usize>| -> Vec<usize> {
            features.iter().filter_map(|feature| of(feature.aspect)).collect()
        };
        let codes = places(|aspect| match aspect {
            Aspect::Class(at) => Some(at),
            _ => None,
        });
        let elements = places(|aspect| match aspect {
            Aspect::Elements(at) => Some(at),
            _ => None,
        });
        Self { features, all: Vec::new(), codes, elements }
    }

    /// All that were added.
    pub(crate) fn into_all(self) -> Vec<Cross> {
        self.all
    }

    /// Adds a cross of those axes that the unit has. It is there if its first axis is.
    pub(crate) fn push(
        &mut self,
        name: &str,
        about: &'static str,
        decided: Decided,
        axes: Vec<Option<Axis>>,
    ) {
        if axes.first().is_none_or(Option::is_none) {
            return;
        }
        let axes: Vec<Axis> = axes.into_iter().flatten().collect();
        let cross = Cross::new(name, about, decided, axes);
        if cross.size() <= LARGEST {
            self.all.push(cross);
        }
    }

    /// A feature; vectors without it are not in the cross.
    pub(crate) fn axis(&self, aspect: Aspect) -> Option<Axis> {
        Axis::feature(self.features, aspect, false)
    }

    /// A feature, with a bin for vectors without it.
    pub(crate) fn or_none(&self, aspect: Aspect) -> Option<Axis> {
        Axis::feature(self.features, aspect, true)
    }

    fn truth_or_class(&self) -> Option<Axis> {
        self.axis(Aspect::Truth).or_else(|| self.axis(Aspect::ResultClass))
    }

    fn classes(&self, signs: bool) -> Vec<Option<Axis>> {
        let of_code =
            |at: &usize| [self.axis(Aspect::Class(*at)), self.axis(Aspect::Sign(*at)).filter(|_| signs)];
        self.codes.iter().flat_map(of_code).collect()
    }

    /// What the exact result decides.
    pub(crate) fn results(&mut self) {
        let is_stochastic = self.features.iter().any(|f| matches!(f.aspect, Aspect::Word(_)));
        let axes = vec![
            self.axis(Aspect::Range),
            self.or_none(Aspect::ResultSign),
            self.or_none(Aspect::Remainder),
            self.or_none(Aspect::LastBit),
            self.or_none(Aspect::Away).filter(|_| is_stochastic),
        ];
        self.push("rounding", "what the rounder sees, wherever in the range", Decided::Result, axes);
        let axes = vec![
            self.axis(Aspect::Carry),
            self.axis(Aspect::Range),
            self.or_none(Aspect::ResultPattern),
            self.axis(Aspect::Away),
        ];
        let about = "the incrementer: carries out of the significand, and what is incremented";
        self.push("carry", about, Decided::Result, axes);
        let flags = Axis::flags(self.features, OF_ROUNDING, "flags");
        let axes = vec![self.axis(Aspect::ResultClass), self.or_none(Aspect::ResultSign), flags];
        self.push("results", "classes and flags of results", Decided::Result, axes);
        let axes =
            vec![self.axis(Aspect::ResultField), self.axis(Aspect::ResultSign), self.or_none(Aspect::Sticky)];
        self.push("binades", "each exponent of the result, exact and rounded", Decided::Result, axes);
    }

    /// What the operands' codes decide.
    pub(crate) fn operands(&mut self) {
        let axes = self.classes(true);
        self.push("operands", "classes and signs, each with each", Decided::Operands, axes);
        let of = |at: &usize| [self.axis(Aspect::Elements(*at)), self.axis(Aspect::Signs(*at))];
        let axes = self.elements.iter().flat_map(of).collect();
        self.push("elements", "what blocks consist of, each with each", Decided::Operands, axes);
        for at in self.codes.clone() {
            let Some(class) = self.axis(Aspect::Class(at)) else { continue };
            let name = format!("{} fields", class.name.trim_end_matches(" class"));
            let axes = vec![
                self.axis(Aspect::Field(at)),
                self.axis(Aspect::Pattern(at)),
                self.axis(Aspect::Sign(at)),
            ];
            let about = "each exponent of an operand, with the ends of its binade";
            self.push(&name, about, Decided::Operands, axes);
        }
    }

    /// What both decide; `has_poles` says whether the unit divides by zero.
    pub(crate) fn both(&mut self, has_poles: bool) {
        let of_operands = if has_poles { OF_OPERANDS } else { OF_OPERANDS.without(Flags::DIVISION_BY_ZERO) };
        let mut axes = self.classes(false);
        axes.extend(self.elements.iter().map(|at| self.axis(Aspect::Elements(*at))));
        axes.extend([self.truth_or_class(), Axis::flags(self.features, of_operands, "flags")]);
        self.push("outcomes", "what becomes of each combination of classes", Decided::Both, axes);

        let axes =
            vec![self.axis(Aspect::Alignment), self.axis(Aspect::Effective), self.axis(Aspect::Sticky)];
        let about = "each distance of the terms, beyond the width of the result too";
        self.push("alignment", about, Decided::Both, axes);
        let axes = vec![
            self.axis(Aspect::Cancellation),
            self.axis(Aspect::Effective),
            self.axis(Aspect::ResultSign),
        ];
        let about = "each number of leading bits that cancel, to either sign";
        self.push("cancellation", about, Decided::Both, axes);
        let axes = vec![
            self.axis(Aspect::Normalization),
            self.axis(Aspect::Remainder),
            self.axis(Aspect::LastBit),
            self.axis(Aspect::Carry),
        ];
        self.push("normalization", "the shift after a product, a quotient or a root", Decided::Both, axes);

        let axes = if find(self.features, Aspect::Effective).is_some() {
            vec![
                self.axis(Aspect::MagnitudeOrder),
                self.axis(Aspect::Effective),
                self.axis(Aspect::ResultSign),
            ]
        } else if find(self.features, Aspect::Normalization).is_none() {
            vec![self.axis(Aspect::Order), self.axis(Aspect::MagnitudeOrder), self.truth_or_class()]
        } else {
            Vec::new()
        };
        self.push("order", "which operand is larger, as a value or as a magnitude", Decided::Both, axes);
        for feature in self.features {
            if let Aspect::Word(_) = feature.aspect {
                let axes = vec![
                    self.axis(feature.aspect),
                    self.or_none(Aspect::Remainder),
                    self.or_none(Aspect::Away),
                ];
                self.push(&feature.name, "random words and what they decide", Decided::Both, axes);
            }
        }
    }
}
