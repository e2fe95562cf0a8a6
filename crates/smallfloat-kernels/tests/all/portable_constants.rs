//! The algorithm that kernels on other devices have, against the core: all bfloat16 numbers, every
//! place of binary32 where the rounding of a format changes, random words, all codes.

use crate::common::{CLASSES, data, narrow_formats, projections, scramble, wide_formats};
use smallfloat::formats::{BFLOAT16, BINARY32, FP24};
use smallfloat::{Datum, Exact, Format, Projection, RandomBits, Rounding, convert, project};
use smallfloat_kernels::{Error, KernelConstants};

fn formats() -> Vec<Format> {
    narrow_formats().into_iter().chain(wide_formats()).collect()
}

fn every_bfloat16() -> impl Iterator<Item = u32> {
    (0..1_u32 << 16).map(|upper| upper << 16)
}

/// Numbers near a format's values and midpoints, and of all other classes.
fn near(format: &Format, length: usize) -> Vec<u32> {
    CLASSES.iter().flat_map(|class| data::<f32>(class, format, length, 7)).map(f32::to_bits).collect()
}

fn assert_encodes(format: &Format, projection: &Projection, numbers: impl Iterator<Item = u32>) {
    let constants = KernelConstants::new(format, projection).expect("a format of at most 16 bits");
    for bits in numbers {
        let expected = convert(bits.into(), &BINARY32, format, projection).value;
        let found = constants.encode(bits, 0, 0);
        assert_eq!(u64::from(found), expected, "{bits:#010x} to {format} by {projection:?}");
    }
}

#[test]
fn every_mode_and_preset() {
    for format in formats() {
        let numbers = near(&format, 60);
        for &mode in Rounding::DETERMINISTIC {
            let projection = format.default_projection().with_rounding(mode);
            assert_encodes(&format, &projection, numbers.iter().copied());
        }
        for projection in projections(&format) {
            assert_encodes(&format, &projection, numbers.iter().copied());
        }
    }
}

#[test]
fn every_bfloat16_in_every_mode() {
    for format in formats().into_iter().step_by(6) {
        for &mode in Rounding::DETERMINISTIC {
            assert_encodes(&format, &format.default_projection().with_rounding(mode), every_bfloat16());
        }
    }
}

/// The core takes exact values, which a power of two only moves.
#[test]
fn values_times_a_power_of_two() {
    for format in formats().into_iter().step_by(3) {
        let projection = format.default_projection();
        let constants = KernelConstants::new(&format, &projection).expect("constants");
        for (bits, shift) in
            near(&format, 20).into_iter().zip([-300, -24, -1, 0, 3, 40, 127, 300].into_iter().cycle())
        {
            for (bits, shift) in [(bits, shift), (bits, -shift)] {
                let x = Exact::from_datum(BINARY32.decode(bits.into())).scaled(shift);
                let expected = project(x, &format, &projection).value;
                assert_eq!(
                    u64::from(constants.encode(bits, shift, 0)),
                    expected,
                    "{bits:#x} · 2^{shift}, {format}"
                );
            }
        }
    }
}

#[test]
fn random_words_of_every_length() {
    let mut state = 1;
    for format in formats() {
        let numbers = near(&format, 25);
        for count in [1, 2, 7, 16, 31, 32] {
            for &bits in &numbers {
                let word = match scramble(&mut state) % 4 {
                    0 => 0,
                    1 => u32::MAX,
                    _ => u32::try_from(scramble(&mut state) & 0xffff_ffff).expect("32 bits"),
                };
                let random = RandomBits::from_word32(count, word).expect("at most 32 bits");
                let projection = format.default_projection().with_rounding(Rounding::StochasticA(random));
                let constants = KernelConstants::new(&format, &projection).expect("constants");
                let expected = convert(bits.into(), &BINARY32, &format, &projection).value;
                let found = constants.encode(bits, 0, word);
                assert_eq!(u64::from(found), expected, "{bits:#010x} to {format}, {count} bits of {word:#x}");
            }
        }
    }
}

#[test]
fn every_code() {
    for format in formats() {
        let constants = KernelConstants::new(&format, &format.default_projection()).expect("constants");
        let ieee = smallfloat::Preset::Ieee.projection(&BINARY32);
        for code in 0..=u32::try_from(format.max_code()).expect("16 bits") {
            let value = format.decode(code.into());
            for shift in [0, -130, 100] {
                let expected = match value {
                    Datum::Nan { .. } => 0x7fc0_0000,
                    _ => project(Exact::from_datum(value).scaled(shift), &BINARY32, &ieee).value,
                };
                let found = constants.decode(code, shift);
                assert_eq!(u64::from(found), expected, "{code:#x} of {format} · 2^{shift}");
            }
        }
    }
}

#[test]
fn what_it_lacks_is_refused() {
    let wide = KernelConstants::new(&FP24, &FP24.default_projection());
    assert_eq!(wide, Err(Error::TooWide { format: FP24 }));
    let bits = RandomBits::from_word32(8, 0).expect("8 bits");
    let projection = BFLOAT16.default_projection().with_rounding(Rounding::StochasticB(bits));
    let error = KernelConstants::new(&BFLOAT16, &projection).expect_err("another stochastic mode");
    assert_eq!(error.to_string(), "kernels in 32-bit arithmetic have no stochastic-b");
}
