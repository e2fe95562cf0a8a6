//! `.npy` files: no panic, and what is read is all that follows the header.
//!
//! The first byte chooses the version (its upper three bits; all set: the rest is the file) and the
//! bytes of data; the rest is the header.
#![no_main]
#![allow(dead_code, reason = "the module serves tests too")]

#[path = "../../crates/smallfloat-tensor/tests/corpus/agree.rs"]
mod agree;

use libfuzzer_sys::fuzz_target;
use smallfloat_tensor::{Source, SourceKind};

fuzz_target!(|data: &[u8]| {
    let Some((&choice, rest)) = data.split_first() else { return };
    let bytes = match choice >> 5 {
        7 => rest.to_vec(),
        version => {
            let mut file = vec![0x93, b'N', b'U', b'M', b'P', b'Y', version, 0];
            match u16::try_from(rest.len()) {
                Ok(length) if version == 1 => file.extend(length.to_le_bytes()),
                _ => file.extend((rest.len() as u64).to_le_bytes()[..4].iter()),
            }
            file.extend(rest);
            file.resize(file.len() + usize::from(choice & 31), 0);
            file
        }
    };
    if let Ok(source) = Source::from_bytes("fuzz.npy", bytes.clone())
        && source.kind() == SourceKind::Npy
    {
        assert!(agree::whole_array(&bytes, Some(&source)));
    }
});
