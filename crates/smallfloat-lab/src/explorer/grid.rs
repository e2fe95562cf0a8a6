//! The codes of a format in a square: all of them up to 8 bits, pages of 256 beyond.

use serde::Serialize;
use smallfloat::{Datum, Format};

use crate::describe;
use crate::explorer::error::ExplorerError;
use crate::explorer::{card, dyadic, number};

/// A square of codes, or of pages of codes.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CodeGrid {
    /// The format's name.
    pub format: String,
    /// Cells per row.
    pub columns: u32,
    /// How many pages there are; 1 for formats of up to 8 bits.
    pub pages: u32,
    /// The page shown; none for the overview of all pages.
    pub page: Option<u32>,
    /// The cells in the order of their codes.
    pub cells: Vec<CodeCell>,
}

/// A code, or a page of codes.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CodeCell {
    /// The code, or the first code of the page.
    pub code: u64,
    /// `0x39`; of a page its first digits, `0x39__`.
    pub label: String,
    /// The class: that of the code, or of all codes of the page, else `mixed`.
    pub class: &'static str,
    /// Whether the sign bit is set.
    pub negative: bool,
    /// The value in decimal, `≈` in front of what is rounded; of a page that of its first code.
    pub text: String,
    /// Where the magnitude lies between the smallest (0) and the largest (1), on a logarithmic
    /// scale; none for what is no number and for zero.
    pub level: Option<f64>,
}

/// Bits of a page.
const PAGE_BITS: u32 = 8;

/// The codes of a format, or a page of them.
pub(super) fn grid(format: &Format, page: Option<u32>) -> Result<CodeGrid, ExplorerError> {
    let name = format.to_string();
    let width = format.width();
    if width <= PAGE_BITS {
        let columns = 1 << width.div_ceil(2);
        let cells = (0..=format.max_code()).map(|code| cell(format, code)).collect();
        return Ok(CodeGrid { format: name, columns, pages: 1, page: Some(0), cells });
    }
    let pages = 1 << (width - PAGE_BITS);
    let (columns, cells) = match page {
        None => {
            (1 << (width - PAGE_BITS).div_ceil(2), (0..pages).map(|page| whole_page(format, page)).collect())
        }
        Some(page) if page < pages => {
            let first = u64::from(page) << PAGE_BITS;
            (16, (first..first + (1 << PAGE_BITS)).map(|code| cell(format, code)).collect())
        }
        Some(page) => {
            let (given, most) = (u64::from(page), u64::from(pages - 1));
            return Err(ExplorerError::Range { what: "page", given, least: 0, most });
        }
    };
    Ok(CodeGrid { format: name, columns, pages, page, cells })
}

fn level(format: &Format, datum: Datum) -> Option<f64> {
    if !datum.is_finite() || datum.is_zero() {
        return None;
    }
    let (lo, hi) = (card::log2(format.min_positive()), card::log2(format.max_finite()));
    Some(((card::log2(datum) - lo) / (hi - lo).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0))
}

fn cell(format: &Format, code: u64) -> CodeCell {
    CodeCell {
        code,
        label: describe::code(format, code),
        class: number::class(format.classify(code)),
        negative: format.sign_bit(code),
        text: dyadic::decimal(format.decode(code).into()),
        level: level(format, format.decode(code)),
    }
}

/// A page as one cell.
fn whole_page(format: &Format, page: u32) -> CodeCell {
    let first = u64::from(page) << PAGE_BITS;
    let one = format.classify(first);
    let all_same = (first..first + (1 << PAGE_BITS)).all(|code| format.classify(code) == one);
    let digits = format.hex_digits() - 2;
    CodeCell {
        label: format!("0x{page:0digits$x}__"),
        class: if all_same { number::class(one) } else { "mixed" },
        ..cell(format, first)
    }
}
