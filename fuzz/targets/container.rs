//! Native containers: what is opened can be read to its last element, and what is verified can be
//! dequantized to as many elements as are stored.
//!
//! The first byte chooses: below 128 the rest is a whole file; else it is the entries of a file
//! with the tensors `a` (32 bytes of codes) and `a_bias`, and with scales, so that mutations of the
//! text meet tensors that could fit.
#![no_main]

use std::path::PathBuf;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use smallfloat::Rounding;
use smallfloat_tensor::{Dtype, Source, View, dequantize, verify};

/// A folder of this process.
fn folder() -> &'static PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("smallfloat-fuzz-container-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        folder
    })
}

fn file(entries: &str) -> Vec<u8> {
    let text = |text: &str| serde_json::to_string(text).expect("text");
    let header = format!(
        r#"{{"__metadata__":{{"smallfloat.version":"1","smallfloat.tensors":{}}},
        "a":{{"dtype":"U8","shape":[2,16],"data_offsets":[0,32]}},
        "a_bias":{{"dtype":"U8","shape":[],"data_offsets":[32,33]}},
        "a_scale":{{"dtype":"U8","shape":[2,1],"data_offsets":[33,35]}},
        "b":{{"dtype":"F32","shape":[1],"data_offsets":[35,39]}}}}"#,
        text(entries)
    );
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.bytes());
    file.extend((0..39).map(|i| if i == 32 { 7 } else { i * 5 }));
    file
}

fuzz_target!(|data: &[u8]| {
    let Some((&choice, rest)) = data.split_first() else { return };
    let bytes = if choice < 128 { rest.to_vec() } else { file(&String::from_utf8_lossy(rest)) };
    let Ok(view) = Source::from_bytes("fuzz", bytes.clone()).and_then(View::from_source) else { return };
    for tensor in view.tensors().iter().filter(|tensor| tensor.format().is_some()) {
        let elements = tensor.info.elements();
        if elements > 0 {
            let mut last = [0.0];
            view.read(tensor, elements - 1, &mut last).expect("the last element can be read");
        }
    }
    let (path, wide) = (folder().join("in.safetensors"), folder().join("out.safetensors"));
    std::fs::write(&path, &bytes).expect("a file");
    if verify(&path).is_err() {
        return;
    }
    dequantize(&path, &wide, Dtype::F64, Some(Rounding::NearestEven), true, &mut |_| ())
        .expect("what is verified can be dequantized");
    // Bytes that are copied may look like codes of another layout beside their scales, so the file is
    // read as it is.
    let wide = Source::open(&wide).expect("a file of ours");
    let written = wide.tensors().iter().map(|tensor| tensor.elements()).sum::<u64>();
    assert_eq!(written, view.tensors().iter().map(|tensor| tensor.info.elements()).sum::<u64>());
});
