//! [`Cross`]: bins for all combinations of features, as [`Axis`] by [`Axis`].

use smallfloat::Flags;

use crate::features::{ABSENT, Aspect, Feature, find};

/// What decides a cross, and so how it is known what can be reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Decided {
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
    /// without it; else such vectors are not in the cross. In a cross that is counted once per lane
    /// the value of the next lane stands `stride` places further.
    Feature { at: usize, stride: usize, low: i32, absent: bool },
    /// Flags together, the first the lowest bit of the bin.
    Flags(Vec<usize>),
    /// The lane that is counted.
    Lane,
}

/// One direction of a cross.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub(crate) name: String,
    /// What the bins are called.
    pub(crate) words: Vec<String>,
    reading: Reading,
}

impl Axis {
    /// A feature of a list; `None` where it has none of this aspect.
    pub(crate) fn feature(features: &[Feature], aspect: Aspect, absent: bool) -> Option<Self> {
        let at = find(features, aspect)?;
        let feature = &features[at];
        let (low, high) = (feature.first(), feature.last());
        let mut words: Vec<String> = (low..=high).map(|value| feature.describe(value)).collect();
        words.extend(absent.then(|| feature.describe(ABSENT)));
        let reading = Reading::Feature { at, stride: 0, low, absent };
        Some(Self { name: feature.name.clone(), words, reading })
    }

    /// The value at a place, which is that of a word; vectors without one are not in the cross.
    pub(crate) fn words(name: &str, words: impl IntoIterator<Item = impl Into<String>>, at: usize) -> Self {
        let words = words.into_iter().map(Into::into).collect();
        let reading = Reading::Feature { at, stride: 0, low: 0, absent: false };
        Self { name: name.to_owned(), words, reading }
    }

    /// The numbers from `low` on that these words are for.
    pub(crate) fn from(self, low: i32) -> Self {
        match self.reading {
            Reading::Feature { at, stride, absent, .. } => {
                Self { reading: Reading::Feature { at, stride, low, absent }, ..self }
            }
            Reading::Flags(_) | Reading::Lane => self,
        }
    }

    /// In a cross with an axis of lanes: the next lane's value is `stride` places further.
    pub(crate) fn per_lane(mut self, by: usize) -> Self {
        if let Reading::Feature { stride, .. } = &mut self.reading {
            *stride = by;
        }
        self
    }

    /// The lanes, each of which is counted: the first axis of its cross.
    pub(crate) fn lanes(name: &str, words: impl IntoIterator<Item = String>) -> Self {
        Self { name: name.to_owned(), words: words.into_iter().collect(), reading: Reading::Lane }
    }

    /// The flags of a set that the unit has, in all their combinations.
    pub(crate) fn flags(features: &[Feature], of: Flags, name: &str) -> Option<Self> {
        let letters = Flags::LETTERS.iter().filter(|(flag, _)| of.contains(*flag));
        let known: Vec<(usize, char)> = letters
            .filter_map(|(flag, letter)| Some((find(features, Aspect::Flag(*flag))?, *letter)))
            .collect();
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

    /// The feature and its value at a place, `None` where it is absent; nothing for flags and
    /// lanes.
    pub(crate) fn feature_at(&self, place: usize) -> Option<(usize, Option<i32>)> {
        match self.reading {
            Reading::Feature { at, absent, .. } if absent && place + 1 == self.words.len() => {
                Some((at, None))
            }
            Reading::Feature { at, low, .. } => {
                Some((at, Some(low + i32::try_from(place).expect("a feature has few values"))))
            }
            Reading::Flags(_) | Reading::Lane => None,
        }
    }

    /// Returns whether its bins are flags together.
    pub(crate) fn is_of_flags(&self) -> bool {
        matches!(self.reading, Reading::Flags(_))
    }

    /// The bin of a lane of a vector with these features; `None` where the cross does not hold it.
    pub(crate) fn bin(&self, values: &[i32], lane: usize) -> Option<usize> {
        match &self.reading {
            Reading::Feature { at, stride, low, absent } => match values[at + lane * stride] {
                ABSENT => absent.then(|| self.words.len() - 1),
                value => usize::try_from(value - low).ok(),
            },
            Reading::Flags(places) => {
                Some(places.iter().enumerate().map(|(i, at)| usize::from(values[*at] != 0) << i).sum())
            }
            Reading::Lane => Some(lane),
        }
    }
}

/// Several axes together: a bin for every combination. A vector is in one of them, or, where the
/// first axis is of lanes, in one of each lane.
#[derive(Clone, Debug)]
pub(crate) struct Cross {
    pub(crate) name: String,
    /// What it is for.
    pub(crate) about: &'static str,
    pub(crate) axes: Vec<Axis>,
    pub(crate) decided: Decided,
}

impl Cross {
    pub(crate) fn new(name: &str, about: &'static str, decided: Decided, axes: Vec<Axis>) -> Self {
        Self { name: name.to_owned(), about, axes, decided }
    }

    /// How many bins there are.
    pub(crate) fn size(&self) -> usize {
        self.axes.iter().map(|axis| axis.words.len()).product()
    }

    /// How many bins a vector is in at most.
    pub(crate) fn lanes(&self) -> usize {
        self.lane_words().map_or(1, <[String]>::len)
    }

    /// What lanes are called, where each is counted.
    pub(crate) fn lane_words(&self) -> Option<&[String]> {
        let first = self.axes.first().filter(|axis| matches!(axis.reading, Reading::Lane));
        first.map(|axis| &axis.words[..])
    }

    /// The bins of a vector with these features, the last axis fastest.
    pub(crate) fn bins(&self, values: &[i32]) -> impl Iterator<Item = usize> {
        (0..self.lanes()).filter_map(move |lane| {
            let bin = |bin, axis: &Axis| Some(bin * axis.words.len() + axis.bin(values, lane)?);
            self.axes.iter().try_fold(0, bin)
        })
    }

    /// The bin of a vector, where there is one.
    pub(crate) fn bin(&self, values: &[i32]) -> Option<usize> {
        self.bins(values).next()
    }

    /// The places of a bin on the axes.
    pub(crate) fn places(&self, mut bin: usize) -> Vec<usize> {
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
    pub(crate) fn words(&self, bin: usize) -> Vec<&str> {
        let places = self.places(bin);
        self.axes.iter().zip(places).map(|(axis, place)| axis.words[place].as_str()).collect()
    }

    /// The bin that these words name.
    pub(crate) fn named(&self, words: &[&str]) -> Option<usize> {
        if words.len() != self.axes.len() {
            return None;
        }
        self.axes.iter().zip(words).try_fold(0, |bin, (axis, word)| {
            Some(bin * axis.words.len() + axis.words.iter().position(|known| known == word)?)
        })
    }
}
