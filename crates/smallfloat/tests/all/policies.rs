//! Flags, rounding modes and projections as text.

use smallfloat::formats::{CATALOGUE, E4M3FN, E5M2};
use smallfloat::{Flags, Preset, Projection, RandomBits, Rounding};

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
