//! Operations by vectors against the portable ones: codes and flags, all pairs, lengths and
//! offsets.

use crate::common::{narrow_formats, scramble};
use smallfloat::p3109::Specialization;
use smallfloat::{Flags, Format};
use smallfloat_kernels::{Elementwise, Level};

const BINARY: [&str; 11] = [
    "Add",
    "Subtract",
    "Multiply",
    "Minimum",
    "Maximum",
    "MinimumNumber",
    "MaximumNumber",
    "MinimumMagnitude",
    "MaximumMagnitude",
    "MinimumMagnitudeNumber",
    "MaximumMagnitudeNumber",
];

fn parse(text: &str) -> Specialization {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// All pairs of codes, with bits above a narrow format's width: they are ignored.
fn all_pairs() -> (Vec<u8>, Vec<u8>) {
    (0..=u16::MAX).map(u16::to_le_bytes).map(|[x, y]| (x, y)).unzip()
}

fn binary(kernel: &Elementwise, x: &[u8], y: &[u8]) -> (Vec<u8>, Flags) {
    let mut results = vec![0xa5_u8; x.len()];
    let flags = kernel.binary(x, y, &mut results, None);
    (results, flags)
}

/// Codes of both levels are the same for all pairs; flags are for single pairs of every kind too.
fn levels_agree(text: &str, pairs: &(Vec<u8>, Vec<u8>), state: &mut u64) {
    let kernel = Elementwise::new(&parse(text)).unwrap();
    let portable = kernel.clone().with_level(Level::Portable);
    let (x, y) = pairs;
    let expected = binary(&portable, x, y);
    for level in Level::available().filter(|&level| level != Level::Portable) {
        let kernel = kernel.clone().with_level(level);
        let found = binary(&kernel, x, y);
        let first = (0..x.len()).find(|&i| found.0[i] != expected.0[i]);
        let told = first.map(|i| (x[i], y[i], found.0[i], expected.0[i]));
        assert_eq!(told, None, "{text}: first different pair");
        assert_eq!(found.1, expected.1, "{text}");
        for most in [3; 60].into_iter().chain([6000; 8]) {
            let at = usize::try_from(scramble(state)).unwrap() % x.len();
            let length = 1 + usize::try_from(scramble(state)).unwrap() % most;
            let at = at..(at + length).min(x.len());
            let (x, y) = (&x[at.clone()], &y[at.clone()]);
            let (found, expected) = (binary(&kernel, x, y), binary(&portable, x, y));
            assert!(found == expected, "{text} of {x:x?}, {y:x?}: {:?} {:?}", found.1, expected.1);
        }
    }
}

#[test]
fn all_pairs_of_one_format() {
    let (pairs, mut state) = (all_pairs(), 3);
    for (i, format) in narrow_formats().iter().enumerate() {
        // Each operation meets a part of the formats, and each format some operations.
        for operation in BINARY.iter().cycle().skip(i * 2).take(2) {
            levels_agree(&format!("{operation}<{format}, {format}, {format}>"), &pairs, &mut state);
        }
    }
}

#[test]
fn all_pairs_of_mixed_formats() {
    let (pairs, mut state) = (all_pairs(), 5);
    let formats = narrow_formats();
    let mut any = || formats[usize::try_from(scramble(&mut state)).unwrap() % formats.len()];
    let texts: Vec<String> =
        (0..60).map(|i| format!("{}<{}, {}, {}>", BINARY[i % BINARY.len()], any(), any(), any())).collect();
    for text in texts {
        levels_agree(&text, &pairs, &mut state);
    }
}

/// Sums and products of signed formats of one width, whose destination may be narrower than the
/// operands and lack what they have.
#[test]
fn sums_and_products_of_mixed_formats() {
    let (pairs, mut state) = (all_pairs(), 505);
    let formats = narrow_formats();
    let signed: Vec<&Format> = formats.iter().filter(|f| f.is_signed() && f.trailing_bits() <= 3).collect();
    let mut choose = |from: usize| usize::try_from(scramble(&mut state) >> 8).unwrap() % from;
    for i in 0..200 {
        let x = signed[choose(signed.len())];
        let alike: Vec<&&Format> = signed.iter().filter(|format| format.width() == x.width()).collect();
        let [y, to] = [0, 1].map(|_| if choose(3) == 0 { alike[choose(alike.len())] } else { &x });
        let mode = ["NearestTiesToEven", "NearestTiesToAway", "TowardZero", "ToOdd"][choose(4)];
        let saturation = ["SatFinite", "SatPropagate", "SatNone"][choose(3)];
        let semantics = ["", ", semantics=ieee", ", semantics=p3109"][choose(3)];
        let operation = BINARY[i % 3];
        let text = format!("{operation}<{x}, {y}, {to}, ({mode}, {saturation}){semantics}>");
        if text.parse::<Specialization>().is_ok() {
            levels_agree(&text, &pairs, &mut 17);
        }
    }
}

#[test]
fn policies_and_semantics() {
    let (pairs, mut state) = (all_pairs(), 7);
    for format in ["e4m3fn", "e5m2", "e4m3fnuz", "cfloat8_1_5_2:bias=16", "binary8p3se", "binary8p4uf"] {
        for operation in BINARY {
            for projection in [
                "NearestTiesToEven, SatFinite",
                "NearestTiesToEven, SatPropagate",
                "NearestTiesToEven, SatNone",
                "NearestTiesToAway, SatNone",
                "TowardZero, SatPropagate",
                "TowardPositive, SatFinite",
                "TowardNegative, SatNone",
                "ToOdd, SatPropagate",
            ] {
                let projection = format!("({projection})");
                levels_agree(
                    &format!("{operation}<{format}, {format}, {format}, {projection}>"),
                    &pairs,
                    &mut state,
                );
            }
            for semantics in
                ["semantics=ieee", "semantics=p3109", "(TowardNegative, SatNone), semantics=ieee"]
            {
                levels_agree(
                    &format!("{operation}<{format}, {format}, {format}, {semantics}>"),
                    &pairs,
                    &mut state,
                );
            }
        }
    }
}

/// All 2^24 triples of a format, and the flags of short slices of them.
fn all_triples(text: &str) {
    let kernel = Elementwise::new(&parse(text)).unwrap();
    let portable = kernel.clone().with_level(Level::Portable);
    let (x, y) = all_pairs();
    let mut state = 11;
    for level in Level::available().filter(|&level| level != Level::Portable) {
        let kernel = kernel.clone().with_level(level);
        for z in 0..=u8::MAX {
            let z = vec![z; x.len()];
            let run = |kernel: &Elementwise, at: std::ops::Range<usize>| {
                let mut results = vec![0xa5_u8; at.len()];
                let flags = kernel.ternary(&x[at.clone()], &y[at.clone()], &z[at], &mut results, None);
                (results, flags)
            };
            let (found, expected) = (run(&kernel, 0..x.len()), run(&portable, 0..x.len()));
            let first = (0..x.len()).find(|&i| found.0[i] != expected.0[i]);
            let told = first.map(|i| (x[i], y[i], z[i], found.0[i], expected.0[i]));
            assert_eq!(told, None, "{text}: first different triple");
            assert_eq!(found.1, expected.1, "{text}");
            for _ in 0..30 {
                let at = usize::try_from(scramble(&mut state)).unwrap() % x.len();
                assert_eq!(
                    run(&kernel, at..at + 1),
                    run(&portable, at..at + 1),
                    "{text} of pair {at}, {}",
                    z[0]
                );
            }
        }
    }
}

#[test]
fn all_triples_of_several_formats() {
    for format in ["cfloat8_1_4_3:bias=7", "cfloat8_1_5_2:bias=20", "e4m3fn", "e5m2", "binary8p3se"] {
        all_triples(&format!("FMA<{format}, {format}, {format}, {format}>"));
    }
    all_triples("FMA<e4m3fn, e5m2, binary8p5uf, cfloat8_1_4_3:bias=11>");
    all_triples("FMA<e4m3fn, e4m3fn, e5m2, e4m3fn>");
}

/// Operations of one operand are looked up, by vectors too, with every code and in slices.
#[test]
fn all_codes_of_one_operand() {
    let (x, _) = all_pairs();
    let mut state = 19;
    let unary = |kernel: &Elementwise, x: &[u8]| {
        let mut results = vec![0xa5_u8; x.len()];
        let flags = kernel.unary(x, &mut results, None);
        (results, flags)
    };
    for format in ["e4m3fn", "e5m2", "cfloat8_1_4_3:bias=7", "binary8p3se", "binary6p3ue", "e2m1fn"] {
        for operation in ["Negate", "Abs", "Sqrt", "Exp2", "Recip", "Log", "Sin"] {
            let operation = parse(&format!("{operation}<{format}, {format}>"));
            for kernel in [Elementwise::new(&operation), Elementwise::without_flags(&operation)] {
                let kernel = kernel.unwrap();
                let portable = kernel.clone().with_level(Level::Portable);
                for level in Level::available() {
                    let kernel = kernel.clone().with_level(level);
                    assert_eq!(unary(&kernel, &x), unary(&portable, &x), "{operation} at {level:?}");
                    for _ in 0..200 {
                        let at = usize::try_from(scramble(&mut state)).unwrap() % x.len();
                        let length = usize::try_from(scramble(&mut state)).unwrap() % 4;
                        let x = &x[at..(at + length).min(x.len())];
                        assert_eq!(unary(&kernel, x), unary(&portable, x), "{operation} of {x:x?}");
                    }
                }
            }
        }
    }
}

/// Every length, and slices that start anywhere, leave their neighbours alone.
#[test]
fn lengths_and_offsets() {
    let format: Format = "cfloat8_1_4_3:bias=7".parse().unwrap();
    let mut state = 13;
    let mut codes = || -> Vec<u8> { (0..300).map(|_| scramble(&mut state).to_le_bytes()[2]).collect() };
    let (x, y, z) = (codes(), codes(), codes());
    let kernel = |name: &str, operands: usize| {
        let formats = vec![format.to_string(); operands + 1].join(", ");
        Elementwise::new(&parse(&format!("{name}<{formats}>"))).unwrap()
    };
    for (name, operands) in [("Add", 2), ("Minimum", 2), ("FMA", 3)] {
        let kernel = kernel(name, operands);
        let portable = kernel.clone().with_level(Level::Portable);
        let kernels: Vec<Elementwise> =
            Level::available().map(|level| kernel.clone().with_level(level)).collect();
        for length in 0..=257 {
            for offset in [0, 1, 7, 31] {
                let at = offset..offset + length;
                let apply = |kernel: &Elementwise| {
                    let mut results = vec![0x5a_u8; 300];
                    let (x, y, z) = (&x[at.clone()], &y[at.clone()], &z[at.clone()]);
                    let to = &mut results[at.clone()];
                    let flags = match operands {
                        2 => kernel.binary(x, y, to, None),
                        _ => kernel.ternary(x, y, z, to, None),
                    };
                    (results, flags)
                };
                for kernel in &kernels {
                    assert_eq!(apply(kernel), apply(&portable), "{name}, {at:?}, {:?}", kernel.level());
                }
            }
        }
    }
}
