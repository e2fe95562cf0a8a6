//! Tesla's paper, R42: a code moves between biases by its exponent field alone where nothing is
//! lost.

use smallfloat::{Flags, Format, convert};

fn with_bias(name: &str, bias: u32) -> Format {
    format!("{name}:bias={bias}").parse().unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Between biases of one format, without overflow and denormals, re-biasing adds b2 − b1 to the
/// exponent field. All pairs, and what happens at the ends, are in `round_trips.rs`.
#[test]
fn r42_rebias_moves_the_exponent_field() {
    for (name, e, m) in [("cfloat8_1_4_3", 4, 3), ("cfloat8_1_5_2", 5, 2)] {
        for (b1, b2) in [(7, 9), (9, 7), (0, 5), (63, 60), (15, 15)] {
            let (from, to) = (with_bias(name, b1), with_bias(name, b2));
            for code in 0..256_u64 {
                let field = i64::from(u32::try_from(code >> m & ((1 << e) - 1)).unwrap());
                let moved = field + i64::from(b2) - i64::from(b1);
                if field == 0 || moved < 1 || moved >= 1 << e {
                    continue;
                }
                let expected = code & !(((1 << e) - 1) << m) | moved.cast_unsigned() << m;
                let r = convert(code, &from, &to, &to.default_projection());
                assert_eq!((r.value, r.flags), (expected, Flags::NONE), "{code:#x} {from} to {to}");
            }
        }
    }
}
