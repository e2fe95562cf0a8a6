//! What the tests share: formats, presets, and data of every class.
#![allow(dead_code, reason = "each test file uses its part")]

use smallfloat::{Format, Preset, Projection, Saturation, formats};
use smallfloat_kernels::Element;

/// One format in so many is tested: more than one where instructions are emulated
/// (`verification/avx512`).
pub(crate) fn sample() -> usize {
    std::env::var("SMALLFLOAT_SAMPLE").ok().and_then(|n| n.parse().ok()).unwrap_or(1)
}

/// Formats of at most 8 bits: the catalogue's, P3109's at every precision, and shapes that no
/// standard has.
pub(crate) fn narrow_formats() -> Vec<Format> {
    let mut list: Vec<Format> =
        formats::CATALOGUE.iter().map(|row| row.format).filter(|f| f.width() <= 8).collect();
    let mut names: Vec<String> = Vec::new();
    for bias in [0, 1, 7, 15, 31, 62, 63] {
        for name in ["cfloat8_1_4_3", "cfloat8_1_5_2"] {
            names.push(format!("{name}:bias={bias}"));
            names.push(format!("{name}:bias={bias},subnormals=gradual"));
        }
    }
    for k in 3..=8 {
        for p in 1..=k {
            for suffix in ["se", "sf", "ue", "uf"] {
                names.push(format!("binary{k}p{p}{suffix}"));
            }
        }
    }
    for specials in ["finite", "ieee", "nan-allones", "nan-negzero", "p3109-extended"] {
        for subnormals in ["gradual", "tesla", "flush", "none"] {
            for (k, p, bias) in [
                (8, 5, 4),
                (8, 2, 20),
                (7, 4, 9),
                (6, 3, 0),
                (8, 4, 118),
                (8, 4, 130),
                (8, 3, -90),
                (8, 4, -91),
                (8, 4, -92),
            ] {
                for signed in [true, false] {
                    names.push(format!(
                        "minifloat:k={k},p={p},bias={bias},signed={signed},specials={specials},subnormals={subnormals}"
                    ));
                }
            }
        }
    }
    list.extend(names.iter().filter_map(|name| name.parse::<Format>().ok()));
    assert!(list.len() > 300, "most of these names are formats");
    list.into_iter().step_by(sample()).collect()
}

/// Formats of 9 to 16 bits: the catalogue's, Tesla's, P3109's, those with the exponents of
/// binary32, and others.
pub(crate) fn wide_formats() -> Vec<Format> {
    let mut list: Vec<Format> =
        formats::CATALOGUE.iter().map(|row| row.format).filter(|f| (9..=16).contains(&f.width())).collect();
    let mut names: Vec<String> = Vec::new();
    for bias in [0, 1, 15, 31, 62, 63] {
        names.push(format!("shp:bias={bias}"));
        names.push(format!("shp:bias={bias},subnormals=gradual"));
    }
    for (k, p) in
        [(9, 4), (10, 1), (12, 5), (12, 7), (13, 8), (14, 9), (16, 8), (16, 11), (16, 12), (16, 14), (16, 15)]
    {
        for suffix in ["se", "sf", "ue", "uf"] {
            names.push(format!("binary{k}p{p}{suffix}"));
        }
    }
    for (k, p) in [(9, 4), (12, 4), (13, 5), (15, 7), (16, 8), (16, 10), (16, 13)] {
        names.push(format!("ieee:k={k},p={p}"));
    }
    // Twice the classes of its binary64 magnitudes are 2^64 and 8: a product that wraps would be a
    // small table.
    names.push("minifloat:k=16,p=5,bias=4096,signed=false,specials=finite".into());
    for specials in ["finite", "ieee", "nan-allones", "nan-negzero", "p3109-extended"] {
        for subnormals in ["gradual", "tesla", "flush", "none"] {
            for (k, p, bias) in
                [(16, 11, 4), (12, 7, 20), (16, 8, 127), (12, 4, 127), (16, 9, 115), (11, 6, -60)]
            {
                for signed in [true, false] {
                    names.push(format!(
                        "minifloat:k={k},p={p},bias={bias},signed={signed},specials={specials},subnormals={subnormals}"
                    ));
                }
            }
        }
    }
    list.extend(names.iter().filter_map(|name| name.parse::<Format>().ok()));
    assert!(list.len() > 200, "most of these names are formats");
    list
}

/// Projections to nearest even that differ in what they do with the unrepresentable.
pub(crate) fn projections(format: &Format) -> Vec<Projection> {
    let presets = [
        Preset::Tesla,
        Preset::Ieee,
        Preset::OcpSaturate,
        Preset::OcpNoSaturate,
        Preset::MlDtypes,
        Preset::P3109SatFinite,
    ];
    let mut list = vec![format.default_projection()];
    list.extend(presets.map(|preset| preset.projection(format)));
    for &saturation in Saturation::ALL {
        list.push(format.default_projection().with_saturation(saturation));
    }
    list.dedup();
    list
}

/// A linear congruential generator's upper half.
pub(crate) fn scramble(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    *state >> 32
}

/// The classes of data that kernels must not tell apart by speed, nor by bits.
pub(crate) const CLASSES: [&str; 10] =
    ["random bits", "normal", "subnormal", "nan", "infinite", "zeros", "ties", "exact", "tiny", "huge"];

/// `length` elements of a class, made for a format: near its values and midpoints.
pub(crate) fn data<T: Element>(class: &str, target: &Format, length: usize, seed: u64) -> Vec<T> {
    let mut state = seed ^ 0x9e37_79b9_7f4a_7c15;
    let stored = T::FORMAT.trailing_bits();
    let top = T::FORMAT.max_code();
    let exponent_of = |x: smallfloat::Datum| if x.is_zero() { 0 } else { x.exponent_of_leading_bit() };
    let (low, high) = (exponent_of(target.min_positive()), exponent_of(target.max_finite()));
    let scaled = |state: &mut u64, exponent: i32, bits: u64| {
        let sign = (scramble(state) & 1) << (T::FORMAT.width() - 1);
        let clamped = exponent.clamp(T::FORMAT.exponent_range().0, T::FORMAT.exponent_range().1);
        let power = T::FORMAT.encode(smallfloat::Datum::finite(false, 1, clamped)).unwrap_or(0);
        T::from_bits(sign | power | bits & ((1 << stored) - 1))
    };
    let span = u64::from((high - low + 4).unsigned_abs());
    (0..length)
        .map(|_| {
            let word = scramble(&mut state) << 32 | scramble(&mut state);
            let exponent = low - 2 + i32::try_from(scramble(&mut state) % span).unwrap_or(0);
            match class {
                "normal" => scaled(&mut state, exponent, word),
                "subnormal" => T::from_bits(word & (1 << (T::FORMAT.width() - 1) | ((1 << stored) - 1))),
                "nan" if !word.is_multiple_of(3) => {
                    let exponents = top >> 1 >> stored << stored;
                    T::from_bits(
                        exponents | word & ((1 << stored) - 1) | (word >> 40 & 1) << (T::FORMAT.width() - 1),
                    )
                }
                "infinite" if !word.is_multiple_of(3) => {
                    T::from_bits(top >> 1 >> stored << stored | (word >> 40 & 1) << (T::FORMAT.width() - 1))
                }
                "zeros" if !word.is_multiple_of(3) => {
                    T::from_bits((word >> 40 & 1) << (T::FORMAT.width() - 1))
                }
                "ties" => {
                    // A few bits set after the leading one: values, midpoints, and their
                    // neighbours.
                    let keep = target.precision().min(stored);
                    let bits = word & (((1 << keep) - 1) << (stored - keep));
                    let near = [0, 0, 1, u64::MAX][usize::try_from(word >> 60 & 3).unwrap_or(0)];
                    scaled(&mut state, exponent, bits.wrapping_add(near))
                }
                "exact" => {
                    let (code, projection) = (word & target.max_code(), Preset::Ieee.projection(&T::FORMAT));
                    T::from_bits(smallfloat::convert(code, target, &T::FORMAT, &projection).value)
                }
                "tiny" => scaled(&mut state, low - 2 + i32::try_from(word % 4).unwrap_or(0), word >> 8),
                "huge" => scaled(&mut state, high - 1 + i32::try_from(word % 4).unwrap_or(0), word >> 8),
                _ => T::from_bits(word & top),
            }
        })
        .collect()
}
