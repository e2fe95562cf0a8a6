//! Every level against the portable one: codes, flags and counts, for formats × projections × data
//! × lengths × offsets.

use crate::common::{CLASSES, data, narrow_formats, projections, sample};
use smallfloat::Format;
use smallfloat_kernels::{Bf16, Decoder, Element, Encoder, F16, Level};

fn levels_agree<T: Element + std::fmt::Debug + PartialEq>() {
    for target in narrow_formats() {
        let inputs: Vec<(&str, Vec<T>)> =
            CLASSES.iter().map(|class| (*class, data(class, &target, 200, 1))).collect();
        for projection in projections(&target) {
            let portable = Encoder::<T>::for_length(&target, &projection, usize::MAX)
                .unwrap()
                .with_level(Level::Portable);
            for level in Level::available().filter(|&level| level != Level::Portable) {
                let encoder = portable.clone().with_level(level);
                for (class, x) in &inputs {
                    let (mut expected, mut codes) = (vec![0_u8; x.len()], vec![0xaa_u8; x.len()]);
                    let expected_events = portable.encode(x, &mut expected);
                    let events = encoder.encode(x, &mut codes);
                    let first = codes.iter().zip(&expected).position(|(a, b)| a != b);
                    assert_eq!(
                        first.map(|i| (x[i], x[i].bits(), codes[i], expected[i])),
                        None,
                        "{target}, {projection:?}, {class}, {level:?}"
                    );
                    assert_eq!(events, expected_events, "{target}, {projection:?}, {class}, {level:?}");
                    codes.fill(0xaa);
                    encoder.encode_uncounted(x, &mut codes);
                    assert_eq!(codes, expected, "{target}, {projection:?}, {class}, {level:?}, uncounted");
                }
            }
        }
    }
}

#[test]
fn levels_agree_f32() {
    levels_agree::<f32>();
}

#[test]
fn levels_agree_bf16() {
    levels_agree::<Bf16>();
}

#[test]
fn levels_agree_f16() {
    levels_agree::<F16>();
}

/// Flags of long slices: found in the first block, in a later one, or never; and around the length
/// of a block.
#[test]
fn flags_of_long_slices() {
    let format = Format::cfloat8_1_4_3(7).unwrap();
    let gradual: Format = "e4m3fn".parse().unwrap();
    for target in [format, gradual] {
        let portable = Encoder::<f32>::for_length(&target, &target.default_projection(), usize::MAX)
            .unwrap()
            .with_level(Level::Portable);
        for level in Level::available() {
            let encoder = portable.clone().with_level(level);
            for length in [2047, 2048, 2049, 9000] {
                for (background, special) in [
                    (1.0_f32, 1.03),
                    (1.0, 0.017),
                    (0.0, 0.016),
                    (1.03, 0.0179),
                    (1.03, 1e-9),
                    (0.0, 1e-40),
                    (0.0078125, 0.0079),
                ] {
                    for place in [0, 31, 32, 2046, length - 1] {
                        let mut x = vec![background; length];
                        x[place] = special;
                        let (mut expected, mut codes) = (vec![0_u8; length], vec![0_u8; length]);
                        assert_eq!(
                            encoder.encode(&x, &mut codes),
                            portable.encode(&x, &mut expected),
                            "{target}, {special} at {place} of {length} in {background}"
                        );
                        assert_eq!(codes, expected);
                    }
                }
            }
        }
    }
}

/// Every length to 257 at every offset to 63, with guard bytes on both sides.
#[test]
fn lengths_and_offsets() {
    let target = Format::cfloat8_1_4_3(7).unwrap();
    let portable = Encoder::<f32>::for_length(&target, &target.default_projection(), usize::MAX)
        .unwrap()
        .with_level(Level::Portable);
    let x: Vec<f32> = data("random bits", &target, 400, 7);
    for level in Level::available() {
        let encoder = portable.clone().with_level(level);
        for length in 0..=257 {
            for offset in 0..64 {
                let source = &x[offset..offset + length];
                let (mut expected, mut codes) = (vec![0_u8; length], [0x55_u8; 64 + 257 + 64]);
                let expected_events = portable.encode(source, &mut expected);
                let events = encoder.encode(source, &mut codes[offset..offset + length]);
                assert_eq!(events, expected_events, "{length} at {offset}");
                assert_eq!(codes[offset..offset + length], expected, "{length} at {offset}");
                let outside = codes[..offset].iter().chain(&codes[offset + length..]);
                assert!(
                    outside.into_iter().all(|&byte| byte == 0x55),
                    "{length} at {offset}: written outside"
                );
            }
        }
    }
}

/// All binary32 values, or one in 256 of them, in the named 8-bit formats.
#[test]
fn sweep_of_binary32() {
    let extensive = std::env::var_os("SMALLFLOAT_EXTENSIVE").is_some();
    let names = [
        "cfloat8_1_4_3:bias=7",
        "cfloat8_1_5_2:bias=15",
        "e4m3fn",
        "e5m2",
        "e4m3fnuz",
        "e5m2fnuz",
        "e4m3b11fnuz",
        "e4m3",
        "e3m4",
        "e2m3fn",
        "e3m2fn",
        "e2m1fn",
        "binary8p3se",
        "binary8p4uf",
    ];
    let count = if extensive { names.len() } else { 4 };
    for target in names[..count].iter().map(|name| name.parse::<Format>().unwrap()) {
        let portable = Encoder::<f32>::for_length(&target, &target.default_projection(), usize::MAX)
            .unwrap()
            .with_level(Level::Portable);
        let encoders: Vec<_> = Level::available()
            .filter(|&level| level != Level::Portable)
            .map(|level| portable.clone().with_level(level))
            .collect();
        let (mut expected, mut codes) = (vec![0_u8; 1 << 16], vec![0_u8; 1 << 16]);
        for high in 0..1_u32 << 16 {
            // One low half in 256, another one for each high half, with those of values and
            // midpoints among them.
            let (first, step) =
                if extensive { (0, 1) } else { (high.wrapping_mul(37) % 256 * (high % 3).min(1), 256) };
            let step = step * sample();
            let x: Vec<f32> =
                (first..=0xffff).step_by(step).map(|low| f32::from_bits(high << 16 | low)).collect();
            let length = x.len();
            let expected_events = portable.encode(&x, &mut expected[..length]);
            for encoder in &encoders {
                let events = encoder.encode(&x, &mut codes[..length]);
                assert!(
                    codes[..length] == expected[..length],
                    "{target}, {high:#06x}, {:?}",
                    encoder.level()
                );
                assert_eq!(events, expected_events, "{target}, {high:#06x}, {:?}", encoder.level());
            }
        }
    }
}

fn decoders_agree<T: Element + std::fmt::Debug + PartialEq>() -> usize {
    let mut compared = 0;
    for format in narrow_formats() {
        let Ok(portable) = Decoder::<T>::for_length(&format, None, usize::MAX) else { continue };
        let portable = portable.with_level(Level::Portable);
        // Bits above the width must not matter.
        let codes: Vec<u8> = (0..=255).chain((0..=255).rev()).collect();
        for level in Level::available() {
            let decoder = portable.clone().with_level(level);
            for (from, to) in [(0, 512), (1, 512), (3, 70), (0, 31), (500, 500)] {
                let codes = &codes[from..to];
                let (mut expected, mut values) =
                    (vec![T::default(); codes.len()], vec![T::default(); codes.len()]);
                portable.decode(codes, &mut expected);
                decoder.decode(codes, &mut values);
                let bits = |values: &[T]| values.iter().map(|x| x.bits()).collect::<Vec<_>>();
                assert_eq!(bits(&values), bits(&expected), "{format}, {level:?}");
            }
            compared += 1;
        }
    }
    compared
}

#[test]
fn decoders_agree_f32() {
    assert!(decoders_agree::<f32>() > 300 / sample());
}

#[test]
fn decoders_agree_bf16() {
    assert!(decoders_agree::<Bf16>() > 300 / sample());
}

/// Long slices are written past the caches: another loop, the same values; and nothing is written
/// outside.
#[test]
fn streams_agree() {
    let format = Format::cfloat8_1_4_3(7).unwrap();
    let length = 14 << 20;
    let x: Vec<f32> = {
        let part: Vec<f32> = data("random bits", &format, 1 << 16, 3);
        part.iter().copied().cycle().take(length).collect()
    };
    let portable = Encoder::<f32>::for_length(&format, &format.default_projection(), usize::MAX)
        .unwrap()
        .with_level(Level::Portable);
    let mut expected = vec![0_u8; length];
    let expected_events = portable.encode(&x, &mut expected);
    for level in Level::available() {
        for offset in [0, 1] {
            let mut codes = vec![0x55_u8; length + 2];
            let inside = &mut codes[offset..offset + length];
            assert_eq!(portable.clone().with_level(level).encode(&x, inside), expected_events);
            assert!(codes[offset..offset + length] == expected[..]);
            assert!(codes[..offset].iter().chain(&codes[offset + length..]).all(|&byte| byte == 0x55));
        }
        let decoder = Decoder::<f32>::for_length(&format, None, usize::MAX).unwrap();
        let (mut values, mut twins) = (vec![0_f32; length], vec![0_f32; length]);
        decoder.clone().with_level(level).decode(&expected, &mut values);
        decoder.with_level(Level::Portable).decode(&expected, &mut twins);
        assert!(values.iter().zip(&twins).all(|(a, b)| a.to_bits() == b.to_bits()));
    }
}
