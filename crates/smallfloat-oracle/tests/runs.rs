//! The run lists against conversion of single inputs.

use std::time::Instant;

use smallfloat_oracle::{
    OracleFormat, Policy, Rounding, Run, Subnormals, Table, convert, f32_runs, formats, preset,
};

fn cases() -> Vec<(OracleFormat, Policy)> {
    let mut cases = Vec::new();
    for (format, name) in [
        (formats::cfloat8_1_4_3(7), "tesla"),
        (formats::cfloat8_1_5_2(63), "tesla"),
        (formats::E4M3FN, "ocp-saturate"),
        (formats::E4M3FNUZ, "ml-dtypes"),
        (formats::E5M2, "ieee"),
        (formats::E8M0FNU, "ml-dtypes"),
        (formats::E2M1FN, "ml-dtypes"),
        (formats::p3109(8, 4, true, true), "p3109-satnone"),
        (formats::p3109(8, 1, false, false), "p3109-satfinite"),
        (formats::p3109(5, 5, false, true), "p3109-satpropagate"),
        (OracleFormat { subnormals: Subnormals::None, ..formats::E4M3FN }, "ieee"),
        (OracleFormat { subnormals: Subnormals::Flush, ..formats::E4M3FN }, "ieee"),
    ] {
        let policy = preset(name, &format);
        for rounding in [
            policy.rounding,
            Rounding::NearestAway,
            Rounding::TowardPositive,
            Rounding::TowardNegative,
            Rounding::TowardZero,
            Rounding::ToOdd,
            Rounding::StochasticA { n: 5, r: 7 },
            Rounding::StochasticB { n: 2, r: 0 },
            Rounding::StochasticC { n: 32, r: 0x8000_0000 },
        ] {
            cases.push((format, policy.with_rounding(rounding)));
        }
    }
    cases
}

fn check_cover(runs: &[Run]) {
    assert_eq!(runs[0].start, 0);
    assert_eq!(runs.last().unwrap().end_inclusive, u32::MAX);
    assert!(runs.iter().all(|run| run.start <= run.end_inclusive));
    for pair in runs.windows(2) {
        assert_eq!(pair[0].end_inclusive + 1, pair[1].start);
        assert!(
            (pair[0].code, pair[0].flags) != (pair[1].code, pair[1].flags),
            "runs are maximal: {pair:x?}"
        );
    }
}

#[test]
fn runs_cover_all_inputs_and_agree_with_single_conversions() {
    for (format, policy) in cases() {
        let table = Table::new(&format);
        let runs = f32_runs(&format, &policy);
        check_cover(&runs);
        for run in &runs {
            // The ends, the middle and a few more inside, the ends of the binades among them.
            let width = run.end_inclusive - run.start;
            let inside = (0..=16).map(|i| run.start + width / 16 * i).chain([run.end_inclusive]);
            let binades = (run.start >> 23..=run.end_inclusive >> 23)
                .flat_map(|field| [field << 23, (field << 23) + 1, field << 23 | 0x7F_FFFF]);
            for bits in inside.chain(binades) {
                if (run.start..=run.end_inclusive).contains(&bits) {
                    let (code, flags) = convert(bits.into(), &formats::BINARY32, &table, &policy);
                    assert_eq!((code, flags.0), (run.code, run.flags), "{format:?} {policy:?} {bits:08x}");
                }
            }
        }
    }
}

#[test]
fn sixteen_bit_formats_are_quick_enough() {
    let start = Instant::now();
    for (format, name) in [(formats::UHP, "tesla"), (formats::BINARY16, "ieee")] {
        check_cover(&f32_runs(&format, &preset(name, &format)));
    }
    println!("binary16 and UHP: {:.1} s", start.elapsed().as_secs_f64());
}
