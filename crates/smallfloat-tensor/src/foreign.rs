//! Scaled tensors in files of other programs, known by the names, types and shapes of the tensors.
//!
//! Read are: FP8 codes with `NAME_scale` (vLLM `fp8`, compressed-tensors `float-quantized` and `mxfp8-quantized`) or
//! `NAME_scale_inv` (DeepSeek), and `NAME_packed` with `NAME_scale` and perhaps `NAME_global_scale`
//! (compressed-tensors `mxfp4-`, `mxfp6-` and `nvfp4-pack-quantized`). Block sizes follow from the shapes; where those
//! leave a choice, `config.json` beside the file decides, then the customary 32 (E8M0 scales) and 128×128.

use std::collections::HashMap;
use std::path::Path;

use smallfloat::Format;
use smallfloat::formats::{BFLOAT16, BINARY16, BINARY32, E2M1FN, E2M3FN, E4M3FN, E5M2, E8M0FNU};

use crate::granularity::{Granularity, Grid};
use crate::packing::Packing;
use crate::scale::{GlobalScale, ScaleRule, ScaleSpec};
use crate::scaled::{Scaled, f32_at};
use crate::{Dtype, Error, Result, Source, TensorInfo};

const PACKED: &str = "_packed";

/// The scaled tensors of a file: by the name of their codes, the tensor's own name and shape, and how it is stored.
/// What belongs to them and is no tensor of its own has `None`.
pub(crate) type Found = HashMap<String, Option<(String, Vec<u64>, Scaled)>>;

pub(crate) fn find(source: &Source, known: Option<Granularity>) -> Result<Found> {
    let mut found = Found::new();
    let mut config = match known {
        Some(Granularity::Block { rows, columns }) => Some(Some((rows, columns))),
        _ => None,
    };
    let by_name: HashMap<&str, &TensorInfo> =
        source.tensors().iter().map(|info| (&*info.name, info)).collect();
    let named = |name: String| by_name.get(&*name).copied();
    for info in source.tensors() {
        let base = info.name.strip_suffix(PACKED).filter(|_| info.dtype == Dtype::U8);
        let name = base.unwrap_or(&info.name);
        let element = match (base, info.dtype) {
            (Some(_), _) => None,
            (None, Dtype::F8E4M3) => Some(E4M3FN),
            (None, Dtype::F8E5M2) => Some(E5M2),
            _ => continue,
        };
        let companion = ["_scale", "_scale_inv"].iter().find_map(|suffix| named(format!("{name}{suffix}")));
        let Some(scales) = companion else { continue };
        let refused = |what: String| Error::refused(Some(source.path()), Some(&info.name), what);
        let Some(format) = scale_format(scales.dtype) else {
            return Err(refused(format!(
                "its scales `{}` are {}, which no reader knows",
                scales.name, scales.dtype
            )));
        };
        let global = named(format!("{name}_global_scale")).filter(|_| base.is_some());
        let (element, packing) = match element {
            Some(element) => (element, Packing::Bytes),
            None => packed(info, scales, global.is_some()).map_err(refused)?,
        };
        let (unit, bytes) = packing.unit(&element);
        let mut shape = info.shape.clone();
        if let Some(last) = shape.last_mut() {
            *last = *last / bytes * unit;
        }
        let config = config.get_or_insert_with(|| block_of_config(source.path()));
        let granularity = granularity(&shape, &scales.shape, *config, format == E8M0FNU).map_err(refused)?;
        let divisor = match global {
            Some(global) => global_scale(source, global).map_err(refused)?,
            None => 1.0,
        };
        let scaled = Scaled {
            element,
            scale: Some(ScaleSpec {
                format,
                rule: ScaleRule::Amax,
                global: global.map(|_| GlobalScale::PowerOfTwo),
            }),
            granularity,
            packing,
            entry: None,
            grid: Grid::new(&shape, granularity),
            codes: info.clone(),
            scales: scales.clone(),
            global: divisor,
        };
        scaled.check(&shape).map_err(refused)?;
        found.insert(scales.name.clone(), None);
        if let Some(global) = global {
            found.insert(global.name.clone(), None);
        }
        found.insert(info.name.clone(), Some((name.to_owned(), shape, scaled)));
    }
    Ok(found)
}

fn scale_format(dtype: Dtype) -> Option<Format> {
    Some(match dtype {
        Dtype::F32 => BINARY32,
        Dtype::BF16 => BFLOAT16,
        Dtype::F16 => BINARY16,
        Dtype::U8 | Dtype::F8E8M0 => E8M0FNU,
        Dtype::F8E4M3 => E4M3FN,
        _ => return None,
    })
}

/// Packed codes are told apart by how many bytes share a scale.
fn packed(info: &TensorInfo, scales: &TensorInfo, global: bool) -> Result<(Format, Packing), String> {
    let (Some(&bytes), Some(&groups)) = (info.shape.last(), scales.shape.last()) else {
        return Err("packed codes and their scales need dimensions".to_owned());
    };
    let nibbles = if global { 16 } else { 32 };
    if bytes.checked_mul(2) == groups.checked_mul(nibbles) {
        Ok((E2M1FN, Packing::NibblesLow))
    } else if !global && bytes.checked_mul(4) == groups.checked_mul(32 * 3) {
        Ok((E2M3FN, Packing::SixBit))
    } else {
        Err(format!(
            "{bytes} bytes a row with {groups} scales are neither FP4 in groups of {nibbles} nor FP6 in groups of 32"
        ))
    }
}

fn granularity(
    shape: &[u64],
    scales: &[u64],
    config: Option<(u64, u64)>,
    microscaling: bool,
) -> Result<Granularity, String> {
    let per = |granularity: Granularity| Grid::new(shape, granularity);
    let fits = |granularity: Granularity| {
        let grid = per(granularity);
        match scales {
            [rows, columns] => [grid.group_rows, grid.group_columns] == [*rows, *columns],
            [groups] => grid.group_rows.checked_mul(grid.group_columns) == Some(*groups),
            [] => grid.group_rows == 1 && grid.group_columns == 1,
            _ => false,
        }
    };
    let mut candidates = Vec::new();
    if scales.iter().product::<u64>() == 1 {
        candidates.push(Granularity::Tensor);
    }
    candidates.push(Granularity::Channel);
    candidates.extend(config.map(|(rows, columns)| Granularity::Block { rows, columns }));
    // OCP Microscaling Formats 1.0, section 5: blocks of 32.
    candidates.extend(microscaling.then_some(Granularity::Block { rows: 1, columns: 32 }));
    if let ([rows @ .., columns], [groups @ .., group_columns]) = (shape, scales) {
        let exact = |n: u64, groups: u64| (groups > 0 && n.is_multiple_of(groups)).then(|| n / groups);
        let (rows, groups): (u64, u64) = (rows.iter().product(), groups.iter().product());
        if rows != groups {
            candidates.push(Granularity::Block { rows: 128, columns: 128 });
        }
        if let (Some(rows), Some(columns)) = (exact(rows, groups), exact(*columns, *group_columns)) {
            candidates.push(Granularity::Block { rows, columns });
        }
    }
    candidates.into_iter().find(|&candidate| fits(candidate)).ok_or_else(|| {
        format!("scales of shape {scales:?} for {shape:?} elements: the block size can't be told; put config.json beside the file")
    })
}

/// The block size that the configuration beside a file names.
fn block_of_config(path: &Path) -> Option<(u64, u64)> {
    let text = std::fs::read(path.parent()?.join("config.json")).ok()?;
    let config: serde_json::Value = serde_json::from_slice(&text).ok()?;
    let quantization = config.get("quantization_config")?;
    let groups = quantization.get("config_groups").and_then(|groups| groups.as_object()?.values().next());
    let weights = groups.and_then(|group| group.get("weights"));
    let pair = quantization.get("weight_block_size").or_else(|| weights?.get("block_structure"));
    if let Some(pair) = pair.and_then(|pair| pair.as_array()) {
        let size = |i: usize| pair.get(i)?.as_u64().filter(|&n| n > 0);
        return Some((size(0)?, size(1)?));
    }
    let group = weights?.get("group_size")?.as_u64().filter(|&n| n > 0)?;
    Some((1, group))
}

fn global_scale(source: &Source, info: &TensorInfo) -> Result<f64, String> {
    let wrong = |found: &str| format!("its `{}` is {found}, not one positive F32", info.name);
    if info.dtype != Dtype::F32 || info.elements() != 1 {
        return Err(wrong(&format!("{} of shape {:?}", info.dtype, info.shape)));
    }
    let bytes = source.read_all(info).map_err(|e| e.to_string())?;
    let value = f32_at(&bytes).filter(|value| value.is_finite() && *value > 0.0);
    value.ok_or_else(|| wrong("zero, negative or not finite"))
}
