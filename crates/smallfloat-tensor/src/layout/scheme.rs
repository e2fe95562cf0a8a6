//! [`Scheme`]: a way of storing scaled tensors, as one row of a table: element format, packing,
//! scales, blocks, names.
//!
//! Sources of the foreign layouts: compressed-tensors 0.20 (`compressors/*/base.py` for names and
//! packing, `quantization/quant_scheme.py` for configurations), the model loaders of vLLM and
//! Hugging Face transformers (`quant_method` `fp8`), and the checkpoints of DeepSeek-V3
//! (`weight_scale_inv`, which is multiplied despite its name). Only vLLM knows `fp8` with one scale
//! a tensor. Those that other programs' files have beyond these are in
//! [`convention`](crate::layout::convention), by which all of them are read.

use std::fmt;
use std::str::FromStr;

use serde_json::json;
use smallfloat::codebook::{BNB_FP4, INT4, INT8, MXINT8, NF4, SF4};
use smallfloat::formats::{BFLOAT16, BINARY16, BINARY32, E2M1FN, E2M3FN, E3M2FN, E4M3FN, E5M2, E8M0FNU};
use smallfloat::{Codebook, Format};

use crate::error::{Error, Result, by_name, refuse};
use crate::file::dtype::Dtype;
use crate::file::formats::gguf::BlockType;
use crate::file::write::sink::TensorSpec;
use crate::layout::codebook::carrier;
use crate::layout::convention::{COMFY_MARKER, Companion, Direction, Order, SCALED_FP8, in_tiles};
use crate::layout::grid::Granularity;
use crate::layout::packing::Packing;
use crate::scale::rule::{GlobalScale, ScaleRule, ScaleSpec};

/// What `config.json` says about a checkpoint in this layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Config {
    /// `quant_method` `smallfloat`: the files describe themselves.
    Own,
    /// `quant_method` `fp8`: with one scale per tensor as vLLM reads it, in blocks as transformers
    /// does too.
    Fp8,
    /// `quant_method` `fp8` with scales that are powers of two.
    Fp8Powers,
    /// `quant_method` `compressed-tensors` with this `format`.
    CompressedTensors(&'static str),
    /// `quant_method` `modelopt` with this `quant_algo`.
    ModelOpt(&'static str),
    /// `quant_method` `quark`, MXFP4.
    Quark,
    /// `quant_method` `mxfp4`: gpt-oss.
    Mxfp4,
    /// `quant_method` `bitsandbytes` with this `bnb_4bit_quant_type`.
    BitsAndBytes(&'static str),
    /// The file is a GGUF file with this `general.file_type`.
    Gguf(u32),
    /// Nothing: dtypes, or tensors beside the codes, say it.
    Nothing,
}

/// Which formats are stored as the dtype they are, and not as bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Typed {
    None,
    /// FP8, of codes and of scales.
    Fp8,
    /// These, and powers of two (F8_E8M0).
    Powers,
    /// These, powers of two (F8_E8M0), FP6 and FP4.
    All,
}

/// The names and types of the tensors of a layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// What is added to a tensor's name for its codes.
    pub(crate) codes: &'static str,
    /// What its scales are called.
    pub(crate) scale: Companion,
    /// What the F32 number of the tensor is called, and what it does to them.
    pub(crate) global: Companion,
    pub(crate) direction: Direction,
    pub(crate) typed: Typed,
    /// The dtype of codes that share bytes, where they have none of their own.
    pub(crate) packed: Dtype,
    /// In which order scales, or elements, lie.
    pub(crate) order: Order,
    /// Blocks of codes with their scales, where these are one tensor.
    pub(crate) blocks: Option<BlockType>,
    /// Tensors that say how tensors are stored, and what they say.
    pub(crate) signs: [Option<(Companion, Sign)>; 2],
    pub(crate) config: Config,
}

/// What a tensor that says how others are stored has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sign {
    /// The bytes of a text.
    Text(&'static str),
    /// No elements: its dtype says it.
    Empty(Dtype),
    /// The values of all codes, as F32.
    Values(Codebook),
    /// The bytes of JSON that bitsandbytes has about a tensor in blocks of 64, of this type.
    State(&'static str),
}

impl Sign {
    /// The tensor of this name that has it, for a tensor of such a shape whose numbers were of this
    /// dtype.
    pub(crate) fn spec(self, name: String, of: (&[u64], &str)) -> TensorSpec {
        let length = self.bytes(of).len() as u64;
        match self {
            Self::Text(_) | Self::State(_) => TensorSpec::new(name, Dtype::U8, [length]),
            Self::Empty(dtype) => TensorSpec::new(name, dtype, [0]),
            Self::Values(_) => TensorSpec::new(name, Dtype::F32, [length / 4]),
        }
    }

    pub(crate) fn bytes(self, (shape, dtype): (&[u64], &str)) -> Vec<u8> {
        match self {
            Self::Text(text) => text.as_bytes().to_vec(),
            Self::Empty(_) => Vec::new(),
            Self::Values(codebook) => {
                (0..=codebook.max_code()).flat_map(|code| codebook.value(code).to_le_bytes()).collect()
            }
            Self::State(kind) => {
                let dtype = match dtype {
                    "BF16" => "bfloat16",
                    "F16" => "float16",
                    _ => "float32",
                };
                let state = json!({ "quant_type": kind, "blocksize": 64, "dtype": dtype, "shape": shape });
                state.to_string().into_bytes()
            }
        }
    }
}

/// Codes in shapes that readers who don't know them refuse, and what they mean in the metadata.
pub(crate) const NATIVE: Layout = Layout {
    codes: "",
    scale: Companion::Suffix("_scale"),
    global: Companion::Suffix("_global_scale"),
    direction: Direction::Divides,
    typed: Typed::None,
    packed: Dtype::U8,
    order: Order::Rows,
    blocks: None,
    signs: [None; 2],
    config: Config::Own,
};
/// One F32 scale per tensor.
pub(crate) const FP8: Layout = Layout { typed: Typed::Fp8, config: Config::Fp8, ..NATIVE };
const DEEPSEEK: Layout = Layout { scale: Companion::Suffix("_scale_inv"), ..FP8 };
const DEEPSEEK_POWERS: Layout = Layout { typed: Typed::All, config: Config::Fp8Powers, ..DEEPSEEK };
const DEEPSEEK_V4: Layout = Layout { scale: Companion::Sibling("scale"), ..DEEPSEEK_POWERS };
const DEEPSEEK_V4_EXPERTS: Layout =
    Layout { typed: Typed::Powers, packed: Dtype::I8, config: Config::Nothing, ..DEEPSEEK_V4 };
/// The matrices of experts, whose file has the transpose of what the model calls them.
const GPT_OSS: Layout = Layout {
    codes: "_blocks",
    scale: Companion::Suffix("_scales"),
    order: Order::Transposed,
    config: Config::Mxfp4,
    ..NATIVE
};
const fn compressed(codes: &'static str, format: &'static str) -> Layout {
    Layout { codes, typed: Typed::Fp8, config: Config::CompressedTensors(format), ..NATIVE }
}
pub(crate) const FLOAT_QUANTIZED: Layout = compressed("", "float-quantized");
const MODELOPT: Layout = Layout {
    global: Companion::Suffix("_scale_2"),
    direction: Direction::Multiplies,
    config: Config::ModelOpt("NVFP4"),
    ..FP8
};
const MODELOPT_FP8: Layout = Layout { config: Config::ModelOpt("FP8"), ..FP8 };
const QUARK: Layout = Layout { config: Config::Quark, ..NATIVE };
const TYPED: Layout = Layout { typed: Typed::All, config: Config::Nothing, ..NATIVE };
const fn comfy(order: Order, text: &'static str) -> Layout {
    let signs = [Some((COMFY_MARKER, Sign::Text(text))), None];
    Layout { order, signs, config: Config::Nothing, ..MODELOPT }
}
const COMFY_SCALED_FP8: Layout = Layout {
    scale: Companion::Sibling("scale_weight"),
    signs: [Some((SCALED_FP8, Sign::Empty(Dtype::F8E4M3))), None],
    config: Config::Nothing,
    ..FP8
};
/// Blocks go over the ends of rows; the values of codes stand beside each tensor.
const fn bitsandbytes(kind: &'static str, state: &'static str, codebook: Codebook) -> Layout {
    let values = (Companion::Suffix(".quant_map"), Sign::Values(codebook));
    Layout {
        scale: Companion::Suffix(".absmax"),
        order: Order::Flat,
        signs: [Some(values), Some((Companion::Suffix(state), Sign::State(kind)))],
        config: Config::BitsAndBytes(kind),
        ..NATIVE
    }
}
const fn gguf(blocks: Option<BlockType>, file_type: u32) -> Layout {
    let (global, direction) = (Companion::Sibling("scale"), Direction::Multiplies);
    Layout { global, direction, typed: Typed::All, blocks, config: Config::Gguf(file_type), ..NATIVE }
}
const COMFY_FP8: Layout = comfy(Order::Rows, "{\"format\": \"float8_e4m3fn\"}");
const COMFY_MXFP8: Layout = comfy(Order::Tiles, "{\"format\": \"mxfp8\"}");
const COMFY_NVFP4: Layout = comfy(Order::Tiles, "{\"format\": \"nvfp4\"}");

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
    /// Refuses shapes that the layout's readers can't unpack: how many columns packed codes stand
    /// for follows from the number of scales, so that the last block of a row must be whole; bytes
    /// of a dtype below a byte have no rows; and tiles of scales are for matrices in squares of
    /// blocks.
    pub(crate) fn check_rows(
        &self,
        shape: &[u64],
        granularity: Granularity,
        packing: Packing,
    ) -> Result<(), String> {
        let Granularity::Block { columns, .. } = granularity else { return Ok(()) };
        let format = match self.config {
            Config::CompressedTensors(format) => format,
            // These elements are stored in bytes too, under another scheme's name.
            _ if *self == TYPED => "dtypes below a byte",
            _ => self.name(),
        };
        let packed = packing != Packing::Bytes && !self.is_native();
        let (rows, n) = match shape {
            [.., n, rows] if self.order == Order::Transposed => (rows, n),
            [.., rows, n] => (rows, n),
            _ => return Ok(()),
        };
        if self.order == Order::Flat {
            return Ok(());
        }
        let columns = self.blocks.map_or(columns, |blocks| blocks.size().0);
        if (packed || self.blocks.is_some() || self.order == Order::Tiles) && !n.is_multiple_of(columns) {
            return Err(format!(
                "has rows of {n} elements, and readers of {format} know whole blocks of {columns} only: exclude it, or \
                 use mxfp4, mxfp6-e2m3 or nvfp4, which take any rows"
            ));
        }
        if self.order == Order::Tiles && !rows.is_multiple_of(columns) {
            return Err(format!(
                "has {rows} rows, and readers of {format} know multiples of {columns} only: exclude it, or use nvfp4 or \
                 mxfp8-e4m3, which take any"
            ));
        }
        Ok(())
    }

    /// What says how each tensor is stored.
    pub(crate) fn signs_of_tensors(&self) -> impl Iterator<Item = (Companion, Sign)> {
        let of_file = |companion: &Companion| matches!(companion, Companion::Whole(_));
        self.signs.into_iter().flatten().filter(move |(companion, _)| !of_file(companion))
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
        match self.order {
            _ if self.is_native() => true,
            // What experts have in common is one tensor, whose name has no `weight`.
            Order::Transposed if shape.len() == 3 => true,
            _ if self.is_gguf() => (2..=4).contains(&shape.len()) && is_weight(name),
            _ => shape.len() == 2 && is_weight(name),
        }
    }

    /// Returns whether the file is a GGUF file.
    pub fn is_gguf(&self) -> bool {
        matches!(self.config, Config::Gguf(_))
    }

    /// The dtype of codes.
    pub(crate) fn code_dtype(&self, element: &Format, packing: Packing) -> Dtype {
        match packing {
            Packing::Bytes if self.typed != Typed::None && *element == E4M3FN => Dtype::F8E4M3,
            Packing::Bytes if self.typed != Typed::None && *element == E5M2 => Dtype::F8E5M2,
            Packing::NibblesLow if self.typed == Typed::All && *element == E2M1FN => Dtype::F4,
            Packing::SixBit if self.typed == Typed::All && *element == E2M3FN => Dtype::F6E2M3,
            Packing::SixBit if self.typed == Typed::All && *element == E3M2FN => Dtype::F6E3M2,
            Packing::Bytes if self.typed == Typed::All && *element == BINARY16 => Dtype::F16,
            Packing::Bytes if self.typed == Typed::All && *element == BFLOAT16 => Dtype::BF16,
            Packing::Bytes if element.width() > 8 => Dtype::U16,
            Packing::Bytes => Dtype::U8,
            _ => self.packed,
        }
    }

    /// The dtype of scales.
    pub(crate) fn scale_dtype(&self, scale: &Format) -> Dtype {
        match scale {
            _ if *scale == BINARY32 => Dtype::F32,
            _ if *scale == BFLOAT16 => Dtype::BF16,
            _ if self.typed != Typed::None && *scale == E4M3FN => Dtype::F8E4M3,
            _ if matches!(self.typed, Typed::Powers | Typed::All) && *scale == E8M0FNU => Dtype::F8E8M0,
            _ if scale.width() > 8 => Dtype::U16,
            _ => Dtype::U8,
        }
    }

    /// The shape of codes that have this one row by row: blocks of some layouts are dimensions of
    /// their own, or have their scales with them.
    pub(crate) fn codes_shape(&self, mut shape: Vec<u64>, granularity: Granularity) -> Vec<u64> {
        let Some(last) = shape.last_mut() else { return shape };
        if let Some(blocks) = self.blocks {
            let (elements, bytes) = blocks.size();
            *last = *last / elements * bytes;
        } else if let (Order::Transposed, Granularity::Block { columns, .. }) = (self.order, granularity) {
            // Two codes share a byte.
            *last /= columns / 2;
            shape.push(columns / 2);
        } else if self.order == Order::Flat {
            shape.push(1);
        }
        shape
    }

    /// The shape of the tensor of scales; foreign readers have no tensors without dimensions.
    pub(crate) fn scale_shape(&self, granularity: Granularity, shape: &[u64]) -> Vec<u64> {
        if let ([experts @ .., _, rows], Order::Transposed) = (shape, self.order) {
            let groups = granularity.scale_shape(&self.order.of_elements(shape));
            return experts.iter().copied().chain([*rows, groups[1]]).collect();
        }
        if self.order == Order::Flat {
            return vec![granularity.scale_shape(&self.order.of_elements(shape))[1]];
        }
        match granularity.scale_shape(shape) {
            scalar if scalar.is_empty() && !self.is_native() => vec![1],
            // Tiles are filled up.
            shape => match shape[..] {
                [rows, columns] if self.order == Order::Tiles => in_tiles(rows, columns).to_vec(),
                _ => shape,
            },
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
///
/// A scheme has a rule for its scales, which [`Options`](crate::Options) may replace. Let amax be
/// the largest magnitude of those that share a scale:
///
/// | schemes | rule | the scale |
/// | --- | --- | --- |
/// | `mxfp8-…`, `mxfp6-…`, `mxfp4`, `mxint8` | [`Floor`](ScaleRule::Floor) | OCP's: the largest elements of a block may saturate |
/// | NVFP4's | [`Amax`](ScaleRule::Amax) | amax · g / 6 in E4M3, to nearest even, and g the tensor's [`GlobalScale`] |
/// | with scales in binary32 or binary16: FP8, integers, lists | [`Amax`](ScaleRule::Amax) | amax / max of the elements, to nearest even |
/// | DeepSeek's powers of two | [`Rceil`](ScaleRule::Rceil) | the least at which nothing saturates |
///
/// ```
/// use smallfloat_tensor::{GlobalScale, ScaleRule, Scheme};
/// let nvfp4: Scheme = "nvfp4".parse()?;
/// let scale = nvfp4.scale.expect("blocks have scales");
/// assert_eq!((scale.rule, scale.global), (ScaleRule::Amax, Some(GlobalScale::PowerOfTwo)));
/// # Ok::<(), smallfloat_tensor::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scheme {
    /// Its name.
    pub name: &'static str,
    /// What it is, in a line.
    pub what: &'static str,
    /// The format of the elements; of codes that stand for values in a list one with as many bits.
    pub element: Format,
    /// The values of codes, where these are a list.
    pub codebook: Option<Codebook>,
    /// The scales; `None` where codes stand for themselves.
    pub scale: Option<ScaleSpec>,
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
const F16_AMAX: ScaleSpec = ScaleSpec { format: BINARY16, rule: ScaleRule::Amax, global: None };
/// DeepSeek's scales of powers of two are the least at which nothing saturates.
const E8M0_RCEIL: ScaleSpec = ScaleSpec { format: E8M0FNU, rule: ScaleRule::Rceil, global: None };

/// How numbers become codes and scales, and what shares a scale.
#[derive(Clone, Copy)]
struct Coding {
    element: Format,
    codebook: Option<Codebook>,
    packing: Packing,
    scale: Option<ScaleSpec>,
    granularity: Granularity,
    allowed: Allowed,
}

/// Codes with scales of exactly these groups.
const fn coding(element: Format, packing: Packing, scale: ScaleSpec, granularity: Granularity) -> Coding {
    Coding { element, codebook: None, packing, scale: Some(scale), granularity, allowed: Allowed::Only }
}

/// Codes that stand for values in a list.
const fn list(codebook: Codebook, packing: Packing, scale: ScaleSpec, granularity: Granularity) -> Coding {
    Coding { codebook: Some(codebook), ..coding(carrier(codebook), packing, scale, granularity) }
}

/// Codes that stand for themselves.
const fn plain(element: Format) -> Coding {
    Coding { element, scale: None, ..FP8_WHOLE }
}

impl Coding {
    const fn of(self, element: Format) -> Self {
        Self { element, ..self }
    }

    const fn packed(self, packing: Packing) -> Self {
        Self { packing, ..self }
    }

    const fn scaled(self, scale: ScaleSpec) -> Self {
        Self { scale: Some(scale), ..self }
    }

    const fn any_blocks(self) -> Self {
        Self { allowed: Allowed::Blocks, ..self }
    }

    const fn any_groups(self) -> Self {
        Self { allowed: Allowed::Any, ..self }
    }
}

const MXFP8: Coding = coding(E4M3FN, Packing::Bytes, E8M0_FLOOR, block(1, 32));
const MXFP6: Coding = coding(E2M3FN, Packing::SixBit, E8M0_FLOOR, block(1, 32));
const MXFP4: Coding = coding(E2M1FN, Packing::NibblesLow, E8M0_FLOOR, block(1, 32));
const NVFP4: Coding = coding(E2M1FN, Packing::NibblesLow, E4M3_GLOBAL, block(1, 16));
const FP8_WHOLE: Coding = coding(E4M3FN, Packing::Bytes, F32_AMAX, Granularity::Tensor);
const FP8_CHANNELS: Coding = coding(E4M3FN, Packing::Bytes, F32_AMAX, Granularity::Channel).any_groups();
const FP8_SQUARES: Coding = coding(E4M3FN, Packing::Bytes, F32_AMAX, block(128, 128)).any_blocks();
const Q8_0: Coding = list(INT8, Packing::Bytes, F16_AMAX, block(1, 32));

/// Four bits per element, in blocks of 64.
const fn list_of_16(codebook: Codebook) -> Coding {
    list(codebook, Packing::NibblesLow, F32_AMAX, block(1, 64))
}

const fn row(name: &'static str, what: &'static str, coding: Coding, layout: Layout) -> Scheme {
    let Coding { element, codebook, packing, scale, granularity, allowed } = coding;
    Scheme { name, what, element, codebook, scale, granularity, packing, layout, allowed }
}

static SCHEMES: &[Scheme] = &[
    row("mxfp8-e4m3", "OCP MXFP8", MXFP8.any_blocks(), NATIVE),
    row("mxfp8-e5m2", "OCP MXFP8", MXFP8.of(E5M2).any_blocks(), NATIVE),
    row("mxfp6-e3m2", "OCP MXFP6", MXFP6.of(E3M2FN).any_blocks(), NATIVE),
    row("mxfp6-e2m3", "OCP MXFP6", MXFP6.any_blocks(), NATIVE),
    row("mxfp4", "OCP MXFP4", MXFP4.any_blocks(), NATIVE),
    row("nvfp4", "NVIDIA NVFP4", NVFP4.any_blocks(), NATIVE),
    row("mxint8", "OCP MXINT8", list(MXINT8, Packing::Bytes, E8M0_FLOOR, block(1, 32)).any_blocks(), NATIVE),
    row(
        "int8",
        "integers with F32 scales",
        list(INT8, Packing::Bytes, F32_AMAX, Granularity::Channel).any_groups(),
        NATIVE,
    ),
    row("int4", "integers with F32 scales", list_of_16(INT4).any_groups(), NATIVE),
    row("nf4", "NF4 with F32 scales", list_of_16(NF4).any_groups(), NATIVE),
    row("sf4", "SF4 with F32 scales", list_of_16(SF4).any_groups(), NATIVE),
    row(
        "fp8",
        "E4M3 with an F32 weight_scale a tensor: vLLM reads it, transformers does not (take float-quantized)",
        FP8_WHOLE,
        FP8,
    ),
    row("fp8-e5m2", "the same with E5M2", FP8_WHOLE.of(E5M2), FP8),
    row("deepseek", "E4M3 with an F32 weight_scale_inv for 128×128 elements", FP8_SQUARES, DEEPSEEK),
    row(
        "float-quantized",
        "compressed-tensors, E4M3 with F32 scales: transformers reads it, vLLM too",
        FP8_CHANNELS,
        FLOAT_QUANTIZED,
    ),
    row("mxfp8-quantized", "compressed-tensors, MXFP8 (E4M3)", MXFP8, compressed("", "mxfp8-quantized")),
    row(
        "mxfp6-pack-quantized",
        "compressed-tensors, MXFP6 (E2M3)",
        MXFP6,
        compressed("_packed", "mxfp6-pack-quantized"),
    ),
    row(
        "mxfp4-pack-quantized",
        "compressed-tensors, MXFP4",
        MXFP4,
        compressed("_packed", "mxfp4-pack-quantized"),
    ),
    row(
        "nvfp4-pack-quantized",
        "compressed-tensors, NVFP4",
        NVFP4,
        compressed("_packed", "nvfp4-pack-quantized"),
    ),
    row("plain-e4m3", "F8_E4M3 without scales", plain(E4M3FN), TYPED),
    row("plain-e5m2", "F8_E5M2 without scales", plain(E5M2), TYPED),
    row(
        "deepseek-e8m0",
        "E4M3 with an F8_E8M0 weight_scale_inv for 128×128 elements",
        FP8_SQUARES.scaled(E8M0_RCEIL),
        DEEPSEEK_POWERS,
    ),
    row("deepseek-v4", "the same, called scale", FP8_SQUARES.scaled(E8M0_RCEIL), DEEPSEEK_V4),
    row(
        "deepseek-v4-experts",
        "FP4 of the experts of DeepSeek V4",
        MXFP4.scaled(E8M0_RCEIL),
        DEEPSEEK_V4_EXPERTS,
    ),
    row("gpt-oss", "gpt-oss, MXFP4 of experts", MXFP4, GPT_OSS),
    row("mxfp4-typed", "F4 with F8_E8M0 scales", MXFP4, TYPED),
    row("mxfp8-typed", "F8_E4M3 with F8_E8M0 scales", MXFP8, TYPED),
    row("modelopt-nvfp4", "ModelOpt, NVFP4", NVFP4, MODELOPT),
    row("modelopt-fp8", "ModelOpt, E4M3", FP8_WHOLE, MODELOPT_FP8),
    row("quark-mxfp4", "Quark, MXFP4", MXFP4, QUARK),
    row("comfy-fp8", "ComfyUI, E4M3", FP8_WHOLE, COMFY_FP8),
    row("comfy-scaled-fp8", "ComfyUI of before, E4M3 with scale_weight", FP8_WHOLE, COMFY_SCALED_FP8),
    row("comfy-mxfp8", "ComfyUI, MXFP8", MXFP8, COMFY_MXFP8),
    row("comfy-nvfp4", "ComfyUI, NVFP4", NVFP4.packed(Packing::NibblesHigh), COMFY_NVFP4),
    row(
        "bnb-nf4",
        "bitsandbytes, NF4",
        list_of_16(NF4).packed(Packing::NibblesHigh),
        bitsandbytes("nf4", ".quant_state.bitsandbytes__nf4", NF4),
    ),
    row(
        "bnb-fp4",
        "bitsandbytes, FP4",
        list_of_16(BNB_FP4).packed(Packing::NibblesHigh),
        bitsandbytes("fp4", ".quant_state.bitsandbytes__fp4", BNB_FP4),
    ),
    row("gguf-q8_0", "GGUF, Q8_0", Q8_0, gguf(Some(BlockType::Q8_0), 7)),
    row("gguf-mxfp4", "GGUF, MXFP4", MXFP4.packed(Packing::Bytes), gguf(Some(BlockType::Mxfp4), 38)),
    row("gguf-nvfp4", "GGUF, NVFP4", NVFP4.packed(Packing::Bytes), gguf(Some(BlockType::Nvfp4), 39)),
    row("gguf-bf16", "GGUF, BF16", plain(BFLOAT16), gguf(None, 32)),
    row("gguf-f16", "GGUF, F16", plain(BINARY16), gguf(None, 1)),
];

impl Scheme {
    /// Returns every scheme with a name.
    pub fn all() -> &'static [Self] {
        SCHEMES
    }

    /// Returns the schemes whose names are `name`, a hyphen and more: of `mxfp8` those with E4M3
    /// and with E5M2.
    pub fn variants(name: &str) -> impl Iterator<Item = &'static Self> {
        let begins = move |scheme: &&Self| {
            let (begin, rest) = scheme.name.split_at_checked(name.len()).unwrap_or_default();
            begin.eq_ignore_ascii_case(name) && rest.starts_with('-')
        };
        SCHEMES.iter().filter(begins)
    }

    /// Returns the scheme whose name is nearest to a misspelt one, if any is near.
    pub fn nearest(name: &str) -> Option<&'static Self> {
        let nearest = smallfloat::__closest(name, SCHEMES.iter().map(|scheme| (scheme.name, scheme.name)));
        SCHEMES.iter().find(|scheme| Some(scheme.name) == nearest)
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
        SCHEMES.iter().find(|scheme| scheme.name.eq_ignore_ascii_case(text)).copied().ok_or_else(|| {
            let mut near: Vec<_> = Self::variants(text).map(|scheme| scheme.name).collect();
            if near.is_empty() {
                if let Some(Self { name, .. }) = Self::nearest(text) {
                    return refuse(format!("scheme `{text}` is not known, did you mean `{name}`?"));
                }
                near = SCHEMES.iter().map(|scheme| scheme.name).collect();
            }
            refuse(format!("scheme `{text}` is not known: one of {}", near.join(", ")))
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
            if let Some(scale) = scheme.scale {
                scale.check().unwrap();
            }
            scheme.check_granularity(scheme.granularity).unwrap();
            assert_eq!(scheme.name.to_uppercase().parse::<Scheme>().ok(), Some(*scheme));
            assert_eq!(scheme.layout.name().parse::<Layout>().ok(), Some(scheme.layout), "{}", scheme.name);
            // No scheme hides a format.
            assert!(scheme.name.parse::<FormatSpec>().is_err(), "{}", scheme.name);
        }
    }

    #[test]
    fn names_without_their_ends() {
        let error = |name: &str| name.parse::<Scheme>().err().unwrap().to_string();
        assert_eq!(
            error("MXFP8"),
            "scheme `MXFP8` is not known: one of mxfp8-e4m3, mxfp8-e5m2, mxfp8-quantized, mxfp8-typed"
        );
        assert!(error("small").contains("one of mxfp8-e4m3, mxfp8-e5m2, mxfp6-e3m2"));
        assert!(error("").contains("one of mxfp8-e4m3, mxfp8-e5m2, mxfp6-e3m2"));
        assert_eq!(error("mxfp8_e4m3"), "scheme `mxfp8_e4m3` is not known, did you mean `mxfp8-e4m3`?");
        assert_eq!(error("nvpf4"), "scheme `nvpf4` is not known, did you mean `nvfp4`?");
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
