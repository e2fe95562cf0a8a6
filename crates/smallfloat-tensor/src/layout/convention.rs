//! [`Convention`]: how other programs store scaled tensors, as rows of one table: names, dtypes,
//! packing, order, which way a scale of the tensor works.
//!
//! Sources: compressed-tensors 0.20 (`compressors/*/base.py`); vLLM and transformers 5.23
//! (`quant_method` `fp8`, gpt-oss's `integrations/mxfp4.py`, DeepSeek V4's conversion of `.scale`);
//! NVIDIA ModelOpt (`NVFP4QTensor`: `weight_scale_2` multiplies); AMD Quark's exports for vLLM
//! (`quark_ocp_mx`); ComfyUI (`comfy/ops.py`, `scale_weight` and `comfy_quant`) and comfy-kitchen
//! (`backends/eager/quantization.py`, `float_utils.py` for cuBLAS's order of scales).
//!
//! A tensor is in the first row that its name, its dtype and its companions fit.

use smallfloat::Format;
use smallfloat::formats::{
    BFLOAT16, BINARY16, BINARY32, E2M1FN, E2M3FN, E3M2FN, E4M3FN, E4M3FNUZ, E5M2, E5M2FNUZ, E8M0FNU,
};

use crate::file::dtype::Dtype;
use crate::layout::packing::Packing;

/// Codes of a dtype: their format, how they lie in bytes, and how many share a scale where the
/// layout says so.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Codes {
    pub(crate) dtype: Dtype,
    pub(crate) format: Format,
    pub(crate) packing: Packing,
    /// Columns of one row with one scale; 0 where shapes and configurations tell.
    pub(crate) group: u64,
}

const fn codes(dtype: Dtype, format: Format, packing: Packing, group: u64) -> Codes {
    Codes { dtype, format, packing, group }
}

/// How a tensor that belongs to codes is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Companion {
    /// The tensor's name and this.
    Suffix(&'static str),
    /// The name of the tensor's module and this.
    Sibling(&'static str),
    /// This, once in a file.
    Whole(&'static str),
}

impl Companion {
    /// Its name, for a tensor of this name.
    pub(crate) fn of(self, name: &str) -> String {
        match self {
            Self::Suffix(suffix) => format!("{name}{suffix}"),
            Self::Whole(name) => name.to_owned(),
            Self::Sibling(last) => format!("{}{last}", &name[..name.rfind('.').map_or(0, |dot| dot + 1)]),
        }
    }
}

/// What a scale of the whole tensor does to the scales of its blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Direction {
    /// It divides them: compressed-tensors, and the native container.
    Divides,
    /// It multiplies them: ModelOpt, ComfyUI, GGUF.
    Multiplies,
}

/// In which order scales, or elements, lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    /// Row by row.
    Rows,
    /// Scales in cuBLAS's tiles of 128 × 4, the last of them filled up: in each tile 32 rows of 16
    /// bytes, of which row r has the scales of rows r, r + 32, r + 64 and r + 96.
    Tiles,
    /// Row by row, and groups go over the ends of rows.
    Flat,
    /// Elements of each matrix are those of its transpose: what programs call `[…, in, out]` lies
    /// as
    /// `[…, out, in]`.
    Transposed,
}

impl Order {
    /// The shape of a tensor as a file orders its elements.
    pub(crate) fn of_elements(self, shape: &[u64]) -> Vec<u64> {
        let mut shape = shape.to_vec();
        if self == Self::Flat {
            return vec![shape.iter().product()];
        }
        if let (Self::Transposed, [.., down, across]) = (self, &mut shape[..]) {
            std::mem::swap(down, across);
        }
        shape
    }
}

/// A row of the table.
#[derive(Debug)]
pub(crate) struct Convention {
    pub(crate) name: &'static str,
    /// What the name of the codes has beyond the tensor's.
    pub(crate) suffix: &'static str,
    /// The first that fits the shapes is taken.
    pub(crate) codes: &'static [Codes],
    /// Names of scales; empty where codes stand for themselves.
    pub(crate) scales: &'static [Companion],
    /// The dtypes that scales may have; the empty list is for all that [`scale_format`] knows.
    pub(crate) scale_dtypes: &'static [Dtype],
    pub(crate) global: Option<(Companion, Direction)>,
    pub(crate) order: Order,
    /// The `format` that ComfyUI's `comfy_quant` names.
    pub(crate) marker: Option<&'static str>,
    /// A tensor that says that the layout is used, and has no numbers.
    pub(crate) sign: Option<Companion>,
    /// The schemes that write it, by their elements.
    pub(crate) schemes: &'static [(Format, &'static str)],
}

/// The scheme that writes a layout, by the layout's name, with such elements.
pub(crate) fn scheme_of(layout: &str, element: &Format) -> Option<&'static str> {
    let mut schemes = CONVENTIONS.iter().filter(|row| row.name == layout).flat_map(|row| row.schemes);
    schemes.find(|(of, _)| of == element).map(|(_, scheme)| *scheme)
}

/// The key of the metadata under which ComfyUI keeps the formats of layers.
pub(crate) const COMFY_METADATA: &str = "_quantization_metadata";
/// The tensor whose dtype says which format the weights of a file have that ComfyUI wrote before.
pub(crate) const SCALED_FP8: Companion = Companion::Whole("scaled_fp8");
/// The tensor that says which of ComfyUI's formats a layer has.
pub(crate) const COMFY_MARKER: Companion = Companion::Sibling("comfy_quant");

const SUFFIXES: &[Companion] = &[Companion::Suffix("_scale"), Companion::Suffix("_scale_inv")];
const SCALE: &[Companion] = &[Companion::Suffix("_scale")];
const SIBLING: &[Companion] = &[Companion::Sibling("scale")];
const POWERS: &[Dtype] = &[Dtype::U8, Dtype::F8E8M0];

const FP8: &[Codes] = &[
    codes(Dtype::F8E4M3, E4M3FN, Packing::Bytes, 0),
    codes(Dtype::F8E5M2, E5M2, Packing::Bytes, 0),
    codes(Dtype::F8E4M3Fnuz, E4M3FNUZ, Packing::Bytes, 0),
    codes(Dtype::F8E5M2Fnuz, E5M2FNUZ, Packing::Bytes, 0),
];
/// The dtypes of safetensors whose elements share bytes.
const NARROW: &[Codes] = &[
    codes(Dtype::F4, E2M1FN, Packing::NibblesLow, 0),
    codes(Dtype::F6E2M3, E2M3FN, Packing::SixBit, 0),
    codes(Dtype::F6E3M2, E3M2FN, Packing::SixBit, 0),
];
const MXFP: &[Codes] =
    &[codes(Dtype::U8, E2M1FN, Packing::NibblesLow, 32), codes(Dtype::U8, E2M3FN, Packing::SixBit, 32)];

/// The configuration says which of the two FP6 it is.
const QUARK: &[Codes] = &[
    codes(Dtype::U8, E2M1FN, Packing::NibblesLow, 32),
    codes(Dtype::U8, E2M3FN, Packing::SixBit, 32),
    codes(Dtype::U8, E3M2FN, Packing::SixBit, 32),
];

/// The layout that DeepSeek's files, and FP8 by many programs, have.
pub(crate) const FP8_WITH_SCALES: &str = "FP8 with scales";

const ROW: Convention = Convention {
    name: "",
    suffix: "",
    codes: FP8,
    scales: SUFFIXES,
    scale_dtypes: &[],
    global: None,
    order: Order::Rows,
    marker: None,
    sign: None,
    schemes: &[],
};

pub(crate) static CONVENTIONS: &[Convention] = &[
    Convention {
        name: "compressed-tensors nvfp4-pack-quantized",
        suffix: "_packed",
        codes: &[codes(Dtype::U8, E2M1FN, Packing::NibblesLow, 16)],
        scales: SCALE,
        global: Some((Companion::Suffix("_global_scale"), Direction::Divides)),
        schemes: &[(E2M1FN, "nvfp4-pack-quantized")],
        ..ROW
    },
    Convention {
        name: "compressed-tensors mxfp-pack-quantized",
        suffix: "_packed",
        codes: MXFP,
        scales: SCALE,
        schemes: &[(E2M1FN, "mxfp4-pack-quantized"), (E2M3FN, "mxfp6-pack-quantized")],
        ..ROW
    },
    Convention {
        name: "gpt-oss MXFP4",
        suffix: "_blocks",
        codes: &[codes(Dtype::U8, E2M1FN, Packing::NibblesLow, 32)],
        scales: &[Companion::Suffix("_scales")],
        scale_dtypes: POWERS,
        order: Order::Transposed,
        schemes: &[(E2M1FN, "gpt-oss")],
        ..ROW
    },
    Convention {
        name: "ComfyUI NVFP4",
        codes: &[codes(Dtype::U8, E2M1FN, Packing::NibblesHigh, 16)],
        scales: SCALE,
        scale_dtypes: &[Dtype::F8E4M3],
        global: Some((Companion::Suffix("_scale_2"), Direction::Multiplies)),
        order: Order::Tiles,
        marker: Some("nvfp4"),
        sign: Some(COMFY_MARKER),
        schemes: &[(E2M1FN, "comfy-nvfp4")],
        ..ROW
    },
    Convention {
        name: "ComfyUI MXFP8",
        codes: &[codes(Dtype::F8E4M3, E4M3FN, Packing::Bytes, 32)],
        scales: SCALE,
        scale_dtypes: POWERS,
        order: Order::Tiles,
        marker: Some("mxfp8"),
        sign: Some(COMFY_MARKER),
        schemes: &[(E4M3FN, "comfy-mxfp8")],
        ..ROW
    },
    Convention {
        name: "ComfyUI fp8",
        codes: &[codes(Dtype::F8E4M3, E4M3FN, Packing::Bytes, 0)],
        scales: SCALE,
        scale_dtypes: &[Dtype::F32],
        marker: Some("float8_e4m3fn"),
        sign: Some(COMFY_MARKER),
        schemes: &[(E4M3FN, "comfy-fp8")],
        ..ROW
    },
    Convention {
        name: "ComfyUI fp8",
        codes: &[codes(Dtype::F8E5M2, E5M2, Packing::Bytes, 0)],
        scales: SCALE,
        scale_dtypes: &[Dtype::F32],
        marker: Some("float8_e5m2"),
        sign: Some(COMFY_MARKER),
        ..ROW
    },
    Convention {
        name: "ComfyUI scaled fp8",
        scales: &[Companion::Sibling("scale_weight")],
        sign: Some(SCALED_FP8),
        schemes: &[(E4M3FN, "comfy-scaled-fp8")],
        ..ROW
    },
    Convention {
        name: "ModelOpt NVFP4",
        codes: &[codes(Dtype::U8, E2M1FN, Packing::NibblesLow, 16)],
        scales: SCALE,
        scale_dtypes: &[Dtype::F8E4M3],
        global: Some((Companion::Suffix("_scale_2"), Direction::Multiplies)),
        schemes: &[(E2M1FN, "modelopt-nvfp4")],
        ..ROW
    },
    Convention {
        name: "Quark MXFP",
        codes: QUARK,
        scales: SCALE,
        scale_dtypes: POWERS,
        schemes: &[(E2M1FN, "quark-mxfp4")],
        ..ROW
    },
    Convention { name: "DeepSeek V4", scales: SIBLING, schemes: &[(E4M3FN, "deepseek-v4")], ..ROW },
    Convention {
        name: "DeepSeek V4 FP4",
        codes: &[
            codes(Dtype::I8, E2M1FN, Packing::NibblesLow, 32),
            codes(Dtype::U8, E2M1FN, Packing::NibblesLow, 32),
        ],
        scales: SIBLING,
        scale_dtypes: &[Dtype::F8E8M0],
        schemes: &[(E2M1FN, "deepseek-v4-experts")],
        ..ROW
    },
    // Which scheme writes it depends on the scales.
    Convention { name: FP8_WITH_SCALES, ..ROW },
    Convention { name: "FP4 and FP6 with scales", codes: NARROW, schemes: &[(E2M1FN, "mxfp4-typed")], ..ROW },
    Convention { name: "FP4 and FP6 with scales", codes: NARROW, scales: SIBLING, ..ROW },
    Convention {
        name: "plain FP8",
        scales: &[],
        schemes: &[(E4M3FN, "plain-e4m3"), (E5M2, "plain-e5m2")],
        ..ROW
    },
    Convention { name: "plain FP4 and FP6", codes: NARROW, scales: &[], ..ROW },
];

/// The format of scales of a dtype.
pub(crate) fn scale_format(dtype: Dtype) -> Option<Format> {
    Some(match dtype {
        Dtype::F32 => BINARY32,
        Dtype::BF16 => BFLOAT16,
        Dtype::F16 => BINARY16,
        Dtype::U8 | Dtype::F8E8M0 => E8M0FNU,
        Dtype::F8E4M3 => E4M3FN,
        _ => return None,
    })
}

/// The sizes of a tile of scales.
pub(crate) const TILE: (u64, u64) = (128, 4);

/// The rows and columns of whole tiles that hold so many scales; [`u64::MAX`], which no file has,
/// where 64 bits can't count them.
pub(crate) fn in_tiles(rows: u64, columns: u64) -> [u64; 2] {
    let whole = |n: u64, size: u64| n.checked_next_multiple_of(size).unwrap_or(u64::MAX);
    [whole(rows, TILE.0), whole(columns, TILE.1)]
}

/// Where the scale of a row and a column lies among the tiles of so many columns.
pub(crate) fn place_in_tiles(row: u64, column: u64, columns: u64) -> u64 {
    let (rows_of_tile, columns_of_tile) = TILE;
    let tile = row / rows_of_tile * columns.div_ceil(columns_of_tile) + column / columns_of_tile;
    let (row, column) = (row % rows_of_tile, column % columns_of_tile);
    tile * rows_of_tile * columns_of_tile + row % 32 * 16 + row / 32 * columns_of_tile + column
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_companions() {
        assert_eq!(Companion::Suffix("_scale").of("a.weight"), "a.weight_scale");
        assert_eq!(Companion::Sibling("scale").of("a.b.weight"), "a.b.scale");
        assert_eq!(Companion::Sibling("scale").of("weight"), "scale");
    }

    #[test]
    fn schemes_are_known() {
        let named: Vec<&str> =
            CONVENTIONS.iter().flat_map(|row| row.schemes).map(|(_, name)| *name).collect();
        assert!(named.len() > 10);
        for name in named {
            assert!(name.parse::<crate::layout::scheme::Scheme>().is_ok(), "{name}");
        }
        assert_eq!(scheme_of("Quark MXFP", &E2M1FN), Some("quark-mxfp4"));
        assert_eq!(scheme_of("Quark MXFP", &E2M3FN), None);
        assert_eq!(scheme_of("plain FP8", &E5M2), Some("plain-e5m2"));
        assert_eq!(scheme_of("plain FP4 and FP6", &E2M1FN), None);
    }

    /// The first tile as cuBLAS's documentation draws it, and that every place is taken once.
    #[test]
    fn tiles_of_scales() {
        for ((row, column), place) in [
            ((0, 0), 0),
            ((0, 3), 3),
            ((32, 0), 4),
            ((127, 3), 511),
            ((1, 0), 16),
            ((0, 4), 512),
            ((128, 0), 1024),
        ] {
            assert_eq!(place_in_tiles(row, column, 8), place, "{row} {column}");
        }
        let mut places: Vec<u64> =
            (0..256).flat_map(|row| (0..12).map(move |column| place_in_tiles(row, column, 12))).collect();
        places.sort_unstable();
        assert!(places.into_iter().eq(0..256 * 12));
    }
}
