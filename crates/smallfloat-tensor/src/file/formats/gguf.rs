//! A strict reader of GGUF files.
//!
//! Source: the GGUF specification of ggml (`docs/gguf.md`), versions 2 and 3, and the sizes of
//! types in the `gguf` package 0.19 (`GGML_QUANT_SIZES`). A file is the magic, a version, counts,
//! key–value pairs, descriptions of tensors, and their data from a multiple of `general.alignment`
//! on.
//!
//! As with safetensors nothing is allocated that the file's size does not justify, and what is
//! beyond the format is refused. Tensors of types that have no numbers here are named in an error.

use std::collections::HashSet;

use serde::Serialize;

use crate::error::{Error, Result, quoted};
use crate::file::dtype::{Dtype, elements as elements_of};
use crate::file::formats::safetensors::MAX_HEADER_BYTES;
use crate::file::input::{Input, TensorInfo};

pub(crate) const MAGIC: &[u8] = b"GGUF";
/// The most dimensions of a tensor in ggml.
pub(crate) const MAX_DIMENSIONS: u32 = 4;
/// Where tensors lie unless a key says otherwise.
pub(crate) const ALIGNMENT: u64 = 32;
/// Arrays in arrays, at most.
const MAX_DEPTH: u32 = 4;
const WINDOW: u64 = 1 << 16;
/// The type of values that are strings.
pub(crate) const STRING: u32 = 8;

/// Whether a key says which part of a file that was split this is; what is made of a part is none.
pub(crate) fn is_of_part(key: &str) -> bool {
    ["split.no", "split.count", "split.tensors.count"].contains(&key)
}

/// A type of tensors in blocks of codes with their scales.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BlockType {
    /// 32 bytes of integers after an F16.
    Q8_0,
    /// 32 elements of E2M1 after a power of two.
    Mxfp4,
    /// 64 elements of E2M1 after four scales of E4M3 without a sign.
    Nvfp4,
}

impl BlockType {
    /// Elements and bytes of a block.
    pub(crate) const fn size(self) -> (u64, u64) {
        match self {
            Self::Q8_0 => (32, 34),
            Self::Mxfp4 => (32, 17),
            Self::Nvfp4 => (64, 36),
        }
    }
}

/// How the elements of a type lie.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ElementKind {
    Plain(Dtype),
    Blocks(BlockType),
}

/// By the number of the type.
pub(crate) const TYPES: [(u32, ElementKind); 11] = [
    (0, ElementKind::Plain(Dtype::F32)),
    (1, ElementKind::Plain(Dtype::F16)),
    (8, ElementKind::Blocks(BlockType::Q8_0)),
    (24, ElementKind::Plain(Dtype::I8)),
    (25, ElementKind::Plain(Dtype::I16)),
    (26, ElementKind::Plain(Dtype::I32)),
    (27, ElementKind::Plain(Dtype::I64)),
    (28, ElementKind::Plain(Dtype::F64)),
    (30, ElementKind::Plain(Dtype::BF16)),
    (39, ElementKind::Blocks(BlockType::Mxfp4)),
    (40, ElementKind::Blocks(BlockType::Nvfp4)),
];

/// The names of types that are not read.
const OTHERS: [(u32, &str); 22] = [
    (2, "Q4_0"),
    (3, "Q4_1"),
    (6, "Q5_0"),
    (7, "Q5_1"),
    (9, "Q8_1"),
    (10, "Q2_K"),
    (11, "Q3_K"),
    (12, "Q4_K"),
    (13, "Q5_K"),
    (14, "Q6_K"),
    (15, "Q8_K"),
    (16, "IQ2_XXS"),
    (17, "IQ2_XS"),
    (18, "IQ3_XXS"),
    (19, "IQ1_S"),
    (20, "IQ4_NL"),
    (21, "IQ3_S"),
    (22, "IQ2_S"),
    (23, "IQ4_XS"),
    (29, "IQ1_M"),
    (34, "TQ1_0"),
    (35, "TQ2_0"),
];

/// The type of a tensor in blocks and its shape in elements.
type InBlocks = (BlockType, Vec<u64>);
/// A tensor, and how it is in blocks if it is.
type Described = (TensorInfo, Option<InBlocks>);

/// An open, checked GGUF file.
#[derive(Debug)]
pub(crate) struct Gguf {
    input: Input,
    metadata: Vec<(String, String)>,
    /// Where each key with its value begins and ends.
    places: Vec<(u64, u64)>,
    alignment: u64,
    tensors: Vec<TensorInfo>,
    /// Of each tensor: its type and its shape in elements, where it has blocks. Its description has
    /// the shape in bytes.
    blocks: Vec<Option<InBlocks>>,
    data_start: u64,
}

impl Gguf {
    pub(crate) fn from_input(input: Input) -> Result<Self> {
        let mut cursor = Cursor { input: &input, at: 4, window: Vec::new(), window_at: 0 };
        let version = cursor.u32("the version")?;
        if version.trailing_zeros() >= 16 && version != 0 {
            return Err(Error::unsupported(
                input.path(),
                "this is a GGUF file in big-endian order, which is not read",
            ));
        }
        if !matches!(version, 2 | 3) {
            let what = format!("this is a GGUF file of version {version}; 2 and 3 are read");
            return Err(Error::unsupported(input.path(), what));
        }
        let (tensor_count, pair_count) =
            (cursor.u64("the count of tensors")?, cursor.u64("the count of keys")?);
        let (mut metadata, mut places) = (Vec::new(), Vec::new());
        let (mut keys, mut alignment) = (HashSet::new(), ALIGNMENT);
        for _ in 0..pair_count {
            let (at, key) = (cursor.at, cursor.string("a key")?);
            let kind = cursor.u32("the type of a value")?;
            let mut text = String::new();
            if kind == STRING {
                text = cursor.string("a string")?;
            } else {
                cursor.value(kind, 0, &mut text)?;
            }
            if !keys.insert(key.clone()) {
                return Err(cursor.wrong(at, &format!("the key {} comes twice", quoted(&key))));
            }
            if key == "general.alignment" {
                let given = text.parse().ok().filter(|&n: &u32| kind != STRING && n > 0 && n % 8 == 0);
                let what = "`general.alignment` is not a positive multiple of 8 that has 32 bits";
                alignment = given.ok_or_else(|| cursor.wrong(at, what))?.into();
            }
            metadata.push((key, text));
            places.push((at, cursor.at));
        }
        let (mut tensors, mut blocks): (Vec<TensorInfo>, Vec<_>) = (Vec::new(), Vec::new());
        for _ in 0..tensor_count {
            let (info, block) = cursor.tensor(alignment)?;
            tensors.push(info);
            blocks.push(block);
        }
        let data_start = cursor.at.checked_next_multiple_of(alignment);
        let data_start = data_start.ok_or_else(|| cursor.wrong(cursor.at, "no file is so long"))?;
        for info in &mut tensors {
            info.offset = info.offset.saturating_add(data_start);
        }
        check_places(&input, &tensors)?;
        Ok(Self { input, metadata, places, alignment, tensors, blocks, data_start })
    }

    pub(crate) fn input(&self) -> &Input {
        &self.input
    }

    pub(crate) fn tensors(&self) -> &[TensorInfo] {
        &self.tensors
    }

    pub(crate) fn metadata(&self) -> &[(String, String)] {
        &self.metadata
    }

    /// The keys, and where each with its value stands in the file.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, std::ops::Range<u64>)> {
        self.metadata.iter().zip(&self.places).map(|((key, _), &(begin, end))| (&**key, begin..end))
    }

    /// What the places of tensors are multiples of.
    pub(crate) fn alignment(&self) -> u64 {
        self.alignment
    }

    /// The tensors in blocks, with their types and their shapes in elements.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = (&TensorInfo, BlockType, &[u64])> {
        let all = self.tensors.iter().zip(&self.blocks);
        all.filter_map(|(info, block)| block.as_ref().map(|(kind, shape)| (info, *kind, &**shape)))
    }

    /// Where the data begins.
    pub(crate) fn data_start(&self) -> u64 {
        self.data_start
    }
}

/// Names are unique; data is inside the file, and no two tensors share any.
fn check_places(input: &Input, tensors: &[TensorInfo]) -> Result<()> {
    let path = input.path();
    let mut names: Vec<&str> = tensors.iter().map(|info| &*info.name).collect();
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(Error::malformed_tensor(path, Some(pair[0]), None, "comes twice"));
    }
    let mut order: Vec<&TensorInfo> = tensors.iter().filter(|info| info.len > 0).collect();
    order.sort_by_key(|info| info.offset);
    let mut end = 0;
    for info in order {
        let offset = Some(info.offset);
        if info.offset < end {
            return Err(Error::malformed_tensor(
                path,
                Some(&info.name),
                offset,
                "shares bytes with another tensor",
            ));
        }
        end = info.offset.saturating_add(info.len);
        if end > input.len() {
            let what = format!("reaches to byte {end} of a file of {}", input.len());
            return Err(Error::malformed_tensor(path, Some(&info.name), offset, what));
        }
    }
    Ok(())
}

/// A string or a float as JSON; what JSON has no number for is null.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("strings and numbers are JSON")
}

/// Reads what stands before the data.
struct Cursor<'a> {
    input: &'a Input,
    at: u64,
    window: Vec<u8>,
    window_at: u64,
}

impl Cursor<'_> {
    fn wrong(&self, at: u64, what: &str) -> Error {
        Error::malformed(self.input.path(), Some(at), format!("bad header: {what}"))
    }

    /// The next bytes.
    fn bytes(&mut self, count: u64, what: &str) -> Result<&[u8]> {
        let end = self.at.checked_add(count).filter(|&end| end <= self.input.len());
        let Some(end) = end else {
            return Err(self.wrong(self.at, &format!("the file ends before {what} of {count} bytes does")));
        };
        if end > MAX_HEADER_BYTES {
            return Err(
                self.wrong(self.at, &format!("it is longer than the limit of {MAX_HEADER_BYTES} bytes"))
            );
        }
        if end > self.window_at + self.window.len() as u64 {
            let length = count.max(WINDOW).min(self.input.len() - self.at);
            self.window.resize(usize::try_from(length).expect("a header fits memory"), 0);
            self.input.read_exact_at(self.at, &mut self.window)?;
            self.window_at = self.at;
        }
        let begin = usize::try_from(self.at - self.window_at).expect("inside the window");
        self.at = end;
        Ok(&self.window[begin..][..usize::try_from(count).expect("inside the window")])
    }

    fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N]> {
        let bytes = self.bytes(N as u64, what)?;
        Ok(*bytes.first_chunk().expect("as many were read"))
    }

    fn u32(&mut self, what: &str) -> Result<u32> {
        self.array(what).map(u32::from_le_bytes)
    }

    fn u64(&mut self, what: &str) -> Result<u64> {
        self.array(what).map(u64::from_le_bytes)
    }

    fn string(&mut self, what: &str) -> Result<String> {
        let (at, length) = (self.at, self.u64(what)?);
        let bytes = self.bytes(length, what)?.to_vec();
        String::from_utf8(bytes).map_err(|_| self.wrong(at, &format!("{what} is not UTF-8 text")))
    }

    /// Appends a value of a type as JSON.
    fn value(&mut self, kind: u32, depth: u32, text: &mut String) -> Result<()> {
        let what = "a value";
        let number = match kind {
            0 => u8::from_le_bytes(self.array(what)?).to_string(),
            1 => i8::from_le_bytes(self.array(what)?).to_string(),
            2 => u16::from_le_bytes(self.array(what)?).to_string(),
            3 => i16::from_le_bytes(self.array(what)?).to_string(),
            4 => u32::from_le_bytes(self.array(what)?).to_string(),
            5 => i32::from_le_bytes(self.array(what)?).to_string(),
            6 => json(&f32::from_le_bytes(self.array(what)?)),
            7 => (self.array::<1>(what)? != [0]).to_string(),
            8 => json(&self.string("a string")?),
            9 => {
                let at = self.at;
                let (kind, count) = (self.u32(what)?, self.u64(what)?);
                // Each element has a byte at least.
                if depth >= MAX_DEPTH || count > self.input.len() - self.at {
                    return Err(
                        self.wrong(at, &format!("an array of {count} values is too long or too deep"))
                    );
                }
                text.push('[');
                for i in 0..count {
                    text.push_str(if i > 0 { "," } else { "" });
                    self.value(kind, depth + 1, text)?;
                }
                "]".to_owned()
            }
            10 => u64::from_le_bytes(self.array(what)?).to_string(),
            11 => i64::from_le_bytes(self.array(what)?).to_string(),
            12 => json(&f64::from_le_bytes(self.array(what)?)),
            _ => return Err(self.wrong(self.at - 4, &format!("there is no type {kind} of values"))),
        };
        text.push_str(&number);
        Ok(())
    }

    /// A tensor's description, its offset from the beginning of the data.
    fn tensor(&mut self, alignment: u64) -> Result<Described> {
        let name = self.string("a tensor's name")?;
        let wrong = |cursor: &Self, what: String| {
            Error::malformed_tensor(cursor.input.path(), Some(&name), Some(cursor.at), what)
        };
        let dimensions = self.u32("the count of dimensions")?;
        if dimensions > MAX_DIMENSIONS {
            return Err(wrong(
                self,
                format!("has {dimensions} dimensions; there are at most {MAX_DIMENSIONS}"),
            ));
        }
        // The first is the innermost.
        let mut shape = (0..dimensions).map(|_| self.u64("a dimension")).collect::<Result<Vec<u64>>>()?;
        shape.reverse();
        let number = self.u32("a tensor's type")?;
        let offset = self.u64("a tensor's offset")?;
        if !offset.is_multiple_of(alignment) {
            return Err(wrong(self, format!("begins at {offset}, which is no multiple of {alignment}")));
        }
        let Some(&(_, kind)) = TYPES.iter().find(|(known, _)| *known == number) else {
            let named = OTHERS.iter().find(|(known, _)| *known == number);
            let kind = named.map_or_else(|| format!("type {number}"), |(_, name)| (*name).to_owned());
            let what = format!(
                "is of {kind}, which is not read: F64, F32, F16, BF16, MXFP4, NVFP4, Q8_0 and integers are"
            );
            return Err(Error::refused(Some(self.input.path()), Some(&name), what));
        };
        let too_long = || wrong(self, format!("has a shape {shape:?} of more bytes than 64 bits can count"));
        let count = elements_of(&shape).ok_or_else(too_long)?;
        let (dtype, stored, len, block) = match kind {
            ElementKind::Plain(dtype) => {
                let len = dtype.byte_len(count).ok_or_else(too_long)?;
                (dtype, shape, len, None)
            }
            ElementKind::Blocks(block) => {
                let (elements, bytes) = block.size();
                let columns = shape.last().copied().unwrap_or(1);
                if !columns.is_multiple_of(elements) {
                    return Err(wrong(
                        self,
                        format!("has rows of {columns} elements, not of whole blocks of {elements}"),
                    ));
                }
                // A row has a length even where there are no rows.
                let row = (columns / elements).checked_mul(bytes).ok_or_else(too_long)?;
                let len = (count / elements).checked_mul(bytes).ok_or_else(too_long)?;
                let mut stored = shape.clone();
                if let Some(last) = stored.last_mut() {
                    *last = row;
                }
                // Blocks may have more bytes than elements.
                elements_of(&stored).ok_or_else(too_long)?;
                (Dtype::U8, stored, len, Some((block, shape)))
            }
        };
        Ok((TensorInfo { name, dtype, shape: stored, offset, len }, block))
    }
}
