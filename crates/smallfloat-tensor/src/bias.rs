//! Which bias a tensor gets. A bias is a power-of-two scale, so this is the choice of a scale.
//!
//! Source of the rules: `docs/semantics.md` S7.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use num_bigint::BigInt;
use smallfloat::{Datum, Format, FormatSpec, Rounded, project};
use smallfloat_kernels::{Cell, Cells, Element};

use crate::scale::magnitude;
use crate::{Error, Result};

/// How the bias of a tensor is chosen.
///
/// ```
/// use smallfloat_tensor::BiasPolicy;
/// assert_eq!("auto".parse::<BiasPolicy>()?, BiasPolicy::LeastError);
/// assert_eq!("percentile:99.9".parse::<BiasPolicy>()?, BiasPolicy::Percentile(99.9));
/// # Ok::<(), smallfloat_tensor::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum BiasPolicy {
    /// The bias with the least squared error, exactly, over all legal ones; of equals the largest.
    LeastError,
    /// The largest bias at which the largest magnitude does not exceed the format's.
    Amax,
    /// The same for the magnitude that this percentage of the finite elements does not exceed.
    Percentile(f64),
    /// This bias for every tensor.
    Fixed(i32),
}

impl FromStr for BiasPolicy {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || {
            let what = format!(
                "bias `{text}` is not understood: write auto, amax, percentile:P (0 < P <= 100) or a number"
            );
            Error::refused(None, None, what)
        };
        match text {
            "auto" | "mse" => Ok(Self::LeastError),
            "amax" => Ok(Self::Amax),
            _ => match text.strip_prefix("percentile:") {
                Some(percent) => match percent.parse() {
                    Ok(percent) if percent > 0.0 && percent <= 100.0 => Ok(Self::Percentile(percent)),
                    _ => Err(wrong()),
                },
                None => text.parse().map(Self::Fixed).map_err(|_| wrong()),
            },
        }
    }
}

impl fmt::Display for BiasPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LeastError => f.write_str("auto"),
            Self::Amax => f.write_str("amax"),
            Self::Percentile(percent) => write!(f, "percentile:{percent}"),
            Self::Fixed(bias) => write!(f, "{bias}"),
        }
    }
}

impl BiasPolicy {
    /// The format with the bias for these values; NaN and infinities don't count.
    ///
    /// # Errors
    /// A bias outside the format's range.
    ///
    /// ```
    /// use smallfloat_tensor::BiasPolicy;
    /// let spec = "cfloat8_1_4_3".parse().unwrap();
    /// assert_eq!(BiasPolicy::Amax.choose_for(&spec, &[0.1_f32, -1.75])?.bias(), 15);
    /// # Ok::<(), smallfloat_tensor::Error>(())
    /// ```
    pub fn choose_for<T: Element>(self, spec: &FormatSpec, values: &[T]) -> Result<Format> {
        let finite = values.iter().map(|x| x.to_f64()).filter(|x| x.is_finite());
        match self {
            // The largest magnitude says all.
            Self::Amax => self.choose_values(spec, finite.map(f64::abs).reduce(f64::max).into_iter()),
            _ if values.len() <= FEW => self.choose_values(spec, finite),
            _ => {
                let mut cells = Cells::new(spec.with_bias(0).map_or(1, |format| format.precision()));
                cells.add(values);
                self.choose(spec, Some(&cells))
            }
        }
    }

    /// Does the choice need a look at the data?
    pub(crate) fn needs_statistics(self) -> bool {
        !matches!(self, Self::Fixed(_))
    }

    /// The format with the bias for data with these statistics (`None` only for [`Fixed`](Self::Fixed)).
    pub(crate) fn choose<T: Element>(self, spec: &FormatSpec, cells: Option<&Cells<T>>) -> Result<Format> {
        self.choose_summary(spec, cells.map(Summary::of_cells))
    }

    /// The same for a group of elements that is at hand; NaN and infinities don't count.
    pub(crate) fn choose_values(
        self,
        spec: &FormatSpec,
        values: impl Iterator<Item = f64>,
    ) -> Result<Format> {
        self.choose_summary(spec, self.needs_statistics().then(|| Summary::of_values(values)))
    }

    fn choose_summary(self, spec: &FormatSpec, summary: Option<Summary>) -> Result<Format> {
        let fixed = |bias| spec.with_bias(bias).map_err(|e| Error::refused(None, None, e.to_string()));
        let candidates = candidates(spec);
        let (Some(summary), Some(&last)) = (summary, candidates.last()) else {
            return match self {
                Self::Fixed(bias) => fixed(bias),
                _ => Err(Error::refused(None, None, "this bias policy needs the data's statistics")),
            };
        };
        match self {
            Self::Fixed(bias) => fixed(bias),
            _ if summary.cells.is_empty() => Ok(default_bias(last)),
            Self::Amax => Ok(largest_holding(&candidates, &summary.amax)),
            Self::Percentile(percent) => Ok(largest_holding(&candidates, &summary.percentile(percent))),
            Self::LeastError => Ok(least_error(&candidates, summary.cells)),
        }
    }
}

/// What the choice of a bias needs to know of finite elements.
struct Summary {
    /// Elements that round alike, from small to large magnitudes.
    cells: Vec<Cell>,
    zeros: u64,
    amax: Datum,
}

/// So few elements are summed up one by one: the table of [`Cells`] would be mostly empty.
const FEW: usize = 1 << 12;

/// Magnitudes beyond these make no difference to any bias and count as these.
const SMALLEST: f64 = f64::from_bits((1023 - 150) << 52);
const LARGEST: f64 = f64::from_bits((1023 + 128) << 52);

impl Summary {
    fn of_cells<T: Element>(cells: &Cells<T>) -> Self {
        Self { cells: cells.iter().collect(), zeros: cells.zeros(), amax: cells.amax() }
    }

    /// A cell for each element: right for groups that are too small to fill the table of [`Cells`].
    fn of_values(values: impl Iterator<Item = f64>) -> Self {
        let (mut zeros, mut magnitudes) = (0, Vec::new());
        for x in values.filter(|x| x.is_finite()) {
            if x == 0.0 {
                zeros += 1;
            } else {
                magnitudes.push(x.abs().clamp(SMALLEST, LARGEST));
            }
        }
        magnitudes.sort_unstable_by(f64::total_cmp);
        let amax = magnitudes.last().map_or(Datum::finite(false, 0, 0), |x| f64::FORMAT.decode(x.to_bits()));
        let cell = |x: f64| {
            let representative = f64::FORMAT.decode(x.to_bits());
            let Datum::Finite { significand: first, exponent, .. } = representative else { return None };
            Some(Cell { representative, count: 1, first, sum: 0, sum_of_squares: 0, exponent })
        };
        Self { cells: magnitudes.into_iter().filter_map(cell).collect(), zeros, amax }
    }

    fn percentile(&self, percent: f64) -> Datum {
        let finite: u64 = self.zeros + self.cells.iter().map(|cell| cell.count).sum::<u64>();
        #[expect(clippy::cast_precision_loss, reason = "a share of a count")]
        let wanted = finite as f64 * percent / 100.0;
        let mut seen = self.zeros;
        for cell in &self.cells {
            seen += cell.count;
            #[expect(clippy::cast_precision_loss, reason = "a share of a count")]
            if seen as f64 >= wanted {
                return cell.representative;
            }
        }
        self.amax
    }
}

/// The format at every legal bias, ascending.
fn candidates(spec: &FormatSpec) -> Vec<Format> {
    (0..=63).filter_map(|bias| spec.with_bias(bias).ok()).collect()
}

/// For a tensor of zeros: the bias of IEEE 754's formats with as many exponent bits (7, 15, 15).
fn default_bias(format: Format) -> Format {
    let bias = (1 << (format.exponent_bits() - 1)) - 1;
    format.with_bias(bias).unwrap_or(format)
}

fn largest_holding(candidates: &[Format], magnitude: &Datum) -> Format {
    let holds = |format: &&Format| magnitude.compare(&format.max_finite()) != Some(Ordering::Greater);
    *candidates.iter().rev().find(holds).unwrap_or(&candidates[0])
}

fn least_error(candidates: &[Format], mut cells: Vec<Cell>) -> Format {
    // From large to small magnitudes, and from the likeliest bias outwards: others soon exceed the best so far.
    cells.reverse();
    let likely = largest_holding(candidates, &cells[0].representative).bias();
    let mut order: Vec<Format> = candidates.to_vec();
    order.sort_by_key(|format| (format.bias() - likely).abs());
    let mut normal = vec![None; cells.len()];
    let (mut least, mut errors) = (f64::INFINITY, Vec::new());
    #[expect(clippy::cast_precision_loss, reason = "a bound, far from exact")]
    let largest = cells[0].first as f64 * 2.0_f64.powi(cells[0].exponent);
    for format in order {
        // What the largest element alone loses by saturation already decides against most high biases.
        let beyond = (largest - magnitude(&format)).max(0.0);
        if beyond * beyond > least * NEAR {
            continue;
        }
        let error = bounded(&cells, &format, &mut normal, least * NEAR);
        least = least.min(error);
        errors.push((format, error));
    }
    // Each term is off by a few parts in 2^53 at most, so only near ties need exact sums.
    let close = errors.iter().filter(|(_, error)| *error <= least * NEAR).map(|(format, _)| *format);
    let mut close: Vec<Format> = close.collect();
    if let [only] = close[..] {
        return only;
    }
    // Of equals the largest bias: `min_by` keeps the first, so the largest comes first.
    close.sort_by_key(|format| -format.bias());
    // Where all elements are in the normal range of several biases, they round alike in all of these.
    let exponents =
        [&cells[0], &cells[cells.len() - 1]].map(|cell| cell.representative.exponent_of_leading_bit());
    let mut alike = close.iter().filter(|format| exponents.iter().all(|e| is_normal(format, *e)));
    let first = alike.next().map(Format::bias);
    close.retain(|format| first == Some(format.bias()) || !exponents.iter().all(|e| is_normal(format, *e)));
    if let [only] = close[..] {
        return only;
    }
    let exact = close.iter().map(|format| (exact(&cells, format), *format));
    exact.min_by(|(a, _), (b, _)| a.cmp(b)).map_or(candidates[0], |(_, format)| format)
}

/// Sums this close may be equal.
const NEAR: f64 = 1.0 + 1e-6;

/// The squared error of one bias, or infinity once it exceeds `limit`. Values in the normal range of two biases round
/// alike, so their terms are kept in `normal`.
fn bounded(cells: &[Cell], format: &Format, normal: &mut [Option<f64>], limit: f64) -> f64 {
    let mut sum = 0.0;
    for (cell, normal) in cells.iter().zip(normal) {
        let is_normal = is_normal(format, cell.representative.exponent_of_leading_bit());
        sum += match normal {
            Some(term) if is_normal => *term,
            None if is_normal => *normal.insert(term(cell, format)),
            _ => term(cell, format),
        };
        if sum > limit {
            return f64::INFINITY;
        }
    }
    sum
}

/// Are values of this exponent normal and safe from saturation? The highest binade may saturate.
fn is_normal(format: &Format, exponent: i32) -> bool {
    let (lowest, highest) = format.exponent_range();
    (lowest..highest).contains(&exponent)
}

/// Σ (x − q)² over a tensor's finite elements in `f64`, for any bias of a format as wide as the cells' precision.
pub fn squared_error<T: Element>(cells: &Cells<T>, format: &Format) -> f64 {
    cells.iter().map(|cell| term(&cell, format)).sum()
}

/// The magnitude that all elements of a cell round to.
fn quantized(cell: &Cell, format: &Format) -> (u64, i32) {
    let how = format.default_projection();
    let Rounded { value, .. } = project(cell.representative.into(), format, &how);
    match format.decode(value) {
        Datum::Finite { significand, exponent, .. } => (significand, exponent),
        // Formats with a free bias have finite codes only.
        _ => (0, 0),
    }
}

/// Σ (x − q)² of one cell: an exact integer where terms may cancel, rounded to `f64` once.
#[expect(clippy::cast_precision_loss, reason = "approximate by design; near ties are settled exactly")]
fn term(cell: &Cell, format: &Format) -> f64 {
    let (significand, exponent) = quantized(cell, format);
    let unit = 2.0_f64.powi(cell.exponent);
    let shift = exponent - cell.exponent;
    let integer = (0..=60).contains(&shift).then(|| i128::from(significand) << shift);
    let exact = integer.and_then(|q| {
        let distance = i128::from(cell.first) - q;
        let square = distance.checked_mul(distance)?.checked_mul(i128::from(cell.count))?;
        let cross = distance.checked_mul(i128::try_from(2 * cell.sum).ok()?)?;
        square.checked_add(cross)?.checked_add(i128::try_from(cell.sum_of_squares).ok()?)
    });
    let in_units = exact.map_or_else(
        // The value is far larger than q, or finer than it: nothing cancels.
        || {
            let distance = cell.first as f64 - significand as f64 * 2.0_f64.powi(shift);
            cell.count as f64 * distance * distance
                + 2.0 * distance * cell.sum as f64
                + cell.sum_of_squares as f64
        },
        |exact| exact as f64,
    );
    in_units * unit * unit
}

/// The same sum exactly, in units of 2^(2 · UNIT), below every cell's and every format's last place.
fn exact(cells: &[Cell], format: &Format) -> BigInt {
    const UNIT: i32 = -256;
    let above = |exponent: i32| u64::from((exponent - UNIT).unsigned_abs());
    let mut total = BigInt::ZERO;
    for cell in cells {
        let (significand, exponent) = quantized(cell, format);
        let scale = above(cell.exponent);
        let distance = (BigInt::from(cell.first) << scale) - (BigInt::from(significand) << above(exponent));
        total += &distance * &distance * cell.count
            + ((&distance * cell.sum * 2_u32) << scale)
            + (BigInt::from(cell.sum_of_squares) << (2 * scale));
    }
    total
}
