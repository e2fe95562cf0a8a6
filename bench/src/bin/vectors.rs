//! Runs test vectors through other crates: `vectors PEER OPERATION FORMAT < VECTORS`.
//!
//! Reads lines of the testfloat layout and prints each with the peer's result instead of ours and
//! without flags, which peers do not have. Operations are `encode` (from binary32), `decode` (to
//! binary32) and `Add`, `Subtract`, `Multiply`, `Divide` of two codes of the format. Exit status 3
//! where the peer does not have it. `list` prints what there is.

use std::io::{self, BufRead, BufWriter, Write};
use std::process::ExitCode;

/// What a peer offers for one format.
struct Peer {
    name: &'static str,
    format: &'static str,
    digits: usize,
    encode: fn(f32) -> u64,
    decode: fn(u64) -> f32,
    /// The four operations in the order of [`BINARY`], where the type has operators.
    binary: Option<[fn(u64, u64) -> u64; 4]>,
}

const BINARY: [&str; 4] = ["Add", "Subtract", "Multiply", "Divide"];

macro_rules! peer {
    ($name:literal, $format:literal, $type:ty, $bits:ty) => {
        peer!($name, $format, $type, $bits, None)
    };
    ($name:literal, $format:literal, $type:ty, $bits:ty, operators) => {
        peer!(
            $name,
            $format,
            $type,
            $bits,
            Some([
                |x, y| (<$type>::from_bits(x as $bits) + <$type>::from_bits(y as $bits)).to_bits().into(),
                |x, y| (<$type>::from_bits(x as $bits) - <$type>::from_bits(y as $bits)).to_bits().into(),
                |x, y| (<$type>::from_bits(x as $bits) * <$type>::from_bits(y as $bits)).to_bits().into(),
                |x, y| (<$type>::from_bits(x as $bits) / <$type>::from_bits(y as $bits)).to_bits().into(),
            ])
        )
    };
    ($name:literal, $format:literal, $type:ty, $bits:ty, $binary:expr) => {
        Peer {
            name: $name,
            format: $format,
            digits: size_of::<$bits>() * 2,
            encode: |x| <$type>::from_f32(x).to_bits().into(),
            decode: |x| <$type>::from_bits(x as $bits).to_f32(),
            binary: $binary,
        }
    };
}

fn peers() -> Vec<Peer> {
    vec![
        peer!("half", "binary16", half::f16, u16, operators),
        peer!("half", "bfloat16", half::bf16, u16, operators),
        peer!("float8", "e4m3fn", float8::F8E4M3, u8, operators),
        peer!("float8", "e5m2", float8::F8E5M2, u8, operators),
        peer!("minifloat", "e3m4", minifloat::F8E3M4, u8, operators),
        peer!("minifloat", "e4m3", minifloat::F8E4M3, u8, operators),
        peer!("minifloat", "e4m3fn", minifloat::F8E4M3FN, u8, operators),
        peer!("minifloat", "e4m3fnuz", minifloat::F8E4M3FNUZ, u8, operators),
        peer!("minifloat", "e4m3b11fnuz", minifloat::F8E4M3B11FNUZ, u8, operators),
        peer!("minifloat", "e5m2", minifloat::F8E5M2, u8, operators),
        peer!("minifloat", "e5m2fnuz", minifloat::F8E5M2FNUZ, u8, operators),
        peer!("microfloat", "e3m4", microfloat::f8e3m4, u8, operators),
        peer!("microfloat", "e4m3", microfloat::f8e4m3, u8, operators),
        peer!("microfloat", "e4m3fn", microfloat::f8e4m3fn, u8, operators),
        peer!("microfloat", "e4m3fnuz", microfloat::f8e4m3fnuz, u8, operators),
        peer!("microfloat", "e4m3b11fnuz", microfloat::f8e4m3b11fnuz, u8, operators),
        peer!("microfloat", "e5m2", microfloat::f8e5m2, u8, operators),
        peer!("microfloat", "e5m2fnuz", microfloat::f8e5m2fnuz, u8, operators),
        peer!("microfloat", "e8m0fnu", microfloat::f8e8m0fnu, u8),
    ]
}

fn main() -> io::Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut out = BufWriter::new(io::stdout().lock());
    if arguments == ["list"] {
        for peer in peers() {
            let binary = if peer.binary.is_some() { BINARY.join(" ") } else { String::new() };
            writeln!(out, "{} {} encode decode {binary}", peer.name, peer.format)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let [name, operation, format] = &arguments[..] else {
        eprintln!("usage: vectors PEER OPERATION FORMAT < VECTORS");
        return Ok(ExitCode::from(2));
    };
    let Some(peer) = peers().into_iter().find(|peer| peer.name == name && peer.format == format) else {
        return Ok(ExitCode::from(3));
    };
    let binary = BINARY.iter().position(|known| known == operation);
    let binary = binary.zip(peer.binary).map(|(at, operations)| operations[at]);
    if binary.is_none() && !["encode", "decode"].contains(&operation.as_str()) {
        return Ok(ExitCode::from(3));
    }
    for line in io::stdin().lock().lines() {
        let line = line?;
        if line.starts_with('#') {
            continue;
        }
        let codes: Vec<u64> =
            line.split_ascii_whitespace().filter_map(|word| u64::from_str_radix(word, 16).ok()).collect();
        let digits = peer.digits;
        match (operation.as_str(), &codes[..]) {
            ("encode", &[x, ..]) => {
                let code = (peer.encode)(f32::from_bits(x as u32));
                writeln!(out, "{x:08x} {code:0digits$x}")?;
            }
            ("decode", &[x, ..]) => {
                writeln!(out, "{x:0digits$x} {:08x}", (peer.decode)(x).to_bits())?;
            }
            (_, &[x, y, ..]) => {
                if let Some(operate) = binary {
                    writeln!(out, "{x:0digits$x} {y:0digits$x} {:0digits$x}", operate(x, y))?;
                }
            }
            _ => {
                eprintln!("`{line}` is no vector");
                return Ok(ExitCode::FAILURE);
            }
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
