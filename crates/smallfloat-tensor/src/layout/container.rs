//! The native container: codes as U8 or U16, biases beside them, and what they mean in the
//! metadata.
//!
//! `NAME` holds the codes in the original shape with one dimension of 1 after it
//! ([`stored_shape`](crate::layout::stored_shape) says why), `NAME_bias` the bias (U8) where the
//! format's bias is data, and the metadata key `smallfloat.tensors` a JSON object that says for
//! each tensor how to read it ([semantics](smallfloat::semantics) S8).
//!
//! `smallfloat.record` is a digest of the whole file: names, dtypes, shapes and data of all
//! tensors, those that are copied included, and what the metadata says of them. Free text of others
//! is not under it. Files from before it have none.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use smallfloat::{Codebook, Format, FormatSpec, RandomBits, Rounding};

use crate::error::{Error, Result, quoted, refuse};
use crate::file::dtype::Dtype;
use crate::file::formats::gguf::is_of_part;
use crate::file::formats::source::Source;
use crate::file::stream::{ByteCount, TensorDigest};
use crate::layout::codebook::carrier;
use crate::layout::convention::COMFY_METADATA;

/// How all keys of a container begin.
const KEY_PREFIX: &str = "smallfloat.";
pub(crate) const VERSION_KEY: &str = "smallfloat.version";
pub(crate) const TENSORS_KEY: &str = "smallfloat.tensors";
/// The version of the container's layout.
pub(crate) const VERSION: &str = "1";
/// Where the digest of everything stands, and the version of what it covers.
pub(crate) const RECORD_KEY: &str = "smallfloat.record";
const RECORD_VERSION: &str = "1";
/// The generator of random words.
pub(crate) const GENERATOR: &str = "philox";
pub(crate) const BIAS_SUFFIX: &str = "_bias";

/// The way in which the numbers of a tensor became codes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Encoding {
    /// The format's name, without bias where that is data.
    pub format: String,
    /// The reading of the subnormal codes.
    pub subnormals: String,
    /// The safetensors name of the dtype it was quantized from.
    pub source_dtype: String,
    /// What shares a bias or a scale: `tensor`, `channel`, `block:N` or `block:RxC`.
    pub granularity: String,
    /// The format of the scales, where there are no biases.
    pub scale: Option<String>,
    /// The rule that chose the scales.
    pub scale_rule: Option<String>,
    /// Whether there is an F32 number that divides the scales.
    pub global_scale: bool,
    /// How codes lie in bytes, unless each has its own.
    pub packing: Option<String>,
    /// The rounding mode.
    pub rounding: String,
    /// N of a stochastic rounding.
    pub random_bits: Option<u32>,
    /// The seed of a stochastic rounding.
    pub seed: Option<u64>,
    /// The generator of a stochastic rounding: `philox`.
    pub generator: Option<String>,
}

/// The storage of one tensor.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(into = "EntryText")]
#[non_exhaustive]
pub struct Entry {
    /// How its numbers became codes; shared by all tensors of a file that were quantized alike, of
    /// which there may be very many.
    pub encoding: Arc<Encoding>,
    /// The shape of the tensor, where its codes have another.
    pub shape: Option<Vec<u64>>,
    /// Of the codes' bytes; `None` where the entry stands in `config.json`.
    pub(crate) sha256: Option<TensorDigest>,
}

/// An [`Entry`] as it is written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EntryText {
    format: String,
    subnormals: String,
    source_dtype: String,
    granularity: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scale: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scale_rule: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    global_scale: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    packing: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shape: Option<Vec<u64>>,
    rounding: String,
    random_bits: Option<u32>,
    seed: Option<u64>,
    generator: Option<String>,
    // With a function of its own it must be there.
    #[serde(deserialize_with = "digest", skip_serializing_if = "Option::is_none")]
    sha256: Option<TensorDigest>,
}

fn digest<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<TensorDigest>, D::Error> {
    TensorDigest::deserialize(deserializer).map(Some)
}

impl From<Entry> for EntryText {
    fn from(Entry { encoding, shape, sha256 }: Entry) -> Self {
        let encoding = Arc::unwrap_or_clone(encoding);
        Self {
            format: encoding.format,
            subnormals: encoding.subnormals,
            source_dtype: encoding.source_dtype,
            granularity: encoding.granularity,
            scale: encoding.scale,
            scale_rule: encoding.scale_rule,
            global_scale: encoding.global_scale,
            packing: encoding.packing,
            shape,
            rounding: encoding.rounding,
            random_bits: encoding.random_bits,
            seed: encoding.seed,
            generator: encoding.generator,
            sha256,
        }
    }
}

impl EntryText {
    /// The entry, with an encoding that was met before if it is among these.
    fn share(self, met: &mut HashSet<Arc<Encoding>>) -> Result<Entry, String> {
        let encoding = Encoding {
            format: self.format,
            subnormals: self.subnormals,
            source_dtype: self.source_dtype,
            granularity: self.granularity,
            scale: self.scale,
            scale_rule: self.scale_rule,
            global_scale: self.global_scale,
            packing: self.packing,
            rounding: self.rounding,
            random_bits: self.random_bits,
            seed: self.seed,
            generator: self.generator,
        };
        let encoding = if let Some(encoding) = met.get(&encoding) {
            Arc::clone(encoding)
        } else {
            encoding.check()?;
            let encoding = Arc::new(encoding);
            met.insert(Arc::clone(&encoding));
            encoding
        };
        Ok(Entry { encoding, shape: self.shape, sha256: self.sha256 })
    }
}

impl Encoding {
    /// Holds the words that say how codes were made against what there is, and against each other.
    fn check(&self) -> Result<(), String> {
        let rounding = rounding(&self.rounding, self.random_bits).map_err(|e| e.to_string())?;
        let rounding =
            rounding.ok_or_else(|| format!("its rounding {} is not known", quoted(&self.rounding)))?;
        let (is_random, bits) = (rounding.random_bits().is_some(), self.random_bits.is_some());
        let generator = self.generator.as_deref();
        if (bits, generator) != (is_random, is_random.then_some(GENERATOR))
            || self.seed.is_some() && !is_random
        {
            return Err(format!(
                "its rounding `{}` does not go with `random_bits`, `seed` and `generator` beside it: stochastic \
                 rounding has random bits of `{GENERATOR}`, the others have neither",
                self.rounding
            ));
        }
        if !self.source_dtype.parse::<Dtype>().is_ok_and(Dtype::is_wide_float) {
            return Err(format!("its `source_dtype` {} is no wide float", quoted(&self.source_dtype)));
        }
        Ok(())
    }

    /// The list of values that codes stand for, where they are not of a format.
    pub(crate) fn codebook(&self) -> Option<Codebook> {
        self.format.parse().ok()
    }

    /// The format as named, its bias still open where that is data; of a list of values one with as
    /// many bits.
    pub(crate) fn spec(&self) -> Result<FormatSpec, smallfloat::Error> {
        if let Some(codebook) = self.codebook() {
            return Ok(FormatSpec::from(carrier(codebook)));
        }
        let spec: FormatSpec = self.format.parse()?;
        if !spec.has_free_bias() {
            return Ok(spec);
        }
        format!("{}:subnormals={}", self.format, self.subnormals).parse()
    }

    /// The name of a format, without bias where that is data.
    pub(crate) fn format_name(format: &Format) -> String {
        let name = format.to_string();
        if format.has_free_bias() { name.split(':').next().unwrap_or_default().to_owned() } else { name }
    }
}

/// The dtype that holds a format's codes.
pub(crate) fn code_dtype(format: &Format) -> Dtype {
    if format.width() <= 8 { Dtype::U8 } else { Dtype::U16 }
}

/// A tensor as it is in a file: name, dtype, shape, and the SHA-256 of its bytes.
pub(crate) type Recorded<'a> = (&'a str, Dtype, &'a [u64], TensorDigest);

/// The metadata of a container, in a fixed order; `entries` are serialized as a map from names, in
/// their order, to [`Entry`]; `written` has the tensors sorted by name. Without them, while they
/// are not written, the record is zeros.
pub(crate) fn metadata(
    kept: &[(String, String)],
    entries: &impl Serialize,
    written: Option<&mut dyn Iterator<Item = Recorded<'_>>>,
) -> Result<Vec<(String, String)>> {
    // There may be very many tensors: the text is measured, so that it takes no more than its
    // length.
    let mut length = ByteCount::default();
    serde_json::to_writer(&mut length, entries).map_err(refuse)?;
    let mut json = Vec::with_capacity(usize::try_from(length.0).map_err(refuse)?);
    serde_json::to_writer(&mut json, entries).map_err(refuse)?;
    let json = String::from_utf8(json).expect("JSON is text");
    let mut metadata = kept.to_vec();
    metadata.push((VERSION_KEY.to_owned(), VERSION.to_owned()));
    metadata.push((TENSORS_KEY.to_owned(), json));
    let digest = match written {
        Some(tensors) => record_digest(tensors, &metadata)?,
        None => "0".repeat(64),
    };
    metadata.push((RECORD_KEY.to_owned(), format!("{RECORD_VERSION}:{digest}")));
    Ok(metadata)
}

/// SHA-256 of a line of JSON for each tensor, sorted by name, and of what the metadata says of
/// them.
fn record_digest<'a>(
    tensors: impl IntoIterator<Item = Recorded<'a>>,
    metadata: &[(String, String)],
) -> Result<String> {
    let mut digest = Sha256::new();
    for (name, dtype, shape, sha256) in tensors {
        line(&mut digest, &(name, dtype.name(), shape, sha256))?;
    }
    for key in [VERSION_KEY, TENSORS_KEY] {
        let value = metadata.iter().find(|(k, _)| k == key).map(|(_, value)| value);
        line(&mut digest, &(key, value))?;
    }
    Ok(format!("{:x}", digest.finalize()))
}

/// Digests a line of JSON.
fn line(digest: &mut Sha256, value: &impl Serialize) -> Result<()> {
    serde_json::to_writer(&mut *digest, value).map_err(refuse)?;
    digest.update(b"\n");
    Ok(())
}

/// Holds a file with these tensors, sorted by name, against its record, if it has one; tells
/// whether it has.
pub(crate) fn check_record<'a>(
    source: &Source,
    tensors: impl IntoIterator<Item = Recorded<'a>>,
) -> Result<bool, String> {
    let Some((_, record)) = source.metadata().iter().find(|(key, _)| key == RECORD_KEY) else {
        return Ok(false);
    };
    let Some((RECORD_VERSION, expected)) = record.split_once(':') else {
        let end = record.char_indices().nth(40).map_or(record.len(), |(end, _)| end);
        return Err(format!(
            "its `{RECORD_KEY}` `{}` is of no version that this program knows ({RECORD_VERSION})",
            &record[..end]
        ));
    };
    let found = record_digest(tensors, source.metadata()).map_err(|e| e.to_string())?;
    if found != expected {
        return Err(format!(
            "a tensor that is copied, a bias or scale, or a name, dtype, shape or entry of the metadata is not what was \
             written: all together have the SHA-256 {found}, `{RECORD_KEY}` says {expected}"
        ));
    }
    Ok(true)
}

/// Calls `each` with the entries of a file, in their order, and tells whether it is a native
/// container. There may be very many, so that they are never held together.
pub(crate) fn each_entry(source: &Source, each: &mut dyn FnMut(String, Entry) -> Result<()>) -> Result<bool> {
    // The container is one of safetensors: in GGUF its keys mean nothing.
    if source.gguf().is_some() {
        return Ok(false);
    }
    let find = |key: &str| source.metadata().iter().find(|(k, _)| k == key).map(|(_, value)| value);
    let refused = |what: String| Error::refused(Some(source.path()), None, what);
    let Some(version) = find(VERSION_KEY) else {
        return match find(TENSORS_KEY).or_else(|| find(RECORD_KEY)) {
            None => Ok(false),
            Some(_) => Err(refused(format!("metadata has keys of a container and no `{VERSION_KEY}`"))),
        };
    };
    let known = [VERSION_KEY, TENSORS_KEY, RECORD_KEY];
    let ours = |key: &str| key.starts_with(KEY_PREFIX) && !known.contains(&key);
    if let Some((key, _)) = source.metadata().iter().find(|(key, _)| ours(key)) {
        return Err(refused(format!("metadata key {} is none of version {VERSION}'s", quoted(key))));
    }
    if version != VERSION {
        return Err(refused(format!(
            "container version {} is not known, this program reads version {VERSION}",
            quoted(version)
        )));
    }
    let Some(json) = find(TENSORS_KEY) else {
        return Err(refused(format!("metadata has `{VERSION_KEY}` and no `{TENSORS_KEY}`")));
    };
    let (mut json, mut failed) = (serde_json::Deserializer::from_str(json), None);
    let read = json
        .deserialize_map(EachEntry { each, met: HashSet::new(), path: source.path(), failed: &mut failed })
        .and_then(|()| json.end());
    match (failed, read) {
        (Some(error), _) => Err(error),
        (None, read) => read.map(|()| true).map_err(|e| refused(format!("metadata `{TENSORS_KEY}`: {e}"))),
    }
}

struct EachEntry<'a> {
    each: &'a mut dyn FnMut(String, Entry) -> Result<()>,
    met: HashSet<Arc<Encoding>>,
    path: &'a Path,
    /// What `each` returned, which JSON has no error for.
    failed: &'a mut Option<Error>,
}

impl<'de> Visitor<'de> for EachEntry<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object that maps tensor names to what they are")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some((name, entry)) = map.next_entry::<String, EntryText>()? {
            let entry = entry.share(&mut self.met);
            let entry = entry.map_err(|what| Error::refused(Some(self.path), Some(&name), what));
            if let Err(error) = entry.and_then(|entry| (self.each)(name, entry)) {
                *self.failed = Some(error);
                return Err(de::Error::custom("an entry is refused"));
            }
        }
        Ok(())
    }
}

/// The entries that a configuration has for tensors, as [`each_entry`] reads them from metadata. Of
/// digests there may be none or old ones, which are dropped, and there may be what layers of models
/// need (`dtype`, `weight`).
pub(crate) fn entries_of_config(tensors: Map<String, Value>) -> Result<HashMap<String, Entry>, String> {
    let (mut met, mut entries) = (HashSet::new(), HashMap::new());
    for (name, mut said) in tensors {
        let wrong = |what: String| format!("its entry of {}: {what}", quoted(&name));
        if let Some(said) = said.as_object_mut() {
            for key in ["dtype", "weight"] {
                said.remove(key);
            }
            said.insert("sha256".to_owned(), "0".repeat(64).into());
        }
        let text: EntryText = serde_json::from_value(said).map_err(|e| wrong(e.to_string()))?;
        let entry = text.share(&mut met).map_err(wrong)?;
        entries.insert(name, Entry { sha256: None, ..entry });
    }
    Ok(entries)
}

/// The rounding mode of a name, a stochastic one with so many random bits.
pub(crate) fn rounding(name: &str, random_bits: Option<u32>) -> Result<Option<Rounding>> {
    let bits = RandomBits::from_word32(random_bits.unwrap_or(1), 0).map_err(refuse)?;
    let stochastic = [Rounding::StochasticA(bits), Rounding::StochasticB(bits), Rounding::StochasticC(bits)];
    Ok(Rounding::DETERMINISTIC.iter().copied().chain(stochastic).find(|rounding| rounding.name() == name))
}

/// The name of a tensor's bias companion.
pub(crate) fn bias_name(tensor: &str) -> String {
    format!("{tensor}{BIAS_SUFFIX}")
}

/// The free text of a file without what describes how its tensors are stored, or in which parts.
pub(crate) fn foreign_metadata(source: &Source) -> Vec<(String, String)> {
    let is_container = source.metadata().iter().any(|(key, _)| key == VERSION_KEY);
    let is_gguf = source.gguf().is_some();
    let is_ours = |key: &str| {
        key == COMFY_METADATA
            || is_container && [VERSION_KEY, TENSORS_KEY, RECORD_KEY].contains(&key)
            || is_gguf && is_of_part(key)
    };
    source.metadata().iter().filter(|(key, _)| !is_ours(key)).cloned().collect()
}
