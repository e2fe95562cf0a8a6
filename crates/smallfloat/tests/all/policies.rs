//! Flags, rounding modes and projections as text.

use smallfloat::formats::{CATALOGUE, E4M3FN, E5M2};
use smallfloat::{Exact, Flags, Format, Preset, Projection, RandomBits, Rounding, project};

#[test]
fn flags_and_projections_read_back() {
    for bits in 0..64 {
        let flags = Flags::from_bits_truncate(bits);
        assert_eq!(flags.to_string().parse(), Ok(flags));
    }
    assert_eq!(" xo ".parse(), Ok(Flags::OVERFLOW | Flags::INEXACT));
    for text in ["", "-O", "Q", "O X"] {
        assert!(text.parse::<Flags>().is_err(), "{text}");
    }

    let bits = |count, word| RandomBits::new(count, word).unwrap();
    let stochastic = [Rounding::StochasticB(bits(16, 0)), Rounding::StochasticC(bits(60, 1 << 59))];
    for rounding in Rounding::DETERMINISTIC.iter().copied().chain(stochastic) {
        for preset in Preset::ALL {
            for format in CATALOGUE {
                let projection = preset.projection(&format.format).with_rounding(rounding);
                assert_eq!(projection.to_string().parse(), Ok(projection), "{projection}");
            }
        }
    }
    let projection = Preset::MlDtypes.projection(&E4M3FN).with_rounding(stochastic[0]);
    assert_eq!(
        projection.to_string(),
        "stochastic-b:16,satnone,nan=quiet-signed,missing-nan=opposite-zero,negative=nan,missing-zero=nan,\
         negative-zero=keep"
    );
    assert_eq!("Stochastic-A:5:3".parse(), Ok(Rounding::StochasticA(bits(5, 3))));
    for text in
        ["stochastic-a", "stochastic-a:0", "stochastic-a:5:32", "nearest-even:3", "stochastic-d:3", "up"]
    {
        assert!(text.parse::<Rounding>().is_err(), "{text}");
    }
    let all = E5M2.default_projection().to_string();
    for text in [
        all.replace(",nan=quiet-signed", ""),
        all.replace("keep", "kept"),
        all.replace("negative-zero", "minus-zero"),
        format!("{all},nan=quiet-signed"),
        "nearest-even".into(),
        String::new(),
    ] {
        assert!(text.parse::<Projection>().is_err(), "{text}");
    }
}

/// The table at `Preset::default_for`: a value too large and a NaN, in formats of every row.
#[test]
fn defaults_are_those_of_the_table() {
    // What 2^1000 and −NaN become: a number, ∞ or NaN.
    let rows: [(&[&str], Preset, f64, f64); 10] = [
        (&["cfloat8_1_4_3:bias=7", "cfloat8_1_5_2:bias=0"], Preset::Tesla, f64::MAX, f64::MAX),
        (&["uhp"], Preset::Tesla, f64::INFINITY, f64::NAN),
        (
            &["binary16", "binary32", "bfloat16", "tf32", "fp24", "ieee:k=6,p=3"],
            Preset::Ieee,
            f64::INFINITY,
            f64::NAN,
        ),
        (&["e5m2", "e4m3", "e3m4"], Preset::MlDtypes, f64::INFINITY, f64::NAN),
        (
            &["e4m3fn", "e4m3fnuz", "e5m2fnuz", "e4m3b11fnuz", "ue4m3", "ue5m3", "e8m0fnu"],
            Preset::MlDtypes,
            f64::NAN,
            f64::NAN,
        ),
        (&["e3m2fn", "e2m3fn", "e2m1fn"], Preset::MlDtypes, f64::MAX, 0.0),
        (&["binary8p3se", "binary8p4ue"], Preset::P3109SatNone, f64::INFINITY, f64::NAN),
        (&["binary8p3sf", "binary4p2sf"], Preset::P3109SatNone, f64::NAN, f64::NAN),
        (&["minifloat:k=8,p=4,bias=7,specials=finite"], Preset::OcpSaturate, f64::MAX, f64::MAX),
        (
            &[
                "minifloat:k=8,p=4,bias=7,specials=nan-allones",
                "minifloat:k=8,p=4,bias=7,specials=nan-negzero",
            ],
            Preset::MlDtypes,
            f64::NAN,
            f64::NAN,
        ),
    ];
    for (names, preset, large, nan) in rows {
        for name in names {
            let format: Format = name.parse().unwrap();
            assert_eq!(Preset::default_for(&format), preset, "{name}");
            let becomes = |x: Exact| format.decode(project(x, &format, &format.default_projection()).value);
            let max = format.max_finite();
            for (x, wanted) in [(Exact::finite(false, 1, 1000), large), (Exact::Nan { negative: true }, nan)]
            {
                let y = becomes(x);
                let is_wanted = match wanted {
                    f64::MAX => y == max,
                    wanted if wanted.is_nan() => y.is_nan(),
                    wanted => y.to_f64() == Some(wanted),
                };
                assert!(is_wanted, "{name}: {x:?} became {y:?}");
            }
        }
    }
    for (specials, preset) in [
        ("ieee", Preset::Ieee),
        ("p3109-extended", Preset::P3109SatNone),
        ("p3109-finite", Preset::P3109SatNone),
    ] {
        let format: Format = format!("minifloat:k=8,p=4,bias=7,specials={specials}").parse().unwrap();
        assert_eq!(Preset::default_for(&format), preset, "{specials}");
    }
}
