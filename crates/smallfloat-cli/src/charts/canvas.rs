//! What all pictures share: colours, text, lines, and the making of SVG.

use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

pub(crate) const INK: RGBColor = RGBColor(32, 38, 46);
pub(crate) const FAINT: RGBColor = RGBColor(112, 122, 134);
pub(crate) const GRID: RGBColor = RGBColor(226, 230, 235);
pub(crate) const OUTLINE: RGBColor = RGBColor(214, 93, 14);
pub(crate) const DOT: RGBColor = RGBColor(23, 105, 170);
pub(crate) const WARN: RGBColor = RGBColor(200, 30, 45);

/// Where pictures are drawn.
pub(crate) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// What drawing returns.
pub(crate) type Drawn = Result<(), Box<dyn std::error::Error>>;

/// Returns a white picture of `width` × `height` pixels with what `draw` puts on it, as SVG text.
pub(crate) fn svg(width: i32, height: i32, draw: impl FnOnce(&Area<'_>) -> Drawn) -> Result<String> {
    let mut text = String::new();
    {
        let size = (width.unsigned_abs(), height.unsigned_abs());
        let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
        let all = || {
            area.fill(&WHITE)?;
            draw(&area)?;
            area.present()?;
            Ok(())
        };
        all().map_err(|e: Box<dyn std::error::Error>| anyhow!("drawing: {e}"))?;
    }
    Ok(text)
}

/// Draws the title and the line below it.
pub(crate) fn heading(area: &Area<'_>, title: &str, subtitle: &str) -> Drawn {
    text(area, title, (24, 26), 18.0, INK, HPos::Left)?;
    text(area, subtitle, (24, 52), 11.5, FAINT, HPos::Left)
}

/// Draws text with its anchor at a place; `size` is in pixels.
pub(crate) fn text(
    area: &Area<'_>,
    text: &str,
    at: (i32, i32),
    size: f64,
    colour: RGBColor,
    anchor: HPos,
) -> Drawn {
    // The backend takes sizes of lines and makes smaller characters.
    let font = FontDesc::from(("Helvetica, Arial, sans-serif", size * 1.24));
    let style = TextStyle::from(font).color(&colour).pos(Pos::new(anchor, VPos::Center));
    area.draw(&Text::new(text.to_owned(), at, style))?;
    Ok(())
}

/// Draws a line one pixel wide.
pub(crate) fn line<C: Color>(area: &Area<'_>, from: (i32, i32), to: (i32, i32), colour: C) -> Drawn {
    area.draw(&PathElement::new(vec![from, to], colour.to_rgba().stroke_width(1)))?;
    Ok(())
}

/// Draws the outline of a rectangle.
pub(crate) fn outline(area: &Area<'_>, left: i32, right: i32, top: i32, bottom: i32) -> Drawn {
    area.draw(&Rectangle::new([(left, top), (right, bottom)], OUTLINE.stroke_width(1)))?;
    Ok(())
}

/// The upper and lower edge and the left end, in dashes.
pub(crate) fn dashed(area: &Area<'_>, left: i32, right: i32, top: i32, bottom: i32) -> Drawn {
    for x in (left..right).step_by(6) {
        for y in [top, bottom] {
            line(area, (x, y), ((x + 3).min(right), y), OUTLINE)?;
        }
    }
    for y in (top..bottom).step_by(6) {
        line(area, (left, y), (left, (y + 3).min(bottom)), OUTLINE)?;
    }
    Ok(())
}
