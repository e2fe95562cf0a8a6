//! What names, dtypes and shapes tell, and what a configuration says of them.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;

use serde_json::{Map, Value};

use crate::doctor::{FileFinding, Sure, contradiction};
use crate::error::quoted;
use crate::file::dtype::Dtype;
use crate::file::folder::{CONFIG, INDEX};
use crate::file::formats::source::Source;
use crate::file::input::TensorInfo;
use crate::file::side::read_json;
use crate::layout::convention::Companion;
use crate::layout::grid::Granularity;
use crate::stored::together::Neighbours;
use crate::stored::view::View;
use crate::verify::config::{is_ignored, methods};

/// What scales of blocks are called, by the name of the weight.
const SCALES: [Companion; 4] = [
    Companion::Suffix("_scale"),
    Companion::Suffix("_scale_inv"),
    Companion::Sibling("scale"),
    Companion::Suffix("_scales"),
];

/// Blocks of OCP Microscaling Formats 1.0.
const MX: Granularity = Granularity::Block { rows: 1, columns: 32 };

/// Looks at the tensors that have scales beside them, whether readers know their layout or not.
pub(super) fn check(
    file: &Path,
    source: &Source,
    neighbours: &Neighbours<'_>,
    findings: &mut Vec<FileFinding>,
) {
    let is_container = source.metadata().iter().any(|(key, _)| key == "smallfloat.version");
    if is_container || source.gguf().is_some() {
        return;
    }
    // What can't be read there is told where the file is viewed.
    let configured = neighbours.configured.of(source).unwrap_or_default();
    let configured: HashSet<&str> = configured.iter().map(|(name, _)| &**name).collect();
    let beside = |name: &str| source.tensor(name).or_else(|| neighbours.get(name).map(|other| other.info));
    let tiled = |name: &str| beside(&Companion::Sibling("comfy_quant").of(name)).is_some();
    for info in source.tensors().iter().filter(|info| !configured.contains(&*info.name)) {
        let base = ["_packed", "_blocks"].iter().find_map(|suffix| info.name.strip_suffix(suffix));
        let name = base.unwrap_or(&info.name);
        let Some(scales) = SCALES.iter().find_map(|scale| beside(&scale.of(name))) else { continue };
        if scales.name == info.name || tiled(name) {
            continue;
        }
        let mut found = |kind, sure, what: String, scheme| {
            let tensor = Some(info.name.clone());
            findings.push(FileFinding { kind, file: file.to_path_buf(), tensor, what, sure, scheme });
        };
        let packed = matches!(info.dtype, Dtype::U8 | Dtype::I8) && (base.is_some() || is_weight(name));
        if packed && !info.name.ends_with("_blocks") {
            if let Some((kind, what, scheme)) = packed_codes(&beside, name, info, scales) {
                found(kind, Sure::Certain, what, Some(scheme));
            }
        } else if matches!(info.dtype, Dtype::F8E4M3 | Dtype::F8E5M2) {
            if scales.dtype == Dtype::F8E4M3 {
                let what = format!(
                    "its scales `{}` are F8_E4M3; those of FP8 weights are F32 or F8_E8M0: bytes of exponents were given \
                     another dtype",
                    scales.name
                );
                found("exponents-as-numbers", Sure::Certain, what, Some("deepseek-e8m0"));
            } else if let Some(what) = transposed(info, scales) {
                found("scales-transposed", Sure::Certain, what, Some("deepseek"));
            }
        }
    }
}

fn is_weight(name: &str) -> bool {
    crate::layout::scheme::is_weight(name)
}

/// What is wrong with two codes per byte.
fn packed_codes<'a>(
    beside: &impl Fn(&str) -> Option<&'a TensorInfo>,
    name: &str,
    info: &TensorInfo,
    scales: &TensorInfo,
) -> Option<(&'static str, String, &'static str)> {
    let ([rows, bytes], [scale_rows, groups]) = (&info.shape[..], &scales.shape[..]) else { return None };
    let columns = bytes.checked_mul(2)?;
    let named = |suffix: &str| beside(&format!("{name}{suffix}"));
    let is_e4m3 = scales.dtype == Dtype::F8E4M3;
    let length = if is_e4m3 { 16 } else { 32 };
    let scheme = match (info.name.ends_with("_packed"), is_e4m3) {
        (true, true) => "nvfp4-pack-quantized",
        (true, false) => "mxfp4-pack-quantized",
        (false, true) => "modelopt-nvfp4",
        (false, false) => "quark-mxfp4",
    };
    let groups_of = |columns: u64, length: u64| columns.is_multiple_of(length).then(|| columns / length);
    // At six bits per element, four elements have three bytes.
    let six_bit = !is_e4m3 && bytes.is_multiple_of(24) && bytes.checked_div(24) == Some(*groups);
    if scale_rows == rows && (groups_of(columns, length) == Some(*groups) || six_bit) {
        let (right, other) = if info.name.ends_with("_packed") {
            ("_global_scale", "_scale_2")
        } else {
            ("_scale_2", "_global_scale")
        };
        if is_e4m3 && named(right).is_none() {
            let what = match named(other) {
                Some(_) => format!(
                    "its F32 number is called `{name}{other}`, as in the other convention, where it does the opposite; \
                     readers of these names look for `{name}{right}`"
                ),
                None => format!(
                    "its scales are E4M3 relative to an F32 number `{name}{right}`, and there is none"
                ),
            };
            return Some(("global-scale-missing", what, scheme));
        }
        if matches!(scales.dtype, Dtype::F32 | Dtype::BF16 | Dtype::F16) {
            // tensors.rs looks at their values.
            return None;
        }
        return None;
    }
    if groups == rows && groups_of(columns, length) == Some(*scale_rows) {
        let what = format!(
            "its scales `{}` have the shape {:?}; {rows} rows of {columns} elements in groups of {length} need {:?}",
            scales.name,
            scales.shape,
            [rows, groups_of(columns, length).as_ref()?]
        );
        return Some(("scales-transposed", what, scheme));
    }
    if scale_rows == rows && *groups > 0 && columns.is_multiple_of(*groups) {
        let found = columns / groups;
        let format = if is_e4m3 { "NVFP4" } else { "MXFP4" };
        let what = format!(
            "has a scale for {found} elements (`{}` of shape {:?}); {format} has one for {length}",
            scales.name, scales.shape
        );
        return Some(("wrong-block-length", what, scheme));
    }
    None
}

/// Whether scales fit only the transposed weight.
fn transposed(info: &TensorInfo, scales: &TensorInfo) -> Option<String> {
    let ([rows, columns], [a, b]) = (&info.shape[..], &scales.shape[..]) else { return None };
    if a == b || scales.elements() <= 1 {
        return None;
    }
    let sizes = [(128, 128), (1, 32), (64, 64), (1, 128), (1, *columns), (32, 32)];
    let fits = |a: u64, b: u64| {
        sizes.iter().any(|(r, c)| rows.div_ceil(*r) == a && columns.div_ceil((*c).max(1)) == b)
    };
    (!fits(*a, *b) && fits(*b, *a)).then(|| {
        format!(
            "its scales `{}` have the shape {:?}, which fits blocks of its transpose and none of its own {:?}",
            scales.name, scales.shape, info.shape
        )
    })
}

/// Looks at files that belong together, their index and their configuration.
pub(super) fn check_together(
    path: &Path,
    config: Option<&Map<String, Value>>,
    views: &[View],
    findings: &mut Vec<FileFinding>,
) {
    if path.is_dir() {
        let names: Vec<BTreeSet<String>> = views.iter().map(scale_names).collect();
        let all: BTreeSet<&String> = names.iter().flatten().collect();
        if all.len() > 1
            && let Some((i, names)) = names.iter().enumerate().find(|(_, names)| names.len() == 1)
            && let Some(other) = views.iter().zip(&self::names_of(views)).find_map(|(view, found)| {
                (found.len() == 1 && found != names).then(|| view.source().path().to_path_buf())
            })
        {
            let what = format!(
                "its weights are stored as {}, those of {} otherwise: shards of different runs",
                names.iter().next().map_or("", |name| name),
                crate::error::quoted_path(&other)
            );
            findings.push(contradiction(views[i].source().path(), None, what));
        }
        if let Some(index) = read_json(&path.join(INDEX)).unwrap_or_default() {
            let said =
                index.get("metadata").and_then(|metadata| metadata.get("total_size")).and_then(Value::as_u64);
            let found = views.iter().flat_map(|view| view.source().tensors()).map(|info| info.len);
            let found = found.fold(0, u64::saturating_add);
            if let Some(said) = said.filter(|&said| said != found) {
                let what = format!("`{INDEX}` says that its tensors have {said} bytes, they have {found}");
                findings.push(contradiction(path, None, what));
            }
        }
    }
    let Some(config) = config else { return };
    let of_text = || config.get("text_config").and_then(|inner| inner.get("quantization_config"));
    let said = config.get("quantization_config").or_else(of_text).filter(|said| !said.is_null());
    let method = said.and_then(|said| said.get("quant_method")).and_then(Value::as_str);
    let mut told = false;
    for view in views {
        for tensor in view.tensors() {
            let Some(scaled) = tensor.scaled() else { continue };
            let Some(layout) = scaled.layout() else { continue };
            let Some(methods) = methods(layout) else { continue };
            let what = match method {
                // Dtypes say all that a reader of MXFP8 needs; no configuration has a word for it.
                None if scaled.scales.dtype == Dtype::F8E8M0 && scaled.granularity == MX => continue,
                None => format!("is in the layout {layout}, and `{CONFIG}` says nothing of a quantization"),
                Some(method) if !methods.contains(&method) => format!(
                    "is in the layout {layout}, and `{CONFIG}` says that `quant_method` is {}",
                    quoted(method)
                ),
                Some(_) => {
                    if !is_ignored(said, &tensor.info.name) {
                        continue;
                    }
                    format!("is quantized, and `{CONFIG}` lists its module among those that are not")
                }
            };
            if !told {
                findings.push(contradiction(view.source().path(), Some(&tensor.info.name), what));
            }
            told = true;
        }
    }
    let quantized = views.iter().any(View::is_quantized);
    if let (Some(method), false) = (method, quantized) {
        let what =
            format!("`{CONFIG}` says that `quant_method` is {}, and nothing is quantized", quoted(method));
        findings.push(contradiction(path, None, what));
    }
}

fn names_of(views: &[View]) -> Vec<BTreeSet<String>> {
    views.iter().map(scale_names).collect()
}

/// How the weights of a file are stored: layouts with the last part of the names of their scales.
fn scale_names(view: &View) -> BTreeSet<String> {
    let mut names = BTreeMap::new();
    for tensor in view.tensors() {
        let Some(scaled) = tensor.scaled().filter(|scaled| scaled.has_scales()) else { continue };
        let Some(layout) = scaled.layout() else { continue };
        let suffix = scaled.scales.name.strip_prefix(&*tensor.info.name).unwrap_or("");
        *names.entry(format!("{layout} (`{suffix}` {})", scaled.scales.dtype)).or_insert(0) += 1;
    }
    names.into_keys().collect()
}
