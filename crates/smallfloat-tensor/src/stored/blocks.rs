//! Blocks of codes with their scales in one tensor: GGUF's MXFP4, NVFP4 and Q8_0.
//!
//! Source: the `gguf` package 0.19 (`quants.py`) and ggml (`ggml-quants.c`). Their tables of E2M1
//! are doubled and their scales halved; the products are those of the plain ones. NVFP4's scales
//! have no sign and read 0x7f as 0. An F32 tensor beside a weight, `….scale` for `….weight`,
//! multiplies it, whatever its type: llama.cpp looks for one beside every weight of a layer
//! (`llama-model.cpp`) and multiplies what the weight gives with it (`llama-graph.cpp`).

use smallfloat::Format;
use smallfloat::codebook::INT8;
use smallfloat::formats::{BINARY16, E2M1FN, E4M3FN, E8M0FNU};

use crate::error::{Error, Result};
use crate::file::dtype::Dtype;
use crate::file::formats::gguf::{BlockType, Gguf};
use crate::file::formats::source::Source;
use crate::file::input::TensorInfo;
use crate::layout::blocks::Blocks;
use crate::layout::convention::Companion;
use crate::layout::grid::{Granularity, Grid};
use crate::layout::packing::Packing;
use crate::scale::rule::{GlobalScale, ScaleRule, ScaleSpec};
use crate::stored::foreign::Found;
use crate::stored::scaled::{Placement, Scaled, ValueList, f32_at};
use crate::stored::together::{Neighbour, Neighbours};

/// The name of a type, the format that has as many bits as its codes, how these are packed, and the
/// format of its scales.
fn row(kind: BlockType) -> (&'static str, Format, Packing, Format) {
    match kind {
        BlockType::Mxfp4 => ("GGUF MXFP4", E2M1FN, Packing::NibblesLow, E8M0FNU),
        BlockType::Nvfp4 => ("GGUF NVFP4", E2M1FN, Packing::NibblesLow, E4M3FN),
        BlockType::Q8_0 => ("GGUF Q8_0", E4M3FN, Packing::Bytes, BINARY16),
    }
}

/// Finds the tensors of a GGUF file that are in blocks.
pub(crate) fn find(source: &Source, neighbours: Option<&Neighbours<'_>>) -> Result<Found> {
    let mut found = Found::new();
    for (info, kind, shape) in source.gguf().into_iter().flat_map(Gguf::blocks) {
        let refused = |what: String| Error::refused(Some(source.path()), Some(&info.name), what);
        let (name, element, packing, scale) = row(kind);
        let blocks = Blocks::of(kind);
        let global = Companion::Sibling("scale").of(&info.name);
        let own = source.tensor(&global).map(|info| Neighbour { info, elsewhere: None });
        let global = own.or_else(|| neighbours?.get(&global));
        // What is called `….scale` itself has none.
        let global = global.filter(|global| global.info.name != info.name);
        let factor = match global {
            Some(Neighbour { info, elsewhere }) => {
                factor(elsewhere.map_or(source, |elsewhere| elsewhere), info).map_err(refused)?
            }
            None => 1.0,
        };
        let granularity = Granularity::Block { rows: 1, columns: blocks.group };
        let scaled = Scaled {
            element,
            scale: Some(ScaleSpec {
                format: scale,
                rule: ScaleRule::Amax,
                global: global.map(|_| GlobalScale::PowerOfTwo),
            }),
            granularity,
            packing,
            entry: None,
            grid: Grid::new(shape, granularity),
            codes: info.clone(),
            scales: info.clone(),
            global: 1.0,
            factor,
            place: Placement::Blocks(blocks),
            elsewhere: None,
            codebook: (kind == BlockType::Q8_0).then(|| ValueList::of(INT8)),
            layout: Some(name),
        };
        scaled.check(shape).map_err(refused)?;
        if let Some(global) = global {
            found.insert(global.info.name.clone(), None);
        }
        found.insert(info.name.clone(), Some(Box::new((info.name.clone(), shape.to_vec(), scaled))));
    }
    Ok(found)
}

fn factor(source: &Source, info: &TensorInfo) -> Result<f64, String> {
    let wrong = || {
        format!(
            "its `{}` is {} of shape {:?}; read is one positive F32 for the tensor",
            info.name, info.dtype, info.shape
        )
    };
    if info.dtype != Dtype::F32 || info.elements() != 1 {
        return Err(wrong());
    }
    let value = f32_at(&source.read_all(info).map_err(|e| e.to_string())?);
    value.filter(|value| value.is_finite() && *value > 0.0).ok_or_else(wrong)
}
