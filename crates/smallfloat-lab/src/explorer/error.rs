//! What the explorer can't answer.

use smallfloat::Format;

/// The error of a question without an answer, with what would be right. Messages are for people: a
/// page shows them as they are.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExplorerError {
    /// A message that is no question.
    #[error("{text}")]
    Question {
        /// What would be right.
        text: String,
    },
    /// A format, a value or a code that is not understood.
    #[error(transparent)]
    Core(Box<smallfloat::Error>),
    /// A file that can't be read as tensors, or a tensor that is refused.
    #[error(transparent)]
    Tensor(#[from] smallfloat_tensor::Error),
    /// A tensor that can't be encoded into one of the formats.
    #[error(transparent)]
    Kernels(#[from] smallfloat_kernels::Error),
    /// A name that is none of a list.
    #[error("{what} `{given}` is not known; there are {known}")]
    Unknown {
        /// What was to be named.
        what: &'static str,
        /// The name.
        given: String,
        /// The names there are.
        known: String,
    },
    /// A format too wide to list its codes.
    #[error(
        "{format} has 2^{} codes; number line, codes and arithmetic show formats of up to 16 bits",
        format.width()
    )]
    TooWide {
        /// The format.
        format: Format,
    },
    /// A number outside its range.
    #[error("{what} is {given}; it must be from {least} to {most}")]
    Range {
        /// The number's name.
        what: &'static str,
        /// What was given.
        given: u64,
        /// The least that is right.
        least: u64,
        /// The most that is right.
        most: u64,
    },
    /// A window of the number line without extent.
    #[error("the window from {lo} to {hi} is empty or not finite; lo must be below hi")]
    Window {
        /// The left end.
        lo: f64,
        /// The right end.
        hi: f64,
    },
    /// More text than a number or a name can need.
    #[error("a text of {length} characters; at most {most} are read")]
    TooLong {
        /// How many characters were given.
        length: usize,
        /// The most.
        most: usize,
    },
    /// A number that is rounded right, but not known to its last digit.
    #[error(
        "`{text}` is too far from 1 to be shown; numbers may be from 1e-50000 to 1e50000, powers of two from \
         1p-500000 to 1p500000"
    )]
    TooFar {
        /// The number.
        text: String,
    },
    /// Another number of operands than the operation takes, or of formats than can be compared.
    #[error("{given} {what} given; there must be from {least} to {most}")]
    Count {
        /// What was counted.
        what: &'static str,
        /// How many were given.
        given: usize,
        /// The fewest that are right.
        least: usize,
        /// The most that are right.
        most: usize,
    },
    /// A file without a tensor of numbers.
    #[error(
        "{file} has no tensor of numbers: F64, F32, F16, BF16, or codes that a file of this project describes"
    )]
    NoTensor {
        /// The file's name.
        file: String,
    },
}

impl From<smallfloat::Error> for ExplorerError {
    fn from(error: smallfloat::Error) -> Self {
        Self::Core(Box::new(error))
    }
}

/// The longest text of a number: every decimal that lies halfway between two values of a 16-bit
/// format fits.
const MOST_CHARACTERS: usize = 20_000;

/// Refuses texts so long that they only cost time.
pub(super) fn check_length(text: &str) -> Result<(), ExplorerError> {
    match text.chars().count() {
        length if length > MOST_CHARACTERS => Err(ExplorerError::TooLong { length, most: MOST_CHARACTERS }),
        _ => Ok(()),
    }
}

/// The thing of a name in a list, case ignored.
pub(super) fn named<T: Copy>(
    what: &'static str,
    given: &str,
    list: &[T],
    name: impl Fn(T) -> &'static str,
) -> Result<T, ExplorerError> {
    list.iter().copied().find(|&thing| name(thing).eq_ignore_ascii_case(given)).ok_or_else(|| {
        ExplorerError::Unknown {
            what,
            given: given.chars().take(80).collect(),
            known: list.iter().map(|&thing| name(thing)).collect::<Vec<_>>().join(", "),
        }
    })
}

impl ExplorerError {
    /// Returns the message with those of its causes.
    pub fn with_causes(&self) -> String {
        let mut text = self.to_string();
        let mut source = std::error::Error::source(self);
        while let Some(cause) = source {
            text = format!("{text}: {cause}");
            source = cause.source();
        }
        text
    }
}
