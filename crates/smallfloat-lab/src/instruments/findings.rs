//! [`Findings`]: what every experiment gives: tables, series for plots, and notes.

use serde::{Serialize, Serializer};
use smallfloat::Datum;

/// The outcome of an experiment.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Findings {
    /// The experiment's name.
    pub experiment: &'static str,
    /// What it was run with, defaults included: option and value.
    pub settings: Vec<(&'static str, String)>,
    /// Numbers in rows.
    pub tables: Vec<FindingsTable>,
    /// Numbers to be drawn.
    pub plots: Vec<Plot>,
    /// What the numbers mean and what they do not.
    pub notes: Vec<String>,
}

impl Findings {
    pub(crate) fn new(experiment: &'static str) -> Self {
        Self { experiment, settings: Vec::new(), tables: Vec::new(), plots: Vec::new(), notes: Vec::new() }
    }

    pub(crate) fn set(mut self, option: &'static str, value: impl AsRef<str>) -> Self {
        self.settings.push((option, value.as_ref().to_owned()));
        self
    }

    pub(crate) fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }
}

/// A titled table.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FindingsTable {
    /// What the rows are.
    pub title: String,
    /// The names of the columns.
    pub columns: Vec<String>,
    /// A cell for each column.
    pub rows: Vec<Vec<Cell>>,
}

impl FindingsTable {
    pub(crate) fn new<C: ToString>(title: impl Into<String>, columns: impl IntoIterator<Item = C>) -> Self {
        let columns = columns.into_iter().map(|column| column.to_string()).collect();
        Self { title: title.into(), columns, rows: Vec::new() }
    }

    /// Returns the cell in the first row that begins with these texts, in the column of this name.
    pub fn cell(&self, beginning: &[&str], column: &str) -> Option<&Cell> {
        let index = self.columns.iter().position(|name| name == column)?;
        let begins =
            |row: &Vec<Cell>| beginning.iter().zip(row).all(|(text, cell)| cell.text() == Some(text));
        self.rows.iter().find(|row| begins(row))?.get(index)
    }
}

/// One cell of a table.
#[derive(Clone, PartialEq, Debug)]
pub enum Cell {
    /// Words.
    Text(String),
    /// How many.
    Count(u64),
    /// An exact value, printed in full.
    Value(f64),
    /// A measured number, of which a few digits matter.
    Measured(f64),
    /// A part of a whole, from 0 to 1.
    Share(f64),
    /// Nothing to say.
    Empty,
}

impl Cell {
    /// Returns the words of a cell of words.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the number of a cell of numbers, if `f64` holds it.
    #[expect(clippy::cast_precision_loss, reason = "counts are below 2^53")]
    pub fn number(&self) -> Option<f64> {
        match *self {
            Self::Count(n) => Some(n as f64),
            Self::Value(x) | Self::Measured(x) | Self::Share(x) => Some(x),
            Self::Text(_) | Self::Empty => None,
        }
    }

    /// What a share is of, as a part; nothing of nothing.
    pub(crate) fn share(part: u64, whole: u64) -> Self {
        if whole == 0 { Self::Empty } else { Self::Share(ratio(part, whole)) }
    }
}

/// JSON has no infinities and no NaN: these become the words `Inf`, `-Inf` and `NaN`.
impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Count(n) => serializer.serialize_u64(*n),
            Self::Value(x) | Self::Measured(x) | Self::Share(x) if x.is_finite() => {
                serializer.serialize_f64(*x)
            }
            Self::Value(x) | Self::Measured(x) | Self::Share(x) => serializer.serialize_str(special(*x)),
            Self::Empty => serializer.serialize_none(),
        }
    }
}

/// Returns the name of an infinity or a NaN.
pub fn special(x: f64) -> &'static str {
    match (x.is_nan(), x < 0.0) {
        (true, _) => "NaN",
        (_, true) => "-Inf",
        _ => "Inf",
    }
}

/// A part of a whole.
#[expect(clippy::cast_precision_loss, reason = "counts are below 2^53")]
pub(crate) fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

macro_rules! cells_from {
    ($($from:ty, $x:ident => $cell:expr;)*) => {$(
        impl From<$from> for Cell {
            fn from($x: $from) -> Self {
                $cell
            }
        }
    )*};
}
cells_from! {
    &str, x => Self::Text(x.to_owned());
    String, x => Self::Text(x);
    u64, x => Self::Count(x);
    usize, x => Self::Count(x as u64);
    u32, x => Self::Count(x.into());
    i32, x => Self::Value(x.into());
    f64, x => Self::Value(x);
    // A value that `f64` does not hold is written as the core writes it.
    Datum, x => x.to_f64().map_or_else(|| Self::Text(x.to_string()), Self::Value);
}

impl<T: Into<Self>> From<Option<T>> for Cell {
    fn from(x: Option<T>) -> Self {
        x.map_or(Self::Empty, Into::into)
    }
}

/// A row of a table from anything that becomes cells.
macro_rules! row {
    ($($cell:expr),* $(,)?) => { vec![$($crate::instruments::findings::Cell::from($cell)),*] };
}
pub(crate) use row;

/// A picture's data.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Plot {
    /// What it shows.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What is drawn, in order.
    pub series: Vec<Series>,
}

/// An axis.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Axis {
    /// Quantity and unit.
    pub label: String,
    /// How numbers lie on it.
    pub scale: AxisScale,
}

impl Axis {
    pub(crate) fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: AxisScale::Linear }
    }

    pub(crate) fn log(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: AxisScale::Logarithmic }
    }

    pub(crate) fn categories<C: ToString>(
        label: impl Into<String>,
        names: impl IntoIterator<Item = C>,
    ) -> Self {
        let names = names.into_iter().map(|name| name.to_string()).collect();
        Self { label: label.into(), scale: AxisScale::Categories(names) }
    }
}

/// The scale of an axis.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AxisScale {
    /// Evenly.
    Linear,
    /// By their logarithm; numbers that are not positive are not drawn.
    Logarithmic,
    /// 0, 1, 2, … stand for these names.
    Categories(Vec<String>),
}

/// One line, set of points or set of bars.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Series {
    /// What it is.
    pub name: String,
    /// How it is drawn.
    pub mark: Mark,
    /// Horizontal and vertical coordinates. What is not finite is not drawn.
    pub points: Vec<[f64; 2]>,
}

/// The mark of a series in a plot.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// A line through the points.
    Line,
    /// A line in dashes, for what others are compared with.
    Dashes,
    /// A dot at each point.
    Dots,
    /// A bar from 0; several series stand side by side.
    Bars,
}

impl Series {
    pub(crate) fn new(
        name: impl Into<String>,
        mark: Mark,
        points: impl IntoIterator<Item = [f64; 2]>,
    ) -> Self {
        Self { name: name.into(), mark, points: points.into_iter().collect() }
    }
}
