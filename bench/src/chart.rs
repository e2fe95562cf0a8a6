//! The picture beside the tables: shares of the limit of our kernels and of peers that do the same,
//! one mark for each footprint.

use std::error::Error;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// One figure of the table.
pub struct Mark {
    /// Which footprint, by its place in [`COLOURS`].
    pub footprint: usize,
    /// What is done.
    pub group: &'static str,
    /// Who does it.
    pub kernel: String,
    /// Rate over the limit's rate.
    pub ratio: f64,
}

/// L1, L2, L3, memory: from light to dark.
const COLOURS: [RGBColor; 4] =
    [RGBColor(230, 159, 0), RGBColor(86, 180, 233), RGBColor(0, 114, 178), RGBColor(20, 30, 60)];
const INK: RGBColor = RGBColor(32, 38, 46);
const FAINT: RGBColor = RGBColor(140, 150, 160);
const GRID: RGBColor = RGBColor(226, 230, 235);
const LEFT: i32 = 220;
const RIGHT: i32 = 960;
const TOP: i32 = 64;
const ROW: i32 = 22;
/// The axis is logarithmic between these. Kernels that write past the caches beat a limit that
/// writes into them.
const LEAST: f64 = 1e-3;
const MOST: f64 = 4.0;

fn place(ratio: f64) -> i32 {
    let share = (ratio.clamp(LEAST, MOST) / LEAST).ln() / (MOST / LEAST).ln();
    LEFT + (share * f64::from(RIGHT - LEFT)).round() as i32
}

/// Draws marks, ours first: kernels in the order of their first mark, under the names of the
/// footprints.
pub fn draw(marks: &[Mark], footprints: &[&str]) -> Result<String, Box<dyn Error>> {
    // A row for each group's title, with an empty kernel, and one for each kernel.
    let mut kernels: Vec<(&str, &str)> = Vec::new();
    for mark in marks {
        for key in [(mark.group, ""), (mark.group, mark.kernel.as_str())] {
            if !kernels.contains(&key) {
                kernels.push(key);
            }
        }
    }
    let mut svg = String::new();
    let bottom = TOP + ROW * kernels.len() as i32;
    {
        let area = SVGBackend::with_string(&mut svg, (980, (bottom + 40) as u32)).into_drawing_area();
        area.fill(&WHITE)?;
        let text = |size: u32, colour: RGBColor, h: HPos| {
            ("sans-serif", size).into_font().color(&colour).pos(Pos::new(h, VPos::Center))
        };
        area.draw_text("Share of the limit that moves the same bytes", &text(17, INK, HPos::Left), (16, 20))?;
        for (i, name) in footprints.iter().enumerate() {
            let x = 640 + 80 * i as i32;
            area.draw(&Circle::new((x, 20), 5, COLOURS[i % 4].filled()))?;
            area.draw_text(name, &text(13, INK, HPos::Left), (x + 10, 20))?;
        }
        for (ratio, label) in [
            (0.001, "0.001"),
            (0.003, "0.003"),
            (0.01, "0.01"),
            (0.03, "0.03"),
            (0.1, "0.1"),
            (0.3, "0.3"),
            (1.0, "1"),
        ] {
            let x = place(ratio);
            let colour = if ratio == 1.0 { FAINT } else { GRID };
            area.draw(&PathElement::new(vec![(x, TOP - 8), (x, bottom)], colour.stroke_width(1)))?;
            area.draw_text(label, &text(12, FAINT, HPos::Center), (x, bottom + 14))?;
        }
        for (i, &(group, kernel)) in kernels.iter().enumerate() {
            let y = TOP + ROW * i as i32 + ROW / 2;
            if kernel.is_empty() {
                area.draw(&PathElement::new(
                    vec![(16, y - ROW / 2), (RIGHT, y - ROW / 2)],
                    FAINT.stroke_width(1),
                ))?;
                area.draw_text(group, &text(14, INK, HPos::Left), (16, y))?;
                continue;
            }
            let colour = if kernel == "smallfloat" { INK } else { FAINT };
            area.draw_text(kernel, &text(12, colour, HPos::Right), (LEFT - 10, y))?;
            for mark in marks.iter().filter(|mark| (mark.group, mark.kernel.as_str()) == (group, kernel)) {
                area.draw(&Circle::new((place(mark.ratio), y), 5, COLOURS[mark.footprint % 4].filled()))?;
            }
        }
        area.present()?;
    }
    Ok(svg)
}
