//! What the codes, scales and numbers of one tensor tell.

use std::collections::{HashMap, HashSet};

use smallfloat::formats::{E2M1FN, E8M0FNU};
use smallfloat::{Class, Datum};

use crate::doctor::{FileFinding, SAMPLE, Sure};
use crate::error::Result;
use crate::file::dtype::Dtype;
use crate::layout::convention::Direction;
use crate::layout::grid::index;
use crate::layout::scheme::is_weight;
use crate::stored::scaled::Scaled;
use crate::stored::view::{Stored, TensorView, View};

/// No weight of a healthy model is as large.
const HUGE: f64 = 1000.0;
/// Fewer blocks tell nothing.
const LEAST_BLOCKS: u64 = 64;
/// Fewer elements tell nothing.
const LEAST_ELEMENTS: u64 = 256;

pub(super) fn check(view: &View, tensor: &TensorView, findings: &mut Vec<FileFinding>) -> Result<()> {
    let info = &tensor.info;
    let file = view.source().path();
    let found = |kind, sure, what: String, scheme: Option<&'static str>| FileFinding {
        kind,
        file: file.to_path_buf(),
        tensor: Some(info.name.clone()),
        what,
        sure,
        scheme,
    };
    let is_matrix = info.shape.len() == 2 && is_weight(&info.name) && info.elements() >= LEAST_ELEMENTS;
    match &tensor.stored {
        Stored::Wide if is_matrix => {
            let values = sample(view, tensor)?;
            let are_bytes = values.iter().all(|x| (0.0..=255.0).contains(x) && x.fract() == 0.0);
            if are_bytes && values.iter().any(|&x| x > 15.0) {
                let what = format!(
                    "all numbers are integers from 0 to {}: codes of a small format, converted to {} as if they were numbers",
                    values.iter().copied().fold(0.0, f64::max),
                    info.dtype
                );
                findings.push(found("codes-as-numbers", Sure::Certain, what, None));
            }
        }
        Stored::Other if is_matrix && matches!(info.dtype, Dtype::U8 | Dtype::I8) => {
            let what = format!(
                "is a matrix of {} called a weight, and no layout's scales are beside it: programs that don't know it take \
                 its codes for numbers",
                info.dtype
            );
            findings.push(found("scale-missing", Sure::Likely, what, None));
        }
        Stored::Scaled(scaled) if scaled.entry.is_none() && info.elements() > 0 => {
            let scheme = scaled.scheme();
            if let Some((kind, sure, what)) = of_scaled(view, tensor, scaled)? {
                findings.push(found(kind, sure, what, scheme));
            }
        }
        _ => {}
    }
    Ok(())
}

/// The first elements.
pub(super) fn sample(view: &View, tensor: &TensorView) -> Result<Vec<f64>> {
    let count = tensor.info.elements().min(SAMPLE);
    let mut values = vec![0.0; index(count)];
    view.read(tensor, 0, &mut values)?;
    Ok(values)
}

type Found = Option<(&'static str, Sure, String)>;

fn of_scaled(view: &View, tensor: &TensorView, scaled: &Scaled) -> Result<Found> {
    let values = sample(view, tensor)?;
    let amax = values.iter().copied().filter(|x| x.is_finite()).fold(0.0, |m: f64, x| m.max(x.abs()));
    if !scaled.has_scales() {
        return Ok(top_without_scale(view, tensor, scaled, amax));
    }
    if let Some(found) = of_scales(view, scaled)? {
        return Ok(Some(found));
    }
    if let Some(found) = of_global(scaled, amax) {
        return Ok(Some(found));
    }
    if let Some(nan) = values.iter().position(|x| x.is_nan()) {
        let what = format!("element {nan} is NaN");
        return Ok(Some(("not-a-number", Sure::Certain, what)));
    }
    full_blocks(view, tensor, scaled)
}

/// Codes without scales that reach the end of their format.
fn top_without_scale(view: &View, tensor: &TensorView, scaled: &Scaled, amax: f64) -> Found {
    let max = scaled.element.max_finite().to_f64()?;
    let is_matrix = tensor.info.shape.len() == 2 && tensor.info.elements() >= LEAST_ELEMENTS;
    let _ = view;
    #[expect(clippy::float_cmp, reason = "the largest number itself")]
    let reaches = amax == max && max > 100.0;
    (is_matrix && reaches).then(|| {
        let what = format!(
            "its largest number is {max}, the largest of {}: it was divided by a scale, and the scale is not in the file",
            scaled.element
        );
        ("scale-missing", Sure::Likely, what)
    })
}

/// The scales themselves.
fn of_scales(view: &View, scaled: &Scaled) -> Result<Found> {
    let grid = &scaled.grid;
    let rows = grid.group_rows.min(SAMPLE.div_ceil(grid.group_columns.max(1)));
    let columns = grid.group_columns.min(SAMPLE);
    let scales = scaled.read_scales(view.source(), 0, rows, 0, columns)?;
    let Some(spec) = scaled.scale else { return Ok(None) };
    let name = &scaled.scales.name;
    let units: Vec<f64> = scales.iter().map(|scale| scale.unit).collect();
    let wide = matches!(scaled.scales.dtype, Dtype::F32 | Dtype::BF16 | Dtype::F16);
    if wide && scaled.codebook.is_none() && scaled.is_in_rows() {
        if units.iter().all(|x| x.fract() == 0.0 && (64.0..=192.0).contains(x)) {
            let what = format!(
                "its scales `{name}` are integers from {} to {}: the bytes of F8_E8M0 as numbers, of which each stands for \
                 2^(byte − 127)",
                units.iter().copied().fold(f64::INFINITY, f64::min),
                units.iter().copied().fold(0.0, f64::max)
            );
            return Ok(Some(("exponents-as-numbers", Sure::Certain, what)));
        }
        let bits = scales.iter().map(|scale| scale.code);
        if scaled.scales.dtype == Dtype::F32 && bits.clone().all(|bits| (1..256).contains(&bits)) {
            let what = format!(
                "its scales `{name}` have bits from 1 to 255: bytes of F8_E8M0 taken for bits of F32"
            );
            return Ok(Some(("exponents-as-numbers", Sure::Certain, what)));
        }
    }
    let zero_is_legal = scaled.has_zero_scales();
    for (i, scale) in scales.iter().enumerate() {
        let odd = match spec.format.decode(scale.code) {
            _ if scaled.codebook.is_some() => !scale.unit.is_finite(),
            Datum::Finite { negative, significand, .. } => negative || significand == 0 && !zero_is_legal,
            _ => true,
        };
        if odd && !zero_is_legal {
            let what = format!("scale {i} of `{name}` is {}", scale.unit);
            return Ok(Some(("not-a-number", Sure::Certain, what)));
        }
    }
    Ok(None)
}

/// The number of the tensor.
fn of_global(scaled: &Scaled, amax: f64) -> Found {
    scaled.scale?.global?;
    let (number, direction) = if scaled.multiplies() {
        (scaled.factor, Direction::Multiplies)
    } else {
        (scaled.global, Direction::Divides)
    };
    if amax <= HUGE {
        return None;
    }
    #[expect(clippy::float_cmp, reason = "a placeholder")]
    if number == 1.0 {
        let what = format!(
            "its F32 number is 1, and with it weights reach {amax}: block scales are relative to another"
        );
        return Some(("global-scale-missing", Sure::Likely, what));
    }
    let inverted = match direction {
        Direction::Multiplies => amax / number / number,
        Direction::Divides => amax * number * number,
    };
    (inverted > 1e-9 && inverted <= HUGE).then(|| {
        let (does, other) = match direction {
            Direction::Multiplies => ("multiplies", "divided"),
            Direction::Divides => ("divides", "multiplied"),
        };
        let what = format!(
            "its F32 number {number:e} {does} in this layout, and weights reach {amax:e}; {other}, they would reach \
             {inverted:e}"
        );
        ("global-scale-inverted", Sure::Certain, what)
    })
}

/// With scales that are powers of two, the largest element of a block lies anywhere in a binade or
/// more; if it is the largest of the format in all of them, they were divided by another scale.
fn full_blocks(view: &View, tensor: &TensorView, scaled: &Scaled) -> Result<Found> {
    if scaled.scale.is_none_or(|scale| scale.format != E8M0FNU) || scaled.codebook.is_some() {
        return Ok(None);
    }
    let (element, grid) = (&scaled.element, &scaled.grid);
    let count = tensor.info.elements().min(SAMPLE);
    let codes = scaled.read_codes(view.source(), 0, index(count))?;
    let top = element.encode(element.max_finite()).expect("a value of the format");
    let sign = 1_u16 << (element.width() - 1);
    let mut magnitudes: HashMap<_, Vec<u16>> = HashMap::new();
    grid.each_run(0, codes.len(), |group, range| {
        let of_run = codes[range].iter().map(|code| code & !sign);
        let numbers = of_run.filter(|&code| code > 0 && element.classify(u64::from(code)) != Class::Nan);
        magnitudes.entry(group).or_default().extend(numbers);
    });
    // Where all weights but zeros are as large, as ternary ones are, all blocks may reach the end;
    // and equal blocks are one observation, however many there are.
    let differs = |block: &Vec<u16>| block.iter().any(|code| *code != block[0]);
    let distinct: HashSet<Vec<u16>> = magnitudes.into_values().filter(differs).collect();
    let blocks = distinct.len() as u64;
    let reaches = |block: &&Vec<u16>| block.iter().any(|&code| u64::from(code) == top);
    let full = distinct.iter().filter(reaches).count() as u64;
    // E2M1 rounds two thirds of a binade to its end.
    let least = if *element == E2M1FN { 4 * LEAST_BLOCKS } else { LEAST_BLOCKS };
    if blocks < least || full * 50 < blocks * 49 {
        return Ok(None);
    }
    let what = format!(
        "{full} of {blocks} different blocks reach the largest number of {element} although their scales are powers of two: elements \
         were divided by the scales before these were rounded, and are up to twice too large"
    );
    Ok(Some(("unrounded-scale", Sure::Certain, what)))
}
