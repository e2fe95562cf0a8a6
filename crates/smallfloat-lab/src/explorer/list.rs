//! Lists of values (`nf4`, `int8`): their codes, and the nearest one to a number.

use serde::{Deserialize, Serialize};
use smallfloat::text::Literal;
use smallfloat::{Codebook, Exact};

use crate::explorer::dyadic::Dyadic;
use crate::explorer::error::{ExplorerError, check_length, named};
use crate::explorer::number::Value;
use crate::explorer::rounding::rough;

/// A list, and a number on its way into it.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListRequest {
    /// The list's name.
    pub list: String,
    /// The number, or a code `#3`; none for the list alone.
    #[serde(default)]
    pub text: Option<String>,
}

/// A list with its codes.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ListedValues {
    /// The list's name.
    pub name: &'static str,
    /// The document that defines it.
    pub source: &'static str,
    /// Bits of a code.
    pub width: u32,
    /// What becomes of a number in the middle between two values, in words.
    pub ties: &'static str,
    /// Cells per row, where the codes stand in a square.
    pub columns: u32,
    /// The codes in their order.
    pub codes: Vec<ListedCode>,
    /// Where the number falls.
    pub fell: Option<NearestCode>,
}

/// A code and its value.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ListedCode {
    /// The code.
    pub code: u32,
    /// `0x8`.
    pub hex: String,
    /// Its value.
    pub value: Value,
    /// The value as a picture needs it.
    pub at: f64,
    /// How many of the values that rounding gives are lower; none for a code that it never gives.
    pub rank: Option<usize>,
    /// The middle between it and the next higher value; none for the highest.
    pub middle: Option<Middle>,
}

/// The number where rounding decides between two values.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Middle {
    /// The number.
    pub value: Value,
    /// The number as a picture needs it.
    pub at: f64,
    /// Whether it becomes the higher value.
    pub up: bool,
}

/// A number and the code that it becomes.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct NearestCode {
    /// The number that was read.
    pub number: Value,
    /// The number as a picture needs it; none for infinities.
    pub at: Option<f64>,
    /// Whether a code was typed, and so nothing is rounded.
    pub typed_code: bool,
    /// The code.
    pub code: u32,
    /// Whether the code has the number.
    pub exact: bool,
    /// Whether it lies in the middle between two values.
    pub tie: bool,
    /// The code's value − the number; none for infinities.
    pub error: Option<Value>,
}

/// A list with its codes, and where a number falls.
pub(super) fn list(request: &ListRequest) -> Result<ListedValues, ExplorerError> {
    check_length(&request.list)?;
    let codebook = named("the list", &request.list, Codebook::ALL, |list| list.name())?;
    let fell = request.text.as_deref().map(|text| nearest(codebook, text)).transpose()?;
    let mut ranks = vec![None; 1 << codebook.width()];
    for (rank, code) in codebook.ascending().enumerate() {
        ranks[code as usize] = Some(rank);
    }
    let codes = (0..=codebook.max_code()).zip(ranks).map(|(code, rank)| ListedCode {
        code,
        hex: hex(codebook, code),
        value: Value::of_datum(codebook.decode(code)),
        at: codebook.value(code).into(),
        rank,
        middle: rank.filter(|rank| rank + 1 < codebook.len()).map(|rank| {
            let middle = codebook.midpoint(rank);
            let at = place(middle.into()).expect("middles are finite");
            Middle { value: Value::of_datum(middle), at, up: codebook.is_tie_up(rank) }
        }),
    });
    Ok(ListedValues {
        name: codebook.name(),
        source: codebook.source(),
        width: codebook.width(),
        ties: codebook.ties().name(),
        columns: 1 << codebook.width().div_ceil(2),
        codes: codes.collect(),
        fell,
    })
}

fn hex(codebook: Codebook, code: u32) -> String {
    format!("0x{code:0digits$x}", digits = codebook.width().div_ceil(4) as usize)
}

/// A finite number as a picture needs it.
fn place(x: Exact) -> Option<f64> {
    Dyadic::of(x)?.ratio(&Dyadic::of(Exact::from_i128(1))?)
}

fn nearest(codebook: Codebook, text: &str) -> Result<NearestCode, ExplorerError> {
    check_length(text)?;
    let (x, typed) = match Literal::parse(text)? {
        Literal::Value(x) => (x, None),
        Literal::Code(given) => {
            let most = codebook.max_code();
            let code = u32::try_from(given).ok().filter(|code| *code <= most);
            let range = || ExplorerError::Range { what: "the code", given, least: 0, most: most.into() };
            let code = code.ok_or_else(range)?;
            (codebook.decode(code).into(), Some(code))
        }
    };
    let no_nan = || ExplorerError::Question { text: format!("{codebook} has no NaN") };
    let code = typed.or_else(|| codebook.encode(x)).ok_or_else(no_nan)?;
    let is_cut = matches!(x, Exact::Finite { sticky: true, .. });
    let value = Dyadic::of_datum(codebook.decode(code)).expect("values are finite");
    let error = Dyadic::of(x).and_then(|x| value.minus(&x));
    let is_middle = |rank| {
        let middle = Dyadic::of_datum(codebook.midpoint(rank)).expect("middles are finite");
        !is_cut && Dyadic::of(x).and_then(|x| middle.minus(&x)).is_some_and(|apart| apart.is_zero())
    };
    Ok(NearestCode {
        number: Value::of(x),
        at: place(x),
        typed_code: typed.is_some(),
        code,
        exact: !is_cut && error.as_ref().is_some_and(Dyadic::is_zero),
        tie: typed.is_none() && (0..codebook.len() - 1).any(is_middle),
        // Of a number that was cut off, the error is known to 128 bits and no more.
        error: error.as_ref().map(Value::of_dyadic).map(|value| if is_cut { rough(value) } else { value }),
    })
}
