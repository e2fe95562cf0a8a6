//! Stochastic rounding: every level against the core, generators against known answers, and the
//! chance of moving away.

use crate::common::{CLASSES, data, narrow_formats, projections, sample, wide_formats};
use smallfloat::formats::E5M2;
use smallfloat::{Flags, Format, Projection, RandomBits, Rounding, random::Philox};
use smallfloat_kernels::{Ars5, Bf16, Code, Element, Encoder, F16, Generator, Level, RandomWords};

fn generators(seed: u64, stream: u64) -> [Generator; 2] {
    [Philox { seed, stream }.into(), Ars5 { seed, stream }.into()]
}

/// Computed by an implementation of FIPS 197 from its text, checked with that standard's appendix
/// B.
#[test]
fn ars5_known_answers() {
    let cases = [
        (0, 0, 0, [0x7ecce06f, 0x7cdc3bca, 0x15513c87, 0x29d24c9b]),
        (42, 7, 0, [0xa18314f3, 0x2f321d61, 0x57f04fa2, 0x8a4199e4]),
        (42, 7, 1, [0x218ef11b, 0xaa1c10b8, 0x0e2a97f1, 0xf8547e73]),
        (42, 7, (1 << 32) + 5, [0x73e41d1d, 0x4ff585bf, 0xb0e5db9d, 0xb4f02977]),
    ];
    for (seed, stream, block, words) in cases {
        assert_eq!(Ars5 { seed, stream }.block(block), words, "seed {seed}, block {block}");
        for level in Level::available() {
            let mut blocks = [[0; 4]; 9];
            Generator::from(Ars5 { seed, stream }).fill_blocks(level, block, &mut blocks);
            assert_eq!(blocks[0], words, "{level:?}");
        }
    }
}

#[test]
fn levels_make_the_same_words() {
    for generator in generators(0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210) {
        for first in [0, 5, (1 << 32) - 9, (1 << 40) + 1, u64::MAX / 4 - 3] {
            for count in [0, 1, 7, 8, 9, 16, 31] {
                let expected: Vec<_> = (0..count).map(|i| generator.block(first + i)).collect();
                for level in Level::available() {
                    let mut blocks = vec![[0; 4]; expected.len()];
                    generator.fill_blocks(level, first, &mut blocks);
                    assert_eq!(blocks, expected, "{}, {level:?}, {first}", generator.name());
                }
            }
        }
    }
}

fn levels_agree<T: Element + std::fmt::Debug + PartialEq>() {
    for (i, target) in narrow_formats().into_iter().enumerate() {
        let classes: &[&str] = if target.name_is_common() { &CLASSES } else { &CLASSES[i % 4..][..3] };
        agree::<T, u8>(&target, &target.default_projection(), classes, (300, usize::MAX));
    }
}

/// Codes, flags and counts of every level, whose reference is the core, for `length` elements with
/// an encoder made for as many or for more, which then has tables without vectors.
fn agree<T: Element + std::fmt::Debug + PartialEq, C: Code + std::fmt::Debug + PartialEq>(
    target: &Format,
    projection: &Projection,
    classes: &[&str],
    (length, made_for): (usize, usize),
) {
    let a = [32, 1, 9].map(|count| (count, Rounding::StochasticA as fn(RandomBits) -> Rounding));
    let b = [31, 2].map(|count| (count, Rounding::StochasticB as fn(RandomBits) -> Rounding));
    let c = [8, 3, 21].map(|count| (count, Rounding::StochasticC as fn(RandomBits) -> Rounding));
    for (count, rounding) in a.into_iter().chain(b).chain(c) {
        let projection = projection.with_rounding(rounding(RandomBits::new(count, 0).unwrap()));
        // Made for no elements: the core, one by one.
        let core = Encoder::<T>::for_length(target, &projection, 0).unwrap().with_level(Level::Portable);
        let encoder = Encoder::<T>::for_length(target, &projection, made_for).unwrap();
        // Each fills its tables once, for data of all classes.
        let encoders: Vec<Encoder<T>> =
            Level::available().map(|level| encoder.clone().with_level(level)).collect();
        for class in classes {
            let x: Vec<T> = data(class, target, length, u64::from(count));
            for (generator, first_element) in generators(9, 3).into_iter().zip([0, (1 << 34) - 7]) {
                let words = RandomWords { generator, first_element };
                let mut expected = vec![C::from_code(0); x.len()];
                let expected_events = core.encode_random(&x, &mut expected, words);
                for encoder in &encoders {
                    let (level, mut codes) = (encoder.level(), vec![C::from_code(0); x.len()]);
                    let events = encoder.encode_random(&x, &mut codes, words);
                    let first = codes.iter().zip(&expected).position(|(a, b)| a != b);
                    assert_eq!(
                        first.map(|i| (x[i], x[i].bits(), codes[i], expected[i])),
                        None,
                        "{target}, {projection:?}, {count} bits, {class}, {level:?}"
                    );
                    assert_eq!(
                        events, expected_events,
                        "{target}, {projection:?}, {count} bits, {class}, {level:?}"
                    );
                }
            }
        }
    }
}

/// Subnormal binary16, whose places are coarser than those of Tesla's denormals at large biases.
#[test]
fn places_coarser_than_the_steps() {
    let subnormal: Vec<F16> = (0..64).flat_map(|_| 0..0x420).map(F16::from_bits).collect();
    for name in ["cfloat8_1_4_3", "cfloat8_1_5_2"] {
        for bias in 16..30 {
            let to: Format = format!("{name}:bias={bias}").parse().unwrap();
            let random = [1, 5, 32].into_iter().flat_map(|count| {
                [Rounding::stochastic_a(count), Rounding::stochastic_b(count), Rounding::stochastic_c(count)]
            });
            for random in random {
                let projection = to.default_projection().with_rounding(random.unwrap());
                let codes = |made_for, level| {
                    let encoder = Encoder::<F16>::for_length(&to, &projection, made_for).unwrap();
                    let mut codes = vec![0_u8; subnormal.len()];
                    let words = RandomWords { generator: 7.into(), first_element: 0 };
                    encoder.with_level(level).encode_random(&subnormal, &mut codes, words);
                    codes
                };
                let by_core = codes(0, Level::Portable);
                for level in Level::available() {
                    assert!(codes(usize::MAX, level) == by_core, "{to}, {random:?}, {level:?}");
                }
            }
        }
    }
}

/// The element 2^64 − 1 is followed by the element 0, wherever vectors come to it.
#[test]
fn the_last_word_is_followed_by_the_first() {
    let projection = E5M2.default_projection().with_rounding(Rounding::stochastic_a(16).unwrap());
    let x: Vec<f32> = (0..300_u16).map(|i| 1.0 + f32::from(i) / 1024.0).collect();
    let encoder = Encoder::<f32>::for_length(&E5M2, &projection, usize::MAX).unwrap();
    for generator in generators(9, 3) {
        let words = |first_element| RandomWords { generator, first_element };
        for level in Level::available() {
            let encoder = encoder.clone().with_level(level);
            for before in [1, 4, 19, 140, 300] {
                let (mut whole, mut parts) = (vec![0_u8; x.len()], vec![0_u8; x.len()]);
                let first = u64::MAX - before as u64 + 1;
                encoder.encode_random(&x, &mut whole, words(first));
                encoder.encode_random(&x[..before], &mut parts[..before], words(first));
                encoder.encode_random(&x[before..], &mut parts[before..], words(0));
                assert_eq!(whole, parts, "{}, {level:?}, {before} before", generator.name());
            }
        }
    }
}

fn unsigned(formats: Vec<Format>) -> Vec<Format> {
    let list: Vec<Format> = formats.into_iter().filter(|format| !format.is_signed()).collect();
    assert!(list.len() > 50 / sample(), "many of these formats are unsigned");
    list
}

/// Unsigned formats, whose negative values depend on their words: from f32 under every rule, from
/// others under the default.
#[test]
fn levels_agree_without_signs() {
    for target in unsigned(narrow_formats()) {
        for projection in projections(&target) {
            agree::<f32, u8>(&target, &projection, &CLASSES, (70, 70));
        }
    }
    for (i, target) in unsigned(wide_formats()).into_iter().enumerate() {
        for projection in projections(&target) {
            agree::<f32, u16>(&target, &projection, &CLASSES, (70, 70));
        }
        let projection = target.default_projection();
        match i % 3 {
            0 => agree::<Bf16, u16>(&target, &projection, &CLASSES, (300, 300)),
            1 => agree::<F16, u16>(&target, &projection, &CLASSES, (300, 300)),
            _ => agree::<f64, u16>(&target, &projection, &CLASSES, (300, 300)),
        }
    }
}

trait Common {
    /// Returns whether it is measured with every class of data.
    fn name_is_common(&self) -> bool;
}

impl Common for Format {
    fn name_is_common(&self) -> bool {
        self.family() == smallfloat::Family::Tesla || self.family() == smallfloat::Family::MlDtypes
    }
}

#[test]
fn levels_agree_f32() {
    levels_agree::<f32>();
}

/// With few random bits a kernel does it, else the core.
#[test]
fn levels_agree_f64() {
    levels_agree::<f64>();
}

#[test]
fn levels_agree_halves() {
    levels_agree::<Bf16>();
    levels_agree::<F16>();
}

/// Pieces at any first element, of any length, give the bytes of the whole.
#[test]
fn pieces_are_the_whole() {
    let target = Format::cfloat8_1_5_2(15).unwrap();
    let bits = RandomBits::new(32, 0).unwrap();
    let projection = target.default_projection().with_rounding(Rounding::StochasticA(bits));
    let x: Vec<f32> = data("normal", &target, 5000, 11);
    let philox = Philox { seed: 1, stream: 2 };
    for level in Level::available() {
        let encoder = Encoder::<f32>::for_length(&target, &projection, usize::MAX).unwrap().with_level(level);
        let mut whole = vec![0_u8; x.len()];
        encoder.encode_random(&x, &mut whole, RandomWords { generator: philox.into(), first_element: 6 });
        for piece in [1, 3, 33, 2047, 2049] {
            let mut codes = vec![0_u8; x.len()];
            for (start, (x, codes)) in (0..).step_by(piece).zip(x.chunks(piece).zip(codes.chunks_mut(piece)))
            {
                encoder.encode_random(
                    x,
                    codes,
                    RandomWords { generator: philox.into(), first_element: 6 + start },
                );
            }
            assert_eq!(codes, whole, "pieces of {piece}");
        }
    }
}

/// How often a value moves away from zero, against its ν: both generators, on even ground and in
/// the hole.
#[test]
fn chances_are_nu() {
    const DRAWS: u16 = 50_000;
    let target = Format::cfloat8_1_4_3(7).unwrap();
    let bits = RandomBits::new(32, 0).unwrap();
    let projection = target.default_projection().with_rounding(Rounding::StochasticA(bits));
    let encoder = Encoder::<f32>::for_length(&target, &projection, usize::MAX).unwrap();
    // 2^-7 is one ninth of the way from 7·2^-10 to 2^-6.
    for (x, away, nu) in [(1.03125_f32, 0x39, 0.25), (1.0625, 0x39, 0.5), (0.0078125, 0x08, 1.0 / 9.0)] {
        for (generator, seed) in generators(0, 0).into_iter().zip(0..) {
            let mut codes = vec![0_u8; usize::from(DRAWS)];
            encoder.encode_random(
                &vec![x; usize::from(DRAWS)],
                &mut codes,
                RandomWords { generator, first_element: seed },
            );
            let ups: f64 = codes.iter().map(|&code| f64::from(u8::from(code == away))).sum();
            let (mean, deviation) = (nu * f64::from(DRAWS), (nu * (1.0 - nu) * f64::from(DRAWS)).sqrt());
            // Five standard deviations: fixed seeds, so this fails for a reason or never.
            assert!((ups - mean).abs() < 5.0 * deviation, "{x}, {}: {ups} of {mean}", generator.name());
        }
    }
}

/// A format whose smallest step lies far above all that the source has: nothing moves away from
/// zero.
#[test]
fn all_far_below_the_smallest_value() {
    let target: Format = "minifloat:k=8,p=3,bias=-90,specials=ieee".parse().unwrap();
    let bits = RandomBits::new(32, 0).unwrap();
    let projection = target.default_projection().with_rounding(Rounding::StochasticA(bits));
    let x = [0x0001, 0x8001, 0x3c00, 0xfbff].map(F16::from_bits).repeat(100);
    for level in Level::available() {
        let encoder = Encoder::<F16>::for_length(&target, &projection, usize::MAX).unwrap().with_level(level);
        let mut codes = vec![1_u8; x.len()];
        let [generator, _] = generators(3, 4);
        let events = encoder.encode_random(&x, &mut codes, RandomWords { generator, first_element: 0 });
        assert_eq!(codes, [0x00, 0x80, 0x00, 0x80].repeat(100), "{level:?}");
        assert_eq!((events.underflowed, events.zeros), (400, 400));
    }
}

/// A value close to the next code is inexact, whichever of its neighbours it becomes.
#[test]
fn single_values_are_inexact() {
    let target = Format::cfloat8_1_4_3(7).unwrap();
    let bits = RandomBits::new(8, 0).unwrap();
    let projection = target.default_projection().with_rounding(Rounding::StochasticA(bits));
    // Below 1.125, above 1, and in the middle.
    for x in [1.125 - 2_f32.powi(-20), 1.0 + 2_f32.powi(-7), 1.0625] {
        for level in Level::available() {
            let encoder =
                Encoder::<f32>::for_length(&target, &projection, usize::MAX).unwrap().with_level(level);
            for first_element in 0..64 {
                let mut code = [0_u8];
                let [generator, _] = generators(5, 6);
                let events = encoder.encode_random(&[x], &mut code, RandomWords { generator, first_element });
                assert!([0x38, 0x39].contains(&code[0]), "{code:x?}");
                assert_eq!(events.flags, Flags::INEXACT, "{x}, {level:?}");
            }
        }
    }
}
