//! [`ListConversion`]: the coverage of conversions into lists of values and out of them.
//!
//! What a list has of its own are the middles between its values, where a comparator decides: the
//! numbers that a source has just below a middle, on it and just above it each are bins.

use std::cmp::Ordering;
use std::collections::HashMap;

use smallfloat::{Codebook, Datum, Exact, Format};

use crate::coverage::model::cross::{Axis, Cross, Decided};
use crate::coverage::model::crosses::Crosses;
use crate::coverage::model::reach::Witnesses;
use crate::coverage::model::search::Search;
use crate::coverage::model::subject::Subject;
use crate::error::Error;
use crate::features::{ABSENT, Feature, RoundedResult, code_values, of_operand};
use crate::vectors::generate::directed::around;
use crate::vectors::generate::pools::of_fields;
use crate::vectors::{Field, FixedUnit, VectorUnit};

/// A conversion into a list or out of one.
#[derive(Debug)]
pub(super) struct ListConversion {
    unit: VectorUnit,
    source: Field,
    destination: Destination,
    crosses: Vec<Cross>,
}

/// What numbers become.
#[derive(Debug)]
enum Destination {
    List(Middles),
    Format(RoundedResult),
}

/// Where a number lies beside the value that it becomes.
const BESIDE: [&str; 3] = ["from below the value", "from the value", "from above the value"];
/// Where a number lies at a middle.
const AT_MIDDLE: [&str; 4] =
    ["just below", "tie, becomes the lower value", "tie, becomes the higher value", "just above"];
/// Where a number lies in the range of the list.
const PLACES: [&str; 9] = [
    "negative infinity",
    "largest negative value, below the lowest",
    "below the lowest value",
    "lowest value",
    "between the ends",
    "highest value",
    "above the highest value",
    "largest value, above the highest",
    "infinity",
];

/// A list that numbers become values of.
#[derive(Debug)]
struct Middles {
    list: Codebook,
    /// The middles that each of these codes of the source is at, and where.
    at: HashMap<u64, Vec<(usize, i32)>>,
    /// The largest value of the source.
    largest: Datum,
}

impl Middles {
    fn new(list: Codebook, source: &Field) -> Self {
        let mut at: HashMap<u64, Vec<(usize, i32)>> = HashMap::new();
        let largest = match &source.format {
            Some(format) => format.max_finite(),
            None => source.datum(source.max() >> 1).expect("a code of the list"),
        };
        for middle in 0..list.len() - 1 {
            let point = list.midpoint(middle);
            let codes: Vec<(u64, Datum)> = near(source, point);
            // Those that become a neighbour of the middle: sources may be coarser than the list.
            let becomes = |datum: &Datum, rank: usize| {
                datum.is_finite() && list.encode(Exact::from_datum(*datum)) == Some(list.code_at(rank))
            };
            let side = |order: Ordering, rank: usize| {
                let all = codes.iter().filter(move |(_, x)| x.compare(&point) == Some(order));
                all.filter(move |(_, x)| becomes(x, rank)).collect::<Vec<_>>()
            };
            let nearest = |all: Vec<&(u64, Datum)>, order: Ordering| -> Vec<u64> {
                let is_nearest = |x: &Datum| all.iter().all(|(_, other)| x.compare(other) != Some(order));
                all.iter().filter(|(_, x)| is_nearest(x)).map(|(code, _)| *code).collect()
            };
            let below = nearest(side(Ordering::Less, middle), Ordering::Less);
            let above = nearest(side(Ordering::Greater, middle + 1), Ordering::Greater);
            let is_up = list.is_tie_up(middle);
            let ties = side(Ordering::Equal, middle + usize::from(is_up));
            let ties: Vec<u64> = ties.into_iter().map(|(code, _)| *code).collect();
            for (codes, place) in [(below, 0), (ties, 1 + i32::from(is_up)), (above, 3)] {
                for code in codes {
                    at.entry(code).or_default().push((middle, place));
                }
            }
        }
        Self { list, at, largest }
    }

    /// The features: the value and the side from which it is reached, the place in the range, and
    /// of each middle where the number lies at it.
    fn values(&self, code: u64, x: Datum, result: u64, values: &mut Vec<i32>) {
        let order = |y: Datum| x.compare(&y).expect("numbers are not NaN");
        let value = |rank: usize| self.list.decode(self.list.code_at(rank));
        let last = self.list.len() - 1;
        let rank = self.list.ascending().position(|other| u64::from(other) == result);
        let rank = rank.expect("rounding gives a value of the list");
        let is_largest = |x: Datum| x.compare(&self.largest) == Some(Ordering::Equal);
        let place = match (order(value(0)), order(value(last))) {
            _ if !x.is_finite() => {
                if x.is_negative() {
                    0
                } else {
                    8
                }
            }
            (Ordering::Less, _) => {
                if is_largest(x.negated()) {
                    1
                } else {
                    2
                }
            }
            (Ordering::Equal, _) => 3,
            (_, Ordering::Less) => 4,
            (_, Ordering::Equal) => 5,
            _ => {
                if is_largest(x) {
                    7
                } else {
                    6
                }
            }
        };
        values.extend([small(rank), order(value(rank)) as i32 + 1, place]);
        let first = values.len();
        values.resize(first + last, ABSENT);
        for (middle, place) in self.at.get(&code).into_iter().flatten() {
            values[first + middle] = *place;
        }
    }

    fn crosses(&self, first: usize) -> Vec<Cross> {
        let list = self.list;
        let word = |code: u32| format!("code {code:x}, {}", list.value(code));
        let middle = |rank: usize| {
            let value = |rank| list.value(list.code_at(rank));
            format!("between {} and {}", value(rank), value(rank + 1))
        };
        let lanes = Axis::lanes("middle", (0..list.len() - 1).map(middle));
        let cross = |name, about, axes| Cross::new(name, about, Decided::Operands, axes);
        vec![
            cross(
                "values",
                "each value of the list, from below, from itself and from above",
                vec![
                    Axis::words("value", list.ascending().map(word), first),
                    Axis::words("side", BESIDE, first + 1),
                ],
            ),
            cross(
                "middles",
                "the numbers nearest to each middle between two values, and ties",
                vec![lanes, Axis::words("place", AT_MIDDLE, first + 3).per_lane(1)],
            ),
            cross("ends", "what lies beyond the list", vec![Axis::words("range", PLACES, first + 2)]),
        ]
    }
}

fn small(x: usize) -> i32 {
    i32::try_from(x).expect("a list has at most 256 values")
}

/// Codes of a source with their numbers, among them those next to a number on either side.
fn near(source: &Field, x: Datum) -> Vec<(u64, Datum)> {
    let codes: Vec<u64> = match &source.format {
        None => (0..=source.max()).collect(),
        Some(format) => {
            let zeros = [0, source.max() ^ source.max() >> 1];
            around(format, x.into(), 2)
                .chain(zeros.into_iter().take(1 + usize::from(format.is_signed())))
                .collect()
        }
    };
    codes.into_iter().map(|code| (code, source.datum(code).expect("a code"))).collect()
}

impl ListConversion {
    pub(super) fn new(unit: &FixedUnit) -> Self {
        let source = unit.operands()[0].clone();
        let destination = match (unit.destination(), &unit.results()[0].format) {
            (None, Some(to)) => {
                let (rounding, flags) = (to.default_projection().rounding, unit.policy().bits);
                Destination::Format(RoundedResult::new(to, rounding, flags))
            }
            (list, _) => Destination::List(Middles::new(list.expect("one side is a list"), &source)),
        };
        let features = features(&source, &destination);
        let mut crosses = Crosses::of(&features);
        crosses.results();
        crosses.operands();
        let mut crosses = crosses.into_all();
        let first = features.len();
        if let Destination::List(middles) = &destination {
            crosses.extend(middles.crosses(first));
        }
        if let Some(list) = source.list {
            let words = (0..=list.max_code()).map(|code| format!("x code {code:x}, {}", list.value(code)));
            let at = first
                + if let Destination::List(middles) = &destination { 2 + middles.list.len() } else { 0 };
            let axes = vec![Axis::words("x", words, at)];
            crosses.push(Cross::new("operands", "each code of the list", Decided::Operands, axes));
        }
        Self { unit: unit.clone().into(), source, destination, crosses }
    }
}

/// Those features that other units have too.
fn features(source: &Field, destination: &Destination) -> Vec<Feature> {
    let mut features = match destination {
        Destination::Format(result) => result.features(),
        Destination::List(_) => Vec::new(),
    };
    if let Some(format) = &source.format {
        features.extend(of_operand(0, &source.name, format));
    }
    features
}

impl Subject for ListConversion {
    fn unit(&self) -> &VectorUnit {
        &self.unit
    }

    fn crosses(&self) -> &[Cross] {
        &self.crosses
    }

    fn values(&self, operands: &[u64], values: &mut Vec<i32>) -> bool {
        let Ok(outcome) = self.unit.evaluate(operands) else { return false };
        values.clear();
        let code = operands[0];
        let x = self.source.datum(code).expect("operands are codes of formats or of lists");
        if let Destination::Format(result) = &self.destination {
            result.values(Some(Exact::from_datum(x)), (outcome[0], outcome.flags), values);
        }
        if let Some(format) = &self.source.format {
            code_values(format, code, values);
        }
        if let Destination::List(middles) = &self.destination {
            middles.values(code, x, outcome[0], values);
        }
        if self.source.list.is_some() {
            values.push(i32::try_from(code).expect("a code of a list"));
        }
        true
    }

    /// Every bin has operands next to a value, next to a middle, or at an end of a binade.
    fn search(&self, search: &mut Search<'_>) -> Result<(), Error> {
        if let (Destination::List(middles), Some(format)) = (&self.destination, &self.source.format) {
            search.take(&lines(middles, format));
        }
        Ok(())
    }

    /// All that the features tell apart were tried.
    fn possible<'a>(&'a self, _: &Witnesses) -> Box<dyn Fn(usize, usize) -> bool + 'a> {
        Box::new(|_, _| false)
    }
}

/// Codes that stand for all others.
fn lines(middles: &Middles, format: &Format) -> Vec<u64> {
    let mut codes = of_fields(format);
    let values = middles.list.ascending().map(|code| middles.list.decode(code));
    codes.extend(values.flat_map(|value| around(format, value.into(), 2)));
    codes.extend(middles.at.keys());
    for datum in [middles.largest, Datum::Infinite { negative: false }] {
        codes.extend([datum, datum.negated()].into_iter().filter_map(|datum| format.encode(datum)));
    }
    codes.sort_unstable();
    codes.dedup();
    codes
}
