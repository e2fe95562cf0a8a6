//! The middle of a quantization's picture where tensors have scales or several biases: for each
//! tensor a bar from the smallest to the largest, and how many there are.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use smallfloat_tensor::TensorReport;

use crate::charts::canvas::{Area, Drawn, FAINT, GRID, INK, OUTLINE, line, text};
use crate::charts::checkpoint::HEAT_END;
use crate::render::text as words;

/// The right edge of the bars; numbers of scales or biases follow.
const BAR_END: i32 = HEAT_END - 60;
/// Ends of bars are at least as far from the edges of the axis.
const MARGIN: f64 = 0.5;

/// The axis of scales or biases.
pub(super) struct Factors {
    what: What,
    /// The first and the last number on the axis; of scales, logarithms to base 2.
    low: f64,
    high: f64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Scales,
    Biases,
}

impl Factors {
    /// The axis on which these tensors' scales or biases have a place.
    pub(super) fn new<'a>(tensors: impl Iterator<Item = &'a TensorReport> + Clone) -> Self {
        let has_scales = tensors.clone().any(|tensor| tensor.scales.is_some());
        let what = if has_scales { What::Scales } else { What::Biases };
        let ends = tensors.filter_map(ends_of).reduce(|(a, b), (c, d)| (a.min(c), b.max(d)));
        let (low, high) = ends.unwrap_or((0.0, 0.0));
        Self { what, low: (low - MARGIN).floor(), high: (high + MARGIN).ceil() }
    }

    fn name(&self) -> &'static str {
        match self.what {
            What::Scales => "scales",
            What::Biases => "biases",
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "a pixel")]
    fn x_of(&self, at: f64, start: i32) -> i32 {
        start + (f64::from(BAR_END - start) * (at - self.low) / (self.high - self.low)).round() as i32
    }

    pub(super) fn draw_axis(&self, area: &Area<'_>, start: i32, (top, bottom): (i32, i32)) -> Drawn {
        let title = format!("{}, from the smallest to the largest", self.name());
        text(area, &title, (start, top - 34), 11.5, INK, HPos::Left)?;
        text(area, self.name(), (HEAT_END + 26, top - 34), 11.5, FAINT, HPos::Right)?;
        let width = self.high - self.low;
        let steps = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
        let step = steps.into_iter().find(|step| width / step <= 9.0).unwrap_or(64.0);
        let mut tick = (self.low / step).ceil() * step;
        while tick <= self.high {
            let x = self.x_of(tick, start);
            line(area, (x, top - 6), (x, bottom), GRID)?;
            let label = match self.what {
                What::Scales => format!("2^{tick:.0}"),
                What::Biases => format!("{tick:.0}"),
            };
            text(area, &label, (x, top - 14), 10.0, FAINT, HPos::Center)?;
            tick += step;
        }
        Ok(())
    }

    /// Draws a tensor's bar, and in text of this size how many scales or biases it has.
    pub(super) fn draw_row(
        &self,
        area: &Area<'_>,
        tensor: &TensorReport,
        start: i32,
        (top, bottom): (i32, i32),
        size: Option<f64>,
    ) -> Drawn {
        let middle = i32::midpoint(top, bottom);
        if let Some((low, high)) = ends_of(tensor) {
            let half = ((bottom - top) / 4).max(1);
            draw_bar(area, (self.x_of(low, start), self.x_of(high, start)), middle, half)?;
        }
        let scales = tensor.scales.as_ref().map(|scales| scales.count);
        let count = scales.or(tensor.bias_range.map(|range| range.count));
        if let (Some(size), Some(count)) = (size, count) {
            let count = words::count(count);
            text(area, &count, (HEAT_END + 26, middle), size, FAINT, HPos::Right)?;
        }
        Ok(())
    }

    pub(super) fn draw_legend(&self, area: &Area<'_>, y: i32) -> Drawn {
        draw_bar(area, (24, 52), y, 5)?;
        let range = format!("{}, from the smallest to the largest", self.name());
        text(area, &range, (60, y), 10.5, FAINT, HPos::Left)?;
        draw_bar(area, (300, 300), y, 5)?;
        text(area, "one, or all equal", (310, y), 10.5, FAINT, HPos::Left)
    }
}

/// A bar between two places, or a thin one where these are the same.
fn draw_bar(area: &Area<'_>, (left, right): (i32, i32), middle: i32, half: i32) -> Drawn {
    let (left, right) = if right - left < 3 { (left - 1, left + 2) } else { (left, right) };
    area.draw(&Rectangle::new([(left, middle - half), (right, middle + half)], OUTLINE.filled()))?;
    Ok(())
}

/// The places of the smallest and the largest scale or bias.
fn ends_of(tensor: &TensorReport) -> Option<(f64, f64)> {
    let place = |scale: Option<f64>| scale.map(f64::log2).filter(|place| place.is_finite());
    match (&tensor.scales, tensor.bias_range) {
        (Some(scales), _) => place(scales.min).zip(place(scales.max)),
        (None, Some(range)) => Some((range.min.into(), range.max.into())),
        (None, None) => None,
    }
}
