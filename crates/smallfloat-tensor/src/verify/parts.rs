//! Whether the parts of layouts are all there and agree: codes without their scales, and scales,
//! states and markers without their codes, are read as something else, or not at all.

use std::collections::HashSet;
use std::path::Path;

use crate::error::{Error, Result, quoted};
use crate::file::dtype::Dtype;
use crate::file::input::TensorInfo;
use crate::layout::convention::{COMFY_MARKER, CONVENTIONS, Companion};
use crate::layout::scheme::is_weight;
use crate::stored::foreign::scaled_fp8;
use crate::stored::scaled::Scaled;
use crate::stored::view::{Stored, TensorView, View};

/// What bitsandbytes keeps beside its codes.
const BITSANDBYTES: [&str; 4] = [".absmax", ".quant_map", ".nested_absmax", ".nested_quant_map"];

/// Looks for parts that belong to no tensor that is read. A record tells of them, and GGUF's
/// codes have their scales with them, so that files with either are left out.
///
/// # Errors
/// The first such part.
pub(crate) fn check(view: &View, path: &Path) -> Result<()> {
    if view.has_record() || view.source().gguf().is_some() {
        return Ok(());
    }
    // Numbers that are not scaled may have neighbours of any name.
    let scaled = view.tensors().iter().filter(|tensor| !matches!(tensor.stored, Stored::Wide));
    let scaled: HashSet<&str> = scaled
        .map(|tensor| tensor.scaled().map_or(&*tensor.info.name, |scaled| &scaled.codes.name))
        .collect();
    for tensor in view.tensors() {
        if let Some(what) = lonely(view, tensor, &scaled).or_else(|| otherwise(view, tensor)) {
            return Err(Error::refused(Some(path), Some(&tensor.info.name), what));
        }
    }
    Ok(())
}

/// What is wrong with a weight that has another dtype than ComfyUI gives it. F32 stands for
/// F8_E4M3 (`comfy/model_detection.py`).
fn otherwise(view: &View, tensor: &TensorView) -> Option<String> {
    let scaled = tensor.scaled().filter(|scaled| scaled.layout() == Some("ComfyUI scaled fp8"))?;
    let dtype = |sign: &TensorInfo| if sign.dtype == Dtype::F32 { Dtype::F8E4M3 } else { sign.dtype };
    let found = scaled.codes.dtype;
    let sign = scaled_fp8(view.source(), &scaled.codes.name).find(|sign| dtype(sign) != found)?;
    let (name, said) = (quoted(&sign.name), dtype(sign));
    Some(format!("is {found}, and {name} says to ComfyUI that the weights of the file are {said}"))
}

/// What is wrong with a tensor that no layout reads together with others, if its name is that of a
/// part of one; `scaled` are the names of all that is no wide float.
fn lonely(view: &View, tensor: &TensorView, scaled: &HashSet<&str>) -> Option<String> {
    if tensor.scaled().is_some_and(Scaled::has_scales) {
        return None;
    }
    let (name, dtype) = (&*tensor.info.name, tensor.info.dtype);
    if BITSANDBYTES.iter().any(|part| name.ends_with(part)) || name.contains(".quant_state.") {
        return Some(
            "is a part of bitsandbytes' layout, and the codes with the rest of it are not there".to_owned(),
        );
    }
    if matches!(tensor.stored, Stored::Other) {
        if COMFY_MARKER.of(name) == name {
            return Some("is ComfyUI's marker of a weight of codes, and the weight is not".to_owned());
        }
        let packed = ["_packed", "_blocks"].iter().any(|suffix| name.ends_with(suffix)) && dtype == Dtype::U8;
        let weight = matches!(dtype, Dtype::U8 | Dtype::I8) && is_weight(name) && tensor.info.shape.len() > 1;
        if packed || weight && !view.is_container() {
            return Some(format!(
                "is called as codes are and is {dtype}, and no layout that is read has such codes with what is beside \
                 them: scales may be missing"
            ));
        }
    }
    let mut rows = CONVENTIONS.iter().flat_map(|row| {
        let globals = row.global.iter().map(|(companion, _)| companion);
        row.scales.iter().chain(globals).map(|companion| (row.suffix, *companion))
    });
    rows.find_map(|(suffix, companion)| {
        let (codes, is_lost) = match companion {
            Companion::Suffix(last) => {
                let base = name.strip_suffix(last)?;
                let is_there = |suffix: &&str| view.source().tensor(&format!("{base}{suffix}")).is_some();
                let is_lost = is_weight(base) && !["", "_packed", "_blocks"].iter().any(is_there);
                (format!("{base}{}", if is_lost { "" } else { suffix }), is_lost)
            }
            Companion::Sibling(last) => (format!("{}weight", module(name, last)?), false),
            Companion::Whole(_) => return None,
        };
        (is_lost || scaled.contains(&*codes)).then(|| {
            format!(
                "belongs to {} by its name and is not read with it: that is missing, has other scales, or is in a layout \
                 that is not read",
                quoted(&codes)
            )
        })
    })
}

/// The name of the module of a tensor, with its dot, if the tensor's own name is `last`.
fn module<'a>(name: &'a str, last: &str) -> Option<&'a str> {
    name.strip_suffix(last).filter(|module| module.is_empty() || module.ends_with('.'))
}
