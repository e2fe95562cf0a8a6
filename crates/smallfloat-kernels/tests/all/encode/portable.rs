//! The encoder and decoder tables against the core, element by element.

use smallfloat::{FlagPolicy, Flags, Format, Preset, Rounding, convert, convert_with, formats};
use smallfloat_kernels::{Bf16, Decoder, Element, Encoder, EventCounts, F16};

/// Formats that stress the numbering of classes: every catalogue row, odd biases, and ranges beyond
/// the sources'.
fn targets() -> Vec<Format> {
    let mut list: Vec<Format> =
        formats::CATALOGUE.iter().map(|row| row.format).filter(|f| f.width() <= 16).collect();
    for name in [
        "cfloat8_1_4_3:bias=0",
        "cfloat8_1_4_3:bias=63",
        "cfloat8_1_4_3:bias=63,subnormals=gradual",
        "cfloat8_1_5_2:bias=31",
        "shp:bias=63",
        "binary8p1se",
        "binary8p1uf",
        "binary8p8ue",
        "binary8p7sf",
        "binary16p1se",
        "binary16p11se",
        "binary12p1ue",
        "binary3p1se",
        "minifloat:k=8,p=4,bias=140,subnormals=tesla",
        "minifloat:k=8,p=4,bias=126,subnormals=tesla",
        "minifloat:k=8,p=4,bias=127,subnormals=none",
        "minifloat:k=8,p=4,bias=-100,specials=ieee",
        "minifloat:k=8,p=5,bias=1050",
    ] {
        list.push(name.parse().unwrap());
    }
    list
}

/// Bits around every place where something happens: exponents × mantissas near ties, both signs,
/// and a scramble.
fn inputs<T: Element>(target: &Format) -> Vec<T> {
    let stored = T::FORMAT.trailing_bits();
    let mut bits = Vec::new();
    let exponents = T::FORMAT.max_code() >> 1 >> stored;
    for exponent in 0..=exponents {
        for mantissa in [0, 1, 2, (1 << stored) - 1, 1 << (stored - 1), (1 << (stored - 1)) + 1] {
            bits.push(exponent << stored | mantissa);
        }
    }
    // The target's values, their midpoints and their neighbours in the source.
    for code in 0..=target.max_code().min(1 << 12) {
        let value = target.decode(code);
        let next = target.decode((code + 1) & target.max_code());
        let nearest = convert(code, target, &T::FORMAT, &Preset::Ieee.projection(&T::FORMAT)).value;
        let middle = match (value.to_f64(), next.to_f64()) {
            (Some(a), Some(b)) if a.is_finite() && b.is_finite() => {
                let projection = Preset::Ieee.projection(&T::FORMAT);
                T::FORMAT.encode_f64(a / 2.0 + b / 2.0, &projection).value
            }
            _ => nearest,
        };
        for around in [nearest, middle] {
            bits.extend(
                [around.wrapping_sub(1), around, around.wrapping_add(1)].map(|b| b & T::FORMAT.max_code()),
            );
        }
    }
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..20_000 {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        bits.push((state ^ state >> 29) & T::FORMAT.max_code());
    }
    let sign = 1 << (T::FORMAT.width() - 1);
    bits.iter().flat_map(|&b| [b, b ^ sign]).map(T::from_bits).collect()
}

fn check_encoder<T: Element + std::fmt::Debug>() {
    for target in targets() {
        let values = inputs::<T>(&target);
        for &rounding in Rounding::DETERMINISTIC {
            let projection = target.default_projection().with_rounding(rounding);
            let mut codes = vec![0_u16; values.len()];
            let events = Encoder::<T>::for_length(&target, &projection, usize::MAX)
                .unwrap()
                .encode(&values, &mut codes);
            let mut expected = EventCounts::new(values.len() as u64);
            for (x, code) in values.iter().zip(&codes) {
                let portable = convert_with(x.bits(), &T::FORMAT, &target, &projection, FlagPolicy::TESLA);
                assert_eq!(
                    u64::from(*code),
                    portable.value,
                    "{x:?} ({:#x}) to {target}, {rounding:?}",
                    x.bits()
                );
                expected.flags |= portable.flags;
                expected.overflowed += u64::from(portable.flags.contains(Flags::OVERFLOW));
            }
            assert_eq!(events.flags, expected.flags, "{target} {rounding:?}");
            assert_eq!(events.overflowed, expected.overflowed, "{target} {rounding:?}");
        }
    }
}

#[test]
fn encoder_f32() {
    check_encoder::<f32>();
}

#[test]
fn encoder_f64() {
    check_encoder::<f64>();
}

#[test]
fn encoder_f16() {
    check_encoder::<F16>();
}

#[test]
fn encoder_bf16() {
    check_encoder::<Bf16>();
}

#[test]
fn decoder_gives_the_core_s_values() {
    for target in targets() {
        let codes: Vec<u16> = target.codes().map(|c| u16::try_from(c).unwrap()).collect();
        let mut values = vec![0_f32; codes.len()];
        match Decoder::<f32>::for_length(&target, None, usize::MAX) {
            Ok(decoder) => {
                decoder.decode(&codes, &mut values);
                for (code, value) in codes.iter().zip(&values) {
                    let portable = target.decode(u64::from(*code));
                    if portable.is_nan() {
                        assert!(value.is_nan());
                    } else {
                        assert_eq!(
                            formats::BINARY32.decode(u64::from(value.to_bits())),
                            portable,
                            "{target} {code:#x}"
                        );
                    }
                }
            }
            Err(error) => assert!(!target.fits_in(&formats::BINARY32), "{error}"),
        }
    }
}
