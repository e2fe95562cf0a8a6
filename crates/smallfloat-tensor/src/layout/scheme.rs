//! [`Scheme`]: a way of storing scaled tensors, as one row of a table: element format, packing,
//! scales, blocks, names.
//!
//! Sources of the foreign layouts: compressed-tensors 0.20 (`compressors/*/base.py` for names and
//! packing, `quantization/quant_scheme.py` for configurations), the model loaders of vLLM and
//! Hugging Face transformers (`quant_method` `fp8`), and the checkpoints of DeepSeek-V3
//! (`weight_scale_inv`, which is multiplied despite its name). Only vLLM knows `fp8` with one scale
//! a tensor.

use std::fmt;
use std::str::FromStr;

use smallfloat::Format;
use smallfloat::formats::{BINARY32, E2M1FN, E2M3FN, E3M2FN, E4M3FN, E5M2, E8M0FNU};

use crate::error::{Error, Result, by_name, refuse};
use crate::file::dtype::Dtype;
use crate::layout::grid::Granularity;
use crate::layout::packing::Packing;
use crate::scale::rule::{GlobalScale, ScaleRule, ScaleSpec};

/// What `config.json` says about a checkpoint in this layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Config {
    /// `quant_method` `smallfloat`: the files describe themselves.
    Own,
    /// `quant_method` `fp8`: with a scale a tensor as vLLM reads it, in blocks as transformers does
    /// too.
    Fp8,
    /// `quant_method` `compressed-tensors` with this `format`.
    CompressedTensors(&'static str),
}

/// How the tensors of a layout are called and typed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// What is added to a tensor's name for its codes.
    pub(crate) codes: &'static str,
    /// For its scales.
    pub(crate) scale: &'static str,
    /// For the F32 number that divides them.
    pub(crate) global: &'static str,
    /// Whether codes that fill bytes are typed as the FP8 dtype they are.
    pub(crate) typed: bool,
    pub(crate) config: Config,
}

/// Codes in shapes that readers who don't know them refuse, and what they mean in the metadata.
pub(crate) const NATIVE: Layout =
    Layout { codes: "", scale: "_scale", global: "_global_scale", typed: false, config: Config::Own };
/// One F32 scale per tensor.
pub(crate) const FP8: Layout = Layout { typed: true, config: Config::Fp8, ..NATIVE };
const DEEPSEEK: Layout = Layout { scale: "_scale_inv", ..FP8 };
const fn compressed(codes: &'static str, format: &'static str) -> Layout {
    Layout { codes, typed: true, config: Config::CompressedTensors(format), ..NATIVE }
}
pub(crate) const FLOAT_QUANTIZED: Layout = compressed("", "float-quantized");

/// Parts of names that mark embeddings and output heads. Readers of foreign layouts quantize linear
/// layers only.
const NOT_LINEAR: [&str; 3] = ["embed", "lm_head", "wte"];

/// Returns whether a name is that of neither an embedding nor an output head.
pub(crate) fn is_linear(name: &str) -> bool {
    !NOT_LINEAR.iter().any(|part| name.contains(part))
}

/// Returns whether a name is `weight` or ends in `.weight`.
pub(crate) fn is_weight(name: &str) -> bool {
    name == "weight" || name.ends_with(".weight")
}

impl Layout {
    /// Refuses rows that the layout's readers can't unpack: how many columns packed codes stand for
    /// follows from the number of scales, so that the last block of a row must be whole.
    pub(crate) fn check_rows(&self, shape: &[u64], granularity: Granularity) -> Result<(), String> {
        let (Config::CompressedTensors(format), Granularity::Block { columns, .. }) =
            (self.config, granularity)
        else {
            return Ok(());
        };
        match shape.last() {
            Some(n) if !self.codes.is_empty() && !n.is_multiple_of(columns) => Err(format!(
                "has rows of {n} elements, and readers of {format} know whole blocks of {columns} only: exclude it, or \
                 use mxfp4, mxfp6-e2m3 or nvfp4, which take any rows"
            )),
            _ => Ok(()),
        }
    }

    /// Returns whether the file is described by its own metadata alone.
    pub fn is_native(&self) -> bool {
        self.config == Config::Own
    }

    /// Its name in plans: `native`, or that of the first scheme that has it.
    pub(crate) fn name(&self) -> &'static str {
        let scheme = SCHEMES.iter().find(|scheme| scheme.layout == *self && !self.is_native());
        scheme.map_or("native", |scheme| scheme.name)
    }

    /// Returns whether readers of this layout expect a tensor of this name and shape to be
    /// quantized. They have linear layers in mind: matrices called `….weight` that are neither
    /// embeddings nor the output head. The native layout takes all.
    pub fn expects(&self, name: &str) -> bool {
        self.is_native() || is_linear(name)
    }

    /// Returns whether the layout can hold a tensor of this name and shape.
    pub(crate) fn holds(&self, name: &str, shape: &[u64]) -> bool {
        self.is_native() || (shape.len() == 2 && is_weight(name))
    }

    /// The dtype of codes that are not packed.
    pub(crate) fn code_dtype(&self, element: &Format, packing: Packing) -> Dtype {
        match packing {
            Packing::Bytes if self.typed && *element == E4M3FN => Dtype::F8E4M3,
            Packing::Bytes if self.typed && *element == E5M2 => Dtype::F8E5M2,
            Packing::Bytes if element.width() > 8 => Dtype::U16,
            _ => Dtype::U8,
        }
    }

    /// The dtype of scales.
    pub(crate) fn scale_dtype(&self, scale: &Format) -> Dtype {
        match scale {
            _ if *scale == BINARY32 => Dtype::F32,
            _ if *scale == smallfloat::formats::BFLOAT16 => Dtype::BF16,
            _ if self.typed && *scale == E4M3FN => Dtype::F8E4M3,
            _ if scale.width() > 8 => Dtype::U16,
            _ => Dtype::U8,
        }
    }

    /// The shape of the tensor of scales; foreign readers have no tensors without dimensions.
    pub(crate) fn scale_shape(&self, granularity: Granularity, shape: &[u64]) -> Vec<u64> {
        match granularity.scale_shape(shape) {
            scalar if scalar.is_empty() && !self.is_native() => vec![1],
            shape => shape,
        }
    }
}

/// Which granularities a scheme's readers know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Allowed {
    Only,
    /// Blocks of any size.
    Blocks,
    Any,
}

/// A named way of storing scaled tensors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scheme {
    /// Its name.
    pub name: &'static str,
    /// What it is, in a line.
    pub what: &'static str,
    /// The format of the elements.
    pub element: Format,
    /// The scales.
    pub scale: ScaleSpec,
    /// What shares a scale, unless another granularity is asked for and known to the readers.
    pub granularity: Granularity,
    /// How codes lie in bytes.
    pub packing: Packing,
    /// Names and types.
    pub layout: Layout,
    allowed: Allowed,
}

const fn block(rows: u64, columns: u64) -> Granularity {
    Granularity::Block { rows, columns }
}

const E8M0_FLOOR: ScaleSpec = ScaleSpec { format: E8M0FNU, rule: ScaleRule::Floor, global: None };
const F32_AMAX: ScaleSpec = ScaleSpec { format: BINARY32, rule: ScaleRule::Amax, global: None };
const E4M3_GLOBAL: ScaleSpec =
    ScaleSpec { format: E4M3FN, rule: ScaleRule::Amax, global: Some(GlobalScale::PowerOfTwo) };

const fn row(
    (name, what): (&'static str, &'static str),
    element: Format,
    packing: Packing,
    scale: ScaleSpec,
    (granularity, allowed): (Granularity, Allowed),
    layout: Layout,
) -> Scheme {
    Scheme { name, what, element, scale, granularity, packing, layout, allowed }
}

const MX: (Granularity, Allowed) = (block(1, 32), Allowed::Blocks);
const MX_ONLY: (Granularity, Allowed) = (block(1, 32), Allowed::Only);

static SCHEMES: &[Scheme] = &[
    row(("mxfp8-e4m3", "OCP MXFP8"), E4M3FN, Packing::Bytes, E8M0_FLOOR, MX, NATIVE),
    row(("mxfp8-e5m2", "OCP MXFP8"), E5M2, Packing::Bytes, E8M0_FLOOR, MX, NATIVE),
    row(("mxfp6-e3m2", "OCP MXFP6"), E3M2FN, Packing::SixBit, E8M0_FLOOR, MX, NATIVE),
    row(("mxfp6-e2m3", "OCP MXFP6"), E2M3FN, Packing::SixBit, E8M0_FLOOR, MX, NATIVE),
    row(("mxfp4", "OCP MXFP4"), E2M1FN, Packing::NibblesLow, E8M0_FLOOR, MX, NATIVE),
    row(
        ("nvfp4", "NVIDIA NVFP4"),
        E2M1FN,
        Packing::NibblesLow,
        E4M3_GLOBAL,
        (block(1, 16), Allowed::Blocks),
        NATIVE,
    ),
    row(
        (
            "fp8",
            "E4M3 with an F32 weight_scale a tensor: vLLM reads it, transformers does not (take float-quantized)",
        ),
        E4M3FN,
        Packing::Bytes,
        F32_AMAX,
        (Granularity::Tensor, Allowed::Only),
        FP8,
    ),
    row(
        ("fp8-e5m2", "the same with E5M2"),
        E5M2,
        Packing::Bytes,
        F32_AMAX,
        (Granularity::Tensor, Allowed::Only),
        FP8,
    ),
    row(
        ("deepseek", "E4M3 with an F32 weight_scale_inv for 128×128 elements"),
        E4M3FN,
        Packing::Bytes,
        F32_AMAX,
        (block(128, 128), Allowed::Blocks),
        DEEPSEEK,
    ),
    row(
        ("float-quantized", "compressed-tensors, E4M3 with F32 scales: transformers reads it, vLLM too"),
        E4M3FN,
        Packing::Bytes,
        F32_AMAX,
        (Granularity::Channel, Allowed::Any),
        FLOAT_QUANTIZED,
    ),
    row(
        ("mxfp8-quantized", "compressed-tensors, MXFP8 (E4M3)"),
        E4M3FN,
        Packing::Bytes,
        E8M0_FLOOR,
        MX_ONLY,
        compressed("", "mxfp8-quantized"),
    ),
    row(
        ("mxfp6-pack-quantized", "compressed-tensors, MXFP6 (E2M3)"),
        E2M3FN,
        Packing::SixBit,
        E8M0_FLOOR,
        MX_ONLY,
        compressed("_packed", "mxfp6-pack-quantized"),
    ),
    row(
        ("mxfp4-pack-quantized", "compressed-tensors, MXFP4"),
        E2M1FN,
        Packing::NibblesLow,
        E8M0_FLOOR,
        MX_ONLY,
        compressed("_packed", "mxfp4-pack-quantized"),
    ),
    row(
        ("nvfp4-pack-quantized", "compressed-tensors, NVFP4"),
        E2M1FN,
        Packing::NibblesLow,
        E4M3_GLOBAL,
        (block(1, 16), Allowed::Only),
        compressed("_packed", "nvfp4-pack-quantized"),
    ),
];

impl Scheme {
    /// Every scheme with a name.
    pub fn all() -> &'static [Self] {
        SCHEMES
    }

    /// Refuses a granularity that the scheme's readers do not know.
    ///
    /// # Errors
    /// Such a granularity, with what would be right.
    pub fn check_granularity(&self, asked: Granularity) -> Result<()> {
        let known = match self.allowed {
            Allowed::Any => true,
            Allowed::Blocks => matches!(asked, Granularity::Block { .. }),
            Allowed::Only => asked == self.granularity,
        };
        if known {
            return Ok(());
        }
        let right = match self.allowed {
            Allowed::Blocks => "block:N or block:RxC".to_owned(),
            _ => self.granularity.to_string(),
        };
        let what = format!("granularity {asked} is not what readers of {} know: use {right}", self.name);
        Err(Error::option(what))
    }
}

by_name!(Layout, std::iter::once(NATIVE).chain(SCHEMES.iter().map(|scheme| scheme.layout)), "layout");

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}

/// By name; case does not matter.
impl FromStr for Scheme {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let known = || SCHEMES.iter();
        known().find(|scheme| scheme.name.eq_ignore_ascii_case(text)).copied().ok_or_else(|| {
            let names: Vec<_> = known().map(|scheme| scheme.name).collect();
            refuse(format!("scheme `{text}` is not known: one of {}", names.join(", ")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smallfloat::FormatSpec;
    use std::collections::HashSet;

    #[test]
    fn rows_are_consistent() {
        let mut names = HashSet::new();
        for scheme in Scheme::all() {
            assert!(names.insert(scheme.name), "{}", scheme.name);
            assert!(scheme.packing.suits(&scheme.element), "{}", scheme.name);
            scheme.scale.check().unwrap();
            scheme.check_granularity(scheme.granularity).unwrap();
            assert_eq!(scheme.name.to_uppercase().parse::<Scheme>().ok(), Some(*scheme));
            assert_eq!(scheme.layout.name().parse::<Layout>().ok(), Some(scheme.layout), "{}", scheme.name);
            // No scheme hides a format.
            assert!(scheme.name.parse::<FormatSpec>().is_err(), "{}", scheme.name);
        }
    }

    #[test]
    fn granularities_that_readers_do_not_know() {
        let error = |name: &str, text: &str| {
            name.parse::<Scheme>()
                .ok()
                .unwrap()
                .check_granularity(text.parse().unwrap())
                .unwrap_err()
                .to_string()
        };
        assert!(error("fp8", "channel").contains("use tensor"));
        assert!(error("mxfp4-pack-quantized", "block:16").contains("use block:32"));
        assert!(error("deepseek", "tensor").contains("block:RxC"));
        "deepseek".parse::<Scheme>().unwrap().check_granularity(block(64, 64)).unwrap();
    }
}
