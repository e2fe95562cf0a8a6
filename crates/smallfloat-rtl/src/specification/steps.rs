//! [`Steps`]: a function of a magnitude as a staircase, found by asking the core once for each
//! class of magnitudes that round alike.

use dashu_int::UBig;
use smallfloat::{Exact, FlagPolicy, Flags, Format, Projection, Rounded, project_with};

use super::key::Key;
use super::point::{Layout, Point};

/// What the core gives for the magnitudes of a class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Rule {
    pub(super) code: u64,
    pub(super) flags: Flags,
}

/// Boundaries in rising order with what holds between them: below the first, on each, and after it.
#[derive(Clone, Debug)]
pub(super) struct Classes<T> {
    below: T,
    rows: Vec<(Point, T, T)>,
}

/// The points between which nothing changes: values, the middles between them, and those by which
/// tiny results are told from normal ones after rounding.
fn boundaries(layout: &Layout) -> Vec<Point> {
    let mut points = vec![];
    let mut last = Point::ZERO;
    for index in 0..=layout.max_index + 1 {
        let value = layout.grid(index);
        points.push(last.plus(value).half());
        points.push(value);
        last = value;
    }
    points.extend(near_normal(layout));
    points.retain(|point| !point.is_zero());
    points.sort_unstable();
    points.dedup();
    points
}

/// Half a step and a quarter below the smallest normal value: where a result of unbounded exponent
/// rounds to it.
fn near_normal(layout: &Layout) -> [Point; 3] {
    let least = Point::of(&layout.format.min_normal());
    let step = least.leading() - layout.format.trailing_bits().cast_signed();
    let below = |exponent: i32| least.minus(Point::new(1, exponent));
    [below(step - 1), below(step - 2), least]
}

/// The core's results for every class of magnitudes with one sign.
pub(super) fn classes(
    to: &Format,
    projection: &Projection,
    policy: FlagPolicy,
    negative: bool,
) -> Classes<Rule> {
    let points = boundaries(&Layout::new(to));
    let classes = classes_between(&points, to, projection, policy, negative);
    for (row, next) in classes.rows.iter().zip(&points[1..]) {
        let Rounded { value: code, flags } = project_with(next.just_below(negative), to, projection, policy);
        assert!(row.2 == Rule { code, flags }, "{to}: results change between two boundaries");
    }
    classes
}

/// Returns the results of the few classes that decide whether a result is tiny.
pub(super) fn classes_near_normal(
    to: &Format,
    projection: &Projection,
    policy: FlagPolicy,
    negative: bool,
) -> Classes<Rule> {
    classes_between(&near_normal(&Layout::new(to)), to, projection, policy, negative)
}

fn classes_between(
    points: &[Point],
    to: &Format,
    projection: &Projection,
    policy: FlagPolicy,
    negative: bool,
) -> Classes<Rule> {
    let ask = |exact: Exact| {
        let Rounded { value, flags } = project_with(exact, to, projection, policy);
        Rule { code: value, flags }
    };
    let row = |point: &Point| (*point, ask(point.exact(negative)), ask(point.just_above(negative)));
    let below = ask(points.first().expect("a format has values").just_below(negative));
    Classes { below, rows: points.iter().map(row).collect() }
}

impl<T: Copy + PartialEq> Classes<T> {
    pub(super) fn map<U>(&self, f: impl Fn(T) -> U) -> Classes<U> {
        let rows = self.rows.iter().map(|(point, on, after)| (*point, f(*on), f(*after)));
        Classes { below: f(self.below), rows: rows.collect() }
    }
}

/// A staircase over keys: what holds from key 1 on, from which keys on something else does, and
/// single keys that are exceptions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Steps<T> {
    pub(super) below: T,
    pub(super) rows: Vec<Step<T>>,
    pub(super) exceptions: Vec<Step<T>>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Step<T> {
    pub(super) key: UBig,
    /// The magnitude that the key is at or just above.
    pub(super) point: Point,
    pub(super) is_above: bool,
    pub(super) value: T,
}

impl<T: Copy + PartialEq> Steps<T> {
    pub(super) fn new(classes: &Classes<T>, key: &Key) -> Self {
        let mut steps = Self { below: classes.below, rows: Vec::new(), exceptions: Vec::new() };
        let mut last = classes.below;
        for &(point, on, after) in &classes.rows {
            if on != last
                && on != after
                && let Some(key) = key.exactly(point)
            {
                steps.exceptions.push(Step { key, point, is_above: false, value: on });
            }
            if after != last {
                // A single key that differs stands for itself.
                let is_above = on == last;
                let reached = if is_above { key.above(point) } else { key.at_least(point) };
                if let Some(key) = reached {
                    steps.push(Step { key, point, is_above, value: after });
                }
            }
            last = after;
        }
        let rows = std::mem::take(&mut steps.rows);
        let exceptions = std::mem::take(&mut steps.exceptions);
        let at =
            |key: &UBig| rows.iter().rev().find(|row| row.key <= *key).map_or(classes.below, |row| row.value);
        let exceptions = exceptions.into_iter().filter(|e| e.value != at(&e.key)).collect();
        Self { below: classes.below, rows, exceptions }
    }

    /// Adds a step; where two begin at one key, the later one holds.
    fn push(&mut self, step: Step<T>) {
        if self.rows.last().is_some_and(|last| last.key == step.key) {
            self.rows.pop();
        }
        let before = self.rows.last().map_or(self.below, |last| last.value);
        if before != step.value {
            self.rows.push(step);
        }
    }

    /// What holds for a key from 1 on.
    #[cfg(test)]
    pub(super) fn value(&self, key: &UBig) -> T {
        if let Some(exception) = self.exceptions.iter().find(|step| step.key == *key) {
            return exception.value;
        }
        self.rows.iter().rev().find(|step| step.key <= *key).map_or(self.below, |step| step.value)
    }
}

#[cfg(test)]
mod tests {
    use smallfloat::formats::{BINARY16, E4M3FN, E5M2};
    use smallfloat::{Preset, Rounding};

    use super::*;

    /// Every key of a narrow source has the core's code and flags, in every mode.
    #[test]
    fn staircases_are_the_core_for_every_key() {
        for (from, to) in [(BINARY16, E4M3FN), (BINARY16, E5M2), (E5M2, E4M3FN)] {
            let layout = Layout::new(&from);
            let key = Key::Index { layout, scale: 0, spare: 0 };
            for &rounding in Rounding::DETERMINISTIC {
                let projection = Preset::Ieee.projection(&to).with_rounding(rounding);
                for negative in [false, true] {
                    let classes = classes(&to, &projection, FlagPolicy::RISCV, negative);
                    let codes = Steps::new(&classes.map(|rule| rule.code), &key);
                    let flags = Steps::new(&classes.map(|rule| rule.flags), &key);
                    for index in 1..=layout.max_index {
                        let exact = layout.value(index).exact(negative);
                        let right = project_with(exact, &to, &projection, FlagPolicy::RISCV);
                        let at = UBig::from(index);
                        assert_eq!(
                            (codes.value(&at), flags.value(&at)),
                            (right.value, right.flags),
                            "{index:#x}"
                        );
                    }
                }
            }
        }
    }
}
