//! The JSON header of a safetensors file, parsed without forgiveness.
//!
//! Source: safetensors format, section Format. `serde_json` does the JSON; the visitors here add
//! what it and derived code leave open: duplicate keys are errors, order is kept, a tensor is an
//! object (not an array that happens to have three items), no field is unknown or missing,
//! `data_offsets` has exactly two numbers.
//!
//! The text is parsed as it is read, so that it is not held beside what it says; only that of a
//! header with a fault is, to say where the fault is.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::io;

use serde::de;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::error::quoted;
use crate::file::dtype::{Dtype, MAX_DIMENSIONS};
use crate::file::input::TensorInfo;

/// The key that holds free text instead of a tensor.
pub(crate) const METADATA: &str = "__metadata__";

/// The header as written, before its numbers are held against each other.
#[derive(Debug)]
pub(crate) struct RawHeader {
    pub(crate) metadata: Vec<(String, String)>,
    /// With the two `data_offsets` as they are in the text: the first as the offset, the second as
    /// the length.
    pub(crate) tensors: Vec<TensorInfo>,
}

/// A tensor's entry as written.
#[derive(Debug)]
struct RawTensor {
    dtype: Dtype,
    shape: Vec<u64>,
    offsets: [u64; 2],
}

/// What is wrong with a header and where.
#[derive(Debug)]
pub(crate) struct HeaderFault {
    pub(crate) tensor: Option<String>,
    /// Bytes from the beginning of the JSON text.
    pub(crate) offset: Option<usize>,
    pub(crate) what: String,
}

/// Parses the JSON text while it is read, padding already removed; `None` if something is wrong
/// with it, which [`parse`] tells.
pub(crate) fn parse_reader(json: impl io::Read) -> Option<RawHeader> {
    let mut deserializer = serde_json::Deserializer::from_reader(json);
    parsed(&mut deserializer, &RefCell::default()).ok()
}

/// Parses the JSON text, padding already removed.
pub(crate) fn parse(json: &[u8]) -> Result<RawHeader, HeaderFault> {
    let current = RefCell::default();
    parsed(&mut serde_json::Deserializer::from_slice(json), &current).map_err(|error| {
        let suffix = format!(" at line {} column {}", error.line(), error.column());
        let text = error.to_string();
        let what = text.strip_suffix(&suffix).unwrap_or(&text).to_owned();
        HeaderFault { tensor: current.take(), offset: offset_of(json, &error), what }
    })
}

/// Parses the text; `current` gets the name of the tensor that is being read.
fn parsed<'de, R: serde_json::de::Read<'de>>(
    deserializer: &mut serde_json::Deserializer<R>,
    current: &RefCell<Option<String>>,
) -> serde_json::Result<RawHeader> {
    let header = HeaderSeed { current }.deserialize(&mut *deserializer)?;
    deserializer.end()?;
    Ok(header)
}

/// The byte that a line and a column name.
fn offset_of(json: &[u8], error: &serde_json::Error) -> Option<usize> {
    let line = error.line().checked_sub(1)?;
    let start = match line {
        0 => 0,
        _ => json.iter().enumerate().filter(|&(_, &b)| b == b'\n').nth(line - 1)?.0 + 1,
    };
    Some((start + error.column().saturating_sub(1)).min(json.len()))
}

/// The names that were met, as digests with a secret key, which take less room than the names.
#[derive(Default)]
struct Seen {
    key: RandomState,
    digests: HashSet<u64>,
}

impl Seen {
    /// Adds a name; false if it is in `names`, all those that were added before.
    fn insert<'a>(&mut self, name: &str, mut names: impl Iterator<Item = &'a str>) -> bool {
        self.digests.insert(self.key.hash_one(name)) || names.all(|other| other != name)
    }
}

struct HeaderSeed<'c> {
    /// The tensor being read, for the message.
    current: &'c RefCell<Option<String>>,
}

impl<'de> DeserializeSeed<'de> for HeaderSeed<'_> {
    type Value = RawHeader;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<RawHeader, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for HeaderSeed<'_> {
    type Value = RawHeader;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object that maps tensor names to tensors")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawHeader, A::Error> {
        let mut header = RawHeader { metadata: Vec::new(), tensors: Vec::new() };
        let (mut seen, mut has_metadata) = (Seen::default(), false);
        while let Some(name) = map.next_key::<String>()? {
            let (is_metadata, names) = (name == METADATA, &header.tensors);
            let is_new = if is_metadata {
                !std::mem::replace(&mut has_metadata, true)
            } else {
                seen.insert(&name, names.iter().map(|tensor| &*tensor.name))
            };
            if !is_new {
                let kind = if is_metadata { "key" } else { "tensor name" };
                return Err(de::Error::custom(format_args!(
                    "duplicate {kind} {}; names must be unique",
                    quoted(&name)
                )));
            }
            if is_metadata {
                header.metadata = map.next_value::<Metadata>()?.0;
            } else {
                *self.current.borrow_mut() = Some(name);
                let RawTensor { dtype, shape, offsets: [offset, len] } = map.next_value()?;
                let name = self.current.take().expect("the name was put there");
                header.tensors.push(TensorInfo { name, dtype, shape, offset, len });
            }
        }
        Ok(header)
    }
}

/// Free text in the order of the file.
struct Metadata(Vec<(String, String)>);

impl<'de> Deserialize<'de> for Metadata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Map;
        impl<'de> Visitor<'de> for Map {
            type Value = Metadata;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "`{METADATA}` to be an object that maps strings to strings")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Metadata, A::Error> {
                let mut entries: Vec<(String, String)> = Vec::new();
                let mut seen = Seen::default();
                while let Some(key) = map.next_key::<String>()? {
                    if !seen.insert(&key, entries.iter().map(|(key, _)| &**key)) {
                        return Err(de::Error::custom(format_args!(
                            "duplicate key {} in `{METADATA}`; keys must be unique",
                            quoted(&key)
                        )));
                    }
                    entries.push((key, map.next_value()?));
                }
                Ok(Metadata(entries))
            }
        }
        deserializer.deserialize_map(Map)
    }
}

impl<'de> Deserialize<'de> for RawTensor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = RawTensor;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with the fields `dtype`, `shape` and `data_offsets`")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawTensor, A::Error> {
                let (mut dtype, mut shape, mut offsets) = (None, None, None);
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        "dtype" => put(&mut dtype, "dtype", &mut map)?,
                        "shape" => put(&mut shape, "shape", &mut map)?,
                        "data_offsets" => put(&mut offsets, "data_offsets", &mut map)?,
                        other => {
                            return Err(de::Error::custom(format_args!(
                                "unknown field {}; a tensor has `dtype`, `shape` and `data_offsets`",
                                quoted(other)
                            )));
                        }
                    }
                }
                let DtypeName(dtype) = dtype.ok_or_else(|| de::Error::missing_field("dtype"))?;
                let Shape(shape) = shape.ok_or_else(|| de::Error::missing_field("shape"))?;
                let Offsets(offsets) = offsets.ok_or_else(|| de::Error::missing_field("data_offsets"))?;
                Ok(RawTensor { dtype, shape, offsets })
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

/// Reads a field that may come once.
fn put<'de, T: Deserialize<'de>, A: MapAccess<'de>>(
    slot: &mut Option<T>,
    name: &'static str,
    map: &mut A,
) -> Result<(), A::Error> {
    if slot.is_some() {
        return Err(de::Error::duplicate_field(name));
    }
    *slot = Some(map.next_value()?);
    Ok(())
}

struct DtypeName(Dtype);

impl<'de> Deserialize<'de> for DtypeName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        name.parse::<Dtype>().ok().map(Self).ok_or_else(|| {
            let known: Vec<_> = Dtype::ALL.iter().map(|dtype| dtype.name()).collect();
            de::Error::custom(format_args!("unknown dtype {}; known are {}", quoted(&name), known.join(", ")))
        })
    }
}

struct Shape(Vec<u64>);

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Dimensions;
        impl<'de> Visitor<'de> for Dimensions {
            type Value = Shape;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`shape` to be an array of whole numbers")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Shape, A::Error> {
                let (mut shape, mut length) = ([0; MAX_DIMENSIONS], 0);
                while let Some(WholeNumber(dimension)) = items.next_element()? {
                    let Some(place) = shape.get_mut(length) else {
                        return Err(de::Error::custom(format_args!(
                            "`shape` has more than {MAX_DIMENSIONS} dimensions"
                        )));
                    };
                    *place = dimension;
                    length += 1;
                }
                Ok(Shape(shape[..length].to_vec()))
            }
        }
        deserializer.deserialize_seq(Dimensions)
    }
}

struct Offsets([u64; 2]);

impl<'de> Deserialize<'de> for Offsets {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Two;
        impl<'de> Visitor<'de> for Two {
            type Value = Offsets;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`data_offsets` to be an array of two whole numbers")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Offsets, A::Error> {
                let WholeNumber(begin) =
                    items.next_element()?.ok_or_else(|| de::Error::invalid_length(0, &self))?;
                let WholeNumber(end) =
                    items.next_element()?.ok_or_else(|| de::Error::invalid_length(1, &self))?;
                if items.next_element::<IgnoredAny>()?.is_some() {
                    return Err(de::Error::invalid_length(3, &self));
                }
                Ok(Offsets([begin, end]))
            }
        }
        deserializer.deserialize_seq(Two)
    }
}

/// A whole number of at most 64 bits, written as an integer.
struct WholeNumber(u64);

impl<'de> Deserialize<'de> for WholeNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number;
        impl Visitor<'_> for Number {
            type Value = WholeNumber;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number from 0 to 18446744073709551615")
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<WholeNumber, E> {
                Ok(WholeNumber(value))
            }
        }
        deserializer.deserialize_u64(Number)
    }
}

/// A header to be written; the order of entries is the order in the file.
pub(crate) struct HeaderText<'a, T> {
    pub(crate) metadata: &'a [(String, String)],
    /// Gives name, type, shape and the offsets from the beginning of the data.
    pub(crate) tensors: T,
}

impl<'a, T> Serialize for HeaderText<'_, T>
where
    T: Iterator<Item = (&'a str, Dtype, &'a [u64], [u64; 2])> + Clone,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Text<'a>(&'a [(String, String)]);
        impl Serialize for Text<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
            }
        }

        #[derive(serde::Serialize)]
        struct Entry<'a> {
            dtype: &'a str,
            shape: &'a [u64],
            data_offsets: [u64; 2],
        }

        let mut map = serializer.serialize_map(None)?;
        if !self.metadata.is_empty() {
            map.serialize_entry(METADATA, &Text(self.metadata))?;
        }
        for (name, dtype, shape, data_offsets) in self.tensors.clone() {
            map.serialize_entry(name, &Entry { dtype: dtype.name(), shape, data_offsets })?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_of_names_and_metadata_is_kept() {
        let json = br#"{"z":{"dtype":"U8","shape":[],"data_offsets":[0,1]},"__metadata__":{"b":"1","a":"2"},
            "a":{"data_offsets":[1,1],"shape":[0,7],"dtype":"F4"}}"#;
        let header = parse_reader(&json[..]).unwrap();
        assert_eq!(header.metadata, [("b".to_owned(), "1".to_owned()), ("a".to_owned(), "2".to_owned())]);
        assert_eq!(header.tensors.iter().map(|t| t.name.as_str()).collect::<Vec<_>>(), ["z", "a"]);
        assert_eq!(header.tensors[1].shape, [0, 7]);
    }

    #[test]
    fn faults_name_tensor_and_place() {
        let json = b"{\"ok\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]},\n\"bad\":{\"dtype\":7}}";
        let fault = parse(&json[..]).unwrap_err();
        assert_eq!(fault.tensor.as_deref(), Some("bad"));
        assert_eq!(fault.what, "invalid type: integer `7`, expected a string");
        let place = fault.offset.unwrap();
        assert!(place.abs_diff(71) <= 2, "{place}");
        assert!(parse_reader(&json[..]).is_none());
    }

    #[test]
    fn what_is_written_is_read_back() {
        let metadata = vec![("k\"ey".to_owned(), "väl\nue".to_owned())];
        let tensors = [("a\u{0}", Dtype::F8E4M3Fnuz, &[2u64, 3][..], [0, 6])];
        let json =
            serde_json::to_vec(&HeaderText { metadata: &metadata, tensors: tensors.into_iter() }).unwrap();
        let header = parse(&json[..]).unwrap();
        assert_eq!(header.metadata, metadata);
        let TensorInfo { name, dtype, offset, len, .. } = &header.tensors[0];
        assert_eq!((name.as_str(), *dtype, *offset, *len), ("a\u{0}", Dtype::F8E4M3Fnuz, 0, 6));
    }
}
