//! Decoders at every level against the core's values: bytes and half-words, every destination,
//! every length and offset.

use crate::common::{narrow_formats, sample, wide_formats};
use smallfloat::{Format, Projection, convert};
use smallfloat_kernels::{Bf16, Code, Decoder, Element, F16, Level};

fn agree<T: Element, C: Code>(format: &Format) -> bool {
    // A rounding makes every format decodable, so that tables with values of no kernel are tried
    // too.
    let rounded: Projection = T::FORMAT.default_projection();
    let exact = Decoder::<T>::for_length(format, None, usize::MAX);
    let compared = exact.is_ok();
    let projection = (!compared).then_some(&rounded);
    let decoder = exact.or_else(|_| Decoder::<T>::for_length(format, projection, usize::MAX)).unwrap();
    // Bits above the width must not matter.
    let codes: Vec<C> = (0..=0xffff_u32).map(C::from_code).collect();
    let expected: Vec<u64> =
        format.codes().map(|code| convert(code, format, &T::FORMAT, &rounded).value).collect();
    for level in Level::available() {
        let mut values = vec![T::default(); codes.len()];
        decoder.clone().with_level(level).decode(&codes, &mut values);
        let mask = expected.len() - 1;
        let wrong =
            codes.iter().zip(&values).find(|(code, value)| value.bits() != expected[code.code() & mask]);
        assert_eq!(wrong.map(|(code, value)| (code.code(), value.bits())), None, "{format}, {level:?}");
    }
    // Without a table, and with one for just as many elements as there are codes.
    let step = expected.len().div_ceil(256) - usize::from(expected.len() > 256);
    let codes: Vec<C> = codes.into_iter().step_by(step).take(1000).collect();
    for length in [0, expected.len() - 1, expected.len()] {
        let few = Decoder::<T>::for_length(format, projection, length).unwrap();
        let mut values = vec![T::default(); codes.len()];
        few.decode(&codes, &mut values);
        for (code, value) in codes.iter().zip(values) {
            let expected = expected[code.code() & (expected.len() - 1)];
            assert_eq!(
                (value.bits(), few.value(code.code()).bits()),
                (expected, expected),
                "{format}, {length}"
            );
        }
    }
    compared
}

#[test]
fn bytes() {
    let compared = narrow_formats()
        .iter()
        .map(|format| {
            let wide = usize::from(agree::<f32, u8>(format)) + usize::from(agree::<f64, u8>(format));
            wide + usize::from(agree::<F16, u8>(format)) + usize::from(agree::<Bf16, u8>(format))
        })
        .sum::<usize>();
    assert!(compared > 1000 / sample(), "most formats are exact in most destinations: {compared}");
}

#[test]
fn half_words() {
    for format in narrow_formats().iter().step_by(5).chain(&wide_formats()) {
        agree::<f32, u16>(format);
        agree::<f64, u16>(format);
    }
    for format in wide_formats().iter().step_by(4) {
        agree::<F16, u16>(format);
        agree::<Bf16, u16>(format);
    }
}

#[test]
fn lengths_and_offsets() {
    fn each<T: Element, C: Code>(name: &str) {
        let format: Format = name.parse().unwrap();
        let decoder = Decoder::<T>::for_length(&format, None, usize::MAX).unwrap();
        let codes: Vec<C> = (0..400_u32).map(|i| C::from_code(i.wrapping_mul(0x9e37_79b9) >> 13)).collect();
        let guard = T::from_bits(0x5555);
        for level in Level::available() {
            let decoder = decoder.clone().with_level(level);
            for length in 0..=257 {
                let offset = length * 7 % 32;
                let codes = &codes[offset..offset + length];
                let mut values = [guard; 32 + 257 + 64];
                decoder.decode(codes, &mut values[offset..offset + length]);
                let right = |(value, code): (&T, &C)| value.bits() == decoder.value(code.code()).bits();
                assert!(values[offset..].iter().zip(codes).all(right), "{name}, {length} at {offset}");
                let mut outside = values[..offset].iter().chain(&values[offset + length..]);
                assert!(outside.all(|value| value.bits() == guard.bits()), "{length}: written outside");
            }
        }
    }
    each::<f32, u16>("shp:bias=31");
    each::<f64, u16>("uhp");
    each::<f64, u8>("e4m3fn");
    each::<F16, u8>("e5m2");
    each::<Bf16, u8>("cfloat8_1_4_3:bias=7");
}
