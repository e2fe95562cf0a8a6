//! The picture of training runs: losses compared; of each run whose tensors have biases, how these
//! moved, and exponents against ranges.

use anyhow::{Result, anyhow};
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use smallfloat::{Format, FormatSpec};
use smallfloat_train::{BiasHistory, RunReport};

use crate::charts::canvas;
use crate::charts::canvas::{Area, DOT, Drawn, FAINT, GRID, INK, OUTLINE, WARN, dashed, line, outline, text};

const WIDTH: i32 = 1000;
/// The panel of losses.
const LOSSES: [i32; 4] = [64, 84, 800, 360];
/// A run's title and axis; the same with the gap to the next run; a tensor's row.
const TITLE: i32 = 50;
const HEAD: i32 = 90;
const ROW: i32 = 15;
/// Where names end, biases over time begin and end, and exponents.
const BIASES: (i32, i32) = (270, 560);
const EXPONENTS: (i32, i32) = (600, 976);
/// Steps that a point of a loss curve is the mean of.
const SMOOTH: usize = 10;
/// As many as there are presets.
const COLOURS: [RGBColor; 16] = [
    INK,
    DOT,
    OUTLINE,
    RGBColor(44, 140, 60),
    WARN,
    RGBColor(130, 80, 170),
    RGBColor(0, 150, 160),
    RGBColor(150, 120, 20),
    RGBColor(225, 110, 170),
    RGBColor(120, 70, 30),
    RGBColor(140, 190, 60),
    RGBColor(150, 165, 180),
    RGBColor(60, 60, 190),
    RGBColor(235, 170, 20),
    RGBColor(110, 200, 230),
    RGBColor(90, 100, 60),
];

pub(crate) struct TrainPicture<'a> {
    runs: &'a [RunReport],
    /// Runs of distinct presets that have tensors with exponents, and those.
    details: Vec<(&'a RunReport, Vec<&'a BiasHistory>)>,
}

impl<'a> TrainPicture<'a> {
    pub(crate) fn new(runs: &'a [RunReport]) -> Result<Self> {
        let mut details: Vec<(&RunReport, Vec<&BiasHistory>)> = Vec::new();
        for run in runs {
            let rows: Vec<_> = run.biases.iter().filter(|bias| bias.exponents.is_some()).collect();
            if !rows.is_empty() && details.iter().all(|(other, _)| other.preset != run.preset) {
                details.push((run, rows));
            }
        }
        if runs.is_empty() {
            return Err(anyhow!("no run to draw"));
        }
        Ok(Self { runs, details })
    }

    /// The picture as SVG text.
    pub(crate) fn svg(&self) -> Result<String> {
        let rows = |(_, rows): &(&RunReport, Vec<&BiasHistory>)| {
            HEAD + ROW * i32::try_from(rows.len()).expect("rows of a picture fit 31 bits")
        };
        let height = LOSSES[3] + 60 + self.details.iter().map(rows).sum::<i32>() + 20;
        canvas::svg(WIDTH, height, |area| self.draw(area))
    }

    fn draw(&self, area: &Area<'_>) -> Drawn {
        let title = format!("training on {}", self.runs[0].data);
        text(area, &title, (24, 26), 18.0, INK, HPos::Left)?;
        let about = format!(
            "loss in nats on a logarithmic axis, mean of {SMOOTH} steps; dots and numbers: validation loss after the last step, \
             numbers the mean of the seeds"
        );
        text(area, &about, (24, 52), 11.5, FAINT, HPos::Left)?;
        self.draw_losses(area)?;
        let mut top = LOSSES[3] + 60;
        for (run, rows) in &self.details {
            draw_run(area, run, rows, top)?;
            top += HEAD + ROW * i32::try_from(rows.len())?;
        }
        Ok(())
    }

    fn draw_losses(&self, area: &Area<'_>) -> Drawn {
        let [left, top, right, bottom] = LOSSES;
        let curves: Vec<Vec<f64>> = self
            .runs
            .iter()
            .map(|run| run.losses.chunks(SMOOTH).map(mean).filter(|loss| is_drawn(*loss)).collect())
            .collect();
        let ends = self.runs.iter().map(|run| run.validation_loss).filter(|loss| is_drawn(*loss));
        let all = || curves.iter().flatten().copied().chain(ends.clone());
        let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
        let (low, high) = if low < high { (low, high) } else { (low / 1.5, low * 1.5) };
        let y_of = |loss: f64| pixel((bottom, top), (loss / low).ln() / (high / low).ln());
        for tick in ticks(low, high) {
            line(area, (left, y_of(tick)), (right, y_of(tick)), GRID)?;
            text(area, &tick.to_string(), (left - 8, y_of(tick)), 10.0, FAINT, HPos::Right)?;
        }
        let steps = self.runs.iter().map(|run| run.steps).max().unwrap_or(1).max(1);
        draw_steps(area, (left, right), bottom, steps)?;
        let mut names: Vec<&str> = Vec::new();
        for (run, curve) in self.runs.iter().zip(&curves) {
            let known = names.iter().position(|name| *name == run.preset);
            let colour = COLOURS[known.unwrap_or(names.len()) % COLOURS.len()];
            let points: Vec<(i32, i32)> = curve
                .iter()
                .enumerate()
                .map(|(i, loss)| (x_of((left, right), (i + 1) * SMOOTH, steps), y_of(*loss)))
                .collect();
            let place = known.unwrap_or(names.len());
            curve_of(area, points, colour, place)?;
            if is_drawn(run.validation_loss) {
                let end = (right, y_of(run.validation_loss));
                area.draw(&Circle::new(end, 3, colour.filled()))?;
            }
            if known.is_none() {
                let y = top + 16 * i32::try_from(names.len())?;
                curve_of(area, vec![(right + 12, y), (right + 34, y)], colour, place)?;
                let seeds = self.runs.iter().filter(|other| other.preset == run.preset);
                let losses: Vec<f64> = seeds.map(|run| run.validation_loss).collect();
                let label = format!("{} {:.3}", run.preset, mean(&losses));
                text(area, &label, (right + 38, y), 10.5, INK, HPos::Left)?;
                names.push(&run.preset);
            }
        }
        Ok(())
    }
}

/// Round numbers from `low` to `high` for a logarithmic axis: 1, 2 and 5 times powers of ten, or
/// finer ones where these would be fewer than three.
fn ticks(low: f64, high: f64) -> Vec<f64> {
    let finest: Vec<u32> = (10..100).collect();
    let between = |tenths: &[u32]| -> Vec<f64> {
        // Written and read, so that 5e-2 is 0.05 and prints so.
        let written = |(exponent, tenth): (i32, &u32)| format!("{tenth}e{exponent}").parse().ok();
        let all = (-8..6).flat_map(|exponent| tenths.iter().map(move |tenth| (exponent, tenth)));
        all.filter_map(written).filter(|tick| (low..=high).contains(tick)).collect()
    };
    let coarse = [&[10, 20, 50][..], &[10, 15, 20, 30, 40, 50, 70]].map(between);
    coarse.into_iter().find(|ticks| ticks.len() >= 3).unwrap_or_else(|| between(&finest))
}

/// Returns whether a loss has a place on a logarithmic axis.
fn is_drawn(loss: f64) -> bool {
    loss.is_finite() && loss > 0.0
}

/// Draws a curve, whole or in one of two kinds of dashes, so that neighbours differ in more than
/// colour.
fn curve_of(area: &Area<'_>, points: Vec<(i32, i32)>, colour: RGBColor, place: usize) -> Drawn {
    let style = colour.stroke_width(1);
    match place % 3 {
        0 => area.draw(&PathElement::new(points, style))?,
        1 => area.draw(&DashedPathElement::new(points, 7, 3, style))?,
        _ => area.draw(&DashedPathElement::new(points, 2, 3, style))?,
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "few steps")]
fn mean(losses: &[f64]) -> f64 {
    losses.iter().sum::<f64>() / losses.len() as f64
}

/// The place of a share between two edges.
#[expect(clippy::cast_possible_truncation, reason = "pixels")]
fn pixel((from, to): (i32, i32), share: f64) -> i32 {
    from + (f64::from(to - from) * share.clamp(0.0, 1.0)).round() as i32
}

#[expect(clippy::cast_precision_loss, reason = "few steps")]
fn x_of(edges: (i32, i32), step: usize, steps: u64) -> i32 {
    pixel(edges, step as f64 / steps as f64)
}

fn draw_steps(area: &Area<'_>, edges: (i32, i32), bottom: i32, steps: u64) -> Drawn {
    let steps = usize::try_from(steps)?;
    for i in 0..=4 {
        let x = x_of(edges, steps * i / 4, steps as u64);
        line(area, (x, bottom), (x, bottom + 5), GRID)?;
        text(area, &(steps * i / 4).to_string(), (x, bottom + 15), 10.0, FAINT, HPos::Center)?;
    }
    line(area, (edges.0, bottom), (edges.1, bottom), FAINT)
}

fn draw_run(area: &Area<'_>, run: &RunReport, rows: &[&BiasHistory], top: i32) -> Drawn {
    let (one, many) = match Shift::of(rows.iter().copied()) {
        Shift::Biases => ("bias", "biases"),
        Shift::Scales => ("exponent of the scale", "scales"),
        Shift::Both => ("bias or exponent of the scale", "biases or scales"),
    };
    let title = format!("{}: {} distinct {many} of formats", run.preset, run.distinct_biases);
    text(area, &title, (24, top), 13.0, INK, HPos::Left)?;
    let over_time = format!("{one} over time, the first and the last");
    text(area, &over_time, (BIASES.0, top + 22), 11.0, INK, HPos::Left)?;
    text(
        area,
        "elements of the last step by exponent, and the format's range",
        (EXPONENTS.0, top + 22),
        11.0,
        INK,
        HPos::Left,
    )?;
    let counts = rows.iter().flat_map(|row| occupied(row));
    let (low, high) = counts
        .fold((i32::MAX, i32::MIN), |(low, high), (exponent, _)| (low.min(exponent), high.max(exponent)));
    let low = low.max(high - 60);
    let step = [4, 8, 16].into_iter().find(|step| (high - low) / step <= 10).unwrap_or(32);
    let bottom = top + TITLE + ROW * i32::try_from(rows.len())?;
    for exponent in (low..=high).filter(|exponent| exponent.rem_euclid(step) == 0) {
        let x = pixel(EXPONENTS, f64::from(exponent - low) / f64::from(high + 1 - low));
        line(area, (x, top + TITLE - 6), (x, bottom), GRID)?;
        text(area, &exponent.to_string(), (x, top + TITLE - 12), 9.0, FAINT, HPos::Center)?;
    }
    for (i, row) in rows.iter().enumerate() {
        let y = top + TITLE + ROW * i32::try_from(i)?;
        text(area, &row.tensor, (24, y + ROW / 2), 10.0, INK, HPos::Left)?;
        draw_biases(area, row, run.steps, y)?;
        draw_exponents(area, row, (low, high), y)?;
    }
    Ok(())
}

/// The bias as a line of steps between the least and the greatest it ever was.
fn draw_biases(area: &Area<'_>, row: &BiasHistory, steps: u64, top: i32) -> Drawn {
    let (Some(first), Some(last)) = (row.first, row.bias) else { return Ok(()) };
    let all = || row.changes.iter().map(|change| change.to).chain([first]);
    let (low, high) = (all().min().unwrap_or(last), all().max().unwrap_or(last));
    let y_of = |bias: i32| {
        let share = if low == high { 0.5 } else { f64::from(bias - low) / f64::from(high - low) };
        pixel((top + ROW - 3, top + 2), share)
    };
    let edges = (BIASES.0 + 24, BIASES.1 - 28);
    let mut points = vec![(edges.0, y_of(first))];
    for change in &row.changes {
        let x = x_of(edges, usize::try_from(change.step)?, steps.max(1));
        points.extend([(x, y_of(change.from)), (x, y_of(change.to))]);
    }
    points.push((edges.1, y_of(last)));
    area.draw(&PathElement::new(points, DOT.stroke_width(1)))?;
    let middle = top + ROW / 2;
    text(area, &first.to_string(), (edges.0 - 6, middle), 9.5, FAINT, HPos::Right)?;
    text(area, &last.to_string(), (edges.1 + 6, middle), 9.5, OUTLINE, HPos::Left)
}

/// Exponents that occur, and how many elements have each.
fn occupied(row: &BiasHistory) -> impl Iterator<Item = (i32, u64)> {
    let counts = row.exponents.iter().flatten();
    // Field 0 is zeros, field 255 what is not finite.
    (-127..).zip(counts.copied()).skip(1).take(254).filter(|(_, count)| *count > 0)
}

fn draw_exponents(area: &Area<'_>, row: &BiasHistory, (low, high): (i32, i32), top: i32) -> Drawn {
    let x_of = |exponent: i32| {
        pixel(EXPONENTS, f64::from(exponent.clamp(low, high + 1) - low) / f64::from(high + 1 - low))
    };
    let (top, bottom) = (top + 1, top + ROW - 1);
    let most = occupied(row).map(|(_, count)| count).max().unwrap_or(1);
    for (exponent, count) in occupied(row).filter(|(exponent, _)| *exponent >= low) {
        #[expect(clippy::cast_precision_loss, reason = "a shade")]
        let share = (count as f64 / most as f64).sqrt();
        let corners = [(x_of(exponent), top), (x_of(exponent + 1), bottom)];
        area.draw(&Rectangle::new(corners, DOT.mix(0.08 + 0.72 * share).filled()))?;
    }
    let Some((format, shift)) = format_of(row) else { return Ok(()) };
    let (lowest, highest) = format.exponent_range();
    outline(area, x_of(lowest - shift), x_of(highest + 1 - shift), top, bottom)?;
    let smallest = format.min_positive().exponent_of_leading_bit();
    if smallest < lowest {
        dashed(area, x_of(smallest - shift), x_of(lowest - shift), top, bottom)?;
    }
    Ok(())
}

/// What moves the ranges of formats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shift {
    Biases,
    Scales,
    Both,
}

impl Shift {
    /// What these tensors have: a format with a free bias has that, any other a scale.
    pub(crate) fn of<'a>(tensors: impl Iterator<Item = &'a BiasHistory>) -> Self {
        let free =
            |tensor: &BiasHistory| tensor.format.parse().is_ok_and(|spec: FormatSpec| spec.has_free_bias());
        let (mut biases, mut scales) = (false, false);
        for tensor in tensors.filter(|tensor| tensor.bias.is_some()) {
            *(if free(tensor) { &mut biases } else { &mut scales }) = true;
        }
        match (biases, scales) {
            (_, false) => Self::Biases,
            (false, true) => Self::Scales,
            (true, true) => Self::Both,
        }
    }
}

/// The format at its last bias, and the exponent of the scale where it has that instead.
fn format_of(row: &BiasHistory) -> Option<(Format, i32)> {
    let spec: FormatSpec = row.format.parse().ok()?;
    match row.bias {
        Some(bias) if spec.has_free_bias() => Some((spec.with_bias(bias).ok()?, 0)),
        shift => Some((spec.format().ok()?, shift.unwrap_or(0))),
    }
}

#[cfg(test)]
mod tests {
    use smallfloat_train::Tally;

    use super::*;

    #[test]
    fn ticks_are_round() {
        assert_eq!(ticks(0.042, 2.3), [0.05, 0.1, 0.2, 0.5, 1.0, 2.0]);
        assert_eq!(ticks(1.9, 4.2), [2.0, 3.0, 4.0]);
        assert_eq!(ticks(1.97, 2.31), [2.0, 2.1, 2.2, 2.3]);
    }

    #[test]
    fn formats_say_whether_they_have_biases_or_scales() {
        let tensor = |format: &str, bias: Option<i32>| BiasHistory {
            tensor: "a".into(),
            format: format.into(),
            bias,
            first: bias,
            changes: Vec::new(),
            elements: Tally::default(),
            exponents: None,
        };
        let (bias, scale) = (tensor("cfloat8_1_4_3", Some(7)), tensor("e4m3fn", Some(-8)));
        assert_eq!(Shift::of([&bias, &tensor("e4m3fn", None)].into_iter()), Shift::Biases);
        assert_eq!(Shift::of([&scale].into_iter()), Shift::Scales);
        assert_eq!(Shift::of([&bias, &scale].into_iter()), Shift::Both);
    }
}
