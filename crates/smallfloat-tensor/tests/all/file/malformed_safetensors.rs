//! Safetensors files that break the rules: each gets its verdict, with the tensor and the byte of
//! the fault, and the verdicts of the reference readers are what the corpus, the recorded table and
//! the documentation say.

use std::collections::BTreeSet;
use std::fs;

use crate::corpus::safetensors::cases;
use crate::corpus::{Verdict, documented, export, recorded, sha256};
use smallfloat_tensor::Source;

/// What the Python reader made of the same bytes: from memory, and opened as a file.
const PYTHON: &str = include_str!("../../data/reference-safetensors.csv");

#[test]
fn each_file_gets_its_verdict() {
    let cases = cases();
    export("safetensors", &cases);
    let names: BTreeSet<_> = cases.iter().map(|case| case.name).collect();
    assert_eq!(names.len(), cases.len(), "names are unique");
    let refused = cases.iter().filter(|case| case.verdict != Verdict::Read).count();
    assert!(refused >= 100, "{refused} refused files");
    let answer = |bytes: &[u8]| Source::from_bytes("case.safetensors", bytes.to_vec());
    let wrong: Vec<_> = cases.iter().filter_map(|case| case.check(answer(&case.bytes))).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_file_on_disk_gets_the_verdict_of_its_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("case.safetensors");
    for case in cases() {
        fs::write(&path, &case.bytes).unwrap();
        let of_file = Source::open(&path).map(|file| format!("{:?}", file.tensors()));
        let of_bytes = Source::from_bytes(&path, case.bytes).map(|file| format!("{:?}", file.tensors()));
        assert_eq!(of_file.map_err(|e| e.to_string()), of_bytes.map_err(|e| e.to_string()), "{}", case.name);
    }
}

/// Where the reference accepts what is refused here, the documentation says so; nowhere is it the
/// other way round.
#[test]
fn the_reference_readers_differ_only_where_the_documentation_says() {
    let recorded = recorded(PYTHON);
    let mut stricter = Vec::new();
    for case in cases() {
        let read_here = case.verdict == Verdict::Read;
        let rust = safetensors::SafeTensors::deserialize(&case.bytes).is_ok();
        let (digest, python) = recorded.get(case.name).expect(case.name);
        assert_eq!(*digest, sha256(&case.bytes), "{}: run verification/reference-readers", case.name);
        assert_eq!(python.len(), 2, "{}", case.name);
        for (reader, verdict) in
            ["Rust", "Python, bytes", "Python, file"].iter().zip([rust, python[0], python[1]])
        {
            assert!(verdict || !read_here, "{}: read here, refused by {reader}", case.name);
        }
        if rust && !read_here {
            stricter.push(case.name);
        }
        assert!(rust || !python.contains(&true), "{}: the Python reader is laxer than the crate", case.name);
    }
    assert_eq!(documented("stricter than safetensors"), stricter);
    assert_eq!(recorded.len(), cases().len(), "the table has no other files");
}

#[test]
fn shapes_have_at_most_64_dimensions() {
    for (dimensions, fits) in [(64, true), (65, false), (100_000, false)] {
        let shape = vec!["1"; dimensions].join(",");
        let header = format!(r#"{{"w":{{"dtype":"U8","shape":[{shape}],"data_offsets":[0,1]}}}}"#);
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.bytes());
        bytes.push(7);
        let opened = smallfloat_tensor::Source::from_bytes("w.safetensors", bytes);
        match opened {
            Ok(source) => assert!(fits && source.tensors()[0].shape.len() == 64),
            Err(error) => assert!(!fits && error.to_string().contains("64 dimensions"), "{error}"),
        }
    }
}
