//! The number line: where a format's values lie in a window, on a linear or a logarithmic scale.
//!
//! Places are `f64` in units that fit every format: on the linear scale multiples of 2^unit, which
//! brings the largest value between 1 and 2; on the logarithmic scale log2 |x| of the positive
//! values. They are for drawing; the values beside them are exact.

use serde::{Deserialize, Serialize};
use smallfloat::{Datum, Format};

use crate::explorer::error::ExplorerError;
use crate::explorer::{card, dyadic, listed, number};

/// Linear or logarithmic.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LineScale {
    /// Distances are differences.
    Linear,
    /// Distances are ratios; positive values only.
    Log,
}

/// A window of a format's number line.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// The format's name.
    pub format: String,
    /// The scale.
    pub scale: LineScale,
    /// The left end; none for that of the whole line.
    #[serde(default)]
    pub lo: Option<f64>,
    /// The right end.
    #[serde(default)]
    pub hi: Option<f64>,
    /// Up to so many values are listed, 1..=4096; more are counted in as many bins.
    pub most: u32,
}

/// The most values or bins of an answer.
const MOST: u32 = 4096;

/// A value on the line.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Tick {
    /// Its code.
    pub code: u64,
    /// Where it lies.
    pub at: f64,
    /// Its class.
    pub class: &'static str,
    /// Its value in decimal; `≈` in front of what is rounded.
    pub text: String,
}

/// The values in a window of the number line.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Line {
    /// The scale.
    pub scale: LineScale,
    /// On the linear scale, places are multiples of 2^unit; 0 on the logarithmic one.
    pub unit: i32,
    /// The ends of the whole line, a little beyond the outermost values.
    pub whole: (f64, f64),
    /// The ends of the window.
    pub window: (f64, f64),
    /// How many values it holds.
    pub count: usize,
    /// The values, ascending, unless there are too many.
    pub ticks: Vec<Tick>,
    /// How many values lie in each of equal parts of the window, if there are too many to list.
    pub bins: Vec<u32>,
}

/// The place of a value.
#[expect(clippy::cast_precision_loss, reason = "significands of up to 16 bits")]
fn place(datum: Datum, scale: LineScale, unit: i32) -> f64 {
    match (datum, scale) {
        (Datum::Finite { negative, significand, exponent }, LineScale::Linear) => {
            let magnitude = significand as f64 * 2.0_f64.powi(exponent - unit);
            if negative { -magnitude } else { magnitude }
        }
        (_, LineScale::Log) => card::log2(datum),
        (_, LineScale::Linear) => f64::NAN,
    }
}

/// The codes of a format's different finite values, ascending: without −0 and without codes that
/// are flushed to 0.
fn ascending(format: &Format) -> impl Iterator<Item = (u64, Datum)> + '_ {
    let last_positive = format.max_code() >> u32::from(format.is_signed());
    let (positive, negative) = (0..=last_positive, last_positive + 1..=format.max_code());
    let value = |code| (code, format.decode(code));
    let negative = negative.rev().map(value).filter(|(_, datum)| datum.is_finite() && !datum.is_zero());
    let positive =
        positive.map(value).filter(|(code, datum)| datum.is_finite() && (*code == 0 || !datum.is_zero()));
    negative.chain(positive)
}

/// What lies in a window of a format's number line.
pub(super) fn line(window: &Window) -> Result<Line, ExplorerError> {
    let format = listed(&window.format)?;
    if !(1..=MOST).contains(&window.most) {
        let given = u64::from(window.most);
        return Err(ExplorerError::Range { what: "most", given, least: 1, most: u64::from(MOST) });
    }
    let scale = window.scale;
    let unit = match scale {
        LineScale::Linear => format.max_finite().exponent_of_leading_bit(),
        LineScale::Log => 0,
    };
    let whole = whole(&format, scale, unit);
    let (lo, hi) = (window.lo.unwrap_or(whole.0), window.hi.unwrap_or(whole.1));
    if !(lo.is_finite() && hi.is_finite() && lo < hi) {
        return Err(ExplorerError::Window { lo, hi });
    }
    let shown = |datum: Datum| scale == LineScale::Linear || !(datum.is_negative() || datum.is_zero());
    let inside: Vec<(u64, f64)> = ascending(&format)
        .filter(|(_, datum)| shown(*datum))
        .map(|(code, datum)| (code, place(datum, scale, unit)))
        .filter(|(_, at)| (lo..=hi).contains(at))
        .collect();
    let mut line =
        Line { scale, unit, whole, window: (lo, hi), count: inside.len(), ticks: vec![], bins: vec![] };
    if inside.len() <= window.most as usize {
        line.ticks = inside
            .into_iter()
            .map(|(code, at)| Tick {
                code,
                at,
                class: number::class(format.classify(code)),
                text: dyadic::decimal(format.decode(code).into()),
            })
            .collect();
    } else {
        line.bins = vec![0; window.most as usize];
        for (_, at) in inside {
            let share = (at - lo) / (hi - lo) * f64::from(window.most);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "from 0 to the number of bins"
            )]
            let bin = (share as usize).min(line.bins.len() - 1);
            line.bins[bin] += 1;
        }
    }
    Ok(line)
}

/// The ends of the whole line, a little beyond the outermost values.
fn whole(format: &Format, scale: LineScale, unit: i32) -> (f64, f64) {
    let least = match scale {
        LineScale::Linear => format.min_finite(),
        LineScale::Log => format.min_positive(),
    };
    let (lo, hi) = (place(least, scale, unit), place(format.max_finite(), scale, unit));
    let margin = match scale {
        LineScale::Linear => (hi - lo) * 0.03,
        LineScale::Log => ((hi - lo) * 0.03).max(0.5),
    };
    (lo - margin, hi + margin)
}
