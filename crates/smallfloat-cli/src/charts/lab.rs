//! The picture of an experiment: a panel for each plot, one below the other, its legend beside it.

use anyhow::Result;
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use smallfloat_lab::experiments::{Axis, AxisScale, Findings, Mark, Plot, Series};

use crate::charts::canvas;
use crate::charts::canvas::{Area, DOT, Drawn, FAINT, GRID, INK, OUTLINE, WARN, line, text};
use crate::render::text as words;

const WIDTH: i32 = 1000;
/// A panel with its title, axes and the space below.
const HEIGHT: i32 = 392;
const LEFT: i32 = 84;
const RIGHT: i32 = 680;
/// Edges of the drawing within a panel.
const TOP: i32 = 52;
const BOTTOM: i32 = 318;
const LEGEND: i32 = 704;
/// Characters of a legend's line and of a title.
const LONGEST_NAME: usize = 44;
const LONGEST_TITLE: usize = 120;
/// A curve lies on another where so many of its points do.
const SHARED: f64 = 0.2;
/// About how wide a character of an axis is.
const CHARACTER: i32 = 6;

const COLOURS: [RGBColor; 10] = [
    DOT,
    OUTLINE,
    RGBColor(44, 140, 76),
    RGBColor(130, 80, 160),
    WARN,
    RGBColor(20, 150, 160),
    RGBColor(150, 105, 30),
    RGBColor(220, 90, 150),
    RGBColor(90, 100, 110),
    RGBColor(120, 150, 20),
];

/// The picture as SVG text.
pub(crate) fn svg(findings: &Findings) -> Result<String> {
    let height = HEIGHT * i32::try_from(findings.plots.len().max(1))?;
    canvas::svg(WIDTH, height, |area| draw(findings, area))
}

fn draw(findings: &Findings, area: &Area<'_>) -> Drawn {
    if findings.plots.is_empty() {
        let note = format!("{}: nothing to draw", findings.experiment);
        text(area, &note, (24, 26), 14.0, FAINT, HPos::Left)?;
    }
    for (plot, i) in findings.plots.iter().zip(0..) {
        Panel::new(plot, HEIGHT * i).draw(area)?;
    }
    Ok(())
}

/// Numbers along an axis, and where they are drawn.
struct Ruler<'a> {
    scale: &'a AxisScale,
    /// The first and the last number, as they are measured: logarithms on a logarithmic axis.
    low: f64,
    high: f64,
    /// Pixels of `low` and `high`.
    from: i32,
    to: i32,
    step: f64,
}

impl<'a> Ruler<'a> {
    fn new(axis: &'a Axis, values: impl Iterator<Item = f64>, (from, to): (i32, i32), ticks: f64) -> Self {
        let scale = &axis.scale;
        let mut ends: Option<(f64, f64)> = None;
        for x in values.map(|x| measure(scale, x)).filter(|x| x.is_finite()) {
            ends = Some(ends.map_or((x, x), |(low, high)| (low.min(x), high.max(x))));
        }
        let (low, high) = ends.unwrap_or((0.0, 1.0));
        let (low, high) = if high > low { (low, high) } else { (low - 0.5, high + 0.5) };
        let ruler = Self { scale, low, high, from, to, step: 1.0 };
        match scale {
            AxisScale::Categories(names) => {
                let last = f64::from(u32::try_from(names.len()).expect("categories with names fit 32 bits"));
                Self { low: -0.5, high: last - 0.5, ..ruler }
            }
            AxisScale::Linear => Self { step: nice((high - low) / ticks), ..ruler },
            AxisScale::Logarithmic => Self { step: ((high - low) / ticks).ceil().max(1.0), ..ruler },
        }
    }

    /// Returns the axis with its ends on ticks.
    fn rounded(self) -> Self {
        let (low, high) =
            ((self.low / self.step).floor() * self.step, (self.high / self.step).ceil() * self.step);
        Self { low, high, ..self }
    }

    /// The pixel of a number, if it is on the axis.
    fn place(&self, x: f64) -> Option<i32> {
        let share = (measure(self.scale, x) - self.low) / (self.high - self.low);
        #[expect(clippy::cast_possible_truncation, reason = "a pixel")]
        let pixel = self.from + (f64::from(self.to - self.from) * share.clamp(-0.01, 1.01)).round() as i32;
        share.is_finite().then_some(pixel)
    }

    fn ticks(&self) -> Vec<(f64, String)> {
        if let AxisScale::Categories(names) = self.scale {
            return (0_u32..).map(f64::from).zip(names.iter().cloned()).collect();
        }
        let first = (self.low / self.step - 1e-9).ceil();
        let mut ticks = Vec::new();
        let mut i = 0_u32;
        loop {
            let at = (first + f64::from(i)) * self.step;
            if at > self.high + self.step * 1e-9 {
                return ticks;
            }
            match self.scale {
                AxisScale::Logarithmic => ticks.push((at.exp2(), power(at))),
                _ => ticks.push((at, tick(at, self.step))),
            }
            i += 1;
        }
    }
}

/// A number on a linear axis, its binary logarithm on a logarithmic one.
fn measure(scale: &AxisScale, x: f64) -> f64 {
    match scale {
        AxisScale::Logarithmic if x > 0.0 => x.log2(),
        AxisScale::Logarithmic => f64::NAN,
        _ => x,
    }
}

/// 1, 2 or 5 times a power of ten, at least this.
fn nice(step: f64) -> f64 {
    let power = 10.0_f64.powf(step.log10().floor());
    [1.0, 2.0, 5.0].into_iter().map(|digit| digit * power).find(|nice| *nice >= step).unwrap_or(10.0 * power)
}

fn tick(x: f64, step: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few decimals")]
    let decimals = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
    let text = format!("{x:.decimals$}");
    // A rounding of the last place gives −0.
    if text.trim_start_matches('-').chars().all(|c| matches!(c, '0' | '.')) { "0".into() } else { text }
}

fn power(exponent: f64) -> String {
    if (0.0..=13.0).contains(&exponent) { format!("{}", exponent.exp2()) } else { format!("2^{exponent}") }
}

struct Panel<'a> {
    plot: &'a Plot,
    top: i32,
    x: Ruler<'a>,
    y: Ruler<'a>,
}

impl<'a> Panel<'a> {
    fn new(plot: &'a Plot, top: i32) -> Self {
        let points = || plot.series.iter().flat_map(|series| &series.points);
        let has_bars = plot.series.iter().any(|series| series.mark == Mark::Bars);
        let zero = has_bars.then_some(0.0);
        let x = Ruler::new(&plot.x, points().map(|point| point[0]), (LEFT, RIGHT), 10.0);
        let ends = (top + BOTTOM, top + TOP);
        let y = Ruler::new(&plot.y, points().map(|point| point[1]).chain(zero), ends, 6.0).rounded();
        Self { plot, top, x, y }
    }

    fn draw(&self, area: &Area<'_>) -> Drawn {
        let title = words::tensor_name(&self.plot.title, LONGEST_TITLE);
        text(area, &title, (24, self.top + 20), 15.0, INK, HPos::Left)?;
        text(area, &self.plot.y.label, (24, self.top + 40), 10.5, FAINT, HPos::Left)?;
        self.draw_axes(area)?;
        let bars = self.plot.series.iter().filter(|series| series.mark == Mark::Bars).count();
        let mut bar = 0;
        let mut series: Vec<(&Series, usize)> = self.plot.series.iter().zip(0..).collect();
        // What others are compared with stays visible.
        series.sort_by_key(|(series, _)| series.mark == Mark::Dashes);
        for (series, i) in series {
            let colour = COLOURS[i % COLOURS.len()];
            let below = self.below(series, i);
            if series.mark == Mark::Bars {
                self.draw_bars(area, series, colour, (bar, i32::try_from(bars)?))?;
                bar += 1;
            } else {
                self.draw_line(area, series, colour, below)?;
            }
            self.draw_legend(area, (series, below), colour, i32::try_from(i)?)?;
        }
        line(area, (LEFT, self.top + BOTTOM), (RIGHT, self.top + BOTTOM), FAINT)
    }

    fn draw_axes(&self, area: &Area<'_>) -> Drawn {
        let (above, below) = (self.top + TOP, self.top + BOTTOM);
        for (value, label) in self.y.ticks() {
            let Some(y) = self.y.place(value) else { continue };
            line(area, (LEFT, y), (RIGHT, y), GRID)?;
            text(area, &label, (LEFT - 8, y), 10.0, FAINT, HPos::Right)?;
        }
        let ticks = self.x.ticks();
        let widest = ticks.iter().map(|(_, label)| label.chars().count()).max().unwrap_or(0);
        let slot = (RIGHT - LEFT) / i32::try_from(ticks.len().max(1))?;
        // Long names stand in several lines.
        let lines = (i32::try_from(widest)? * CHARACTER + 8).div_euclid(slot.max(1)).clamp(0, 2) + 1;
        for ((value, label), i) in ticks.iter().zip(0..) {
            let Some(x) = self.x.place(*value) else { continue };
            if !matches!(self.x.scale, AxisScale::Categories(_)) {
                line(area, (x, above), (x, below + 4), GRID)?;
            }
            text(area, label, (x, below + 14 + 13 * (i % lines)), 10.0, FAINT, HPos::Center)?;
        }
        let middle = i32::midpoint(LEFT, RIGHT);
        text(area, &self.plot.x.label, (middle, below + 18 + 13 * lines), 11.0, INK, HPos::Center)
    }

    fn pixels(&self, series: &Series) -> Vec<(i32, i32)> {
        let place = |&[x, y]: &[f64; 2]| Some((self.x.place(x)?, self.y.place(y)?));
        series.points.iter().filter_map(place).collect()
    }

    /// How many of the first `count` lines a line lies on.
    fn below(&self, series: &Series, count: usize) -> usize {
        if series.mark != Mark::Line {
            return 0;
        }
        let pixels = self.pixels(series);
        let before = self.plot.series[..count].iter().filter(|other| other.mark == Mark::Line);
        before.filter(|other| coincide(&pixels, &self.pixels(other))).count()
    }

    fn draw_line(&self, area: &Area<'_>, series: &Series, colour: RGBColor, below: usize) -> Drawn {
        let pixels = self.pixels(series);
        match series.mark {
            Mark::Dashes => {
                let style = colour.stroke_width(2);
                area.draw(&DashedPathElement::new(pixels.clone(), 6, 4, style))?;
            }
            Mark::Line => draw_path(area, pixels.clone(), colour, below)?,
            Mark::Dots | Mark::Bars => {}
        }
        // Curves of many points need no dots.
        let is_sparse = self.plot.series.iter().all(|series| series.points.len() <= 24);
        if series.mark == Mark::Dots || (series.mark == Mark::Line && is_sparse) {
            for at in pixels {
                area.draw(&Circle::new(at, 3, colour.filled()))?;
            }
        }
        Ok(())
    }

    /// Bars of one of several series, side by side.
    fn draw_bars(&self, area: &Area<'_>, series: &Series, colour: RGBColor, (bar, of): (i32, i32)) -> Drawn {
        let pixels = self.pixels(series);
        let slot = match (self.x.scale, &*pixels) {
            (AxisScale::Categories(names), _) => (RIGHT - LEFT) / i32::try_from(names.len().max(1))? * 4 / 5,
            (_, [(first, _), (second, _), ..]) => second - first,
            _ => 24,
        };
        let Some(zero) = self.y.place(0.0) else { return Ok(()) };
        for (x, y) in pixels {
            let left = x - slot / 2 + slot * bar / of;
            let right = (x - slot / 2 + slot * (bar + 1) / of - 1).max(left + 1);
            if y != zero {
                area.draw(&Rectangle::new([(left, y.min(zero)), (right, y.max(zero))], colour.filled()))?;
            }
        }
        Ok(())
    }

    fn draw_legend(
        &self,
        area: &Area<'_>,
        (series, below): (&Series, usize),
        colour: RGBColor,
        i: i32,
    ) -> Drawn {
        let y = self.top + TOP + 8 + 18 * i;
        match series.mark {
            Mark::Bars => {
                area.draw(&Rectangle::new([(LEGEND + 3, y - 5), (LEGEND + 15, y + 5)], colour.filled()))?;
            }
            Mark::Dots => area.draw(&Circle::new((LEGEND + 9, y), 3, colour.filled()))?,
            Mark::Line => draw_path(area, vec![(LEGEND, y), (LEGEND + 18, y)], colour, below)?,
            Mark::Dashes => {
                let path = vec![(LEGEND, y), (LEGEND + 18, y)];
                area.draw(&DashedPathElement::new(path, 6, 4, colour.stroke_width(2)))?;
            }
        }
        let name = words::tensor_name(&series.name, LONGEST_NAME);
        text(area, &name, (LEGEND + 24, y), 10.5, INK, HPos::Left)
    }
}

/// Draws a curve whole, or where it lies on so many others in dashes between which they are seen.
fn draw_path(area: &Area<'_>, pixels: Vec<(i32, i32)>, colour: RGBColor, below: usize) -> Drawn {
    let style = colour.stroke_width(2);
    match below {
        0 => area.draw(&PathElement::new(pixels, style))?,
        1 => area.draw(&DashedPathElement::new(pixels, 8, 8, style))?,
        _ => area.draw(&DashedPathElement::new(pixels, 5, 6, style))?,
    }
    Ok(())
}

/// Returns whether one curve hides much of another: both have points there, in the same pixels.
fn coincide(one: &[(i32, i32)], other: &[(i32, i32)]) -> bool {
    let is_near = |at: &(i32, i32)| {
        let from = other.partition_point(|(x, _)| *x < at.0);
        let near = other[from..].iter().take_while(|(x, _)| *x == at.0);
        near.into_iter().any(|(_, y)| (y - at.1).abs() <= 1)
    };
    let shared = one.iter().filter(|at| is_near(at)).count();
    #[expect(clippy::cast_precision_loss, reason = "numbers of points")]
    let share = shared as f64 / one.len().max(1) as f64;
    shared > 1 && share >= SHARED
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "powers of ten and their small multiples")]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers() {
        assert_eq!([nice(0.03), nice(1.0), nice(7.0), nice(20.1)], [0.05, 1.0, 10.0, 50.0]);
        assert_eq!([tick(0.15, 0.05), tick(-0.0, 0.05), tick(3.0, 1.0)], ["0.15", "0", "3"]);
        assert_eq!([power(4.0), power(-3.0), power(20.0)], ["16", "2^-3", "2^20"]);
    }

    #[test]
    fn curves_that_hide_others_are_found() {
        let line: Vec<(i32, i32)> = (0..10).map(|x| (x, 2 * x)).collect();
        let parts = |from: i32| line.iter().map(|&(x, y)| (x, if x < from { y } else { 50 + y })).collect();
        let [all, some, start]: [Vec<(i32, i32)>; 3] = [10, 3, 1].map(parts);
        assert_eq!([&all, &some, &start].map(|other| coincide(&line, other)), [true, true, false]);
    }

    #[test]
    fn what_is_not_positive_has_no_place_on_a_logarithmic_axis() {
        let axis = Axis { label: String::new(), scale: AxisScale::Logarithmic };
        let ruler = Ruler::new(&axis, [1.0, 0.0, 16.0].into_iter(), (0, 100), 4.0);
        assert_eq!([ruler.place(4.0), ruler.place(0.0), ruler.place(f64::INFINITY)], [Some(50), None, None]);
    }
}
