//! Every level against the core: formats of 8 and 16 bits, every deterministic mode, every source,
//! codes in either storage.

use crate::common::{CLASSES, data, narrow_formats, projections, wide_formats};
use smallfloat::{Flags, Format, Projection, RandomBits, Rounding, random::Philox};
use smallfloat_kernels::{Bf16, Code, Element, Encoder, EventCounts, F16, Level, RandomWords};

fn accelerated() -> impl Iterator<Item = Level> {
    Level::available().filter(|&level| level != Level::Portable)
}

/// Encodes at every level, counted and uncounted, and compares with the expected codes and events.
fn compare<T: Element + std::fmt::Debug + PartialEq, C: Code + std::fmt::Debug + PartialEq>(
    portable: &Encoder<T>,
    x: &[T],
    (expected, events): (&[C], &EventCounts),
    what: &str,
) {
    for level in accelerated() {
        let encoder = portable.clone().with_level(level);
        let mut codes = vec![C::from_code(0xaaaa); x.len()];
        let found = encoder.encode(x, &mut codes);
        let first = codes.iter().zip(expected).position(|(a, b)| a != b);
        assert_eq!(
            first.map(|i| (x[i], x[i].bits(), codes[i], expected[i])),
            None,
            "{}, {what}, {level:?}",
            encoder.format()
        );
        assert_eq!(found, *events, "{}, {what}, {level:?}", encoder.format());
        codes.fill(C::from_code(0xaaaa));
        encoder.encode_uncounted(x, &mut codes);
        assert!(codes == expected, "{}, {what}, {level:?}, uncounted", encoder.format());
    }
}

/// Three projections of a mode; all of them for a few formats.
fn some_projections(target: &Format, turn: usize) -> Vec<Projection> {
    let all = projections(target);
    let keep = if turn.is_multiple_of(9) { all.len() } else { 3 };
    (0..keep).map(|i| all[(turn + i) % all.len()]).collect()
}

fn modes_agree<T: Element + std::fmt::Debug + PartialEq, C: Code + std::fmt::Debug + PartialEq>(
    targets: &[Format],
) {
    for (turn, target) in targets.iter().enumerate() {
        let inputs: Vec<(&str, Vec<T>)> =
            CLASSES.iter().map(|class| (*class, data(class, target, 100, turn as u64))).collect();
        for (i, rounding) in Rounding::DETERMINISTIC.iter().copied().enumerate() {
            for projection in some_projections(target, turn + i) {
                let projection = projection.with_rounding(rounding);
                // For so few elements the reference is the core itself.
                let portable =
                    Encoder::<T>::for_length(target, &projection, 0).unwrap().with_level(Level::Portable);
                for (class, x) in &inputs {
                    let mut expected = vec![C::from_code(0); x.len()];
                    let events = portable.encode(x, &mut expected);
                    compare(&portable, x, (&expected, &events), &format!("{projection:?}, {class}"));
                }
            }
        }
    }
}

/// Of the values that a format without a sign meets with a minus sign, those up to a bound become
/// zero and all others are refused: those around the bound, each alone.
#[test]
fn negative_values_up_to_a_bound_become_zero() {
    for name in [
        "binary8p4ue",
        "binary6p3uf",
        "ue4m3",
        "minifloat:k=8,p=3,bias=9,signed=false,specials=ieee,subnormals=flush",
        "minifloat:k=7,p=4,bias=7,signed=false,specials=finite,subnormals=flush",
        "minifloat:k=6,p=3,bias=4,signed=false,specials=finite,subnormals=tesla",
        "minifloat:k=12,p=7,bias=20,signed=false,specials=ieee",
    ] {
        let format: Format = name.parse().unwrap();
        for &rounding in Rounding::DETERMINISTIC {
            let projection = format.default_projection().with_rounding(rounding);
            // For so few elements this is the core itself.
            let portable =
                Encoder::<f32>::for_length(&format, &projection, 0).unwrap().with_level(Level::Portable);
            let becomes_zero = |bits: &u32| {
                let events = portable.encode(&[-f32::from_bits(*bits)], &mut [0_u16]);
                events.flags.intersection(Flags::INVALID | Flags::OVERFLOW).is_empty()
            };
            let (mut low, mut high) = (0, f32::MAX.to_bits());
            assert!(becomes_zero(&low) && !becomes_zero(&high), "{name}, {rounding:?}");
            while high - low > 1 {
                let middle = low.midpoint(high);
                if becomes_zero(&middle) { low = middle } else { high = middle }
            }
            for bits in low.saturating_sub(2)..=high + 2 {
                for length in [1, 70] {
                    let x = vec![-f32::from_bits(bits); length];
                    let what = format!("{rounding:?}, -{bits:#x}");
                    let mut expected = vec![0_u16; length];
                    let events = portable.encode(&x, &mut expected);
                    compare(&portable, &x, (&expected, &events), &what);
                    if format.width() <= 8 {
                        let mut expected = vec![0_u8; length];
                        let events = portable.encode(&x, &mut expected);
                        compare(&portable, &x, (&expected, &events), &what);
                    }
                }
            }
        }
    }
}

#[test]
fn bytes_from_f32() {
    modes_agree::<f32, u8>(&narrow_formats());
}

#[test]
fn bytes_from_f64() {
    modes_agree::<f64, u8>(&narrow_formats());
}

#[test]
fn bytes_from_halves() {
    let narrow: Vec<Format> = narrow_formats().into_iter().step_by(2).collect();
    modes_agree::<F16, u8>(&narrow);
    modes_agree::<Bf16, u8>(&narrow);
}

#[test]
fn half_words_from_f32() {
    modes_agree::<f32, u16>(&wide_formats());
}

#[test]
fn half_words_from_f64() {
    modes_agree::<f64, u16>(&wide_formats());
}

#[test]
fn half_words_from_halves() {
    let wide: Vec<Format> = wide_formats().into_iter().step_by(2).collect();
    modes_agree::<F16, u16>(&wide);
    modes_agree::<Bf16, u16>(&wide);
}

/// Narrow codes in wide storage.
#[test]
fn bytes_in_half_words() {
    let narrow: Vec<Format> = narrow_formats().into_iter().step_by(3).collect();
    modes_agree::<f32, u16>(&narrow);
    modes_agree::<f64, u16>(&narrow);
}

/// StochasticA into half-words.
#[test]
fn stochastic_half_words() {
    fn agree<T: Element + std::fmt::Debug + PartialEq>() {
        for (turn, target) in wide_formats().into_iter().enumerate() {
            for count in [32, 1, 9] {
                let bits = RandomBits::new(count, 0).unwrap();
                let projection = target.default_projection().with_rounding(Rounding::StochasticA(bits));
                let portable = Encoder::<T>::for_length(&target, &projection, usize::MAX)
                    .unwrap()
                    .with_level(Level::Portable);
                for class in CLASSES {
                    let x: Vec<T> = data(class, &target, 100, turn as u64);
                    let words =
                        RandomWords { generator: Philox { seed: 5, stream: 1 }.into(), first_element: 3 };
                    let mut expected = vec![0_u16; x.len()];
                    let expected_events = portable.encode_random(&x, &mut expected, words);
                    for level in accelerated() {
                        let mut codes = vec![0xaaaa_u16; x.len()];
                        let events = portable.clone().with_level(level).encode_random(&x, &mut codes, words);
                        let first = codes.iter().zip(&expected).position(|(a, b)| a != b);
                        assert_eq!(
                            first.map(|i| (x[i], x[i].bits(), codes[i], expected[i])),
                            None,
                            "{target}, {count} bits, {class}"
                        );
                        assert_eq!(events, expected_events, "{target}, {count} bits, {class}");
                    }
                }
            }
        }
    }
    agree::<f32>();
    agree::<Bf16>();
    agree::<F16>();
    agree::<f64>();
}

/// Every value and midpoint of 16-bit formats with their neighbours in binary32 and binary64, in
/// every mode.
#[test]
fn every_place_of_half_words() {
    let all = std::env::var_os("SMALLFLOAT_EXTENSIVE").is_some();
    let names =
        ["shp:bias=31", "uhp", "bfloat16", "binary16", "binary16p11se", "shp:bias=63,subnormals=gradual"];
    for target in names.iter().map(|name| name.parse::<Format>().unwrap()) {
        let step = if all { 1 } else { 37 };
        let mut places: Vec<f64> = Vec::new();
        for code in (0..target.max_code() >> 1).step_by(step) {
            let (value, next) = (target.decode(code).to_f64(), target.decode(code + 1).to_f64());
            let (Some(value), Some(next)) = (value, next) else { continue };
            if value.is_finite() && next.is_finite() {
                places.extend([value, value / 2.0 + next / 2.0, -value, -value / 2.0 - next / 2.0]);
            }
        }
        let around =
            |step: i64| places.iter().map(move |x| f64::from_bits(x.to_bits().wrapping_add_signed(step)));
        let wide: Vec<f64> = [-1, 0, 1].into_iter().flat_map(around).collect();
        #[expect(
            clippy::cast_possible_truncation,
            reason = "places are exact in binary32; their neighbours there are meant"
        )]
        let narrow: Vec<f32> = places
            .iter()
            .flat_map(|&x| {
                [-1, 0, 1].map(|step| f32::from_bits((x as f32).to_bits().wrapping_add_signed(step)))
            })
            .collect();
        for &rounding in Rounding::DETERMINISTIC {
            let projection = target.default_projection().with_rounding(rounding);
            check_places::<_, u16>(&target, &projection, &wide);
            check_places::<_, u16>(&target, &projection, &narrow);
        }
    }
}

/// Every value, midpoint and quarter of narrower formats with their neighbours in binary32,
/// in every mode.
#[test]
fn every_place_of_bytes() {
    for target in narrow_formats().into_iter().filter(|format| format.precision() > 1) {
        let values = target.codes().filter_map(|code| target.decode(code).to_f64());
        let mut values: Vec<f64> = values.filter(|x| x.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        let between = |pair: &[f64]| [0.0, 0.25, 0.5, 0.75].map(|part| pair[0] + part * (pair[1] - pair[0]));
        let beyond = values.last().map_or(0.0, |x| 1.0625 * x);
        let places =
            values.windows(2).flat_map(between).chain([1.0, 2.0, 3.0, 4.0].map(|times| times * beyond));
        #[expect(
            clippy::cast_possible_truncation,
            reason = "places are exact in binary32; their neighbours there are meant"
        )]
        let x: Vec<f32> = places
            .flat_map(|x| [x as f32, -x as f32])
            .flat_map(|x| [-1, 0, 1].map(|step| f32::from_bits(x.to_bits().wrapping_add_signed(step))))
            .collect();
        for &rounding in Rounding::DETERMINISTIC {
            check_places::<_, u8>(&target, &target.default_projection().with_rounding(rounding), &x);
        }
    }
}

fn check_places<T: Element + std::fmt::Debug + PartialEq, C: Code + std::fmt::Debug + PartialEq>(
    target: &Format,
    projection: &Projection,
    x: &[T],
) {
    let portable = Encoder::<T>::for_length(target, projection, 0).unwrap().with_level(Level::Portable);
    let mut expected = vec![C::from_code(0); x.len()];
    let events = portable.encode(x, &mut expected);
    compare(&portable, x, (&expected, &events), &format!("{projection:?}"));
}

/// All binary32 values, or one in 65536 of them, in 16-bit formats.
#[test]
fn sweep_of_binary32() {
    let extensive = std::env::var_os("SMALLFLOAT_EXTENSIVE").is_some();
    for name in ["shp:bias=31", "uhp", "binary16", "bfloat16"] {
        let target: Format = name.parse().unwrap();
        let portable = Encoder::<f32>::for_length(&target, &target.default_projection(), usize::MAX)
            .unwrap()
            .with_level(Level::Portable);
        let (mut expected, mut codes) = (vec![0_u16; 1 << 16], vec![0_u16; 1 << 16]);
        for block in 0..1_u32 << 16 {
            if !extensive && block != 77 {
                continue;
            }
            let word = |i: u32| {
                if extensive { block << 16 | i } else { i << 16 | i.wrapping_mul(0x9e37) & 0xffff }
            };
            let x: Vec<f32> = (0..1 << 16).map(|i| f32::from_bits(word(i))).collect();
            let expected_events = portable.encode(&x, &mut expected);
            for level in accelerated() {
                let events = portable.clone().with_level(level).encode(&x, &mut codes);
                assert!(codes == expected, "{target}, {block:#06x}");
                assert_eq!(events, expected_events, "{target}, {block:#06x}");
            }
        }
    }
}

/// Slices of more than a block, nearly all alike: no counter is too small, and flags are found
/// wherever they are raised.
#[test]
fn long_slices_of_half_words() {
    const LENGTH: usize = 4500;
    let values = [0.0, -0.0, 1.0, 1.03, 1e-40, 7e-8, 1e-9, 65519.9, 1e5, 3.4e38, f32::INFINITY, f32::NAN];
    for name in ["binary16", "bfloat16"] {
        let target: Format = name.parse().unwrap();
        for projection in projections(&target) {
            let portable = Encoder::<f32>::for_length(&target, &projection, usize::MAX)
                .unwrap()
                .with_level(Level::Portable);
            for (i, background) in values.into_iter().enumerate() {
                let mut x = vec![background; LENGTH];
                for other in [1.0, -values[(i + 1) % values.len()], -f32::NAN] {
                    x[LENGTH - 17 * i - 1] = other;
                    let mut expected = vec![0_u16; LENGTH];
                    let events = portable.encode(&x, &mut expected);
                    compare(
                        &portable,
                        &x,
                        (&expected, &events),
                        &format!("{projection:?}, {other} in {background}"),
                    );
                }
            }
        }
    }
}

/// Every length to 257 at every offset to 31, with guards on both sides, of both storages and a
/// rare mode.
#[test]
fn lengths_and_offsets() {
    fn agree<T: Element + std::fmt::Debug + PartialEq, C: Code + std::fmt::Debug + PartialEq>(
        name: &str,
        rounding: Rounding,
    ) {
        let target: Format = name.parse().unwrap();
        let projection = target.default_projection().with_rounding(rounding);
        let portable = Encoder::<T>::for_length(&target, &projection, 0).unwrap().with_level(Level::Portable);
        let x: Vec<T> = data("random bits", &target, 300, 7);
        let guard = C::from_code(0x5555);
        for level in accelerated() {
            let encoder = portable.clone().with_level(level);
            for length in 0..=257 {
                let offset = length * 7 % 32;
                let source = &x[offset..offset + length];
                let (mut expected, mut codes) = (vec![C::from_code(0); length], vec![guard; 32 + 257 + 64]);
                let expected_events = portable.encode(source, &mut expected);
                let events = encoder.encode(source, &mut codes[offset..offset + length]);
                assert_eq!(events, expected_events, "{length} at {offset}");
                assert!(codes[offset..offset + length] == expected[..], "{length} at {offset}");
                let outside = codes[..offset].iter().chain(&codes[offset + length..]);
                assert!(
                    outside.into_iter().all(|code| *code == guard),
                    "{length} at {offset}: written outside"
                );
            }
        }
    }
    agree::<f32, u16>("shp:bias=31", Rounding::NearestEven);
    agree::<f32, u16>("binary16", Rounding::NearestEven);
    agree::<f32, u16>("bfloat16", Rounding::NearestEven);
    agree::<f64, u16>("uhp", Rounding::TowardNegative);
    agree::<f64, u8>("e4m3fn", Rounding::NearestEven);
    agree::<f32, u8>("cfloat8_1_4_3:bias=7", Rounding::ToOdd);
    agree::<Bf16, u16>("bfloat16", Rounding::NearestAway);
}
