//! Coverage of conversions into lists of values, against arithmetic of its own.
#![expect(clippy::float_cmp, reason = "values are equal or not")]

mod published;

use std::collections::BTreeSet;

use smallfloat_conformance::coverage::Coverage;
use smallfloat_conformance::vectors::{CheckOptions, FixedUnit};

use published::NF4;

fn unit(operation: &str) -> FixedUnit {
    operation.parse().expect("a unit")
}

type Bins = BTreeSet<Vec<String>>;

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// The bins of a cross that are reachable, by their words, and those that were reached.
fn bins(coverage: &Coverage, cross: &str) -> [Bins; 2] {
    let cross = coverage.crosses().find(|found| found.name() == cross).expect("a cross of the unit");
    let reached: Bins = cross.reached().map(|bin| words(&bin.words)).collect();
    let all = cross.missing().map(|bin| words(&bin.words)).chain(reached.iter().cloned());
    [all.collect(), reached]
}

/// A source of numbers: all codes that are not NaN, with their values.
fn bfloat16() -> Vec<(u64, f64)> {
    let all = (0..1_u32 << 16).map(|code| (u64::from(code), f64::from(f32::from_bits(code << 16))));
    all.filter(|(_, x)| !x.is_nan()).collect()
}

/// E4M3FN: 1 sign, 4 exponent and 3 significand bits, bias 7, NaN 0x7f.
fn e4m3() -> Vec<(u64, f64)> {
    let value = |code: i32| {
        let magnitude = match (code >> 3 & 15, code & 7) {
            (0, fraction) => f64::from(fraction) * 2.0_f64.powi(-9),
            (field, fraction) => f64::from(8 + fraction) * 2.0_f64.powi(field - 10),
        };
        if code < 128 { magnitude } else { -magnitude }
    };
    (0..256_u16).filter(|code| code & 127 != 127).map(|code| (code.into(), value(code.into()))).collect()
}

/// Which of its own bins the numbers of a source have: of values, middles and ends. `list` is
/// ascending, with codes; `is_up` says whether a tie becomes the higher of two values.
fn expected(
    source: &[(u64, f64)],
    list: &[(u32, f32)],
    is_up: impl Fn((u32, f32), (u32, f32)) -> bool,
) -> [Bins; 3] {
    let [mut values, mut middles, mut ends] = [const { Bins::new() }; 3];
    let value = |rank: usize| f64::from(list[rank].1);
    // Sums of two values of binary32 in a few binades are exact in binary64.
    let middle = |rank: usize| f64::midpoint(value(rank), value(rank + 1));
    let last = list.len() - 1;
    let becomes = |x: f64| {
        (0..last)
            .filter(|rank| x > middle(*rank) || x == middle(*rank) && is_up(list[*rank], list[*rank + 1]))
            .count()
    };
    let largest = source.iter().map(|(_, x)| *x).filter(|x| x.is_finite()).fold(0.0, f64::max);
    for (_, x) in source {
        let (code, value) = list[becomes(*x)];
        let side = match x.total_cmp(&f64::from(value)) {
            _ if *x == f64::from(value) => "from the value",
            std::cmp::Ordering::Less => "from below the value",
            _ => "from above the value",
        };
        values.insert(words(&[&format!("code {code:x}, {value}"), side]));
        let (lowest, highest) = (f64::from(list[0].1), f64::from(list[last].1));
        ends.insert(words(&[match *x {
            x if x == f64::NEG_INFINITY => "negative infinity",
            x if x == -largest && x < lowest => "largest negative value, below the lowest",
            x if x < lowest => "below the lowest value",
            x if x == lowest => "lowest value",
            x if x < highest => "between the ends",
            x if x == highest => "highest value",
            x if x == f64::INFINITY => "infinity",
            x if x == largest => "largest value, above the highest",
            _ => "above the highest value",
        }]));
    }
    for rank in 0..last {
        let name = format!("between {} and {}", list[rank].1, list[rank + 1].1);
        let mut add = |place: &str| middles.insert(words(&[&name, place]));
        let finite = || source.iter().map(|(_, x)| *x).filter(|x| x.is_finite());
        // Those that become one of the two; of a coarse source there may be none.
        if finite().any(|x| x < middle(rank) && becomes(x) == rank) {
            add("just below");
        }
        if finite().any(|x| x > middle(rank) && becomes(x) == rank + 1) {
            add("just above");
        }
        if finite().any(|x| x == middle(rank)) {
            let is_up = is_up(list[rank], list[rank + 1]);
            add(if is_up { "tie, becomes the higher value" } else { "tie, becomes the lower value" });
        }
    }
    [values, middles, ends]
}

#[test]
fn bins_of_lists_are_those_that_all_numbers_have() {
    let integers = |bits: u32, step: f32, lowest: i16| -> Vec<(u32, f32)> {
        let codes = lowest..1 << (bits - 1);
        codes.map(|i| (u32::from(i.cast_unsigned()) & ((1 << bits) - 1), f32::from(i) * step)).collect()
    };
    let nf4: Vec<(u32, f32)> = (0..).zip(NF4).collect();
    let (lower, even) = (|_, _| false, |_: (u32, f32), (code, _): (u32, f32)| code % 2 == 0);
    let mxint8 = integers(8, 1.0 / 64.0, -127);
    for (name, source, [values, middles, ends]) in [
        ("Convert<bfloat16, nf4>", bfloat16(), expected(&bfloat16(), &nf4, lower)),
        ("Convert<e4m3fn, nf4>", e4m3(), expected(&e4m3(), &nf4, lower)),
        ("Convert<bfloat16, int4>", bfloat16(), expected(&bfloat16(), &integers(4, 1.0, -8), even)),
        ("Convert<e4m3fn, int8>", e4m3(), expected(&e4m3(), &integers(8, 1.0, -128), even)),
        ("Convert<e4m3fn, mxint8>", e4m3(), expected(&e4m3(), &mxint8, even)),
    ] {
        let mut coverage = Coverage::new(unit(name)).expect("a unit");
        assert!(coverage.is_exhaustive());
        for (cross, bins_of_cross) in [("values", &values), ("middles", &middles), ("ends", &ends)] {
            assert_eq!(&bins(&coverage, cross)[0], bins_of_cross, "{name}: {cross}");
        }
        for (code, _) in source {
            coverage.count(&[code]).expect("one operand");
        }
        let (hit, reachable) = coverage.total();
        assert_eq!(hit, reachable, "{name}");
    }
}

/// Of a source of 32 bits not all codes are tried, and still every bin is decided: those of a
/// narrower format with its values are among them.
#[test]
fn every_bin_of_a_wide_source_is_known() {
    let wide = Coverage::new(unit("Convert<binary32, nf4>")).expect("a unit");
    assert!(!wide.is_exhaustive());
    assert_eq!(wide.crosses().map(|cross| cross.unknown().count()).sum::<usize>(), 0);
    let narrow = Coverage::new(unit("Convert<bfloat16, nf4>")).expect("a unit");
    for cross in ["values", "ends"] {
        assert!(bins(&wide, cross)[0].is_superset(&bins(&narrow, cross)[0]), "{cross}");
    }
    // Binary32 has every value and the middles of two that are sums of 24 bits.
    assert_eq!(bins(&wide, "values")[0].len(), 3 * 16);
    let ties = (0..15).filter(|rank| {
        let middle = f64::midpoint(NF4[*rank].into(), NF4[rank + 1].into());
        #[expect(clippy::cast_possible_truncation, reason = "this asks what is lost")]
        let narrow = middle as f32;
        f64::from(narrow) == middle
    });
    assert_eq!(bins(&wide, "middles")[0].len(), 2 * 15 + ties.count());
}

/// A file without ties and without what lies beyond the ends misses these.
#[test]
fn a_poor_file_misses_what_it_lacks() {
    let poor: Vec<(u64, f64)> =
        bfloat16().into_iter().filter(|(_, x)| x.abs() <= 7.0 && (x.fract().abs() != 0.5)).collect();
    // What the results are does not matter.
    let lines = poor.iter().map(|(code, _)| format!("{code:04x} 0\n"));
    let text: String =
        std::iter::once("# operation: Convert<bfloat16, int4>\n".into()).chain(lines).collect();
    let coverage = Coverage::of_vectors(text.as_bytes(), &CheckOptions::default()).expect("vectors");
    assert_eq!(coverage.vectors(), poor.len() as u64);
    let missing = |cross: &str| {
        let [all, reached] = bins(&coverage, cross);
        all.difference(&reached).cloned().collect::<Bins>()
    };
    let ties = missing("middles");
    // The fifteen ties, and both neighbours of −7.5.
    assert_eq!(ties.iter().filter(|bin| bin[1].starts_with("tie")).count(), 15);
    let others: Vec<_> = ties.iter().filter(|bin| !bin[1].starts_with("tie")).cloned().collect();
    assert_eq!(
        others,
        [words(&["between -8 and -7", "just above"]), words(&["between -8 and -7", "just below"])]
    );
    let ends: Vec<String> = missing("ends").into_iter().flatten().collect();
    assert_eq!(
        ends,
        [
            "above the highest value",
            "below the lowest value",
            "infinity",
            "largest negative value, below the lowest",
            "largest value, above the highest",
            "lowest value",
            "negative infinity",
        ]
    );
    // Vectors for what is missing reach all of it.
    let mut closed = coverage.clone();
    for operands in coverage.closing() {
        closed.count(&operands).expect("one operand");
    }
    assert_eq!(closed.percent(), 100.0);
}
