//! −0 at conversion (the talk, "Convert" and "Negative zero: pros and cons"): kept, made 0, or made
//! NaN.
//!
//! Where −0 becomes NaN, so does every small negative number that rounds to it. How many NaNs that
//! makes of a network's tensors, and how many rows of its matrices they spoil; and what 1/(1/−∞) is
//! under each rule.

use smallfloat::formats::E5M2;
use smallfloat::ops::{Operation, Semantics};
use smallfloat::{Class, Datum, Format};

use crate::error::Error;
use crate::experiments::ExperimentOptions;
use crate::instruments::data::Tensor;
use crate::instruments::findings::{Axis, Cell, Findings, FindingsTable, Mark, Plot, Series, row};
use crate::instruments::survey::{Scaling, codes};
use crate::instruments::unit::{ArithmeticUnit, Overflow};
use crate::named::by_name;

const FORMATS: [&str; 4] = ["binary8p3se", "binary8p4se", "e5m2", "e4m3fn"];

/// What −0 becomes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rule {
    Keep,
    Zero,
    Nan,
}

impl Rule {
    const ALL: [Self; 3] = [Self::Keep, Self::Zero, Self::Nan];

    const NAMED: [(&'static str, Self); 3] = [("keep", Self::Keep), ("zero", Self::Zero), ("NaN", Self::Nan)];

    fn apply(self, x: Datum) -> Datum {
        match (self, x.is_zero() && x.is_negative()) {
            (Self::Zero, true) => Datum::ZERO,
            (Self::Nan, true) => Datum::Nan { negative: false },
            _ => x,
        }
    }
}

by_name!(Rule);

pub(super) fn run(options: &ExperimentOptions) -> Result<Findings, Error> {
    let formats = options.formats_or(&FORMATS)?;
    let (tensors, source) = options.tensors()?;
    let mut findings = Findings::new("negative-zero").set("tensors", &source);
    findings.tables.push(reciprocals());
    let mut table = FindingsTable::new(
        format!("{source} converted"),
        [
            "format",
            "scale",
            "elements",
            "−0 before",
            "−0 after (keep)",
            "NaN (NaN rule)",
            "share",
            "tensors with NaN",
            "rows with NaN",
        ],
    );
    let mut bars: Vec<Vec<[f64; 2]>> = vec![Vec::new(); 2 * Scaling::ALL.len()];
    for (format, place) in formats.iter().zip(0_u32..) {
        for (scaling, bars) in Scaling::ALL.into_iter().zip(bars.chunks_mut(2)) {
            let count = ZeroCounts::of(&tensors, format, scaling)?;
            let (share, rows) =
                (Cell::share(count.nans, count.elements), Cell::share(count.bad_rows, count.rows));
            for (bar, cell) in bars.iter_mut().zip([&share, &rows]) {
                bar.push([f64::from(place), cell.number().unwrap_or(0.0)]);
            }
            table.rows.push(row![
                format.to_string(),
                scaling.to_string(),
                count.elements,
                count.before,
                if format.has_negative_zero() { Cell::Count(count.nans) } else { Cell::from("no −0") },
                count.nans,
                share,
                Cell::share(count.bad_tensors, tensors.len() as u64),
                rows,
            ]);
        }
    }
    findings.tables.push(table);
    let names = Scaling::ALL
        .iter()
        .flat_map(|scaling| ["elements", "rows"].map(|what| format!("{what}, scale: {scaling}")));
    findings.plots.push(Plot {
        title: format!("NaNs where −0 becomes NaN, {source}"),
        x: Axis::categories("format", &formats),
        y: Axis::linear("share"),
        series: names.zip(bars).map(|(name, bars)| Series::new(name, Mark::Bars, bars)).collect(),
    });
    for note in [
        "`zero` makes no NaN; `keep` makes none either where the format has −0, and is `zero` where it has none. Under `NaN` a \
         negative number that underflows is NaN, which one row of products with any activations then is.",
        "A row is a run of the last dimension of a tensor with two dimensions or more. An element of −0 in the file counts \
         before conversion, all others come from rounding.",
        "One bad row is one NaN in a layer's output; the next full matrix product makes all of its outputs NaN. So a share of \
         rows above 0 is a network that gives nothing but NaN.",
    ] {
        findings.note(note);
    }
    Ok(findings)
}

/// 1/(1/−∞) with the rule applied to each result.
fn reciprocals() -> FindingsTable {
    let mut table = FindingsTable::new(
        "Reciprocals in e5m2, which has −0 and infinities",
        ["−0 becomes", "1/0 is", "1/−∞", "1/(1/−∞)"],
    );
    for (semantics, division) in [(Semantics::Ieee, "∞ (IEEE 754)"), (Semantics::P3109, "NaN (P3109)")] {
        for rule in Rule::ALL {
            // P3109 has no −0 to keep.
            if (rule, semantics) == (Rule::Keep, Semantics::P3109) {
                continue;
            }
            let unit = ArithmeticUnit::new(&E5M2, Overflow::Infinity);
            // The sign of a zero is the rule's business, so it is not lost before.
            let recip = |x: Datum| {
                let exact = Operation::Recip.exact([x, Datum::ZERO, Datum::ZERO], semantics).exact;
                let signed = Operation::Recip.exact([x, Datum::ZERO, Datum::ZERO], Semantics::Ieee).exact;
                rule.apply(unit.round(if exact.is_zero() { signed } else { exact }))
            };
            let once = recip(Datum::Infinite { negative: true });
            let name = |x: Datum| if x.is_zero() && x.is_negative() { "-0".into() } else { x.to_string() };
            table.rows.push(row![rule.to_string(), division, name(once), name(recip(once))]);
        }
    }
    table
}

#[derive(Default)]
struct ZeroCounts {
    elements: u64,
    before: u64,
    nans: u64,
    bad_tensors: u64,
    rows: u64,
    bad_rows: u64,
}

impl ZeroCounts {
    /// What the NaN rule does: each result of no magnitude whose element was negative or −0.
    fn of(tensors: &[Tensor], format: &Format, scaling: Scaling) -> Result<Self, Error> {
        let classes: Vec<Class> = (0..=format.max_code()).map(|code| format.classify(code)).collect();
        let mut count = Self::default();
        for tensor in tensors {
            let codes = codes(tensor, format, scaling)?;
            let is_nan: Vec<bool> = tensor
                .values
                .iter()
                .zip(&codes)
                .map(|(x, &code)| classes[usize::from(code)] == Class::Zero && x.is_sign_negative())
                .collect();
            let nans = |flags: &[bool]| flags.iter().filter(|flag| **flag).count() as u64;
            count.elements += codes.len() as u64;
            count.before +=
                tensor.values.iter().filter(|x| **x == 0.0 && x.is_sign_negative()).count() as u64;
            count.nans += nans(&is_nan);
            count.bad_tensors += u64::from(nans(&is_nan) > 0);
            // Vectors are biases and the like: no row of products.
            if tensor.row > 0 && tensor.row < codes.len() {
                let rows = is_nan.chunks(tensor.row);
                count.rows += rows.len() as u64;
                count.bad_rows += rows.filter(|row| nans(row) > 0).count() as u64;
            }
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instruments::data::Role;

    /// Half of Binary8p4se's smallest value is 2^−11; below it, ties included, negatives become −0.
    #[test]
    fn small_negatives_are_counted() {
        let step = 2.0_f64.powi(-11);
        let values = vec![-step, -1.5 * step, step, -0.0, 0.0, -1.0];
        let tensor = Tensor { name: "w".into(), role: Role::File, row: 3, values };
        let format: Format = "binary8p4se".parse().expect("a name");
        let count = ZeroCounts::of(&[tensor], &format, Scaling::None).expect("a narrow format");
        assert_eq!((count.elements, count.before, count.nans), (6, 1, 2));
        assert_eq!((count.bad_tensors, count.rows, count.bad_rows), (1, 2, 2));
    }
}
