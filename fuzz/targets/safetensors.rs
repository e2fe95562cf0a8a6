//! Safetensors files: whatever is read here the reference crate reads too, with the same tensors
//! and texts.
//!
//! The first byte chooses: below 128 the rest is the file; else the rest is the header of a file
//! with as many zero bytes of data as its lower bits say, so that mutations of the text need not
//! guess its length. With all bits set spaces make the header one that is parsed as it is read.
#![no_main]
#![allow(dead_code, reason = "the module serves tests too")]

#[path = "../../crates/smallfloat-tensor/tests/corpus/agree.rs"]
mod agree;

use libfuzzer_sys::fuzz_target;
use smallfloat_tensor::{Source, SourceKind};

fuzz_target!(|data: &[u8]| {
    let Some((&choice, rest)) = data.split_first() else { return };
    let bytes = if choice < 128 {
        rest.to_vec()
    } else {
        let (first, others) = rest.split_at(rest.len().min(1));
        let spaces: &[u8] = if choice == 255 { &[b' '; 16 << 10] } else { &[] };
        let header = [first, spaces, others].concat();
        let mut file = (header.len() as u64).to_le_bytes().to_vec();
        file.extend(header);
        file.resize(file.len() + usize::from(choice & 127), 0);
        file
    };
    let Ok(source) = Source::from_bytes("fuzz", bytes.clone()) else { return };
    if source.kind() == SourceKind::SafeTensors {
        assert!(agree::same_as_reference(&bytes, Some(&source)), "read here only: {}", agree::show(&bytes));
    }
});
