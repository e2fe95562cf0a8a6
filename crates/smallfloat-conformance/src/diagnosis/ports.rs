//! Mistakes of units with ports: those of a unit at each setting, and those of the ports
//! themselves.

use std::collections::HashMap;

use smallfloat_kernels::parallel_map;

use crate::diagnosis::mistake::{Made, Mistake};
use crate::features::{Aspect, Feature, FeatureSet};
use crate::vectors::ports::{PortKind, Settings};
use crate::vectors::{CallOutcome, UnitUnderTest};

/// The mistakes that a function finds for a unit; of a unit with ports those that it finds at the
/// settings of these operands, each under its name. At a setting where a mistake makes no
/// difference the unit is right.
pub(super) fn at_settings<'a>(
    unit: &UnitUnderTest,
    operands: impl Iterator<Item = &'a [u64]>,
    find: impl Fn(&UnitUnderTest) -> Vec<Mistake> + Sync,
) -> Vec<Mistake> {
    let Some(settings) = unit.settings() else { return find(unit) };
    let mut is_seen = vec![false; settings.units().len()];
    for operands in operands {
        is_seen[settings.find(operands).expect("a setting of the unit")] = true;
    }
    let units = settings.units();
    let found = parallel_map(units.len(), |at| if is_seen[at] { find(&units[at]) } else { Vec::new() });
    let mut names: HashMap<String, usize> = HashMap::new();
    let mut all: Vec<(String, Vec<Option<Mistake>>)> = Vec::new();
    for (setting, mistakes) in found.iter().enumerate() {
        for mistake in mistakes {
            let name = without_numbers(&mistake.to_string());
            let at = *names.entry(name.clone()).or_insert(all.len());
            if at == all.len() {
                all.push((name, vec![None; found.len()]));
            }
            all[at].1[setting] = Some(mistake.clone());
        }
    }
    all.into_iter().map(|(name, mistakes)| Mistake::at_settings(name, mistakes)).collect()
}

/// A name without what differs from setting to setting: ` (8)`, the bias.
fn without_numbers(name: &str) -> String {
    let mut text = name.to_owned();
    let mut from = 0;
    while let Some(start) = text[from..].find(" (").map(|at| from + at) {
        let inside = &text[start + 2..];
        let number = inside.split(')').next().unwrap_or_default();
        if inside.len() > number.len() && number.parse::<i64>().is_ok() {
            text.replace_range(start..start + 3 + number.len(), "");
        }
        from = (start + 1).min(text.len());
    }
    text
}

/// Mistakes about what a port says: it is ignored, a bit of it is, or one mode is taken for
/// another.
pub(super) fn of_ports(unit: &UnitUnderTest) -> Vec<Mistake> {
    let Some(settings) = unit.settings() else { return Vec::new() };
    let mut all = Vec::new();
    for (port, (field, kind)) in settings.fields.iter().zip(settings.kinds()).enumerate() {
        let codes = settings.codes_of(port);
        if codes.len() < 2 {
            continue;
        }
        let name = &field.name;
        let mut add = |name: String, map: &dyn Fn(u64) -> u64| {
            let map = codes.iter().map(|code| (*code, map(*code))).collect();
            all.push(Mistake::of_port(name, Made::AtPort { port, map }));
        };
        for &code in codes {
            add(format!("ignores the port {name}: {} always", kind.word(code)), &|_| code);
        }
        if let PortKind::Bias(_) = kind {
            for bit in 0..field.bits {
                add(format!("ignores bit {bit} of the port {name}"), &|bias| bias & !(1 << bit));
            }
            continue;
        }
        for &from in codes {
            for &to in codes.iter().filter(|to| **to != from) {
                let (this, that) = (kind.word(from), kind.word(to));
                add(format!("takes {name} {this} for {that}"), &|code| if code == from { to } else { code });
            }
        }
    }
    all
}

/// The features of a unit's vectors: of its ports, then of the unit that these choose.
pub(super) struct PortFeatures<'a> {
    settings: Option<&'a Settings>,
    list: Vec<Feature>,
    sets: Vec<FeatureSet>,
}

impl<'a> PortFeatures<'a> {
    pub(super) fn new(unit: &'a UnitUnderTest) -> Self {
        let Some(settings) = unit.settings() else {
            let set = unit.features();
            return Self { settings: None, list: set.list().to_vec(), sets: vec![set] };
        };
        let ports = settings.fields.iter().zip(settings.kinds());
        let mut list: Vec<_> = ports
            .enumerate()
            .map(|(at, (field, kind))| match kind {
                PortKind::Bias(_) => Feature::number(Aspect::Port(at), &field.name, 0, 63),
                PortKind::Rounding => Feature::named(Aspect::Port(at), &field.name, ROUNDINGS),
                PortKind::Saturation => Feature::named(Aspect::Port(at), &field.name, SATURATIONS),
            })
            .collect();
        let units = settings.units();
        let sets: Vec<FeatureSet> = parallel_map(units.len(), |at| units[at].features());
        let aspects = |set: &FeatureSet| set.list().iter().map(|of| of.aspect).collect::<Vec<_>>();
        assert!(sets.iter().all(|set| aspects(set) == aspects(&sets[0])), "bias and modes add no features");
        list.extend_from_slice(sets[0].list());
        Self { settings: Some(settings), list, sets }
    }

    pub(super) fn list(&self) -> &[Feature] {
        &self.list
    }

    /// The features of a vector with its right outcome, in the order of the list.
    pub(super) fn values(&self, operands: &[u64], outcome: &CallOutcome, values: &mut Vec<i32>) {
        let Some(settings) = self.settings else {
            return self.sets[0].values(operands, outcome.results(), outcome.flags, values);
        };
        let setting = settings.find(operands).expect("a setting of the unit");
        let (ports, operands) = operands.split_at(settings.fields.len());
        self.sets[setting].values(operands, outcome.results(), outcome.flags, values);
        let codes = ports.iter().map(|code| i32::try_from(*code).expect("a code of a few bits"));
        values.splice(..0, codes);
    }
}

/// The modes by their codes.
const ROUNDINGS: &[&str] = &[
    "rounding = nearest-even",
    "rounding = toward-zero",
    "rounding = toward-negative",
    "rounding = toward-positive",
    "rounding = nearest-away",
    "rounding = to-odd",
];
const SATURATIONS: &[&str] = &[
    "saturation = satfinite",
    "saturation = satpropagate",
    "saturation = satnone",
    "saturation = satnone-v40",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_numbers_and_features_have_the_words_of_codes() {
        let name = without_numbers("the result's format has a bias one too large (8)");
        assert_eq!(name, "the result's format has a bias one too large");
        let name = "gradual subnormals (2^(1−bias) × 0.m)";
        assert_eq!(without_numbers(name), name);
        assert_eq!(without_numbers("a (-3) b (4) c ("), "a b c (");
        for (kind, words) in [(PortKind::Rounding, ROUNDINGS), (PortKind::Saturation, SATURATIONS)] {
            for (code, word) in (0..).zip(words) {
                assert_eq!(word.split(" = ").last(), Some(&*kind.word(code)));
            }
        }
    }
}
