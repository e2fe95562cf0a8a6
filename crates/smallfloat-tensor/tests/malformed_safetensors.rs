//! Safetensors files that break the rules: each is refused with a message that says what and where; beside it stands
//! what the reference crate does with the same bytes, so that the table shows where this reader is stricter.

use std::fs;
use std::path::Path;

use smallfloat_tensor::{Error, SafeTensors, Source};

/// A file of this header and as many zero bytes of data.
fn file(header: impl AsRef<[u8]>, data: usize) -> Vec<u8> {
    let header = header.as_ref();
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(header);
    bytes.resize(bytes.len() + data, 0);
    bytes
}

/// A file whose header has one tensor `t` of this text.
fn tensor(text: &str, data: usize) -> Vec<u8> {
    file(format!("{{\"t\":{text}}}"), data)
}

fn open(bytes: &[u8]) -> Result<SafeTensors, Error> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("case.safetensors");
    fs::write(&path, bytes).unwrap();
    SafeTensors::open(&path)
}

fn reference_accepts(bytes: &[u8]) -> bool {
    safetensors::SafeTensors::deserialize(bytes).is_ok()
}

const ACCEPTS: bool = true;
const REFUSES: bool = false;

const U8: &str = r#"{"dtype":"U8","shape":[2],"data_offsets":[0,2]}"#;

/// Name, bytes, what the message must contain, and the reference crate's verdict.
#[rustfmt::skip]
fn cases() -> Vec<(&'static str, Vec<u8>, &'static str, bool)> {
    let two = |a: &str, b: &str| format!(
        r#"{{"a":{{"dtype":"U8","shape":[4],"data_offsets":{a}}},"b":{{"dtype":"U8","shape":[4],"data_offsets":{b}}}}}"#
    );
    vec![
        // The eight bytes of length.
        ("empty file", vec![], "ends after 0 (at byte 0)", REFUSES),
        ("seven bytes", vec![2, 0, 0, 0, 0, 0, 0], "ends after 7 (at byte 7)", REFUSES),
        ("length zero", vec![0; 8], "the header length 0 is too short; the least header is `{}` (at byte 0)", REFUSES),
        ("length one", file("{", 0), "the header length 1 is too short", REFUSES),
        ("length beyond the file", 100u64.to_le_bytes().to_vec(), "the header length 100 is more than the 0 bytes that follow it (at byte 0)", REFUSES),
        ("length one too long", [&3u64.to_le_bytes()[..], b"{}"].concat(), "is more than the 2 bytes that follow", REFUSES),
        ("length of a hundred megabytes and one", 100_000_001u64.to_le_bytes().to_vec(), "above the limit of 100000000 bytes", REFUSES),
        ("length of all ones", [0xff; 8].to_vec(), "the header length 18446744073709551615 is above the limit", REFUSES),
        ("length in the other byte order", [&2u64.to_be_bytes()[..], b"{}"].concat(), "above the limit", REFUSES),
        // The frame of the JSON text.
        ("leading space", file(" {}", 0), "the header begins with byte 0x20; it must begin with `{` (at byte 8)", ACCEPTS),
        ("byte order mark", file("\u{feff}{}", 0), "begins with byte 0xef", REFUSES),
        ("array", file("[]", 0), "begins with byte 0x5b", REFUSES),
        ("zeros", file([0; 16], 0), "begins with byte 0x00", REFUSES),
        ("padding of line breaks", file("{}\n", 0), "the header ends with byte 0x0a; it must end with `}` and may be padded with spaces only (at byte 10)", ACCEPTS),
        ("padding of tabs", file("{}\t ", 0), "the header ends with byte 0x09", ACCEPTS),
        ("padding of zeros", file("{}\0\0", 0), "the header ends with byte 0x00", REFUSES),
        ("two objects", file("{}{}", 0), "bad header: trailing characters (at byte 10)", REFUSES),
        ("unclosed", file("{\"a\":{}", 0), "missing field `dtype`", REFUSES),
        ("unclosed string", file("{\"a}", 0), "bad header: EOF while parsing a string", REFUSES),
        ("trailing comma", tensor(&format!("{U8},"), 2), "bad header: trailing comma", REFUSES),
        ("single quotes", file("{'a':{}}", 0), "bad header: key must be a string (at byte 9)", REFUSES),
        ("comment", file("{/**/}", 0), "bad header: key must be a string", REFUSES),
        ("bytes that are no UTF-8", file(b"{\"\xff\":{}}", 0), "bad header: invalid unicode code point", REFUSES),
        ("lone surrogate", file(r#"{"\ud800":{}}"#, 0), "bad header:", REFUSES),
        ("raw control character in a name", file("{\"a\n\":{}}", 0), "bad header: control character", REFUSES),
        ("deep nesting", tensor(&format!("{}1{}", "[".repeat(5000), "]".repeat(5000)), 0), "tensor `t`: bad header: invalid type: sequence, expected an object with the fields", REFUSES),
        // Names.
        ("duplicate tensor", file(format!("{{\"t\":{U8},\"t\":{U8}}}"), 2), "bad header: duplicate tensor name `t`; names must be unique (at byte 63)", ACCEPTS),
        ("duplicate tensor, one escaped", file(format!("{{\"t\":{U8},\"\\u0074\":{U8}}}"), 2), "duplicate tensor name `t`", ACCEPTS),
        ("duplicate metadata", file(r#"{"__metadata__":{},"__metadata__":{}}"#, 0), "duplicate key `__metadata__`", REFUSES),
        ("duplicate metadata key", file(r#"{"__metadata__":{"k":"1","k":"2"}}"#, 0), "duplicate key `k` in `__metadata__`", ACCEPTS),
        ("hostile name", file("{\"\\u001b[2J\":3}", 0), "tensor `\\u{1b}[2J`: bad header", REFUSES),
        // Metadata.
        ("metadata null", file(r#"{"__metadata__":null}"#, 0), "expected `__metadata__` to be an object that maps strings to strings", ACCEPTS),
        ("metadata of numbers", file(r#"{"__metadata__":{"a":1}}"#, 0), "invalid type: integer `1`, expected a string", REFUSES),
        ("metadata nested", file(r#"{"__metadata__":{"a":{}}}"#, 0), "invalid type: map, expected a string", REFUSES),
        ("metadata text", file(r#"{"__metadata__":"a"}"#, 0), "expected `__metadata__` to be an object", REFUSES),
        // Fields.
        ("tensor as array", tensor(r#"["U8",[2],[0,2]]"#, 2), "tensor `t`: bad header: invalid type: sequence, expected an object with the fields `dtype`, `shape` and `data_offsets`", ACCEPTS),
        ("tensor null", tensor("null", 0), "invalid type: null, expected an object", REFUSES),
        ("no dtype", tensor(r#"{"shape":[2],"data_offsets":[0,2]}"#, 2), "tensor `t`: bad header: missing field `dtype`", REFUSES),
        ("no shape", tensor(r#"{"dtype":"U8","data_offsets":[0,2]}"#, 2), "missing field `shape`", REFUSES),
        ("no offsets", tensor(r#"{"dtype":"U8","shape":[2]}"#, 2), "missing field `data_offsets`", REFUSES),
        ("duplicate field", tensor(r#"{"dtype":"U8","dtype":"U8","shape":[2],"data_offsets":[0,2]}"#, 2), "duplicate field `dtype`", REFUSES),
        ("unknown field", tensor(r#"{"dtype":"U8","shape":[2],"data_offsets":[0,2],"strides":[1]}"#, 2), "unknown field `strides`; a tensor has `dtype`, `shape` and `data_offsets`", ACCEPTS),
        ("unknown dtype", tensor(r#"{"dtype":"F128","shape":[2],"data_offsets":[0,2]}"#, 2), "tensor `t`: bad header: unknown dtype `F128`; known are BOOL, F4", REFUSES),
        ("dtype in lower case", tensor(r#"{"dtype":"u8","shape":[2],"data_offsets":[0,2]}"#, 2), "unknown dtype `u8`", REFUSES),
        ("dtype as number", tensor(r#"{"dtype":8,"shape":[2],"data_offsets":[0,2]}"#, 2), "invalid type: integer `8`, expected a string", REFUSES),
        // Shapes.
        ("negative dimension", tensor(r#"{"dtype":"U8","shape":[-2],"data_offsets":[0,2]}"#, 2), "integer `-2`, expected a whole number", REFUSES),
        ("fractional dimension", tensor(r#"{"dtype":"U8","shape":[2.0],"data_offsets":[0,2]}"#, 2), "floating point `2.0`, expected a whole number", REFUSES),
        ("dimension with exponent", tensor(r#"{"dtype":"U8","shape":[2e0],"data_offsets":[0,2]}"#, 2), "expected a whole number", REFUSES),
        ("dimension above 64 bits", tensor(r#"{"dtype":"U8","shape":[18446744073709551616],"data_offsets":[0,2]}"#, 2), "expected a whole number from 0 to 18446744073709551615", REFUSES),
        ("dimension as text", tensor(r#"{"dtype":"U8","shape":["2"],"data_offsets":[0,2]}"#, 2), "string \"2\", expected a whole number", REFUSES),
        ("shape as number", tensor(r#"{"dtype":"U8","shape":2,"data_offsets":[0,2]}"#, 2), "expected `shape` to be an array of whole numbers", REFUSES),
        ("elements overflow", tensor(r#"{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]}"#, 0), "tensor `t`: shape [4294967296, 4294967296] has more elements than 64 bits can count", REFUSES),
        ("elements overflow beside a zero", tensor(r#"{"dtype":"U8","shape":[0,4294967296,4294967296],"data_offsets":[0,0]}"#, 0), "has more elements than 64 bits can count", ACCEPTS),
        ("bits overflow", tensor(r#"{"dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0]}"#, 0), "has more bits than 64 bits can count", REFUSES),
        ("half a byte", tensor(r#"{"dtype":"F4","shape":[3],"data_offsets":[0,2]}"#, 2), "shape [3] of F4 does not fill whole bytes", REFUSES),
        ("three quarters of a byte", tensor(r#"{"dtype":"F6_E2M3","shape":[5],"data_offsets":[0,4]}"#, 4), "shape [5] of F6_E2M3 does not fill whole bytes", REFUSES),
        ("too few bytes for the shape", tensor(r#"{"dtype":"F32","shape":[2],"data_offsets":[0,4]}"#, 4), "tensor `t`: 4 bytes of data, but shape [2] of F32 takes 8 (at byte 62)", REFUSES),
        ("too many bytes for the shape", tensor(r#"{"dtype":"F32","shape":[1],"data_offsets":[0,8]}"#, 8), "8 bytes of data, but shape [1] of F32 takes 4", REFUSES),
        ("bytes for an empty tensor", tensor(r#"{"dtype":"F32","shape":[0],"data_offsets":[0,4]}"#, 4), "4 bytes of data, but shape [0] of F32 takes 0", REFUSES),
        ("no bytes for a scalar", tensor(r#"{"dtype":"F32","shape":[],"data_offsets":[0,0]}"#, 0), "0 bytes of data, but shape [] of F32 takes 4", REFUSES),
        // Offsets.
        ("offsets of one", tensor(r#"{"dtype":"U8","shape":[2],"data_offsets":[2]}"#, 2), "invalid length 1, expected `data_offsets` to be an array of two whole numbers", REFUSES),
        ("offsets of three", tensor(r#"{"dtype":"U8","shape":[2],"data_offsets":[0,2,4]}"#, 2), "invalid length 3, expected `data_offsets` to be an array of two whole numbers", REFUSES),
        ("negative offset", tensor(r#"{"dtype":"U8","shape":[2],"data_offsets":[-2,0]}"#, 2), "integer `-2`, expected a whole number", REFUSES),
        ("end before begin", tensor(r#"{"dtype":"U8","shape":[2],"data_offsets":[2,0]}"#, 2), "tensor `t`: `data_offsets` end before they begin: [2, 0]", REFUSES),
        ("begin at the top of 64 bits", tensor(r#"{"dtype":"U8","shape":[2],"data_offsets":[18446744073709551613,18446744073709551615]}"#, 2), "reach beyond the 2 bytes of data", REFUSES),
        ("data truncated", tensor(U8, 1), "tensor `t`: `data_offsets` [0, 2] reach beyond the 1 bytes of data: the file is truncated or the header wrong", REFUSES),
        ("data missing", tensor(U8, 0), "reach beyond the 0 bytes of data", REFUSES),
        ("trailing bytes", tensor(U8, 3), "1 bytes follow the last tensor; the file must end with it at byte 63 (at byte 63)", REFUSES),
        ("trailing bytes and no tensors", file("{}", 5), "5 bytes follow the last tensor", REFUSES),
        ("hole before", tensor(r#"{"dtype":"U8","shape":[2],"data_offsets":[1,3]}"#, 3), "tensor `t`: a hole of 1 bytes lies before its data", REFUSES),
        ("hole between", file(two("[0,4]", "[5,9]"), 9), "tensor `b`: a hole of 1 bytes lies before its data; data must follow each other (at byte 118)", REFUSES),
        ("overlap by one", file(two("[0,4]", "[3,7]"), 7), "tensor `b`: its data overlaps tensor `a`, which ends at byte 117 (at byte 116)", REFUSES),
        ("same bytes twice", file(two("[0,4]", "[0,4]"), 4), "tensor `b`: its data overlaps tensor `a`", REFUSES),
        ("overlap against the order", file(two("[3,7]", "[0,4]"), 7), "tensor `a`: its data overlaps tensor `b`", REFUSES),
        ("empty tensor inside another", file(r#"{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[0],"data_offsets":[2,2]}}"#, 4), "tensor `b`: its data overlaps tensor `a`", REFUSES),
        ("empty tensor beyond the end", file(r#"{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[0],"data_offsets":[9,9]}}"#, 4), "tensor `b`: `data_offsets` [9, 9] reach beyond the 4 bytes of data", REFUSES),
    ]
}

#[test]
fn each_malformed_file_is_refused_with_its_message() {
    let cases = cases();
    assert!(cases.len() >= 60, "{} cases", cases.len());
    let mut wrong = Vec::new();
    for (name, bytes, part, accepted_elsewhere) in cases {
        let error = open(&bytes).expect_err(name);
        let message = error.to_string();
        let framed = message.contains("case.safetensors`: ") && !message.contains('\n');
        if !error.is_malformed() || !message.contains(part) || !framed || error.offset().is_none() {
            wrong.push(format!("{name}: {message}"));
        }
        if reference_accepts(&bytes) != accepted_elsewhere {
            wrong.push(format!("{name}: the reference crate's verdict is not {accepted_elsewhere}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn legal_corners_are_accepted_here_and_by_the_reference_crate() {
    let scalar = r#"{"dtype":"F32","shape":[],"data_offsets":[0,4]}"#;
    let corners = [
        ("no tensors", file("{}", 0)),
        ("padding", file("{}      ", 0)),
        ("metadata only", file(r#"{"__metadata__":{"a":"b"}}"#, 0)),
        ("empty metadata", file(r#"{"__metadata__":{}}"#, 0)),
        ("scalar", tensor(scalar, 4)),
        ("empty tensor", tensor(r#"{"dtype":"F32","shape":[3,0],"data_offsets":[0,0]}"#, 0)),
        (
            "white space inside",
            tensor("{ \"dtype\" : \"U8\",\n\t\"shape\":[ 2 ], \"data_offsets\": [0 , 2] }", 2),
        ),
        ("fields in another order", tensor(r#"{"data_offsets":[0,2],"shape":[2],"dtype":"U8"}"#, 2)),
        ("names that look like paths", file(format!("{{\"../../etc/passwd\":{U8}}}"), 2)),
        ("a name with a zero byte", file(format!("{{\"a\\u0000b\":{U8}}}"), 2)),
        ("the empty name", file(format!("{{\"\":{U8}}}"), 2)),
        ("whole bytes of nibbles", tensor(r#"{"dtype":"F4","shape":[3,2],"data_offsets":[0,3]}"#, 3)),
    ];
    for (name, bytes) in corners {
        open(&bytes).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(reference_accepts(&bytes), "{name}");
    }
}

/// A small file with metadata, several types, an empty tensor and padding.
fn seed() -> Vec<u8> {
    let header = concat!(
        r#"{"__metadata__":{"format":"pt","note":"x"},"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"#,
        r#""empty":{"dtype":"BF16","shape":[0,4],"data_offsets":[24,24]},"#,
        r#""codes":{"dtype":"U8","shape":[5],"data_offsets":[24,29]}}     "#
    );
    let mut bytes = file(header, 0);
    bytes.extend(0..29);
    bytes
}

/// Opens what is at `path`; if that works, reads every tensor through.
fn exercise(path: &Path) -> bool {
    let Ok(source) = Source::open(path) else { return false };
    let mut buf = vec![0; 7 * 8];
    for tensor in source.tensors() {
        let mut read = 0;
        source
            .read_chunks(tensor, &mut buf, |_, bytes| {
                read += bytes.len() as u64;
                Ok(())
            })
            .unwrap();
        assert_eq!(read, tensor.len);
        assert_eq!(tensor.dtype.byte_len(tensor.elements()), Some(tensor.len));
    }
    true
}

#[test]
fn every_truncation_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t");
    let whole = seed();
    for len in 0..whole.len() {
        fs::write(&path, &whole[..len]).unwrap();
        assert!(!exercise(&path), "{len} bytes of {}", whole.len());
    }
    fs::write(&path, &whole).unwrap();
    assert!(exercise(&path));
}

#[test]
fn every_flipped_bit_is_refused_or_read_without_panic_and_never_where_the_reference_crate_refuses() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t");
    let whole = seed();
    let header_end = whole.len() - 29;
    let mut accepted = 0;
    for at in 0..header_end {
        for bit in 0..8 {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << bit;
            fs::write(&path, &bytes).unwrap();
            if exercise(&path) {
                accepted += 1;
                assert!(reference_accepts(&bytes), "byte {at} bit {bit}");
            }
        }
    }
    // Other names and texts, another type of the same size: these can't be told from what was meant.
    assert!((1..1000).contains(&accepted), "{accepted}");
}
