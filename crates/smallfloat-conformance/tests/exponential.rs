//! Approximate exponentials: the draft's example, and what is known of polynomials and tables.
//!
//! All bfloat16 operands; with `SMALLFLOAT_EXTENSIVE=1` also all 2^32 binary32 operands.

use smallfloat::p3109::Specialization;
use smallfloat_conformance::implementation::{Implementation, ImplementationSpec};
use smallfloat_conformance::kappa::{Gauge, GaugeOptions, Kappa, sweep};

fn measure(text: &str, recipe: &str) -> Gauge {
    let operation: Specialization = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    let parsed: ImplementationSpec = recipe.parse().unwrap_or_else(|error| panic!("{recipe}: {error}"));
    let variant = Implementation::new(&parsed, &operation).unwrap_or_else(|error| panic!("{text}: {error}"));
    let gauge = sweep(&operation, |x| variant.call(x), GaugeOptions::default(), &|_| ());
    let gauge = gauge.unwrap_or_else(|error| panic!("{text}: {error}"));
    println!("{text}, {recipe}: κ = {}, {} differ", gauge.total().kappa(), gauge.total().differing());
    gauge
}

fn kappa(text: &str, recipe: &str) -> Kappa {
    measure(text, recipe).total().kappa()
}

/// P3109 draft, section on κ-approximate implementations: Exp<binary32, Binary8p4se, …> whose
/// subnormal results become 0 or the smallest normal value has κ = 4. The seven subnormals have
/// codes 1 to 7, the smallest normal value 8.
fn the_drafts_example(operand: &str) {
    for saturation in ["SatFinite", "SatPropagate", "SatNone"] {
        let text = format!("Exp<{operand}, Binary8p4se, (NearestTiesToEven, {saturation})>");
        assert_eq!(kappa(&text, "flush-nearest"), Kappa::Steps(4));
        if operand == "binary32" {
            break;
        }
        assert_eq!(kappa(&text, "flush-zero"), Kappa::Steps(7));
        assert_eq!(kappa(&text, "flush-normal"), Kappa::Steps(7));
        assert_eq!(kappa(&text, "exact"), Kappa::Steps(0));
    }
}

#[test]
fn the_drafts_example_on_bfloat16() {
    the_drafts_example("bfloat16");
}

#[test]
fn the_drafts_example_on_binary32() {
    if std::env::var("SMALLFLOAT_EXTENSIVE").is_ok_and(|v| v == "1") {
        the_drafts_example("binary32");
    } else {
        println!("LEFT OUT: 2^32 operands; SMALLFLOAT_EXTENSIVE=1 runs them all");
    }
}

/// binary64 has 49 bits more than these results, and e^x is irrational for every operand but 0: no
/// bfloat16 operand comes as near to a tie as the library's error of less than 2^−52 could matter.
#[test]
fn through_binary64_nothing_is_lost() {
    for result in ["Binary8p3se", "Binary8p4se", "e4m3fn", "cfloat8_1_4_3:bias=7", "cfloat8_1_5_2:bias=15"] {
        for name in ["Exp", "Exp2", "Tanh", "Log", "Sinh"] {
            let gauge =
                measure(&format!("{name}<bfloat16, {result}, (NearestTiesToEven, SatFinite)>"), "f64-libm");
            assert_eq!(gauge.total().largest_steps(), 0, "{name} into {result}");
        }
    }
}

/// |r| ≤ ½·ln 2: a polynomial of degree 1 is up to 0.059 of the value off, half a step of Binary8p4se or a little more; one of
/// degree 2 up to 0.0076. Degree 6 is off by less than binary32's precision can show in 4 bits, but
/// for near ties.
#[test]
fn polynomials_gain_with_their_degree() {
    let text = "Exp<bfloat16, Binary8p4se, (NearestTiesToEven, SatFinite)>";
    let differing: Vec<u64> = ["1", "2", "3", "6"]
        .iter()
        .map(|degree| {
            let gauge = measure(text, &format!("taylor,degree={degree}"));
            assert!(gauge.total().kappa() <= Kappa::Steps(1));
            gauge.total().differing()
        })
        .collect();
    assert!(differing.windows(2).all(|pair| pair[0] > pair[1] || pair[1] == 0), "{differing:?}");
    // In bfloat16 the reduced argument of large operands has few right bits.
    let coarse = measure(text, "taylor,degree=6,in=bfloat16");
    assert!(coarse.total().differing() > differing[3]);
}

#[test]
fn tables_gain_with_their_entries() {
    for name in ["Exp", "Exp2"] {
        let text = format!("{name}<bfloat16, Binary8p4se, (NearestTiesToEven, SatFinite)>");
        let differing = ["2", "8", "64", "4096"]
            .map(|entries| measure(&text, &format!("table,entries={entries}")).total().differing());
        assert!(differing.windows(2).all(|pair| pair[0] >= pair[1]), "{text}: {differing:?}");
        assert!(differing[0] > differing[3]);
    }
}

/// log(1 + e^x) overflows in binary32 above 88.7; the defined result is x.
#[test]
fn formulas_that_overflow_are_caught() {
    let text = "Softplus<bfloat16, bfloat16, (NearestTiesToEven, SatNone)>";
    let gauge = measure(text, "f32-libm");
    assert_eq!(gauge.total().kappa(), Kappa::Infinite);
    let worst = gauge.total().worst().expect("a difference");
    // The first bfloat16 above 128·ln 2 = 88.72… is 89, 0x42b2.
    assert_eq!((worst.operands[0], worst.defined[0], worst.given[0]), (0x42b2, 0x42b2, 0x7f80));
}
