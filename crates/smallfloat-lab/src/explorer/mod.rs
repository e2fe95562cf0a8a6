//! The model behind the explorer's page: a question as plain data, an answer as plain data, and no
//! state between them.
//!
//! [`answer`] takes every [`Question`]; [`tensor::overlap`] takes the bytes of a file. Whoever
//! serves them (a web server, a test) needs to know nothing of numbers, and the page that shows
//! answers computes nothing but pixels.

pub mod arithmetic;
pub mod card;
pub mod choice;
pub mod compare;
pub mod digits;
mod dyadic;
mod error;
pub mod grid;
pub mod line;
pub mod list;
pub mod number;
pub mod rounding;
pub mod tensor;

use serde::{Deserialize, Serialize};
use smallfloat::{Format, FormatSpec};

pub use error::ExplorerError;

/// A question. In JSON `{"ask": "format", "name": "e4m3fn"}`.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Question {
    /// Which formats, presets and modes there are.
    Catalogue,
    /// Everything that follows from a format.
    Format {
        /// Its name, as [`FormatSpec`] parses it.
        name: String,
    },
    /// A code: what it means, and its neighbours.
    Code {
        /// The format's name.
        format: String,
        /// The code, below 2^K.
        code: u64,
    },
    /// A window of the number line.
    Line(line::Window),
    /// The codes in a square, or for formats of more than 8 bits a page of them.
    Grid {
        /// The format's name.
        format: String,
        /// The page of 256 codes; none for the overview of all pages.
        page: Option<u32>,
    },
    /// A value on its way into a format, in every rounding mode.
    Round(rounding::RoundRequest),
    /// Formats side by side.
    Compare(compare::CompareRequest),
    /// A list of values, and the nearest one to a number.
    List(list::ListRequest),
    /// An operation step by step.
    Arithmetic(arithmetic::ArithmeticRequest),
}

/// The answer: the JSON of the kind that was asked for.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(untagged)]
pub enum Reply {
    /// To [`Question::Catalogue`].
    Catalogue(card::Catalogue),
    /// To [`Question::Format`].
    Format(Box<card::Card>),
    /// To [`Question::Code`].
    Code(Box<number::Neighbourhood>),
    /// To [`Question::Line`].
    Line(line::Line),
    /// To [`Question::Grid`].
    Grid(grid::CodeGrid),
    /// To [`Question::Round`].
    Round(Box<rounding::RoundedInModes>),
    /// To [`Question::Compare`].
    Compare(compare::FormatComparison),
    /// To [`Question::List`].
    List(list::ListedValues),
    /// To [`Question::Arithmetic`].
    Arithmetic(Box<arithmetic::OperationSteps>),
}

/// Answers a question. The same question always has the same answer.
///
/// # Errors
/// Names, codes and values that are not understood, and windows and pages that do not exist; the
/// message says what would be right.
pub fn answer(question: &Question) -> Result<Reply, ExplorerError> {
    Ok(match question {
        Question::Catalogue => Reply::Catalogue(card::catalogue()),
        Question::Format { name } => Reply::Format(Box::new(card::named(&spec(name)?))),
        Question::Code { format: name, code } => {
            let format = format(name)?;
            Reply::Code(Box::new(number::neighbourhood(&format, format.check_code(*code)?)))
        }
        Question::Line(window) => Reply::Line(line::line(window)?),
        Question::Grid { format: name, page } => Reply::Grid(grid::grid(&listed(name)?, *page)?),
        Question::Round(request) => Reply::Round(Box::new(rounding::round(request)?)),
        Question::Compare(request) => Reply::Compare(compare::compare(request)?),
        Question::List(request) => Reply::List(list::list(request)?),
        Question::Arithmetic(request) => Reply::Arithmetic(Box::new(arithmetic::steps(request)?)),
    })
}

/// Reads a question from JSON.
///
/// # Errors
/// What is no question.
pub fn from_json<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, ExplorerError> {
    serde_json::from_slice(text)
        .map_err(|error| ExplorerError::Question { text: format!("the question is not understood: {error}") })
}

/// A format by name; one whose bias is missing has the default, as everywhere in the command.
fn format(name: &str) -> Result<Format, ExplorerError> {
    Ok(spec(name)?.or_default_bias())
}

fn spec(name: &str) -> Result<FormatSpec, ExplorerError> {
    error::check_length(name)?;
    Ok(name.parse()?)
}

/// A format by name whose codes can be listed.
fn listed(name: &str) -> Result<Format, ExplorerError> {
    let format = format(name)?;
    if format.is_wide() { Err(ExplorerError::TooWide { format }) } else { Ok(format) }
}
