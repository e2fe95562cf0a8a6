//! Codes that stand for values in a list: bitsandbytes' NF4 and FP4.
//!
//! Source: bitsandbytes 0.50, `functional.py`, `QuantState.as_dict` and `dequantize_4bit`. Beside a
//! tensor `NAME` of U8 lie `NAME.absmax`, the scales of blocks of its elements in row-major order
//! whatever the rows, `NAME.quant_map`, the sixteen values of codes, and
//! `NAME.quant_state.bitsandbytes__nf4`, bytes of JSON with the shape. The first of two codes is
//! the high half of a byte. Scales may be codes themselves: then `NAME.nested_absmax`,
//! `NAME.nested_quant_map` and an offset in the JSON say what they are.

use serde_json::Value;
use smallfloat::codebook::{BNB_FP4, NF4};
use smallfloat::formats::{BINARY32, E2M1FN};

use crate::error::{Error, Result, quoted};
use crate::file::dtype::{Dtype, elements};
use crate::file::formats::source::Source;
use crate::file::input::TensorInfo;
use crate::layout::convention::Order;
use crate::layout::grid::{Granularity, Grid};
use crate::layout::packing::Packing;
use crate::scale::rule::{ScaleRule, ScaleSpec};
use crate::stored::foreign::Found;
use crate::stored::scaled::{Nested, Placement, Scaled, ValueList};

/// What the state of a tensor's quantization is called, and the name of its values.
const STATES: [(&str, &str); 2] = [
    (".quant_state.bitsandbytes__nf4", "NF4 (bitsandbytes)"),
    (".quant_state.bitsandbytes__fp4", "FP4 (bitsandbytes)"),
];
/// Longer states are none.
const STATE_BYTES: u64 = 1 << 16;

/// Finds bitsandbytes' tensors of a file.
pub(crate) fn find(source: &Source) -> Result<Found> {
    let mut found = Found::new();
    for info in source.tensors() {
        for (suffix, values) in STATES {
            let Some(name) = info.name.strip_suffix(suffix) else { continue };
            let refused = |what: String| Error::refused(Some(source.path()), Some(name), what);
            let scaled = of_state(source, name, info, suffix, values).map_err(refused)?;
            let (shape, scaled, companions) = scaled;
            if found.contains_key(name) {
                return Err(refused("has two states of its quantization, and is of one type".to_owned()));
            }
            found.extend(companions.into_iter().map(|name| (name, None)));
            found.insert(info.name.clone(), None);
            found.insert(name.to_owned(), Some(Box::new((name.to_owned(), shape, scaled))));
        }
    }
    Ok(found)
}

fn of_state(
    source: &Source,
    name: &str,
    state: &TensorInfo,
    suffix: &str,
    values_name: &'static str,
) -> Result<(Vec<u64>, Scaled, Vec<String>), String> {
    let mut companions = Vec::new();
    let mut companion = |suffix: &str, dtypes: &[Dtype]| {
        let name = format!("{name}{suffix}");
        let info = source.tensor(&name).ok_or_else(|| format!("its `{name}` is missing"))?;
        if !dtypes.contains(&info.dtype) {
            return Err(format!("its `{name}` is {}, expected is {}", info.dtype, dtypes[0]));
        }
        if !suffix.is_empty() {
            companions.push(name);
        }
        Ok(info)
    };
    let text = |e: Error| e.to_string();
    if state.dtype != Dtype::U8 || state.len > STATE_BYTES {
        return Err(format!("its `{}` is no JSON in bytes", state.name));
    }
    let json: Value = serde_json::from_slice(&source.read_all(state).map_err(text)?)
        .map_err(|e| format!("its `{}`: {e}", state.name))?;
    // bitsandbytes takes the values of this type, whatever the tensor is called.
    let kind = json.get("quant_type").and_then(Value::as_str);
    if let Some(kind) = kind.filter(|kind| !suffix.ends_with(&format!("__{kind}"))) {
        return Err(format!("its `{}` says that its `quant_type` is {}", state.name, quoted(kind)));
    }
    let number = |key: &str| {
        let number = json.get(key).and_then(Value::as_u64).filter(|&n| n > 0);
        number.ok_or_else(|| format!("its `{}` has no positive `{key}`", state.name))
    };
    let shape = json.get("shape").and_then(Value::as_array);
    let shape: Option<Vec<u64>> = shape.and_then(|shape| shape.iter().map(Value::as_u64).collect());
    let shape = shape.filter(|shape| shape.len() <= 64 && elements(shape).is_some());
    let shape = shape.ok_or_else(|| format!("its `{}` has no `shape`", state.name))?;
    let block = number("blocksize")?;
    let codes = companion("", &[Dtype::U8])?;
    let scales = companion(".absmax", &[Dtype::F32, Dtype::U8])?;
    let values = list(source, companion(".quant_map", &[Dtype::F32])?, 16)?;
    let place = if scales.dtype == Dtype::U8 {
        let nested_block = number("nested_blocksize")?;
        let outer = companion(".nested_absmax", &[Dtype::F32])?;
        if outer.elements() != scales.elements().div_ceil(nested_block) {
            return Err(format!(
                "its `{}` has {} numbers, {} scales in blocks of {nested_block} need {}",
                outer.name,
                outer.elements(),
                scales.elements(),
                scales.elements().div_ceil(nested_block)
            ));
        }
        let offset = json.get("nested_offset").and_then(Value::as_f64);
        let offset = offset.ok_or_else(|| format!("its `{}` has no `nested_offset`", state.name))?;
        #[expect(clippy::cast_possible_truncation, reason = "it was a number of F32")]
        Placement::Nested(Nested {
            values: list(source, companion(".nested_quant_map", &[Dtype::F32])?, 256)?.into(),
            outer: outer.clone(),
            block: nested_block,
            offset: offset as f32,
        })
    } else {
        Placement::Ordered(Order::Rows)
    };
    let granularity = Granularity::Block { rows: 1, columns: block };
    let count = elements(&shape).expect("checked where the shape was read");
    let scaled = Scaled {
        // What has as many bits as the codes.
        element: E2M1FN,
        scale: Some(ScaleSpec { format: BINARY32, rule: ScaleRule::MaxAbsFinite, global: None }),
        granularity,
        packing: Packing::NibblesHigh,
        entry: None,
        grid: Grid::new(&[count], granularity),
        codes: codes.clone(),
        scales: scales.clone(),
        global: 1.0,
        factor: 1.0,
        place,
        elsewhere: None,
        codebook: Some(ValueList {
            name: values_name,
            codebook: [NF4, BNB_FP4].into_iter().find(|codebook| {
                (0..=codebook.max_code())
                    .map(|code| codebook.value(code).to_bits())
                    .eq(values.iter().map(|x| x.to_bits()))
            }),
            values: values.into_iter().map(f64::from).collect(),
        }),
        layout: Some("bitsandbytes"),
    };
    scaled.check(&shape)?;
    Ok((shape, scaled, companions))
}

/// So many F32 numbers.
fn list(source: &Source, info: &TensorInfo, count: u64) -> Result<Vec<f32>, String> {
    if info.elements() != count {
        return Err(format!("its `{}` has {} numbers, expected are {count}", info.name, info.elements()));
    }
    let bytes = source.read_all(info).map_err(|e| e.to_string())?;
    Ok(bytes.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect())
}
