//! The one error type of this crate.

use std::path::PathBuf;

/// The result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error: what went wrong, where, and what would have been right.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A configuration that asks for what does not exist or does not go together.
    #[error("{0}")]
    Config(String),
    /// Data that is not what it was taken for.
    #[error("`{}`: {what}", path.display())]
    Data {
        /// The file.
        path: PathBuf,
        /// What is wrong with it and what would be right.
        what: String,
    },
    /// A file that could not be opened or read.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A tensor with a NaN or an infinity: the run has diverged.
    #[error(
        "step {step}: {tensor} has {count} NaN or infinite elements of {elements}, the first, {value}, at {index}: the \
         run has diverged; take a smaller learning rate, or formats and biases with more range \
         (`nonfinite = \"preset\"` encodes them all the same)"
    )]
    Nonfinite {
        /// The step, from 1 on; in an evaluation the last one before it.
        step: u64,
        /// The tensor: layer and class, or `loss`.
        tensor: String,
        /// How many elements are NaN or infinite.
        count: usize,
        /// How many elements there are.
        elements: usize,
        /// The first that is.
        value: f32,
        /// Its place.
        index: usize,
    },
    /// Checkpoints and biases.
    #[error(transparent)]
    Tensor(#[from] smallfloat_tensor::Error),
    /// A format that the kernels have no way with.
    #[error(transparent)]
    Kernel(Box<smallfloat_kernels::Error>),
    /// A name that is no format, or random bits out of range.
    #[error(transparent)]
    Format(Box<smallfloat::Error>),
}

impl From<smallfloat_kernels::Error> for Error {
    fn from(error: smallfloat_kernels::Error) -> Self {
        Self::Kernel(Box::new(error))
    }
}

impl From<smallfloat::Error> for Error {
    fn from(error: smallfloat::Error) -> Self {
        Self::Format(Box::new(error))
    }
}

impl Error {
    pub(crate) fn config(what: impl Into<String>) -> Self {
        Self::Config(what.into())
    }

    pub(crate) fn data(path: impl Into<PathBuf>, what: impl Into<String>) -> Self {
        Self::Data { path: path.into(), what: what.into() }
    }

    pub(crate) fn read(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Self::Read { path: path.into(), source }
    }
}
