//! The picture of a report of biases: for each tensor its error against the bias, and its exponents
//! with the format's range.

use anyhow::Result;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use smallfloat::{Format, FormatSpec};
use smallfloat_tensor::BiasReport;

use crate::charts::canvas;
use crate::charts::canvas::{
    Area, DOT, Drawn, FAINT, GRID, INK, OUTLINE, WARN, dashed, heading, line, outline, text,
};
use crate::render::text as words;

const WIDTH: i32 = 1000;
const TOP: i32 = 104;
const BOTTOM: i32 = 44;
/// A tensor's name, its panels, and the axes below them.
const ROW: i32 = 142;
const PANEL: (i32, i32) = (26, 112);
/// The left and right edges of the panels.
const ERROR: (i32, i32) = (64, 480);
const EXPONENTS: (i32, i32) = (548, 976);
/// More tensors than this are cut down to those that the choice matters most to.
const MAX_ROWS: usize = 40;
/// dB below the best that are drawn; beyond, a bias is hopeless.
const DEPTH: f64 = 40.0;
/// Exponents with a smaller share of the elements don't widen the axis.
const MIN_SHARE: f64 = 1e-3;

/// A tensor, ready to be drawn.
struct Row<'a> {
    tensor: &'a BiasReport,
    /// The format at the bias of the first choice.
    format: Format,
}

pub(crate) struct CostPicture<'a> {
    title: String,
    subtitle: String,
    rows: Vec<Row<'a>>,
}

impl<'a> CostPicture<'a> {
    pub(crate) fn new(title: String, costs: &'a [BiasReport], spec: &FormatSpec) -> Result<Self> {
        let mut chosen: Vec<usize> = (0..costs.len()).collect();
        let mut subtitle = words::plural(costs.len() as u64, "tensor");
        if costs.len() > MAX_ROWS {
            chosen.sort_by(|&a, &b| spread(&costs[b]).total_cmp(&spread(&costs[a])));
            chosen.truncate(MAX_ROWS);
            chosen.sort_unstable();
            subtitle = format!("the {MAX_ROWS} of {subtitle} whose choices differ most in their error");
        }
        let mut rows = Vec::new();
        for tensor in chosen.into_iter().map(|i| &costs[i]) {
            let bias = tensor.choices.first().map_or(0, |choice| choice.cost.bias);
            rows.push(Row { tensor, format: spec.with_bias(bias)? });
        }
        Ok(Self { title, subtitle, rows })
    }

    /// The picture as SVG text.
    pub(crate) fn svg(&self) -> Result<String> {
        let height = TOP + ROW * i32::try_from(self.rows.len())? + BOTTOM;
        canvas::svg(WIDTH, height, |area| self.draw(area))
    }

    fn draw(&self, area: &Area<'_>) -> Drawn {
        heading(area, &self.title, &self.subtitle)?;
        text(area, "SQNR in dB against the bias", (ERROR.0, TOP - 20), 11.5, INK, HPos::Left)?;
        let heading = "share of elements by exponent e, 2^e ≤ |x| < 2^(e+1)";
        text(area, heading, (EXPONENTS.0, TOP - 20), 11.5, INK, HPos::Left)?;
        for (i, row) in (0..).zip(&self.rows) {
            let top = TOP + i * ROW;
            let name = words::tensor_name(&row.tensor.name, 100);
            text(area, &name, (ERROR.0, top + 12), 11.5, INK, HPos::Left)?;
            row.draw_error(area, top)?;
            row.draw_exponents(area, top)?;
        }
        let y = TOP + ROW * i32::try_from(self.rows.len())? + 20;
        area.draw(&Circle::new((ERROR.0 + 5, y), 4, WARN.filled()))?;
        text(area, "choices", (ERROR.0 + 16, y), 10.5, FAINT, HPos::Left)?;
        outline(area, EXPONENTS.0, EXPONENTS.0 + 28, y - 7, y + 7)?;
        text(area, "normal range at the first choice", (EXPONENTS.0 + 36, y), 10.5, FAINT, HPos::Left)?;
        dashed(area, EXPONENTS.0 + 240, EXPONENTS.0 + 268, y - 7, y + 7)?;
        text(area, "subnormal range", (EXPONENTS.0 + 276, y), 10.5, FAINT, HPos::Left)
    }
}

/// How far the choices for a tensor are apart, in dB.
fn spread(tensor: &BiasReport) -> f64 {
    let ratios = || tensor.choices.iter().filter_map(|choice| choice.cost.sqnr_db);
    ratios().fold(f64::NEG_INFINITY, f64::max) - ratios().fold(f64::INFINITY, f64::min)
}

impl Row<'_> {
    fn draw_error(&self, area: &Area<'_>, top: i32) -> Drawn {
        let (above, below) = (top + PANEL.0, top + PANEL.1);
        let ratios = || self.tensor.biases.iter().filter_map(|cost| cost.sqnr_db);
        let best = ratios().reduce(f64::max).unwrap_or(0.0);
        let worst = ratios().reduce(f64::min).unwrap_or(0.0).max(best - DEPTH);
        let (low, high) = ((worst / 10.0).floor() * 10.0, (best / 10.0).ceil() * 10.0);
        let high = if high > low { high } else { low + 10.0 };
        let last = self.tensor.biases.last().map_or(63, |cost| cost.bias).max(1);
        let x_of = |bias: i32| ERROR.0 + (ERROR.1 - ERROR.0) * bias / last;
        // Exact is better than any number.
        #[expect(clippy::cast_possible_truncation, reason = "a pixel")]
        let y_of = |ratio: Option<f64>| {
            let share = (ratio.unwrap_or(high).clamp(low, high) - low) / (high - low);
            below - (f64::from(below - above) * share).round() as i32
        };
        let step = if high - low > 20.0 { 20.0 } else { 10.0 };
        let mut tick = (low / step).ceil() * step;
        while tick <= high {
            let y = y_of(Some(tick));
            line(area, (ERROR.0, y), (ERROR.1, y), GRID)?;
            text(area, &format!("{tick:.0}"), (ERROR.0 - 8, y), 9.5, FAINT, HPos::Right)?;
            tick += step;
        }
        for bias in (0..=last).step_by(8) {
            line(area, (x_of(bias), above), (x_of(bias), below + 4), GRID)?;
            text(area, &bias.to_string(), (x_of(bias), below + 12), 9.5, FAINT, HPos::Center)?;
        }
        let points: Vec<_> =
            self.tensor.biases.iter().map(|cost| (x_of(cost.bias), y_of(cost.sqnr_db))).collect();
        area.draw(&PathElement::new(points, DOT.stroke_width(2)))?;
        let mut labelled: Vec<i32> = Vec::new();
        for choice in &self.tensor.choices {
            let (bias, at) = (choice.cost.bias, (x_of(choice.cost.bias), y_of(choice.cost.sqnr_db)));
            area.draw(&Circle::new(at, 4, WARN.filled()))?;
            if !labelled.contains(&bias) {
                labelled.push(bias);
                let same = self.tensor.choices.iter().filter(|other| other.cost.bias == bias);
                let names: Vec<String> = same.map(|choice| choice.policy.to_string()).collect();
                // One below the other where points are close.
                let lower = i32::try_from(labelled.iter().filter(|&&b| (b - bias).abs() < 12).count())?;
                let label = (at.0 + 8, (at.1 - 12 + 12 * lower).min(below - 4));
                text(area, &names.join(", "), label, 9.5, INK, HPos::Left)?;
            }
        }
        Ok(())
    }

    fn draw_exponents(&self, area: &Area<'_>, top: i32) -> Drawn {
        let (above, below) = (top + PANEL.0, top + PANEL.1);
        let (lowest, highest) = self.format.exponent_range();
        let smallest = self.format.min_positive().exponent_of_leading_bit();
        let counts = &self.tensor.exponents;
        #[expect(clippy::cast_precision_loss, reason = "shares for a picture")]
        let share = |count: u64| count as f64 / counts.iter().map(|(_, n)| *n).sum::<u64>().max(1) as f64;
        let common: Vec<(i32, f64)> =
            counts.iter().map(|&(e, n)| (e, share(n))).filter(|(_, share)| *share >= MIN_SHARE).collect();
        let low = common.iter().map(|(e, _)| *e).fold(smallest, i32::min) - 1;
        let high = common.iter().map(|(e, _)| *e).fold(highest, i32::max) + 2;
        let x_of =
            |exponent: i32| EXPONENTS.0 + (EXPONENTS.1 - EXPONENTS.0) * (exponent - low) / (high - low);
        let largest = common.iter().map(|(_, share)| *share).fold(MIN_SHARE, f64::max);
        for &(exponent, share) in &common {
            #[expect(clippy::cast_possible_truncation, reason = "a pixel")]
            let height = (f64::from(below - above - 6) * share / largest).ceil() as i32;
            let corners = [(x_of(exponent), below - height), (x_of(exponent + 1) - 1, below)];
            area.draw(&Rectangle::new(corners, DOT.mix(0.6).filled()))?;
        }
        line(area, (EXPONENTS.0, below), (EXPONENTS.1, below), FAINT)?;
        let step = [1, 2, 4, 8, 16].into_iter().find(|step| (high - low) / step <= 12).unwrap_or(32);
        for exponent in (low..=high).filter(|exponent| exponent.rem_euclid(step) == 0) {
            line(area, (x_of(exponent), below), (x_of(exponent), below + 4), FAINT)?;
            text(area, &exponent.to_string(), (x_of(exponent), below + 12), 9.5, FAINT, HPos::Center)?;
        }
        text(
            area,
            &format!("{:.0} %", 100.0 * largest),
            (EXPONENTS.0 - 8, above + 6),
            9.5,
            FAINT,
            HPos::Right,
        )?;
        outline(area, x_of(lowest), x_of(highest + 1), above, below)?;
        if smallest < lowest {
            dashed(area, x_of(smallest), x_of(lowest), above, below)?;
        }
        let bias = format!("bias {}", self.format.bias());
        text(area, &bias, (x_of(highest + 1) - 4, above + 8), 9.5, OUTLINE, HPos::Right)
    }
}
