//! [`UnitEdit`]: another operation, other formats and policies in the place of the right ones.

use std::ops::Range;

use smallfloat::p3109::Specialization;
use smallfloat::{FlagPolicy, Format, Preset, Rounding, Saturation, Unrepresentable};

use crate::vectors::{UnitUnderTest, under};

/// What is changed in a unit; two edits go together unless they change the same thing.
#[derive(Clone, Default, Debug)]
pub(super) struct UnitEdit {
    /// The name of another operation.
    pub(super) function: Option<&'static str>,
    /// Formats by their place in the operation.
    pub(super) formats: Vec<(usize, Format)>,
    /// The rounding of the projections in a range.
    pub(super) rounding: Option<(Range<usize>, Rounding)>,
    pub(super) saturation: Option<Saturation>,
    pub(super) unrepresentable: Option<Unrepresentable>,
    /// A preset's projections with the right rounding.
    pub(super) preset: Option<Preset>,
    /// A policy for flags, and whether the semantics stay.
    pub(super) policy: Option<(FlagPolicy, bool)>,
}

/// Both edits change the same thing.
struct Conflict;

/// The one of two that is there.
fn either<T: Clone>(a: Option<&T>, b: Option<&T>) -> Result<Option<T>, Conflict> {
    match (a, b) {
        (Some(_), Some(_)) => Err(Conflict),
        (one, other) => Ok(one.or(other).cloned()),
    }
}

impl UnitEdit {
    /// Both edits; `None` where they change the same thing.
    pub(super) fn and(&self, other: &Self) -> Option<Self> {
        let has_preset = self.preset.is_some() || other.preset.is_some();
        let edits_rules = |edit: &Self| edit.saturation.is_some() || edit.unrepresentable.is_some();
        if has_preset && (edits_rules(self) || edits_rules(other)) {
            return None;
        }
        let shares = |place: usize| other.formats.iter().any(|(theirs, _)| *theirs == place);
        if self.formats.iter().any(|(place, _)| shares(*place)) {
            return None;
        }
        Some(Self {
            function: either(self.function.as_ref(), other.function.as_ref()).ok()?,
            formats: [&self.formats[..], &other.formats[..]].concat(),
            rounding: either(self.rounding.as_ref(), other.rounding.as_ref()).ok()?,
            saturation: either(self.saturation.as_ref(), other.saturation.as_ref()).ok()?,
            unrepresentable: either(self.unrepresentable.as_ref(), other.unrepresentable.as_ref()).ok()?,
            preset: either(self.preset.as_ref(), other.preset.as_ref()).ok()?,
            policy: either(self.policy.as_ref(), other.policy.as_ref()).ok()?,
        })
    }

    /// The unit with the changes; `None` where there is none.
    pub(super) fn apply(&self, right: &UnitUnderTest) -> Option<UnitUnderTest> {
        let mut operation = right.operation().clone();
        if let Some(function) = self.function {
            let name = operation.function().name();
            let text = operation.to_string().replacen(name, function, 1);
            let other: Specialization = text.parse().ok()?;
            let other = other.with_projections(operation.projections()).ok()?;
            operation = other.with_arithmetic(operation.arithmetic().with_flags(operation.flag_policy()));
        }
        if !self.formats.is_empty() {
            let mut formats = operation.formats().to_vec();
            for (place, format) in &self.formats {
                *formats.get_mut(*place)? = *format;
            }
            // What follows from the formats stays.
            let arithmetic = operation.arithmetic().with_flags(operation.flag_policy());
            operation = operation.with_formats(&formats).ok()?.with_arithmetic(arithmetic);
        }
        let mut projections = operation.projections().to_vec();
        let start = operation.formats().len().checked_sub(projections.len())?;
        for (i, projection) in projections.iter_mut().enumerate() {
            if let Some(preset) = self.preset {
                let theirs = preset.projection(&operation.formats()[start + i]);
                *projection = theirs.with_rounding(projection.rounding);
            }
            if let Some(unrepresentable) = self.unrepresentable {
                *projection = projection.with_unrepresentable(unrepresentable);
            }
            if let Some(saturation) = self.saturation {
                *projection = projection.with_saturation(saturation);
            }
            if let Some((range, rounding)) = &self.rounding
                && range.contains(&i)
            {
                *projection = projection.with_rounding(*rounding);
            }
        }
        operation = operation.with_projections(&projections).ok()?;
        if let Some((policy, keeps_semantics)) = self.policy {
            operation =
                operation.clone().with_arithmetic(under(operation.arithmetic(), policy, keeps_semantics));
        }
        Some(UnitUnderTest::from_operation(operation, right.preset()))
    }
}
