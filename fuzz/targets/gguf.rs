//! GGUF files: what is opened is read, and what is verified is dequantized to the same numbers.
//!
//! The first byte chooses: below 64 the rest is what follows the magic; else the rest chooses keys,
//! types, shapes and places of a file that could be right.
#![no_main]

#[allow(dead_code, reason = "each target uses its part")]
mod reading;

use libfuzzer_sys::fuzz_target;
use reading::{Choices, again, check};

/// Elements and bytes of the blocks of types, by their number.
const TYPES: [(u32, u64, u64); 12] = [
    (0, 1, 4),
    (1, 1, 2),
    (8, 32, 34),
    (24, 1, 1),
    (25, 1, 2),
    (26, 1, 4),
    (27, 1, 8),
    (28, 1, 8),
    (30, 1, 2),
    (39, 32, 17),
    (40, 64, 36),
    (12, 256, 144),
];
const NAMES: [&str; 8] = ["w.weight", "w.scale", "a.weight", "a.scale", "w", "scale", "", "b_packed"];
const KEYS: [&str; 6] =
    ["general.alignment", "general.name", "general.file_type", "tokens", "", "general.architecture"];
const SIZES: [u64; 20] = [
    32,
    64,
    1,
    0,
    2,
    3,
    16,
    31,
    33,
    96,
    128,
    256,
    1 << 31,
    1 << 32,
    1 << 57,
    (1 << 59) - 1,
    1 << 63,
    u64::MAX - 31,
    u64::MAX - 63,
    u64::MAX,
];

fn text(file: &mut Vec<u8>, text: &[u8]) {
    file.extend((text.len() as u64).to_le_bytes());
    file.extend(text);
}

/// Appends a value: of a type from 0 to 12, or of one that there is not.
fn value(choices: &mut Choices<'_>, kind: u32, depth: u32, file: &mut Vec<u8>) {
    match kind {
        8 => {
            let length = usize::from(choices.byte()) % 20;
            let bytes = choices.some(length);
            text(file, &bytes);
        }
        9 => {
            let (kind, count) = (u32::from(choices.byte() % 14), u64::from(choices.byte() % 5));
            file.extend(kind.to_le_bytes());
            let said =
                if choices.byte() > 250 { u64::MAX / u64::from(choices.byte() % 9 + 1) } else { count };
            file.extend(said.to_le_bytes());
            for _ in 0..if depth < 7 { count } else { 0 } {
                value(choices, kind, depth + 1, file);
            }
        }
        _ => {
            let size = [1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8].get(kind as usize).copied().unwrap_or(3);
            let mut bytes = choices.some(size);
            bytes.resize(size, 0);
            file.extend(bytes);
        }
    }
}

fn file(choices: &mut Choices<'_>) -> Vec<u8> {
    let mut file = b"GGUF".to_vec();
    file.extend(choices.of(&[3_u32, 2, 3, 3, 0x0300_0000, 9]).to_le_bytes());
    let (tensors, keys) = (u64::from(choices.byte() % 5), u64::from(choices.byte() % 4));
    file.extend(tensors.to_le_bytes());
    file.extend(keys.to_le_bytes());
    let mut alignment = 32;
    for _ in 0..keys {
        let key = choices.of(&KEYS);
        text(&mut file, key.as_bytes());
        let kind = u32::from(choices.byte() % 14);
        if key == "general.alignment" && choices.byte() < 128 {
            alignment = choices.of(&[8_u32, 16, 32, 64, 24, 1 << 30]);
            file.extend(4_u32.to_le_bytes());
            file.extend(alignment.to_le_bytes());
        } else {
            file.extend(kind.to_le_bytes());
            value(choices, kind, 0, &mut file);
        }
    }
    let (mut offset, mut end) = (0_u64, 0);
    for _ in 0..tensors {
        text(&mut file, choices.of(&NAMES).as_bytes());
        let dimensions = choices.byte() % 6;
        file.extend(u32::from(dimensions).to_le_bytes());
        let mut elements = 1_u64;
        for _ in 0..dimensions {
            let size = choices.of(&SIZES);
            elements = elements.saturating_mul(size);
            file.extend(size.to_le_bytes());
        }
        let (kind, per_block, bytes) = choices.of(&TYPES);
        file.extend(if choices.byte() > 250 { choices.byte().into() } else { kind }.to_le_bytes());
        let said = match choices.byte() {
            255 => offset.wrapping_sub(u64::from(alignment)),
            254 => u64::MAX - u64::from(alignment) + 1,
            253 => offset + 1,
            252 => 0,
            _ => offset,
        };
        file.extend(said.to_le_bytes());
        let length = (elements / per_block).saturating_mul(bytes);
        if length < 1 << 16 {
            end = offset + length;
            offset = end.next_multiple_of(alignment.into());
        }
    }
    let start = (file.len() as u64).next_multiple_of(alignment.into()).min(1 << 17);
    file.resize(usize::try_from(start).expect("it is short"), 0);
    let data = choices.data(usize::try_from(end.min(1 << 18)).expect("it is short"));
    file.extend(data);
    file.truncate(file.len() - usize::from(choices.byte() > 250));
    file
}

fuzz_target!(|data: &[u8]| {
    let Some((&choice, rest)) = data.split_first() else { return };
    if choice < 64 {
        check("gguf", &[b"GGUF", rest].concat());
        return;
    }
    let mut choices = Choices(rest);
    if check("gguf", &file(&mut choices)) && choice >= 240 {
        again("gguf", if choice % 2 == 0 { "mxfp4" } else { "nf4" });
    }
});
