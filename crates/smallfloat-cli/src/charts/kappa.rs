//! The picture of a sweep: how many steps results are off, along an operand. Negative and positive
//! operands have a panel each, which shows the part where something differs.

use anyhow::Result;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use smallfloat::{Datum, Format};
use smallfloat_conformance::kappa::{Kappa, Profile};

use crate::charts::canvas;
use crate::charts::canvas::{Area, DOT, Drawn, FAINT, GRID, INK, WARN, line, text};
use crate::render::text as words;

const SIZE: (i32, i32) = (1000, 440);
const LEFT: i32 = 64;
const RIGHT: i32 = 976;
const TOP: i32 = 84;
const BOTTOM: i32 = 360;
const GAP: i32 = 36;
/// More steps than this are drawn on a logarithmic axis.
const MAX_LINEAR: u64 = 24;

pub(crate) struct KappaPicture<'a> {
    title: String,
    subtitle: String,
    operand: &'a str,
    profile: &'a Profile,
    /// The most steps on the axis.
    most: u64,
}

/// More steps than this are written as a power of two.
const MAX_WRITTEN: u64 = 9999;

fn tick(steps: u64) -> String {
    if steps > MAX_WRITTEN && steps.is_power_of_two() {
        format!("2^{}", steps.ilog2())
    } else {
        words::count(steps)
    }
}

/// Runs of the profile from the first to the last, and where they are drawn.
struct Panel {
    first: usize,
    last: usize,
    left: i32,
    right: i32,
}

impl<'a> KappaPicture<'a> {
    /// The picture of a profile along the operand of this name.
    pub(crate) fn new(title: String, subtitle: String, operand: &'a str, profile: &'a Profile) -> Self {
        let steps = profile.worst().iter().filter_map(|kappa| kappa.steps());
        Self { title, subtitle, operand, profile, most: steps.max().unwrap_or(0).max(1) }
    }

    /// The picture as SVG text.
    pub(crate) fn svg(&self) -> Result<String> {
        canvas::svg(SIZE.0, SIZE.1, |area| self.draw(area))
    }

    fn format(&self) -> &Format {
        self.profile.line().format()
    }

    /// The negative and the positive side, each narrowed to where something differs.
    fn panels(&self) -> Vec<Panel> {
        let worst = self.profile.worst();
        let middle = self.profile.run_of(0).unwrap_or(0);
        let sides = [(0, middle), (middle, worst.len() - 1)];
        let narrowed: Vec<_> = sides
            .into_iter()
            .filter_map(|(first, last)| {
                let differs = |run: &usize| worst[*run] > Kappa::Steps(0);
                let low = (first..=last).find(differs)?;
                let high = (first..=last).rfind(differs)?;
                let margin = ((high - low) / 16).max(worst.len() / 256).max(1);
                Some((low.saturating_sub(margin).max(first), (high + margin).min(last)))
            })
            .collect();
        let narrowed = if narrowed.is_empty() { vec![(0, worst.len() - 1)] } else { narrowed };
        let count = i32::try_from(narrowed.len()).expect("at most two ranges");
        let width = (RIGHT - LEFT - GAP * (count - 1)) / count;
        let lefts = (0..).map(|i| LEFT + i * (width + GAP));
        narrowed
            .into_iter()
            .zip(lefts)
            .map(|((first, last), left)| Panel { first, last, left, right: left + width })
            .collect()
    }

    fn is_linear(&self) -> bool {
        self.most <= MAX_LINEAR
    }

    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "pixels")]
    fn y_of(&self, steps: u64) -> i32 {
        let height = |steps: u64| if self.is_linear() { steps as f64 } else { (steps as f64).ln_1p() };
        let share = height(steps) / height(self.most);
        BOTTOM - (f64::from(BOTTOM - TOP - 16) * share).round() as i32
    }

    fn draw(&self, area: &Area<'_>) -> Drawn {
        text(area, &self.title, (24, 26), 16.0, INK, HPos::Left)?;
        text(area, &self.subtitle, (24, 50), 11.5, FAINT, HPos::Left)?;
        text(area, "steps", (LEFT - 8, TOP - 6), 11.5, INK, HPos::Right)?;
        let panels = self.panels();
        for steps in self.ticks() {
            text(area, &tick(steps), (LEFT - 8, self.y_of(steps)), 10.0, FAINT, HPos::Right)?;
            for panel in &panels {
                let y = self.y_of(steps);
                line(area, (panel.left, y), (panel.right, y), GRID)?;
            }
        }
        for panel in &panels {
            self.draw_panel(area, panel)?;
        }
        let name = format!("{} ({})", self.operand, self.format());
        text(area, &name, (i32::midpoint(LEFT, RIGHT), BOTTOM + 38), 11.5, INK, HPos::Center)?;
        if self.profile.worst().iter().any(|kappa| kappa.steps().is_none()) {
            let y = BOTTOM + 62;
            area.draw(&Rectangle::new([(LEFT, y - 5), (LEFT + 10, y + 5)], WARN.filled()))?;
            text(area, "NaN or an infinity does not match", (LEFT + 16, y), 10.5, FAINT, HPos::Left)?;
        }
        Ok(())
    }

    fn ticks(&self) -> Vec<u64> {
        if self.is_linear() {
            let step = self.most.div_ceil(8);
            return (0..=self.most)
                .step_by(usize::try_from(step).expect("a step of what one word counts"))
                .collect();
        }
        let powers = (0..64).step_by(usize::try_from(self.most.ilog2() / 8 + 1).unwrap_or(1));
        std::iter::once(0).chain(powers.map(|e| 1 << e).take_while(|steps| *steps <= self.most)).collect()
    }

    fn draw_panel(&self, area: &Area<'_>, panel: &Panel) -> Drawn {
        self.draw_operand_axis(area, panel)?;
        let runs = panel.last - panel.first + 1;
        let width = usize::try_from(panel.right - panel.left)?;
        let columns = width.min(runs);
        for column in 0..columns {
            let (from, to) = (column * runs / columns, (column + 1) * runs / columns);
            let worst = self.profile.worst()[panel.first + from..panel.first + to].iter().max();
            let left = panel.left + i32::try_from(column * width / columns)?;
            let right = panel.left + i32::try_from((column + 1) * width / columns)?;
            let (top, colour) = match worst {
                None | Some(Kappa::Steps(0)) => continue,
                Some(Kappa::Steps(steps)) => (self.y_of(*steps), DOT),
                Some(_) => (TOP, WARN),
            };
            area.draw(&Rectangle::new([(left, top), (right, BOTTOM)], colour.filled()))?;
        }
        line(area, (panel.left, BOTTOM), (panel.right, BOTTOM), FAINT)
    }

    /// Powers of two, and zero.
    fn draw_operand_axis(&self, area: &Area<'_>, panel: &Panel) -> Drawn {
        let format = self.format();
        let lowest = format.min_positive().exponent_of_leading_bit();
        let highest = format.max_finite().exponent_of_leading_bit();
        let mut ticks: Vec<(usize, i32, String)> = Vec::new();
        for negative in [true, false] {
            for exponent in lowest..=highest {
                let run = format
                    .encode(Datum::finite(negative, 1, exponent))
                    .and_then(|code| self.profile.line().rank(code))
                    .and_then(|rank| self.profile.run_of(rank));
                if let Some(run) = run.filter(|run| (panel.first..=panel.last).contains(run)) {
                    ticks.push((run, exponent, format!("{}2^{exponent}", if negative { "−" } else { "" })));
                }
            }
        }
        let step = i32::try_from(ticks.len().div_ceil(12))?.max(1);
        ticks.retain(|(_, exponent, _)| exponent.rem_euclid(step) == 0);
        let zero = self.profile.run_of(0).filter(|run| (panel.first..=panel.last).contains(run));
        ticks.extend(zero.map(|run| (run, 0, "0".to_owned())));
        for (run, _, label) in ticks {
            let (along, all) =
                (i64::try_from(run - panel.first)?, i64::try_from(panel.last - panel.first + 1)?);
            let x = panel.left + i32::try_from(i64::from(panel.right - panel.left) * along / all)?;
            line(area, (x, TOP), (x, BOTTOM + 5), GRID)?;
            text(area, &label, (x, BOTTOM + 15), 10.0, FAINT, HPos::Center)?;
        }
        Ok(())
    }
}
