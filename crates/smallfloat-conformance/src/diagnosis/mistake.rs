//! [`Mistake`]: what implementations get wrong, as changes of the steps from operands to flags.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use smallfloat::{Exact, FlagPolicy, Flags, Preset, Rounded, project_with};

use crate::diagnosis::edit::UnitEdit;
use crate::diagnosis::steps::{ExactStep, FlagStep, OperandStep, ResultStep};
use crate::vectors::ports::Settings;
use crate::vectors::{CallOutcome, UnitUnderTest};

/// A way to differ from the defined results, computed as a unit that differs so would compute it.
///
/// A unit reads operands, computes an exact result with some formats and policies, rounds it,
/// makes a code of it and raises flags. A mistake changes some of these steps, so two mistakes can
/// be made together.
#[derive(Clone, Debug)]
pub struct Mistake {
    name: String,
    rules: Option<Rules>,
    /// The flags that the unit has, where it has others.
    bits: Option<Flags>,
    /// How many mistakes are made together.
    count: usize,
    edit: UnitEdit,
    /// The unit with the edit.
    unit: Option<Box<UnitUnderTest>>,
    operands: Vec<OperandStep>,
    exact: Vec<ExactStep>,
    results: Vec<ResultStep>,
    flags: Vec<FlagStep>,
    made: Made,
    /// What a unit that computes in one way would give.
    fixed: Option<Computed>,
}

/// Results by operands.
type Compute = dyn Fn(&[u64]) -> Option<CallOutcome> + Send + Sync;

#[derive(Clone)]
struct Computed(Arc<Compute>);

impl fmt::Debug for Computed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Computed")
    }
}

/// How a mistake depends on the ports of a unit.
#[derive(Clone, Debug)]
pub(super) enum Made {
    /// Whatever they say.
    Alike,
    /// By the setting that they choose; where there is none, it makes no difference.
    AtSettings(Arc<[Option<Mistake>]>),
    /// One of them is read wrongly: its codes and what they are taken for.
    AtPort {
        /// Its place.
        port: usize,
        /// Of each code what it is taken for.
        map: Vec<(u64, u64)>,
    },
    /// All of these together.
    Together(Arc<[Mistake]>),
}

/// What mistakes together give does not follow.
struct Undefined;

/// Rules of others: a unit that follows them makes no mistake, the caller named another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rules {
    /// A preset's policy for overflow, infinities, NaN, negatives and zero.
    Preset(Preset),
    /// Another policy for flags and NaN results.
    Flags(FlagPolicy),
}

/// A vector with its right results.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vector<'a> {
    pub(super) operands: &'a [u64],
    pub(super) expected: &'a CallOutcome,
}

/// Says what is wrong, as a sentence without its full stop.
impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name)
    }
}

impl Mistake {
    fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            rules: None,
            bits: None,
            count: 1,
            edit: UnitEdit::default(),
            unit: None,
            operands: Vec::new(),
            exact: Vec::new(),
            results: Vec::new(),
            flags: Vec::new(),
            made: Made::Alike,
            fixed: None,
        }
    }

    /// A mistake of a unit that computes in one way.
    pub(super) fn of_fixed(
        name: String,
        compute: impl Fn(&[u64]) -> Option<CallOutcome> + Send + Sync + 'static,
    ) -> Self {
        Self { fixed: Some(Computed(Arc::new(compute))), ..Self::new(name) }
    }

    /// What the mistaken unit gives, of one that computes in one way.
    pub(super) fn predict_fixed(&self, operands: &[u64]) -> Option<CallOutcome> {
        (self.fixed.as_ref()?.0)(operands)
    }

    /// A mistake of a unit with ports, as it is made at each setting, at one at least.
    pub(super) fn at_settings(name: String, mistakes: Vec<Option<Self>>) -> Self {
        let one = mistakes.iter().flatten().next().expect("it is made at a setting");
        let (rules, count) = (one.rules, one.count);
        Self { rules, count, made: Made::AtSettings(mistakes.into()), ..Self::new(name) }
    }

    pub(super) fn of_port(name: String, made: Made) -> Self {
        Self { made, ..Self::new(name) }
    }

    /// What is made at a setting; `None` where it makes no difference.
    fn at(&self, setting: usize, unit: &UnitUnderTest) -> Result<Option<Cow<'_, Self>>, Undefined> {
        match &self.made {
            Made::Alike => Ok(Some(Cow::Borrowed(self))),
            Made::AtSettings(mistakes) => Ok(mistakes[setting].as_ref().map(Cow::Borrowed)),
            Made::AtPort { .. } => Err(Undefined),
            Made::Together(parts) => {
                let mut all: Option<Cow<'_, Self>> = None;
                for part in parts.iter() {
                    all = match (all, part.at(setting, unit)?) {
                        (Some(one), Some(other)) => Some(Cow::Owned(one.and(&other, unit).ok_or(Undefined)?)),
                        (one, other) => one.or(other),
                    };
                }
                Ok(all)
            }
        }
    }

    /// What a mistaken unit with ports gives.
    fn predict_at(
        &self,
        right: &UnitUnderTest,
        settings: &Settings,
        vector: Vector<'_>,
    ) -> Option<CallOutcome> {
        if let Made::AtPort { port, map } = &self.made {
            let mut operands = vector.operands.to_vec();
            let code = operands[*port];
            operands[*port] = map.iter().find(|(from, _)| *from == code)?.1;
            return right.evaluate(&operands).ok();
        }
        let setting = settings.find(vector.operands)?;
        let unit = &settings.units()[setting];
        match self.at(setting, unit).ok()? {
            None => Some(vector.expected.clone()),
            Some(mistake) => {
                let operands = &vector.operands[settings.fields.len()..];
                mistake.predict(unit, Vector { operands, ..vector })
            }
        }
    }

    /// Everything is right, but for another unit; `None` where the edit makes none, or the same.
    pub(super) fn of_unit(name: impl Into<String>, right: &UnitUnderTest, edit: UnitEdit) -> Option<Self> {
        let unit = edit.apply(right)?;
        (unit != *right).then(|| Self { edit, unit: Some(Box::new(unit)), ..Self::new(name) })
    }

    pub(super) fn of_operands(name: impl Into<String>, step: OperandStep) -> Self {
        Self { operands: vec![step], ..Self::new(name) }
    }

    pub(super) fn of_exact(name: impl Into<String>, step: ExactStep) -> Self {
        Self { exact: vec![step], ..Self::new(name) }
    }

    pub(super) fn of_results(name: impl Into<String>, step: ResultStep) -> Self {
        Self { results: vec![step], ..Self::new(name) }
    }

    pub(super) fn of_flags(name: impl Into<String>, step: FlagStep) -> Self {
        Self { flags: vec![step], ..Self::new(name) }
    }

    /// The unit follows a preset.
    #[must_use]
    pub(super) fn with_preset(self, preset: Preset) -> Self {
        Self { rules: Some(Rules::Preset(preset)), ..self }
    }

    /// The unit follows another policy for flags than `right`, and may lack flags that units of
    /// that policy have.
    #[must_use]
    pub(super) fn with_policy(self, policy: FlagPolicy, right: FlagPolicy) -> Self {
        let bits = policy.bits | Flags::ALL.without(right.bits);
        Self { rules: Some(Rules::Flags(policy)), bits: Some(bits), ..self }
    }

    #[must_use]
    pub(super) fn named(self, name: String) -> Self {
        Self { name, count: 1, ..self }
    }

    /// Both mistakes, made by one unit; `None` where they change the same thing.
    pub(super) fn and(&self, other: &Self, right: &UnitUnderTest) -> Option<Self> {
        let name = format!("{}; and {}", self.name, other.name);
        let count = self.count + other.count;
        if right.settings().is_some() {
            // What that is follows at each setting.
            let parts: Vec<Self> = [self, other].into_iter().flat_map(Self::parts).cloned().collect();
            let is_of_port = parts.iter().any(|part| matches!(part.made, Made::AtPort { .. }));
            let made = Made::Together(parts.into());
            return (!is_of_port).then(|| Self { count, made, ..Self::new(name) });
        }
        let edit = self.edit.and(&other.edit)?;
        let unit = match (&self.unit, &other.unit) {
            (None, None) => None,
            (Some(unit), None) | (None, Some(unit)) => Some(unit.clone()),
            (Some(_), Some(_)) => Some(Box::new(edit.apply(right)?)),
        };
        let mut exact = [&self.exact[..], &other.exact[..]].concat();
        exact.sort_by_key(ExactStep::stage);
        if exact.windows(2).any(|pair| pair[0].stage() == pair[1].stage()) {
            return None;
        }
        let mut operands = [&self.operands[..], &other.operands[..]].concat();
        operands.sort_by_key(OperandStep::stage);
        let mut results = [&self.results[..], &other.results[..]].concat();
        results.sort_by_key(ResultStep::stage);
        Some(Self {
            name,
            rules: None,
            bits: self.bits.or(other.bits),
            count,
            edit,
            unit,
            operands,
            exact,
            results,
            flags: [&self.flags[..], &other.flags[..]].concat(),
            made: Made::Alike,
            fixed: None,
        })
    }

    /// The mistakes that it is made of.
    fn parts(&self) -> &[Self] {
        match &self.made {
            Made::Together(parts) => parts,
            _ => std::slice::from_ref(self),
        }
    }

    /// Returns the rules of others that this is, if it is no mistake.
    pub fn rules(&self) -> Option<Rules> {
        self.rules
    }

    /// Returns how many mistakes it is, made together.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns whether it is one of flags, with the right results.
    pub fn is_about_flags(&self) -> bool {
        !self.flags.is_empty()
            && self.unit.is_none()
            && self.operands.is_empty()
            && self.exact.is_empty()
            && self.results.is_empty()
    }

    /// What the mistaken unit gives; `None` where that does not follow from the operands.
    pub(super) fn predict(&self, right: &UnitUnderTest, vector: Vector<'_>) -> Option<CallOutcome> {
        if let Some(settings) = right.settings() {
            return self.predict_at(right, settings, vector);
        }
        let unit = self.unit.as_deref().unwrap_or(right);
        let mut changed;
        let mut operands = vector.operands;
        if !self.operands.is_empty() {
            changed = operands.to_vec();
            for step in &self.operands {
                step.apply(right, &mut changed)?;
            }
            operands = &changed;
        }
        // A unit whose rounding needs no random words ignores those that it is given.
        operands = operands.get(..unit.operands().len())?;
        let is_same = self.unit.is_none() && self.operands.is_empty();
        let mut outcome = if is_same { vector.expected.clone() } else { unit.evaluate(operands).ok()? };
        let is_numeric = unit.numeric().is_some();
        let mut exact = if is_numeric && !(self.exact.is_empty() && self.results.is_empty()) {
            unit.exact(operands)
        } else {
            None
        };
        if !self.exact.is_empty() {
            let before = exact?;
            let mut after = before;
            for step in &self.exact {
                after = step.apply(unit, operands, after)?;
            }
            if after != before {
                outcome = rounded(unit, operands, after, outcome.flags)?;
            }
            exact = Some(after);
        }
        for step in &self.results {
            outcome = step.apply(unit, operands, exact, outcome)?;
        }
        for step in &self.flags {
            let flags = step.apply(unit, &outcome);
            outcome = outcome.with_flags(flags);
        }
        // The bits of flags that a unit with another policy does not have are 0.
        if let Some(bits) = self.bits {
            let flags = outcome.flags & bits;
            outcome = outcome.with_flags(flags);
        }
        Some(outcome)
    }
}

/// Rounds an exact value as the unit rounds; what operands raise is taken from the right flags.
pub(super) fn rounded(
    unit: &UnitUnderTest,
    operands: &[u64],
    exact: Exact,
    right: Flags,
) -> Option<CallOutcome> {
    let Rounded { value, flags } =
        project_with(exact, unit.operation().result()?, &unit.projection(operands).ok()?, unit.flag_policy());
    let of_operands = Flags::DENORMAL | Flags::INVALID | Flags::DIVISION_BY_ZERO;
    Some(CallOutcome::one(value, flags | (right & of_operands)))
}
