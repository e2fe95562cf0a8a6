//! What a tensor tells beside the numbers it was made from.

use smallfloat::Format;

use crate::doctor::tensors::sample;
use crate::doctor::{FileFinding, Sure};
use crate::error::Result;
use crate::layout::grid::index;
use crate::stored::scaled::Scaled;
use crate::stored::view::{TensorView, View};

/// A kind, how sure it is, and what was found.
type Told = (&'static str, Sure, String);
type Found = Option<Told>;

/// The least signal-to-noise ratio, Σa² / Σ(a − b)², of something quantized: 6 dB.
const LEAST_RATIO: f64 = 4.0;
/// What a right reading has at least where the given one has less.
const MENDED_RATIO: f64 = 16.0;

/// Looks for the reading of a tensor that fits its source, where its own does not.
pub(super) fn check(
    view: &View,
    tensor: &TensorView,
    sources: &[View],
    findings: &mut Vec<FileFinding>,
) -> Result<()> {
    let found = sources.iter().find_map(|source| Some((source, source.tensor(&tensor.info.name)?)));
    let Some((source, original)) = found.filter(|(_, original)| original.has_numbers()) else {
        return Ok(());
    };
    if !tensor.has_numbers() || tensor.format().is_none() {
        return Ok(());
    }
    let (shape, expected) = (&tensor.info.shape, &original.info.shape);
    let found = if shape == expected {
        let (x, y) = (sample(source, original)?, sample(view, tensor)?);
        difference(view, tensor, x, y)?
    } else {
        let what = format!(
            "has the shape {shape:?}, in the source {expected:?}: it is of another model, or was filled up"
        );
        Some(("contradiction", Sure::Likely, what))
    };
    if let Some((kind, sure, what)) = found {
        // What is too small for a scheme is so once more: only scales help, where there are none.
        let scheme =
            tensor.scaled().and_then(if kind == "underflow" { Scaled::with_scales } else { Scaled::scheme });
        findings.push(FileFinding {
            kind,
            file: view.source().path().to_path_buf(),
            tensor: Some(tensor.info.name.clone()),
            what,
            sure,
            scheme,
        });
    }
    Ok(())
}

/// What makes y another tensor than x.
fn difference(view: &View, tensor: &TensorView, mut x: Vec<f64>, mut y: Vec<f64>) -> Result<Found> {
    let lost: Vec<usize> = (0..x.len()).filter(|&i| y[i].is_nan() && x[i].is_finite()).collect();
    if let Some(first) = lost.first() {
        let what = format!(
            "{} are NaN, the first of them {first}, that are numbers in the source",
            counted(lost.len())
        );
        return Ok(Some(("not-a-number", Sure::Certain, what)));
    }
    // What is no number in the source tells nothing.
    for (x, y) in x.iter_mut().zip(&mut y).filter(|(x, _)| !x.is_finite()) {
        (*x, *y) = (0.0, 0.0);
    }
    if ratio(&x, &y) >= LEAST_RATIO || x.iter().all(|&x| x == 0.0) {
        return Ok(None);
    }
    // Below the least number that a scale leaves the format, any rounding is as far off.
    let least = least_positive(view, tensor, x.len())?;
    let is_below = |i: usize| x[i] != 0.0 && x[i].abs() < least[i] && y[i].abs() <= least[i];
    let (below, others): (Vec<usize>, Vec<usize>) = (0..x.len()).partition(|&i| is_below(i));
    let of = |values: &[f64]| others.iter().map(|&i| values[i]).collect::<Vec<f64>>();
    let fit =
        others.iter().all(|&i| x[i].to_bits() == y[i].to_bits()) || ratio(&of(&x), &of(&y)) >= LEAST_RATIO;
    if fit && !below.is_empty() {
        let zeros = below.iter().filter(|&&i| y[i] == 0.0).count();
        let what = format!(
            "{} of {} lie below the least number that the format has at their scale, and {zeros} of these became 0",
            below.len(),
            counted(x.len())
        );
        return Ok(Some(("underflow", Sure::Certain, what)));
    }
    Ok(Some(explanation(tensor, &x, &y)))
}

fn counted(count: usize) -> String {
    format!("{count} element{}", if count == 1 { "" } else { "s" })
}

/// For each of the first elements the least positive number that its format has at its scale.
fn least_positive(view: &View, tensor: &TensorView, count: usize) -> Result<Vec<f64>> {
    let of_format = |format: &Format| format.min_positive().to_f64().unwrap_or(0.0);
    let Some(scaled) = tensor.scaled() else {
        return Ok(vec![tensor.format().map_or(0.0, of_format); count]);
    };
    let mut least = match &scaled.codebook {
        None => vec![of_format(&scaled.element); count],
        Some(list) => {
            let positive = list.values.iter().copied().filter(|&value| value > 0.0);
            vec![positive.fold(f64::INFINITY, f64::min); count]
        }
    };
    let grid = &scaled.grid;
    let mut rows = 0;
    grid.each_run(0, count, |(row, _), _| rows = rows.max(row + 1));
    let columns = grid.group_columns;
    let scales = scaled.read_scales(view.source(), 0, rows, 0, columns)?;
    grid.each_run(0, count, |(row, column), range| {
        let scale = scales[index(row * columns + column)].value;
        least[range].iter_mut().for_each(|least| *least *= scale);
    });
    Ok(least)
}

/// Σa² / Σ(a − b)².
fn ratio(x: &[f64], y: &[f64]) -> f64 {
    let signal: f64 = x.iter().map(|x| x * x).sum();
    let noise: f64 = x.iter().zip(y).map(|(x, y)| (x - y) * (x - y)).sum();
    if noise.is_nan() { 0.0 } else { signal / noise.max(f64::MIN_POSITIVE) }
}

/// The factor by which y fits x best.
fn factor(x: &[f64], y: &[f64]) -> f64 {
    let (xy, yy) = x.iter().zip(y).fold((0.0, 0.0), |(xy, yy), (x, y)| (xy + x * y, yy + y * y));
    if yy > 0.0 { xy / yy } else { 0.0 }
}

fn scaled_by(y: &[f64], factor: f64) -> Vec<f64> {
    y.iter().map(|y| y * factor).collect()
}

fn explanation(tensor: &TensorView, x: &[f64], y: &[f64]) -> Told {
    let columns = index(tensor.info.shape.last().copied().unwrap_or(1)).max(1);
    let by = factor(x, y);
    if ratio(x, &scaled_by(y, by)) >= MENDED_RATIO {
        let what = format!(
            "is the source's times {:e}: a scale of the whole tensor is wrong, missing or inverted",
            1.0 / by
        );
        return ("global-scale-inverted", Sure::Certain, what);
    }
    // Orders of elements: pairs swapped, and halves of blocks for alternating elements, both ways.
    let mut orders: Vec<(String, Vec<f64>)> =
        vec![("the two codes of each byte".to_owned(), reordered(y, columns, 2, |i| i ^ 1))];
    for length in [16, 32] {
        let half = length / 2;
        orders.push((
            format!("the halves of each {length} elements"),
            reordered(y, columns, length, |i| if i < half { 2 * i } else { 2 * (i - half) + 1 }),
        ));
        orders.push((
            format!("the halves of each {length} elements"),
            reordered(y, columns, length, |i| i % 2 * half + i / 2),
        ));
    }
    for (what, other) in &orders {
        if ratio(x, &scaled_by(other, factor(x, other))) >= MENDED_RATIO {
            return (
                "elements-swapped",
                Sure::Certain,
                format!("fits the source with {what} in the other order"),
            );
        }
    }
    if let Some(scaled) = tensor.scaled() {
        // Each block by a factor of its own.
        let mut fitted = y.to_vec();
        let mut factors = Vec::new();
        let mut groups = std::collections::BTreeMap::<(u64, u64), Vec<usize>>::new();
        scaled.grid.each_run(0, y.len(), |group, range| groups.entry(group).or_default().extend(range));
        for places in groups.values() {
            let of = |values: &[f64]| places.iter().map(|&i| values[i]).collect::<Vec<f64>>();
            let by = factor(&of(x), &of(y));
            factors.push(by);
            for &i in places {
                fitted[i] = y[i] * by;
            }
        }
        if ratio(x, &fitted) >= MENDED_RATIO {
            let near = factors.iter().filter(|&&by| (0.45..=1.1).contains(&by)).count();
            if near * 10 >= factors.len() * 9 {
                let what = "each block is the source's times a number from 1 to 2: elements were divided by scales that were \
                            rounded afterwards";
                return ("unrounded-scale", Sure::Certain, what.to_owned());
            }
            let what = "each block is the source's times a number of its own: its scales are those of other blocks (transposed, \
                        in tiles or not in tiles), or of another format";
            return ("scales-misplaced", Sure::Certain, what.to_owned());
        }
    }
    (
        "contradiction",
        Sure::Likely,
        "is no rounding of the source's tensor: it is of another run, or its codes are in another order"
            .to_owned(),
    )
}

/// Elements of each row in another order within parts of a length.
fn reordered(y: &[f64], columns: usize, length: usize, from: impl Fn(usize) -> usize) -> Vec<f64> {
    let mut all = y.to_vec();
    for (row, old) in all.chunks_mut(columns).zip(y.chunks(columns)) {
        for (part, old) in row.chunks_exact_mut(length).zip(old.chunks_exact(length)) {
            for (i, value) in part.iter_mut().enumerate() {
                *value = old[from(i)];
            }
        }
    }
    all
}
