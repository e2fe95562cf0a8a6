//! The picture of a quantization: for each tensor a row with its error beside its exponents and the
//! range of its format, or beside the range of its scales or biases.

use std::fmt::Write as _;

use anyhow::Result;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use smallfloat::{Format, FormatSpec};
use smallfloat_tensor::{Report, TensorReport};

use crate::charts::canvas;
use crate::charts::canvas::{
    Area, DOT, Drawn, FAINT, GRID, INK, OUTLINE, WARN, dashed, heading, line, outline, text,
};
use crate::charts::factors::Factors;
use crate::render::text as words;

const WIDTH: i32 = 1000;
/// The right edge of the heat map, and the edges of the error panel.
pub(super) const HEAT_END: i32 = 690;
const ERROR: (i32, i32) = (745, 975);
const TOP: i32 = 128;
const BOTTOM: i32 = 70;
/// More tensors than this are numbered, not named.
const MAX_NAMES: usize = 120;
/// Up to so many, rows are high and their text is large.
const MAX_LARGE: usize = 40;
/// More tensors than this are cut down to those with the largest error.
const MAX_ROWS: usize = 400;
/// Exponents that fewer elements have in every tensor don't widen the axis.
const MIN_SHARE: f64 = 0.01;

/// From few elements to many.
const SHADES: [RGBColor; 5] = [
    RGBColor(246, 249, 252),
    RGBColor(198, 219, 239),
    RGBColor(107, 174, 214),
    RGBColor(33, 113, 181),
    RGBColor(8, 48, 107),
];

/// A quantized tensor, ready to be drawn.
struct Row<'a> {
    /// Its place in the file, from 1.
    number: usize,
    tensor: &'a TensorReport,
    format: Format,
}

pub(crate) struct CheckpointPicture<'a> {
    title: String,
    subtitle: String,
    rows: Vec<Row<'a>>,
    middle: Middle,
}

/// What stands between names and errors.
enum Middle {
    /// Exponents of the elements, the first and the last on the axis.
    Exponents(i32, i32),
    /// Ranges of scales or biases.
    Factors(Factors),
}

impl<'a> CheckpointPicture<'a> {
    pub(crate) fn new(title: String, report: &'a Report, spec: &FormatSpec) -> Result<Self> {
        let mut rows = Vec::new();
        for (i, tensor) in report.tensors.iter().enumerate().filter(|(_, tensor)| tensor.format.is_some()) {
            let format = match tensor.biases.first() {
                Some(&bias) if spec.has_free_bias() => spec.with_bias(bias)?,
                _ => spec.format()?,
            };
            rows.push(Row { number: i + 1, tensor, format });
        }
        let all = rows.len();
        if all > MAX_ROWS {
            rows.sort_by(|a, b| a.error().total_cmp(&b.error()));
            rows.truncate(MAX_ROWS);
            rows.sort_by_key(|row| row.number);
        }
        let totals = &report.totals;
        let mut subtitle = format!(
            "{}, {} in {}",
            crate::render::report::sizes(report),
            words::plural(totals.elements, "element"),
            words::plural(totals.quantized, "tensor")
        );
        subtitle += &words::ratios(totals.mean_sqnr_db, totals.min_sqnr_db);
        if all > MAX_ROWS {
            let _ = write!(subtitle, "; the {MAX_ROWS} tensors with the largest error");
        }
        // Where tensors have several scales or biases no exponents are counted.
        let middle = if rows.iter().all(|row| row.tensor.exponents.is_empty()) {
            Middle::Factors(Factors::new(rows.iter().map(|row| row.tensor)))
        } else {
            let (low, high) = axis(&rows);
            Middle::Exponents(low, high)
        };
        Ok(Self { title, subtitle, rows, middle })
    }

    /// The picture as SVG text.
    pub(crate) fn svg(&self) -> Result<String> {
        let height = TOP + self.top_of(self.rows.len()) + BOTTOM;
        canvas::svg(WIDTH, height, |area| self.draw(area))
    }

    /// The height of a row, in pixels.
    fn row_height(&self) -> i32 {
        if self.is_large() {
            22
        } else if self.has_names() {
            14
        } else {
            5
        }
    }

    fn is_large(&self) -> bool {
        self.rows.len() <= MAX_LARGE
    }

    fn has_names(&self) -> bool {
        self.rows.len() <= MAX_NAMES
    }

    /// The left edge of the heat map.
    fn heat_start(&self) -> i32 {
        if self.has_names() { 280 } else { 90 }
    }

    fn top_of(&self, row: usize) -> i32 {
        i32::try_from(row).expect("rows of a picture fit 31 bits") * self.row_height()
    }

    /// The left edge of an exponent's column.
    fn x_of(&self, exponent: i32, (low, high): (i32, i32)) -> i32 {
        let (inside, start) = (exponent.clamp(low, high + 1), self.heat_start());
        start + (HEAT_END - start) * (inside - low) / (high + 1 - low)
    }

    fn draw(&self, area: &Area<'_>) -> Drawn {
        heading(area, &self.title, &self.subtitle)?;
        text(area, "tensor", (24, TOP - 34), 11.5, INK, HPos::Left)?;
        text(area, "SQNR, dB", (ERROR.0, TOP - 34), 11.5, INK, HPos::Left)?;
        if self.rows.is_empty() {
            text(area, "no tensor was quantized", (24, TOP + 20), 11.5, FAINT, HPos::Left)?;
            return Ok(());
        }
        match &self.middle {
            &Middle::Exponents(low, high) => {
                self.draw_exponent_axis(area, (low, high))?;
                for (i, row) in self.rows.iter().enumerate() {
                    self.draw_exponents(area, i, row, (low, high))?;
                }
            }
            Middle::Factors(factors) => {
                let bottom = TOP + self.top_of(self.rows.len());
                factors.draw_axis(area, self.heat_start(), (TOP, bottom))?;
                for (i, row) in self.rows.iter().enumerate() {
                    let size = self.has_names().then(|| self.text_size());
                    factors.draw_row(area, row.tensor, self.heat_start(), self.edges(i), size)?;
                }
            }
        }
        for (i, row) in self.rows.iter().enumerate() {
            self.draw_name(area, i, row)?;
        }
        self.draw_errors(area)?;
        self.draw_legend(area)
    }

    fn draw_exponent_axis(&self, area: &Area<'_>, (low, high): (i32, i32)) -> Drawn {
        if self.rows.iter().any(|row| row.format.has_free_bias()) {
            text(area, "bias", (HEAT_END + 26, TOP - 34), 11.5, OUTLINE, HPos::Right)?;
        }
        let what = "elements by exponent e, 2^e ≤ |x| < 2^(e+1)";
        text(area, what, (self.heat_start(), TOP - 34), 11.5, INK, HPos::Left)?;
        let step = [1, 2, 4, 8, 16, 32].into_iter().find(|step| (high - low) / step <= 12).unwrap_or(64);
        let bottom = TOP + self.top_of(self.rows.len());
        for exponent in (low..=high + 1).filter(|exponent| exponent.rem_euclid(step) == 0) {
            let x = self.x_of(exponent, (low, high));
            line(area, (x, TOP - 6), (x, bottom), GRID)?;
            text(area, &exponent.to_string(), (x, TOP - 14), 10.0, FAINT, HPos::Center)?;
        }
        Ok(())
    }

    /// The upper and the lower edge of a row.
    fn edges(&self, i: usize) -> (i32, i32) {
        let (top, height) = (TOP + self.top_of(i), self.row_height());
        (top + i32::from(height > 5), top + height - i32::from(height > 5))
    }

    fn text_size(&self) -> f64 {
        if self.is_large() { 11.5 } else { 9.5 }
    }

    fn draw_name(&self, area: &Area<'_>, i: usize, row: &Row<'_>) -> Drawn {
        let (top, bottom) = self.edges(i);
        let (middle, size) = (i32::midpoint(top, bottom), self.text_size());
        if self.has_names() {
            let name = words::tensor_name(&row.tensor.name, if self.is_large() { 36 } else { 44 });
            text(area, &name, (24, middle), size, INK, HPos::Left)?;
        } else if i.is_multiple_of(10) {
            text(area, &row.number.to_string(), (self.heat_start() - 12, middle), 9.5, FAINT, HPos::Right)?;
        }
        Ok(())
    }

    fn draw_exponents(&self, area: &Area<'_>, i: usize, row: &Row<'_>, (low, high): (i32, i32)) -> Drawn {
        let (top, bottom) = self.edges(i);
        let x_of = |exponent: i32| self.x_of(exponent, (low, high));
        let mut counts = vec![0_u64; usize::try_from(high - low + 1)?];
        for &(exponent, count) in &row.tensor.exponents {
            counts[usize::try_from(exponent.clamp(low, high) - low)?] += count;
        }
        let shares = shares(&counts);
        for (exponent, share) in (low..=high).zip(shares).filter(|(_, share)| *share > 0.0) {
            let corners = [(x_of(exponent), top), (x_of(exponent + 1), bottom)];
            area.draw(&Rectangle::new(corners, shade(share).filled()))?;
        }
        let (lowest, highest) = row.format.exponent_range();
        outline(area, x_of(lowest), x_of(highest + 1), top, bottom)?;
        let smallest = row.format.min_positive().exponent_of_leading_bit();
        if smallest < lowest {
            dashed(area, x_of(smallest), x_of(lowest), top, bottom)?;
        }
        let bias = row.format.has_free_bias().then(|| row.format.bias().to_string());
        if let Some(bias) = bias.filter(|_| self.has_names()) {
            let middle = i32::midpoint(top, bottom);
            text(area, &bias, (HEAT_END + 26, middle), self.text_size(), OUTLINE, HPos::Right)?;
        }
        Ok(())
    }

    fn draw_errors(&self, area: &Area<'_>) -> Drawn {
        let ratios = || self.rows.iter().filter_map(|row| row.tensor.sqnr_db);
        let high = ratios().reduce(f64::max).unwrap_or(0.0);
        let low = ratios().reduce(f64::min).unwrap_or(0.0).max(high - 200.0);
        let steps = [1.0, 2.0, 5.0, 10.0, 20.0];
        let step = steps.into_iter().find(|step| (high - low) / step <= 5.0).unwrap_or(50.0);
        let (low, high) = ((low / step).floor() * step, (high / step).ceil() * step);
        let high = if high > low { high } else { low + step };
        #[expect(clippy::cast_possible_truncation, reason = "a pixel")]
        let x_of = |ratio: f64| {
            let share = (ratio.clamp(low, high) - low) / (high - low);
            ERROR.0 + (f64::from(ERROR.1 - ERROR.0) * share).round() as i32
        };
        let bottom = TOP + self.top_of(self.rows.len());
        let mut tick = low;
        while tick <= high {
            line(area, (x_of(tick), TOP - 6), (x_of(tick), bottom), GRID)?;
            text(area, &format!("{tick:.0}"), (x_of(tick), TOP - 14), 10.0, FAINT, HPos::Center)?;
            tick += step;
        }
        let radius = if self.is_large() { 5 } else { 3 };
        for (i, row) in self.rows.iter().enumerate() {
            let y = TOP + self.top_of(i) + self.row_height() / 2;
            if self.has_names() {
                line(area, (ERROR.0, y), (ERROR.1, y), GRID)?;
            }
            let colour = if row.tensor.saturated > 0 { WARN } else { DOT };
            match row.tensor.sqnr_db {
                Some(ratio) => area.draw(&Circle::new((x_of(ratio), y), radius, colour.filled()))?,
                None if self.has_names() => text(area, "exact", (ERROR.1, y), 9.5, FAINT, HPos::Right)?,
                None => {}
            }
        }
        Ok(())
    }

    fn draw_legend(&self, area: &Area<'_>) -> Drawn {
        let y = TOP + self.top_of(self.rows.len()) + 30;
        match &self.middle {
            Middle::Exponents(..) => self.draw_legend_of_exponents(area, y)?,
            Middle::Factors(factors) => factors.draw_legend(area, y)?,
        }
        area.draw(&Circle::new((ERROR.0 + 5, y), 5, DOT.filled()))?;
        text(area, "none saturated", (ERROR.0 + 16, y), 10.5, FAINT, HPos::Left)?;
        area.draw(&Circle::new((ERROR.0 + 125, y), 5, WARN.filled()))?;
        text(area, "some saturated", (ERROR.0 + 136, y), 10.5, FAINT, HPos::Left)
    }

    fn draw_legend_of_exponents(&self, area: &Area<'_>, y: i32) -> Drawn {
        outline(area, 24, 52, y - 7, y + 7)?;
        text(area, "normal range of the format", (60, y), 10.5, FAINT, HPos::Left)?;
        if self.rows.iter().any(|row| row.format.has_subnormals()) {
            dashed(area, 262, 290, y - 7, y + 7)?;
            text(area, "subnormal range", (298, y), 10.5, FAINT, HPos::Left)?;
        }
        text(area, "few", (424, y), 10.5, FAINT, HPos::Right)?;
        for i in 0..40 {
            let x = 430 + 3 * i;
            let colour = shade(f64::from(i) / 39.0);
            area.draw(&Rectangle::new([(x, y - 7), (x + 3, y + 7)], colour.filled()))?;
        }
        text(area, "many elements", (556, y), 10.5, FAINT, HPos::Left)
    }
}

impl Row<'_> {
    fn error(&self) -> f64 {
        self.tensor.sqnr_db.unwrap_or(f64::INFINITY)
    }

    /// From the smallest subnormal value to the largest.
    fn range(&self) -> (i32, i32) {
        let (_, highest) = self.format.exponent_range();
        (self.format.min_positive().exponent_of_leading_bit(), highest)
    }
}

/// All exponents that matter: those of the elements, but for a negligible rest, and those of the
/// formats.
fn axis(rows: &[Row<'_>]) -> (i32, i32) {
    let mut ends: Option<(i32, i32)> = None;
    for row in rows {
        let counts: Vec<u64> = row.tensor.exponents.iter().map(|(_, count)| *count).collect();
        let common = row.tensor.exponents.iter().zip(shares_of_sum(&counts)).filter(|(_, s)| *s >= MIN_SHARE);
        let occurring = common.map(|((exponent, _), _)| *exponent);
        let (low, high) = row.range();
        let (low, high) = if row.tensor.exponents.is_empty() { (high, high) } else { (low, high) };
        for exponent in occurring.chain([low.max(-200), high.min(200)]) {
            ends = Some(ends.map_or((exponent, exponent), |(a, b)| (a.min(exponent), b.max(exponent))));
        }
    }
    let (low, high) = ends.unwrap_or((0, 0));
    (low - 1, high + 1)
}

/// Counts relative to the largest.
#[expect(clippy::cast_precision_loss, reason = "shares for a picture")]
fn shares(counts: &[u64]) -> Vec<f64> {
    let largest = counts.iter().copied().max().unwrap_or(0).max(1) as f64;
    counts.iter().map(|&count| count as f64 / largest).collect()
}

/// Counts relative to their sum.
#[expect(clippy::cast_precision_loss, reason = "shares for a picture")]
fn shares_of_sum(counts: &[u64]) -> Vec<f64> {
    let sum = counts.iter().sum::<u64>().max(1) as f64;
    counts.iter().map(|&count| count as f64 / sum).collect()
}

/// The colour of a share; small ones are lifted so that they can be seen.
fn shade(share: f64) -> RGBColor {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number from 0 to 255")]
    fn mix(a: u8, b: u8, part: f64) -> u8 {
        (f64::from(a) + (f64::from(b) - f64::from(a)) * part).round() as u8
    }
    let mut place = share.clamp(0.0, 1.0).sqrt() * 4.0;
    let mut below = 0;
    while place > 1.0 && below < 3 {
        place -= 1.0;
        below += 1;
    }
    let (RGBColor(r, g, b), RGBColor(s, h, c)) = (SHADES[below], SHADES[below + 1]);
    RGBColor(mix(r, s, place), mix(g, h, place), mix(b, c, place))
}
