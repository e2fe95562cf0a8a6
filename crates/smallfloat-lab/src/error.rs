//! The crate's error.

use std::path::PathBuf;

/// The error of an experiment, with what would be right.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A name, a format or an operation that is not understood.
    #[error(transparent)]
    Core(#[from] smallfloat::Error),
    /// A file of tensors that can't be read.
    #[error("{0}")]
    File(String),
    /// An experiment that does not exist.
    #[error("no experiment is called `{name}`; there are {names}")]
    NoSuchExperiment {
        /// The name.
        name: String,
        /// The names that would be right.
        names: String,
    },
    /// An option that means nothing to an experiment.
    #[error("{option}: {experiment} does not take it; it takes {taken}")]
    NotTaken {
        /// The experiment.
        experiment: &'static str,
        /// The option.
        option: &'static str,
        /// The options that it takes.
        taken: String,
    },
    /// An option's value outside its range.
    #[error("{option} {given}: expected {expected}")]
    OptionRange {
        /// The option.
        option: &'static str,
        /// The value.
        given: String,
        /// What would be right.
        expected: String,
    },
    /// A step of an experiment that a format does not allow.
    #[error("{step}: {cause}")]
    Step {
        /// What was tried.
        step: &'static str,
        /// Why it can't be.
        cause: String,
    },
    /// A file of tensors that has none to use.
    #[error("{}: {cause}", path.display())]
    Data {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: String,
    },
}
