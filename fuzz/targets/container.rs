//! Native containers: what is opened can be read to its last element, and what is verified can be
//! dequantized to as many elements as are stored.
//!
//! The first byte chooses: below 128 the rest is a whole file; else it is the entries of a file
//! with the tensors `a` (32 bytes of codes) and `a_bias`, and with scales, so that mutations of the
//! text meet tensors that could fit.
#![no_main]

#[allow(dead_code, reason = "each target uses its part")]
mod reading;

use libfuzzer_sys::fuzz_target;
use reading::check;

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
    check("container", &bytes);
});
