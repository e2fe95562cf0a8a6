//! The header of a GGUF file that is written.
//!
//! Source: the GGUF specification of ggml (`docs/gguf.md`), version 3. Tensors, and the end of the
//! file, lie at multiples of the alignment.

use crate::error::{Error, Result};
use crate::file::dtype::Dtype;
use crate::file::folder::CONFIG;
use crate::file::formats::gguf::{
    ALIGNMENT, BlockType, ElementKind, Gguf, MAGIC, MAX_DIMENSIONS, STRING, TYPES, is_of_part,
};
use crate::file::formats::source::Source;
use crate::file::side::read_json;
use crate::file::write::sink::TensorSpec;

const VERSION: u32 = 3;
/// The type of values that are unsigned numbers of 32 bits.
const U32: u32 = 4;
/// `GGML_QNT_VERSION`, which a file names that has anything quantized.
const QUANTIZATION_VERSION: u32 = 2;

const ALIGNMENT_KEY: &str = "general.alignment";
const ARCHITECTURE: &str = "general.architecture";
const FILE_TYPE: &str = "general.file_type";
const QUANTIZATION: &str = "general.quantization_version";
/// Keys whose values depend on the tensors.
const OF_TENSORS: [&str; 2] = [FILE_TYPE, QUANTIZATION];

/// The keys of a file with their values, as they stand in it.
#[derive(Debug)]
pub(crate) struct Pairs {
    count: u64,
    bytes: Vec<u8>,
    alignment: u64,
}

impl Pairs {
    /// Those of a file, but for those that depend on its tensors or say which part it is.
    fn of(gguf: &Gguf) -> Result<Self> {
        let mut pairs = Self { count: 0, bytes: Vec::new(), alignment: gguf.alignment() };
        for (key, place) in gguf.pairs() {
            if !OF_TENSORS.contains(&key) && !is_of_part(key) {
                let length = usize::try_from(place.end - place.start).expect("a header fits memory");
                let mut bytes = vec![0; length];
                gguf.input().read_exact_at(place.start, &mut bytes)?;
                pairs.bytes.extend(bytes);
                pairs.count += 1;
            }
        }
        Ok(pairs)
    }

    /// The keys of a file that is made of others: those of the first that is a GGUF file, or this
    /// free text, with the `model_type` of the configuration beside the first for an architecture.
    pub(crate) fn for_output(sources: &[&Source], text: &[(String, String)]) -> Result<Self> {
        if let Some(gguf) = sources.iter().find_map(|source| source.gguf()) {
            return Self::of(gguf);
        }
        let folder = sources.first().and_then(|source| source.path().parent());
        let config = folder.map(|folder| read_json(&folder.join(CONFIG))).transpose()?.flatten();
        let kind = config.as_ref().and_then(|config| config.get("model_type")?.as_str());
        Ok(Self::of_text(text, kind.unwrap_or("unknown")))
    }

    /// Strings, with an architecture: a key that readers look for.
    fn of_text(text: &[(String, String)], architecture: &str) -> Self {
        let mut pairs = Self { count: 0, bytes: Vec::new(), alignment: ALIGNMENT };
        if !text.iter().any(|(key, _)| key == ARCHITECTURE) {
            pairs.string(ARCHITECTURE, architecture);
        }
        for (key, value) in text.iter().filter(|(key, _)| key != ALIGNMENT_KEY) {
            if !OF_TENSORS.contains(&&**key) {
                pairs.string(key, value);
            }
        }
        pairs
    }

    /// Says what type most tensors have, a number of llama.cpp's `llama_ftype`, and whether any is
    /// in blocks.
    #[must_use]
    pub(crate) fn with_file_type(mut self, file_type: u32, is_quantized: bool) -> Self {
        self.number(FILE_TYPE, file_type);
        if is_quantized {
            self.number(QUANTIZATION, QUANTIZATION_VERSION);
        }
        self
    }

    fn string(&mut self, key: &str, value: &str) {
        push_text(&mut self.bytes, key);
        self.bytes.extend(STRING.to_le_bytes());
        push_text(&mut self.bytes, value);
        self.count += 1;
    }

    fn number(&mut self, key: &str, value: u32) {
        push_text(&mut self.bytes, key);
        self.bytes.extend(U32.to_le_bytes());
        self.bytes.extend(value.to_le_bytes());
        self.count += 1;
    }
}

fn push_text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend((text.len() as u64).to_le_bytes());
    bytes.extend(text.as_bytes());
}

/// A tensor to be written: its bytes, and their type where they are blocks.
pub(crate) type GgufTensor = (TensorSpec, Option<BlockType>);

/// A header, and where data lies.
pub(crate) struct Written {
    pub(crate) header: Vec<u8>,
    /// Of each tensor, from the beginning of the data.
    pub(crate) begins: Vec<u64>,
    pub(crate) data_start: u64,
    /// The length of the data.
    pub(crate) data_len: u64,
}

/// The header of a file with these keys and tensors of these lengths.
///
/// # Errors
/// A tensor whose dtype or number of dimensions GGUF does not know, and lengths beyond 64 bits.
pub(crate) fn header(pairs: &Pairs, tensors: &[GgufTensor], lengths: &[u64]) -> Result<Written> {
    let mut header = MAGIC.to_vec();
    header.extend(VERSION.to_le_bytes());
    header.extend((tensors.len() as u64).to_le_bytes());
    header.extend(pairs.count.to_le_bytes());
    header.extend(&pairs.bytes);
    let (mut begins, mut end) = (Vec::with_capacity(tensors.len()), 0_u64);
    for ((spec, blocks), &length) in tensors.iter().zip(lengths) {
        let refused = |what: String| Error::refused(None, Some(&spec.name), what);
        let mut shape = spec.shape.clone();
        if let (Some(blocks), Some(last)) = (blocks, shape.last_mut()) {
            let (elements, bytes) = blocks.size();
            *last = *last / bytes * elements;
        }
        let dimensions = u32::try_from(shape.len()).ok().filter(|&n| n <= MAX_DIMENSIONS);
        let dimensions = dimensions.ok_or_else(|| {
            refused(format!("has {} dimensions; GGUF has at most {MAX_DIMENSIONS}", shape.len()))
        })?;
        let number = number_of(spec.dtype, *blocks).ok_or_else(|| {
            refused(format!(
                "is {}, which GGUF does not have: leave it out, or convert it before",
                spec.dtype
            ))
        })?;
        push_text(&mut header, &spec.name);
        header.extend(dimensions.to_le_bytes());
        shape.iter().rev().for_each(|size| header.extend(size.to_le_bytes()));
        header.extend(number.to_le_bytes());
        header.extend(end.to_le_bytes());
        begins.push(end);
        let next = end.checked_add(length).and_then(|end| end.checked_next_multiple_of(pairs.alignment));
        end = next.ok_or_else(|| refused("ends beyond 64 bits".to_owned()))?;
    }
    let data_start = (header.len() as u64).next_multiple_of(pairs.alignment);
    Ok(Written { header, begins, data_start, data_len: end })
}

/// The number of a type.
fn number_of(dtype: Dtype, blocks: Option<BlockType>) -> Option<u32> {
    let is_it = |kind: &ElementKind| match (kind, blocks) {
        (ElementKind::Blocks(kind), Some(blocks)) => *kind == blocks,
        (ElementKind::Plain(kind), None) => *kind == dtype,
        _ => false,
    };
    TYPES.iter().find(|(_, kind)| is_it(kind)).map(|&(number, _)| number)
}
