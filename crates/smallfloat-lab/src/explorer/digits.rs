//! Binary digits under one another, aligned at the point: how terms of different size meet in a
//! sum.

use serde::Serialize;
use smallfloat::{Exact, Format, Subnormals};

/// A value's binary digits.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct DigitRow {
    /// What it is: `x`, `x × y`, `sum`.
    pub label: String,
    /// Whether it is negative.
    pub negative: bool,
    /// The power of two of the first digit.
    pub first: i32,
    /// The digits, without zeros at either end.
    pub digits: String,
    /// Whether there are digits below the picture.
    pub more: bool,
}

/// Rows over the same places.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct DigitPicture {
    /// The power of two of the leftmost place.
    pub top: i32,
    /// The power of two of the rightmost place.
    pub bottom: i32,
    /// The rows.
    pub rows: Vec<DigitRow>,
    /// The power of two of the last place that the destination keeps at the exact result; none
    /// where its values are not evenly spaced there.
    pub last_kept: Option<i32>,
}

/// More places than this are not shown: the lowest are left out.
const PLACES: i32 = 64;

/// The digits of a finite value other than zero.
fn row(label: &str, x: Exact) -> Option<DigitRow> {
    let Exact::Finite { negative, significand, exponent, sticky } = x else { return None };
    let leading = significand.checked_ilog2()?;
    let digits = format!("{significand:b}");
    let digits = if sticky { &digits } else { digits.trim_end_matches('0') };
    Some(DigitRow {
        label: label.into(),
        negative,
        first: exponent.saturating_add_unsigned(leading),
        digits: digits.into(),
        more: sticky,
    })
}

/// The rows of values, cut to what can be shown; values without digits have no row.
pub(super) fn picture(values: &[(&str, Exact)], last_kept: Option<i32>) -> Option<DigitPicture> {
    let mut rows: Vec<DigitRow> = values.iter().filter_map(|(label, x)| row(label, *x)).collect();
    let length = |row: &DigitRow| u32::try_from(row.digits.len()).expect("at most 128 digits");
    let last = |row: &DigitRow| row.first.saturating_sub_unsigned(length(row)) + 1;
    let top = rows.iter().map(|row| row.first).max()?;
    let bottom = rows.iter().map(last).chain(last_kept).min()?.max(top.saturating_sub(PLACES - 1));
    for row in &mut rows {
        // None of a row that lies below the picture.
        let places = (i64::from(row.first) - i64::from(bottom) + 1).max(0);
        let places = usize::try_from(places).expect("not negative");
        if places < row.digits.len() {
            row.digits.truncate(places);
            row.more = true;
        }
    }
    Some(DigitPicture { top, bottom, rows, last_kept: last_kept.filter(|place| *place >= bottom) })
}

/// The power of two of the last place that a format keeps at a value, on its grid continued beyond
/// the largest value.
pub(super) fn last_kept(x: Exact, format: &Format) -> Option<i32> {
    let Exact::Finite { significand, exponent, .. } = x else { return None };
    let leading = exponent.saturating_add_unsigned(significand.checked_ilog2()?);
    let (lowest, _) = format.exponent_range();
    let trailing = format.trailing_bits();
    match (leading < lowest, format.subnormals()) {
        (false, _) => Some(leading.saturating_sub_unsigned(trailing)),
        (true, Subnormals::None) => None,
        (true, Subnormals::Tesla) => Some(lowest - 1).map(|top| top.saturating_sub_unsigned(trailing)),
        (true, Subnormals::Gradual | Subnormals::Flush) => Some(lowest.saturating_sub_unsigned(trailing)),
        (true, other) => panic!("subnormals {other} have no last place here"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smallfloat::formats::E4M3FN;

    #[test]
    fn terms_are_aligned() {
        let values = [("x", Exact::finite(false, 0b1100, 3)), ("y", Exact::finite(true, 0b101, -2))];
        let picture = picture(&values, Some(1)).expect("digits");
        assert_eq!((picture.top, picture.bottom, picture.last_kept), (6, -2, Some(1)));
        let row = |i: usize| (&*picture.rows[i].digits, picture.rows[i].first, picture.rows[i].more);
        assert_eq!((row(0), row(1)), (("11", 6, false), ("101", 0, false)));
    }

    #[test]
    fn what_is_far_below_is_cut_and_said_to_be_there() {
        let values = [("x", Exact::finite(false, 1, 0)), ("y", Exact::finite(false, 3, -64))];
        let far = picture(&values, None).expect("digits");
        assert_eq!((far.top, far.bottom), (0, -63));
        assert_eq!((&*far.rows[1].digits, far.rows[1].more), ("1", true));
        assert!(picture(&[("zero", Exact::Cancelled)], None).is_none());
        let beyond = [("x", Exact::finite(false, 1, 1 << 29)), ("y", Exact::finite(false, 1, -(1 << 29)))];
        assert!(picture(&beyond, None).is_some_and(|picture| picture.rows[1].digits.is_empty()));
    }

    #[test]
    fn the_last_place_is_the_formats() {
        let at = |significand, exponent, format: &Format| {
            last_kept(Exact::finite(false, significand, exponent), format)
        };
        assert_eq!(
            (at(9, -3, &E4M3FN), at(1, -20, &E4M3FN), at(1, 30, &E4M3FN)),
            (Some(-3), Some(-9), Some(27))
        );
        let tesla = Format::cfloat8_1_4_3(7).expect("legal");
        assert_eq!(at(1, -8, &tesla), Some(-10));
    }
}
