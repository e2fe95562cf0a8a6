//! What of a network becomes 0 or subnormal (the talk, "On subnormals" and "Negative zero"): for
//! several formats, with the tensors as they are and with a power of two for each, with subnormals
//! and without.

use smallfloat::{Format, Parameters, Subnormals};

use crate::error::Error;
use crate::experiments::ExperimentOptions;
use crate::instruments::data::{Role, Tensor, binade};
use crate::instruments::findings::{Axis, Cell, Findings, FindingsTable, Mark, Plot, Series, ratio, row};
use crate::instruments::survey::{Scaling, survey, survey_all};
use crate::instruments::unit::float;

const FORMATS: [&str; 6] =
    ["binary8p3se", "binary8p4se", "binary8p5se", "e5m2", "e4m3fn", "cfloat8_1_4_3:bias=7"];
/// The tensors with the largest part lost are listed.
const WORST: usize = 8;

pub(super) fn run(options: &ExperimentOptions) -> Result<Findings, Error> {
    let formats = options.formats_or(&FORMATS)?;
    let (tensors, source) = options.tensors()?;
    let mut findings = Findings::new("underflow").set("tensors", &source);
    let mut table = FindingsTable::new(
        format!("Elements of {source}"),
        [
            "format",
            "scale",
            "non-zero",
            "became 0",
            "became subnormal",
            "became 0 without subnormals",
            "saturated",
        ],
    );
    let mut bars: Vec<Vec<[f64; 2]>> = vec![Vec::new(); 2 * Scaling::ALL.len()];
    for (format, place) in formats.iter().zip(0_u32..) {
        let without = without_subnormals(format)?;
        for (scaling, bars) in Scaling::ALL.into_iter().zip(bars.chunks_mut(2)) {
            let with = survey_all(&tensors, format, scaling)?;
            let lost = without.map(|format| survey_all(&tensors, &format, scaling)).transpose()?;
            let zero = Cell::share(with.underflowed, with.nonzero);
            let without = lost.map_or(Cell::Empty, |lost| Cell::share(lost.underflowed, lost.nonzero));
            for (bar, cell) in bars.iter_mut().zip([&zero, &without]) {
                bar.push([f64::from(place), cell.number().unwrap_or(f64::NAN)]);
            }
            table.rows.push(row![
                format.to_string(),
                scaling.to_string(),
                with.nonzero,
                zero,
                Cell::share(with.subnormal, with.nonzero),
                without,
                with.saturated,
            ]);
        }
    }
    findings.tables.push(table);
    findings.tables.push(worst(&tensors, &formats[0])?);
    let names = Scaling::ALL
        .iter()
        .flat_map(|scaling| ["", ", no subnormals"].map(|what| format!("scale: {scaling}{what}")));
    findings.plots.push(Plot {
        title: format!("Share of non-zero elements that become 0, {source}"),
        x: Axis::categories("format", &formats),
        y: Axis::linear("share"),
        series: names.zip(bars).map(|(name, bars)| Series::new(name, Mark::Bars, bars)).collect(),
    });
    findings.plots.push(exponents(&tensors, &source, &formats));
    for note in [
        "A scale of a power of two brings each tensor's largest element into the format's top binade; dividing by it \
         afterwards is exact.",
        "Without subnormals: exponent field 0 is an ordinary binade (the talk's second column). The sums of products that \
         networks make of these numbers lose less than the numbers: what underflows is small beside the rest of its row.",
    ] {
        findings.note(note);
    }
    Ok(findings)
}

/// The format with exponent field 0 as an ordinary binade, where it has subnormals.
fn without_subnormals(format: &Format) -> Result<Option<Format>, Error> {
    if !format.has_subnormals() {
        return Ok(None);
    }
    Ok(Some(Format::minifloat(Parameters {
        width: format.width(),
        precision: format.precision(),
        bias: format.bias(),
        signedness: format.signedness(),
        specials: format.specials(),
        subnormals: Subnormals::None,
    })?))
}

fn worst(tensors: &[Tensor], format: &Format) -> Result<FindingsTable, Error> {
    let mut rows = Vec::new();
    for tensor in tensors {
        let [plain, own] = Scaling::ALL.map(|scaling| survey(tensor, format, scaling));
        let (plain, own) = (plain?, own?);
        if plain.nonzero > 0 {
            rows.push((ratio(plain.underflowed, plain.nonzero), tensor, plain, own));
        }
    }
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut table = FindingsTable::new(
        format!("The tensors that lose most in {format}"),
        ["tensor", "elements", "largest", "became 0", "became 0, scaled"],
    );
    for (_, tensor, plain, own) in rows.into_iter().take(WORST) {
        table.rows.push(row![
            tensor.name.clone(),
            tensor.values.len(),
            Cell::Measured(tensor.amax()),
            Cell::share(plain.underflowed, plain.nonzero),
            Cell::share(own.underflowed, own.nonzero),
        ]);
    }
    Ok(table)
}

/// The share of elements in each binade, and where the first formats begin.
fn exponents(tensors: &[Tensor], source: &str, formats: &[Format]) -> Plot {
    /// Elements below this exponent are none that matters.
    const LOWEST: i32 = -64;
    const HIGHEST: i32 = 32;
    let mut series = Vec::new();
    let mut roles: Vec<Role> = tensors.iter().map(|tensor| tensor.role).collect();
    roles.dedup();
    let mut most = 0.0_f64;
    for role in roles {
        let mut counts = vec![0_u64; usize::try_from(HIGHEST - LOWEST + 1).expect("97 places")];
        let values = tensors.iter().filter(|tensor| tensor.role == role).flat_map(|tensor| &tensor.values);
        for &x in values.filter(|x| x.is_finite() && **x != 0.0) {
            let place = binade(x).clamp(LOWEST, HIGHEST) - LOWEST;
            counts[usize::try_from(place).expect("clamped from LOWEST on")] += 1;
        }
        let all: u64 = counts.iter().sum();
        let points: Vec<[f64; 2]> = (LOWEST..=HIGHEST)
            .zip(counts)
            .filter(|(_, count)| *count > 0)
            .map(|(exponent, count)| [f64::from(exponent), ratio(count, all.max(1))])
            .collect();
        most = points.iter().fold(most, |most, [_, share]| most.max(*share));
        series.push(Series::new(role.to_string(), Mark::Line, points));
    }
    for format in formats.iter().take(3) {
        let half = binade(float(format.min_positive())) - 1;
        let line = [[f64::from(half), 0.0], [f64::from(half), most]];
        series.push(Series::new(format!("{format}: 0 below"), Mark::Dashes, line));
    }
    Plot {
        title: format!("Binades of the non-zero elements, {source}"),
        x: Axis::linear("exponent e, 2^e ≤ |x| < 2^(e+1)"),
        y: Axis::linear("share"),
        series,
    }
}
