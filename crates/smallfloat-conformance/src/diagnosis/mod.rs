//! What may have caused the differences that a check of vectors found, and where they are.
//!
//! [`diagnose`] tries a catalogue of mistakes, alone and two together, on the vectors that a
//! [`CheckReport`] kept: each mistake is computed as the mistaken unit would compute it. Results
//! and flags are judged apart, since they are often computed apart.
//!
//! * A **cause** explains every vector that differs, and no vector that agrees speaks against it.
//!   Where several do, the vectors can't tell them apart.
//! * A **hypothesis** explains a part, or would make differ what agrees.
//! * **Rules** of others (a preset, a policy for flags) are no mistake: the unit may be right, and
//!   the vectors those of another unit.
//! * A **symptom** is what a wrong result looks like beside the right one. It is never a cause.
//! * A **condition** says where the differences are: what all vectors that differ have in common,
//!   and no vector that agrees.
//!
//! ```
//! use smallfloat_conformance::diagnosis::diagnose;
//! use smallfloat_conformance::vectors::{CheckOptions, FlagSet, UnitUnderTest, check};
//! // 1.1, -1.1 and 1.1875 in binary32, and E4M3 codes that a converter made of them.
//! let given = "3f8ccccd 38\nbf8ccccd b8\n3f980000 39\n";
//! let unit = UnitUnderTest::convert(&"binary32".parse()?, &"e4m3fn".parse()?, None, None, None)?;
//! let options = CheckOptions { unit: Some(unit.into()), flags: Some(FlagSet::None), ..CheckOptions::default() };
//! let diagnosis = diagnose(&check(given.as_bytes(), &options)?);
//! let cause = diagnosis.cause().expect("one mistake explains all");
//! assert_eq!(cause.mistake.to_string(), "truncates: rounds toward zero");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod catalogue;
mod condition;
mod edit;
mod fixed;
mod judge;
mod mistake;
mod ports;
mod readings;
mod rules;
mod scaled;
mod steps;
mod sums;
mod symptoms;

use smallfloat::Flags;

use crate::diagnosis::judge::Judge;
use crate::vectors::{CallOutcome, CheckReport, Mismatch, VectorUnit};

pub use condition::Condition;
pub use mistake::{Mistake, Rules};
pub use symptoms::Symptom;

/// A mistake and how well it explains what was given.
#[derive(Clone, Debug)]
pub struct Hypothesis {
    /// What may be wrong.
    pub mistake: Mistake,
    /// Vectors that differ and that it explains.
    pub explained: u64,
    /// Vectors that agree and would differ if the mistake were made everywhere.
    pub contradicted: u64,
    /// Where the mistake is made, if it explains everything that differs and not everywhere: of the
    /// vectors where it would show, this holds for those that differ.
    pub condition: Option<Condition>,
}

/// Possible causes of the differences of results, or of those of flags.
#[derive(Clone, Default, Debug)]
pub struct Finding {
    /// Vectors that differ and were looked at: all, or of very many a sample.
    pub differing: u64,
    /// Vectors that agree and were looked at.
    pub agreeing: u64,
    /// What explains all that differs and is contradicted by nothing that agrees, the likeliest
    /// first. The vectors can't tell one from another.
    pub causes: Vec<Hypothesis>,
    /// Where there is no cause, the hypotheses that explain most and are contradicted least.
    pub hypotheses: Vec<Hypothesis>,
    /// What wrong results look like.
    pub symptoms: Vec<Symptom>,
    /// Where there is no cause, where the differences are.
    pub condition: Option<Condition>,
}

/// Possible causes of the differences that a check found.
#[derive(Clone, Default, Debug)]
pub struct Diagnosis {
    /// Other rules under which all vectors agree, results and flags: policies for flags and
    /// presets. If the unit follows one of them, it is right.
    pub rules: Vec<Hypothesis>,
    /// Of the results, without regard to flags; `None` where all results agree.
    pub values: Option<Finding>,
    /// Of the flags; `None` where all flags agree.
    pub flags: Option<Finding>,
    /// The flags that differ are those that the cause of the values raises.
    pub flags_follow: bool,
}

impl Diagnosis {
    /// Returns the mistake that explains every difference, of results and of flags, and that no
    /// agreeing vector contradicts. `None` where there is none, or results and flags need one each.
    pub fn cause(&self) -> Option<&Hypothesis> {
        match (&self.values, &self.flags) {
            (Some(values), flags) if flags.is_none() || self.flags_follow => values.causes.first(),
            (None, Some(flags)) => flags.causes.first(),
            _ => None,
        }
    }

    /// Returns what would explain one vector that differs, the likeliest first: causes and
    /// hypotheses.
    pub fn explanations(&self, report: &CheckReport, mismatch: &Mismatch) -> Vec<&Mistake> {
        let Some(given) = &mismatch.given else { return Vec::new() };
        let vector = mistake::Vector { operands: &mismatch.operands, expected: &mismatch.expected };
        let predict = |mistake: &Mistake| match &report.unit {
            VectorUnit::Function(unit) => mistake.predict(unit, vector),
            VectorUnit::Fixed(_) => mistake.predict_fixed(vector.operands),
        };
        let agree = |these: &CallOutcome, those: &CallOutcome| {
            report.unit.agree(these, those, report.compared.any_nan)
        };
        let differs = !agree(given, &mismatch.expected);
        let of_values = self.values.iter().filter(|_| differs);
        let of_flags = self.flags.iter().filter(|_| !differs);
        let mask = report.compared.mask;
        let same_flags = |flags: Flags| flags & mask == given.flags & mask;
        let explains =
            |predicted: &CallOutcome| agree(predicted, given) && (differs || same_flags(predicted.flags));
        of_values
            .chain(of_flags)
            .flat_map(|finding| finding.causes.iter().chain(&finding.hypotheses))
            .map(|hypothesis| &hypothesis.mistake)
            .filter(|mistake| predict(mistake).as_ref().is_some_and(explains))
            .collect()
    }
}

/// Says what may have caused the differences that a check found. Findings do not depend on the
/// number of threads.
pub fn diagnose(report: &CheckReport) -> Diagnosis {
    if report.mismatches == 0 {
        return Diagnosis::default();
    }
    match &report.unit {
        VectorUnit::Function(unit) => Judge::new(report, unit).diagnosis(),
        VectorUnit::Fixed(unit) => fixed::diagnosis(report, unit),
    }
}
