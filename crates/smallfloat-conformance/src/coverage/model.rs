//! [`Model`]: which crosses of features a unit's coverage is counted in.
//!
//! The full product of all features has more bins than anybody reads, and most of them say nothing
//! that a smaller cross does not. So there is a cross for each place of a unit in which bugs are
//! made: the rounder, the incrementer's carry, the classes, each exponent, each operand's decoder,
//! the aligner, the normalizer.

use smallfloat::Flags;

use crate::features::{ABSENT, Aspect, FeatureSet};

/// What decides a cross, and so how it is known what can be reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Decided {
    /// The operands' codes alone.
    Operands,
    /// The exact result alone.
    Result,
    /// Both.
    Both,
}

/// How an axis reads a vector.
#[derive(Clone, Debug)]
enum Reading {
    /// A feature; `low` is its first value. Where `absent` is set, the last bin is for vectors
    /// without it; else such vectors are not in the cross.
    Feature { at: usize, low: i32, absent: bool },
    /// Flags together, the first the lowest bit of the bin.
    Flags(Vec<usize>),
}

/// One direction of a cross.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    pub(super) name: String,
    /// What the bins are called.
    pub(super) words: Vec<String>,
    reading: Reading,
}

impl Axis {
    fn feature(set: &FeatureSet, aspect: Aspect, absent: bool) -> Option<Self> {
        let at = set.find(aspect)?;
        let feature = &set.list()[at];
        let (low, high) = (feature.first(), feature.last());
        let mut words: Vec<String> = (low..=high).map(|value| feature.describe(value)).collect();
        words.extend(absent.then(|| feature.describe(ABSENT)));
        Some(Self { name: feature.name.clone(), words, reading: Reading::Feature { at, low, absent } })
    }

    /// The flags of a set that the unit has, in all their combinations.
    fn flags(set: &FeatureSet, of: Flags, name: &str) -> Option<Self> {
        let letters = Flags::LETTERS.iter().filter(|(flag, _)| of.contains(*flag));
        let known: Vec<(usize, char)> =
            letters.filter_map(|(flag, letter)| Some((set.find(Aspect::Flag(*flag))?, *letter))).collect();
        let count = 1_usize << known.len();
        let letters = |bits: usize| -> String {
            known
                .iter()
                .enumerate()
                .filter(|(i, _)| bits >> i & 1 == 1)
                .map(|(_, (_, letter))| *letter)
                .collect()
        };
        let word =
            |bits: usize| if bits == 0 { format!("no {name}") } else { format!("{name} {}", letters(bits)) };
        let words = (0..count).map(word).collect();
        let places = known.iter().map(|(at, _)| *at).collect();
        (count > 1).then(|| Self { name: name.to_owned(), words, reading: Reading::Flags(places) })
    }

    /// The feature and its value at a place, `None` where it is absent; nothing for flags.
    pub(super) fn feature_at(&self, place: usize) -> Option<(usize, Option<i32>)> {
        match self.reading {
            Reading::Feature { at, absent, .. } if absent && place + 1 == self.words.len() => {
                Some((at, None))
            }
            Reading::Feature { at, low, .. } => {
                Some((at, Some(low + i32::try_from(place).expect("a feature has few values"))))
            }
            Reading::Flags(_) => None,
        }
    }

    /// Returns whether its bins are flags together.
    pub(super) fn is_of_flags(&self) -> bool {
        matches!(self.reading, Reading::Flags(_))
    }

    /// The bin of a vector with these features; `None` where the cross does not hold it.
    pub(super) fn bin(&self, values: &[i32]) -> Option<usize> {
        match &self.reading {
            Reading::Feature { at, absent, .. } if values[*at] == ABSENT => {
                absent.then(|| self.words.len() - 1)
            }
            Reading::Feature { at, low, .. } => usize::try_from(values[*at] - low).ok(),
            Reading::Flags(places) => {
                Some(places.iter().enumerate().map(|(i, at)| usize::from(values[*at] != 0) << i).sum())
            }
        }
    }
}

/// Several axes together: a bin for every combination.
#[derive(Clone, Debug)]
pub(super) struct Cross {
    pub(super) name: String,
    /// What it is for.
    pub(super) about: &'static str,
    pub(super) axes: Vec<Axis>,
    pub(super) decided: Decided,
}

impl Cross {
    /// How many bins there are.
    pub(super) fn size(&self) -> usize {
        self.axes.iter().map(|axis| axis.words.len()).product()
    }

    /// The bin of a vector with these features, the last axis fastest.
    pub(super) fn bin(&self, values: &[i32]) -> Option<usize> {
        self.axes.iter().try_fold(0, |bin, axis| Some(bin * axis.words.len() + axis.bin(values)?))
    }

    /// The places of a bin on the axes.
    pub(super) fn places(&self, mut bin: usize) -> Vec<usize> {
        let mut places: Vec<usize> = self
            .axes
            .iter()
            .rev()
            .map(|axis| {
                let place = bin % axis.words.len();
                bin /= axis.words.len();
                place
            })
            .collect();
        places.reverse();
        places
    }

    /// A bin in words.
    pub(super) fn words(&self, bin: usize) -> Vec<&str> {
        let places = self.places(bin);
        self.axes.iter().zip(places).map(|(axis, place)| axis.words[place].as_str()).collect()
    }

    /// The bin that these words name.
    pub(super) fn named(&self, words: &[&str]) -> Option<usize> {
        if words.len() != self.axes.len() {
            return None;
        }
        self.axes.iter().zip(words).try_fold(0, |bin, (axis, word)| {
            Some(bin * axis.words.len() + axis.words.iter().position(|known| known == word)?)
        })
    }
}

/// The crosses of a unit.
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) features: FeatureSet,
    pub(super) crosses: Vec<Cross>,
}

/// A cross of more bins than this is left out: fields of very wide formats.
const LARGEST: usize = 1 << 20;

/// The flags that come from the exact result, and those that come from the operands.
const OF_ROUNDING: Flags = Flags::OVERFLOW.union(Flags::UNDERFLOW).union(Flags::INEXACT);
const OF_OPERANDS: Flags = Flags::ALL.without(OF_ROUNDING);

/// Crosses as they are made.
struct Builder<'a> {
    features: &'a FeatureSet,
    crosses: Vec<Cross>,
    /// The fields that are codes by themselves, and those at which elements of blocks begin.
    codes: Vec<usize>,
    elements: Vec<usize>,
}

impl Builder<'_> {
    /// Adds a cross of those axes that the unit has. It is there if its first axis is.
    fn push(&mut self, name: &str, about: &'static str, decided: Decided, axes: Vec<Option<Axis>>) {
        if axes.first().is_none_or(Option::is_none) {
            return;
        }
        let axes: Vec<Axis> = axes.into_iter().flatten().collect();
        let cross = Cross { name: name.to_owned(), about, axes, decided };
        if cross.size() <= LARGEST {
            self.crosses.push(cross);
        }
    }

    /// A feature; vectors without it are not in the cross.
    fn axis(&self, aspect: Aspect) -> Option<Axis> {
        Axis::feature(self.features, aspect, false)
    }

    /// A feature, with a bin for vectors without it.
    fn or_none(&self, aspect: Aspect) -> Option<Axis> {
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
    fn results(&mut self) {
        let is_stochastic = self.features.list().iter().any(|f| matches!(f.aspect, Aspect::Word(_)));
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
    fn operands(&mut self) {
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
    fn both(&mut self, has_poles: bool) {
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

        let axes = if self.features.find(Aspect::Effective).is_some() {
            vec![
                self.axis(Aspect::MagnitudeOrder),
                self.axis(Aspect::Effective),
                self.axis(Aspect::ResultSign),
            ]
        } else if self.features.find(Aspect::Normalization).is_none() {
            vec![self.axis(Aspect::Order), self.axis(Aspect::MagnitudeOrder), self.truth_or_class()]
        } else {
            Vec::new()
        };
        self.push("order", "which operand is larger, as a value or as a magnitude", Decided::Both, axes);
        for feature in self.features.list() {
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

impl Model {
    /// The crosses of a unit; `has_poles` says whether it divides by zero.
    pub(super) fn new(features: FeatureSet, has_poles: bool) -> Self {
        let places = |of: fn(Aspect) -> Option<usize>| -> Vec<usize> {
            features.list().iter().filter_map(|feature| of(feature.aspect)).collect()
        };
        let codes = places(|aspect| match aspect {
            Aspect::Class(at) => Some(at),
            _ => None,
        });
        let elements = places(|aspect| match aspect {
            Aspect::Elements(at) => Some(at),
            _ => None,
        });
        let mut builder = Builder { features: &features, crosses: Vec::new(), codes, elements };
        builder.results();
        builder.operands();
        builder.both(has_poles);
        let crosses = builder.crosses;
        Self { features, crosses }
    }
}
