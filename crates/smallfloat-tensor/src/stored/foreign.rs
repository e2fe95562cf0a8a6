//! Scaled tensors in files of other programs, known by the names, types and shapes of the tensors.
//!
//! Read are: FP8 codes with `NAME_scale` (vLLM `fp8`, compressed-tensors `float-quantized` and
//! `mxfp8-quantized`) or `NAME_scale_inv` (DeepSeek), and `NAME_packed` with `NAME_scale` and
//! perhaps `NAME_global_scale` (compressed-tensors `mxfp4-`, `mxfp6-` and `nvfp4-pack-quantized`).
//!
//! What shares a scale follows from the shapes: one scale is the tensor's, one a row a channel's,
//! else blocks have the size that `config.json` beside the file names. Without it there are the
//! customary 1×32 (E8M0 scales) and 128×128, and the shape divided by the scales' shape. Where
//! several of them fit, the one that fits all blocks of the file is taken; if there are several of
//! those, or none, the file is refused.

use std::collections::HashMap;
use std::path::Path;

use smallfloat::Format;
use smallfloat::formats::{BFLOAT16, BINARY16, BINARY32, E2M1FN, E2M3FN, E4M3FN, E5M2, E8M0FNU};

use crate::error::{Error, Result};
use crate::file::dtype::Dtype;
use crate::file::folder::CONFIG;
use crate::file::input::TensorInfo;
use crate::file::side::read_json;
use crate::file::source::Source;
use crate::layout::grid::{Granularity, Grid};
use crate::layout::packing::Packing;
use crate::scale::rule::{GlobalScale, ScaleRule, ScaleSpec};
use crate::stored::scaled::{Scaled, f32_at};

const PACKED: &str = "_packed";

/// The scaled tensors of a file: by the name of their codes, the tensor's own name and shape, and
/// how it is stored. What belongs to them and is no tensor of its own has `None`.
pub(crate) type Found = HashMap<String, Option<(String, Vec<u64>, Scaled)>>;

/// A scaled tensor whose block size may still be open.
struct Pending<'a> {
    name: &'a str,
    shape: Vec<u64>,
    /// What may share a scale; not empty.
    choices: Vec<Granularity>,
    element: Format,
    format: Format,
    packing: Packing,
    codes: &'a TensorInfo,
    scales: &'a TensorInfo,
    global: Option<&'a TensorInfo>,
}

pub(crate) fn find(source: &Source, known: Option<Granularity>) -> Result<Found> {
    let pending = pending(source, known)?;
    let common = common(&pending);
    let mut found = Found::new();
    for tensor in pending {
        let refused = |what: String| Error::refused(Some(source.path()), Some(&tensor.codes.name), what);
        let granularity = choose(&tensor, &common).map_err(refused)?;
        let divisor = match tensor.global {
            Some(global) => global_scale(source, global).map_err(refused)?,
            None => 1.0,
        };
        let scaled = Scaled {
            element: tensor.element,
            scale: Some(ScaleSpec {
                format: tensor.format,
                rule: ScaleRule::Amax,
                global: tensor.global.map(|_| GlobalScale::PowerOfTwo),
            }),
            granularity,
            packing: tensor.packing,
            entry: None,
            grid: Grid::new(&tensor.shape, granularity),
            codes: tensor.codes.clone(),
            scales: tensor.scales.clone(),
            global: divisor,
        };
        scaled.check(&tensor.shape).map_err(refused)?;
        found.insert(tensor.scales.name.clone(), None);
        if let Some(global) = tensor.global {
            found.insert(global.name.clone(), None);
        }
        found.insert(tensor.codes.name.clone(), Some((tensor.name.to_owned(), tensor.shape, scaled)));
    }
    Ok(found)
}

/// The sizes among the choices that fit all tensors in blocks.
fn common(pending: &[Pending<'_>]) -> Vec<Granularity> {
    let in_blocks = || pending.iter().filter(|tensor| matches!(tensor.choices[0], Granularity::Block { .. }));
    let mut common: Vec<Granularity> = Vec::new();
    for &size in in_blocks().flat_map(|tensor| &tensor.choices) {
        if !common.contains(&size)
            && in_blocks().all(|tensor| fits(&tensor.shape, &tensor.scales.shape, size))
        {
            common.push(size);
        }
    }
    common
}

/// The only choice, or the only one that fits the whole file.
fn choose(tensor: &Pending<'_>, common: &[Granularity]) -> Result<Granularity, String> {
    let fitting: Vec<Granularity> =
        tensor.choices.iter().copied().filter(|choice| common.contains(choice)).collect();
    match (&tensor.choices[..], &fitting[..]) {
        ([only], _) | (_, [only]) => Ok(*only),
        (choices, _) => {
            let sizes: Vec<String> = choices.iter().map(ToString::to_string).collect();
            Err(format!(
                "scales of shape {:?} for {:?} elements may be of {}: a config.json beside the file decides, whose \
                 quantization_config has weight_block_size, or group_size in config_groups",
                tensor.scales.shape,
                tensor.shape,
                sizes.join(" or ")
            ))
        }
    }
}

fn pending(source: &Source, known: Option<Granularity>) -> Result<Vec<Pending<'_>>> {
    let mut pending = Vec::new();
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
        if config.is_none() {
            config = Some(block_of_config(source.path())?);
        }
        let choices = choices(&shape, &scales.shape, config.flatten(), format == E8M0FNU).map_err(refused)?;
        pending.push(Pending { name, shape, choices, element, format, packing, codes: info, scales, global });
    }
    Ok(pending)
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

/// Returns whether a granularity asks for scales of this shape.
fn fits(shape: &[u64], scales: &[u64], granularity: Granularity) -> bool {
    let grid = Grid::new(shape, granularity);
    match scales {
        [rows, columns] => [grid.group_rows, grid.group_columns] == [*rows, *columns],
        [groups] => grid.group_rows.checked_mul(grid.group_columns) == Some(*groups),
        [] => grid.group_rows == 1 && grid.group_columns == 1,
        _ => false,
    }
}

/// What may share a scale: several only where blocks of several sizes fit.
fn choices(
    shape: &[u64],
    scales: &[u64],
    config: Option<(u64, u64)>,
    microscaling: bool,
) -> Result<Vec<Granularity>, String> {
    let mut decided = Vec::new();
    if scales.iter().product::<u64>() == 1 {
        decided.push(Granularity::Tensor);
    }
    decided.push(Granularity::Channel);
    decided.extend(config.map(|(rows, columns)| Granularity::Block { rows, columns }));
    if let Some(granularity) = decided.into_iter().find(|&granularity| fits(shape, scales, granularity)) {
        return Ok(vec![granularity]);
    }
    let mut sizes = Vec::new();
    // OCP Microscaling Formats 1.0, section 5: blocks of 32.
    sizes.extend(microscaling.then_some(Granularity::Block { rows: 1, columns: 32 }));
    if let ([rows @ .., columns], [groups @ .., group_columns]) = (shape, scales) {
        let exact = |n: u64, groups: u64| (groups > 0 && n.is_multiple_of(groups)).then(|| n / groups);
        let (rows, groups): (u64, u64) = (rows.iter().product(), groups.iter().product());
        if rows != groups {
            sizes.push(Granularity::Block { rows: 128, columns: 128 });
        }
        if let (Some(rows), Some(columns)) = (exact(rows, groups), exact(*columns, *group_columns)) {
            sizes.push(Granularity::Block { rows, columns });
        }
    }
    let mut choices: Vec<Granularity> = Vec::new();
    for size in sizes.into_iter().filter(|&size| fits(shape, scales, size)) {
        // Sizes beyond the shape are the shape's.
        let same = |other: &Granularity| Grid::new(shape, *other) == Grid::new(shape, size);
        if !choices.iter().any(same) {
            choices.push(size);
        }
    }
    if choices.is_empty() {
        return Err(format!(
            "scales of shape {scales:?} for {shape:?} elements: the block size can't be told; put config.json beside the file"
        ));
    }
    Ok(choices)
}

/// The block size that the configuration beside a file names.
fn block_of_config(path: &Path) -> Result<Option<(u64, u64)>> {
    let Some(folder) = path.parent() else { return Ok(None) };
    let config = read_json(&folder.join(CONFIG))?;
    Ok(config.as_ref().and_then(|config| block_of_quantization(config.get("quantization_config")?)))
}

fn block_of_quantization(quantization: &serde_json::Value) -> Option<(u64, u64)> {
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
