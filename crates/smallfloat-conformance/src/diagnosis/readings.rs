//! Codes taken for those of another format: a bias off by one, another reading of subnormals,
//! another format of the same fields.

use smallfloat::formats::{BINARY32, BINARY64, CATALOGUE};
use smallfloat::{Datum, Format, Parameters, Specials, Subnormals};

use crate::diagnosis::edit::UnitEdit;
use crate::diagnosis::mistake::Mistake;
use crate::vectors::UnitUnderTest;

/// Mistakes about the formats of a unit: the result's, the operands', and those of one operand.
pub(super) fn formats(unit: &UnitUnderTest) -> Vec<Mistake> {
    let formats = unit.operation().formats();
    let operands = unit.operation().operands().len();
    let mut all = Vec::new();
    let mut places =
        vec![("the result's".to_owned(), operands..formats.len()), ("the operands'".into(), 0..operands)];
    if operands > 1 && unit.numeric().is_some() {
        let each = unit.operands().iter().enumerate().take(operands);
        places.extend(each.map(|(i, field)| (format!("{}'s", field.name), i..i + 1)));
    }
    for (whose, places) in places {
        let mut seen: Vec<Format> = Vec::new();
        for format in &formats[places.clone()] {
            if [BINARY32, BINARY64].contains(format) || seen.contains(format) {
                continue;
            }
            seen.push(*format);
            for (what, wrong) in readings(format) {
                let changed = places.clone().filter(|place| formats[*place] == *format);
                let changed = changed.map(|place| (place, wrong)).collect();
                let edit = UnitEdit { formats: changed, ..UnitEdit::default() };
                all.extend(Mistake::of_unit(format!("{whose} format has {what}"), unit, edit));
            }
        }
    }
    all
}

pub(super) fn parameters(format: &Format) -> Parameters {
    Parameters {
        width: format.width(),
        precision: format.precision(),
        bias: format.bias(),
        signedness: format.signedness(),
        specials: format.specials(),
        subnormals: format.subnormals(),
    }
}

fn readings(format: &Format) -> Vec<(String, Format)> {
    let parameters = parameters(format);
    let biases = [1, -1].map(|by| {
        let bias = format.bias() + by;
        let direction = if by > 0 { "too large" } else { "too small" };
        (format!("a bias one {direction} ({bias})"), Parameters { bias, ..parameters })
    });
    let has_field_0 = format.precision() > 1 && !matches!(format.min_positive(), Datum::Nan { .. });
    // Flushing is a way of computing, among the catalogue's `paths`.
    let others = [format.subnormals(), Subnormals::Flush];
    let subnormals =
        Subnormals::NAMED.iter().copied().filter(|row| !others.contains(&row.1) && has_field_0).map(
            |(name, subnormals)| {
                let (name, formula) = match subnormals {
                    Subnormals::Gradual => (name, "2^(1−bias) × 0.m"),
                    Subnormals::Tesla => (name, "2^−bias × 0.m"),
                    _ => ("no", "2^−bias × 1.m"),
                };
                (format!("{name} subnormals ({formula})"), Parameters { subnormals, ..parameters })
            },
        );
    let finite = (format.specials() != Specials::Finite).then(|| {
        let name = "no special codes: those of infinities and NaNs are numbers".to_owned();
        (name, Parameters { specials: Specials::Finite, ..parameters })
    });
    let readings = biases.into_iter().chain(subnormals).chain(finite);
    let mut all: Vec<_> = readings.filter_map(|(what, p)| Some((what, Format::minifloat(p).ok()?))).collect();
    let same_shape = |other: &Format| {
        (other.width(), other.precision(), other.is_signed())
            == (format.width(), format.precision(), format.is_signed())
            && (other.specials(), other.bias()) != (format.specials(), format.bias())
    };
    let relatives = CATALOGUE.iter().filter(|row| same_shape(&row.format));
    all.extend(relatives.map(|row| (format!("the codes of {}", row.name), row.format)));
    all
}
