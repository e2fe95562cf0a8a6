//! Packed codes against their picture, bit by bit, at every level and length, with guards.

use smallfloat_kernels::{Level, Nibbles, pack4, pack6, unpack4, unpack6};

const GUARD: u8 = 0x5a;

/// Bit `bit` of a byte string.
fn bit(bytes: &[u8], bit: usize) -> u8 {
    bytes[bit / 8] >> (bit % 8) & 1
}

/// Packs, compares each bit with the picture, unpacks, and looks at the guards on both sides.
fn check(
    width: usize,
    place: impl Fn(usize) -> usize,
    pack: impl Fn(&[u8], &mut [u8]),
    unpack: impl Fn(&[u8], &mut [u8]),
) {
    let noise = |i: usize| (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()[1];
    for length in (0..=257).chain([1000]) {
        let offset = length % 33;
        let codes: Vec<u8> = (0..length).map(noise).collect();
        let unit = if width == 4 { 2 } else { 4 };
        let bytes = length.div_ceil(unit) * unit * width / 8;
        let mut packed = vec![GUARD; offset + bytes + 40];
        pack(&codes, &mut packed[offset..offset + bytes]);
        let inside = &packed[offset..offset + bytes];
        for i in 0..bytes * 8 / width {
            for j in 0..width {
                let expected = codes.get(i).map_or(0, |code| code >> j & 1);
                assert_eq!(bit(inside, place(i) + j), expected, "bit {j} of code {i} of {length}");
            }
        }
        let guards = packed[..offset].iter().chain(&packed[offset + bytes..]);
        assert!(guards.into_iter().all(|&byte| byte == GUARD), "{length}: written outside");
        let mut back = vec![GUARD; offset + length + 40];
        unpack(&packed[offset..offset + bytes], &mut back[offset..offset + length]);
        let low = u8::try_from((1 << width) - 1).unwrap();
        assert!(back[offset..].iter().zip(&codes).all(|(back, code)| *back == code & low), "{length}");
        let guards = back[..offset].iter().chain(&back[offset + length..]);
        assert!(guards.into_iter().all(|&byte| byte == GUARD), "{length}: written outside");
    }
}

#[test]
fn four_bits() {
    for level in Level::available() {
        for (order, swap) in [(Nibbles::LowFirst, 0), (Nibbles::HighFirst, 1)] {
            check(
                4,
                |i| 4 * (i ^ swap),
                |codes, bytes| pack4(level, codes, bytes, order),
                |bytes, codes| unpack4(level, bytes, codes, order),
            );
        }
    }
}

#[test]
fn six_bits() {
    for level in Level::available() {
        check(
            6,
            |i| 6 * i,
            |codes, bytes| pack6(level, codes, bytes),
            |bytes, codes| unpack6(level, bytes, codes),
        );
    }
}
