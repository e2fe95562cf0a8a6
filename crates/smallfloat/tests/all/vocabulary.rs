//! The words of the library, with values typed in from their definitions: flags, data, exact
//! values, random words, rounding modes at every eighth of a step, presets, and what formats say of
//! themselves.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use smallfloat::formats::{BINARY16, BINARY32, BINARY64, CATALOGUE, E2M1FN, E4M3FN, E5M2};
use smallfloat::random::{Philox, philox4x32_10};
use smallfloat::{
    Class, Datum, Exact, Flags, Format, FormatSpec, MissingNan, MissingZero, NegativeRule, NegativeZero,
    Preset, RandomBits, Rounded, Rounding, Saturation, project, text,
};

fn format(name: &str) -> Format {
    name.parse().unwrap_or_else(|error| panic!("{name}: {error}"))
}

const fn finite(significand: u64, exponent: i32) -> Datum {
    Datum::finite(false, significand, exponent)
}

const NAN: Datum = Datum::Nan { negative: false };
const INFINITY: Datum = Datum::Infinite { negative: false };

#[test]
fn flags_are_a_set() {
    let (a, b) = (Flags::INEXACT | Flags::UNDERFLOW, Flags::UNDERFLOW | Flags::DENORMAL);
    assert_eq!((a.bits(), b.bits()), (0b11, 0b10_0010));
    assert_eq!((a | b, a & b), (Flags::from_bits_truncate(0b10_0011), Flags::UNDERFLOW));
    assert_eq!(a.without(b), Flags::INEXACT);
    assert!(a.contains(Flags::INEXACT) && !a.contains(b) && a.contains(Flags::NONE));
    assert!(Flags::NONE.is_empty() && !a.is_empty());
    let mut all = Flags::NONE;
    for &(flag, _) in Flags::LETTERS {
        all |= flag;
    }
    assert_eq!((all, Flags::from_bits_truncate(0xff)), (Flags::ALL, Flags::ALL));
    assert_eq!((Flags::ALL.to_string(), Flags::NONE.to_string()), ("IDOUXZ".into(), "-".into()));
    assert_eq!(format!("{:?}", Flags::OVERFLOW | Flags::INEXACT), "Flags(OX)");
    assert_eq!(Flags::ALL.tesla().to_string(), "IDOU");
    assert_eq!(Rounded { value: 2, flags: a }.map(|x| x + 1), Rounded { value: 3, flags: a });
}

#[test]
fn data_are_what_they_say() {
    assert_eq!(Datum::finite(true, 12, -1), Datum::Finite { negative: true, significand: 3, exponent: 1 });
    assert_eq!(Datum::finite(true, 0, 5), Datum::Finite { negative: true, significand: 0, exponent: 0 });
    for (x, text, other) in [
        (NAN, "NaN", "NaN"),
        (INFINITY, "Inf", "-Inf"),
        (Datum::ZERO, "0", "-0"),
        (finite(3, 1), "3p1", "-3p1"),
    ] {
        let y = x.negated();
        assert_eq!((x.to_string().as_str(), y.to_string().as_str()), (text, other));
        assert_eq!((x.is_negative(), y.is_negative(), y.negated()), (false, true, x));
        assert_eq!(
            (x.is_nan(), x.is_finite(), x.is_zero()),
            (text == "NaN", text.len() < 3 || text == "3p1", text == "0")
        );
    }
    let leading =
        [finite(3, 1), finite(1, -9), finite(0xff, 0), Datum::ZERO].map(|x| x.exponent_of_leading_bit());
    assert_eq!(leading, [2, -9, 7, 0]);
    let names =
        [Class::Nan, Class::Infinite, Class::Zero, Class::Subnormal, Class::Normal].map(|x| x.to_string());
    assert_eq!(names, ["nan", "infinite", "zero", "subnormal", "normal"]);
}

#[test]
fn data_are_ordered_by_value() {
    let positive = [
        finite(1, -1074),
        finite(1, 0),
        finite((1 << 40) + 1, -40),
        finite(3, -1),
        finite(1, 1),
        finite(7, 100),
    ];
    let mut ascending = vec![INFINITY.negated()];
    ascending.extend(positive.iter().rev().map(|x| x.negated()));
    ascending.push(Datum::ZERO);
    ascending.extend(positive);
    ascending.push(INFINITY);
    for (i, x) in ascending.iter().enumerate() {
        for (j, y) in ascending.iter().enumerate() {
            assert_eq!(x.compare(y), Some(i.cmp(&j)), "{x} {y}");
        }
        assert_eq!((x.compare(&NAN), NAN.compare(x)), (None, None));
    }
    assert_eq!(Datum::ZERO.compare(&Datum::ZERO.negated()), Some(Ordering::Equal));
    assert_eq!((finite(5, -1).to_f64(), finite(5, -1).to_f32()), (Some(2.5), Some(2.5)));
    // Binary64 to binary32: exact, rounded, and next to a tie.
    for x in [1.5, 1.0 + f64::EPSILON, 1.0 + 2_f64.powi(-24) + f64::EPSILON, 1e300, -1e-300, 0.1] {
        #[expect(clippy::cast_possible_truncation, reason = "what is tested")]
        let expected = x as f32;
        assert_eq!(BINARY64.decode_f32(x.to_bits()).value.to_bits(), expected.to_bits());
    }
    assert_eq!((finite((1 << 53) + 1, 0).to_f64(), finite((1 << 24) + 1, 0).to_f32()), (None, None));
}

#[test]
fn exact_values_are_what_they_say() {
    let x = Exact::from(-6_i128);
    assert_eq!(x, Exact::finite(true, 6, 0));
    assert_eq!(
        (Exact::from_i128(0), Exact::from_i128(7)),
        (Exact::finite(false, 0, 0), Exact::finite(false, 7, 0))
    );
    assert_eq!(x.magnitude(), Exact::finite(false, 6, 0));
    assert_eq!(x.scaled(-2), Exact::finite(true, 6, -2));
    assert_eq!(Exact::finite(false, 0, 0).scaled(3), Exact::finite(false, 0, 0));
    let zeros = [Exact::finite(true, 0, 0), Exact::Cancelled, x, Exact::from(INFINITY)].map(|x| x.is_zero());
    assert_eq!(zeros, [true, true, false, false]);
    for (datum, magnitude) in
        [(NAN.negated(), NAN), (INFINITY.negated(), INFINITY), (finite(3, 5).negated(), finite(3, 5))]
    {
        let x = Exact::from(datum);
        assert_eq!(
            (x.is_negative(), x.is_nan(), x.magnitude()),
            (true, datum.is_nan(), Exact::from(magnitude))
        );
    }
    assert!(!Exact::Cancelled.is_negative() && Exact::Cancelled.magnitude() == Exact::Cancelled);
}

/// Random123's known answers, and where an element's word stands.
#[test]
fn random_words_are_philox_s() {
    let pi = [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344];
    for (counter, key, answer) in [
        ([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
        ([u32::MAX; 4], [u32::MAX; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
        (pi, [0xa409_3822, 0x299f_31d0], [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]),
    ] {
        assert_eq!(philox4x32_10(counter, key), answer);
    }
    let philox = Philox { seed: 0x299f_31d0_a409_3822, stream: 0x0370_7344_1319_8a2e };
    let block = 0x85a3_08d3_243f_6a88;
    assert_eq!(philox.block(block), [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]);
    for element in 0..9 {
        assert_eq!(philox.word(element), philox.block(element / 4)[usize::try_from(element % 4).unwrap()]);
    }
}

#[test]
fn random_bits_have_bounds() {
    let of = |count, word| RandomBits::new(count, word).map(|bits| (bits.count(), bits.word()));
    assert_eq!(of(1, 1).ok(), Some((1, 1)));
    assert_eq!(of(60, (1 << 60) - 1).ok(), Some((60, (1 << 60) - 1)));
    assert!(of(0, 0).is_err() && of(61, 0).is_err() && of(3, 8).is_err() && of(60, 1 << 60).is_err());
    // The highest bits of a word.
    let high = |count, word| RandomBits::from_word32(count, word).map(|bits| (bits.count(), bits.word()));
    assert_eq!(high(5, 0xf800_0001).ok(), Some((5, 31)));
    assert_eq!(high(32, 7).ok(), Some((32, 7)));
    assert_eq!(high(1, 1 << 31).ok(), Some((1, 1)));
    assert!(high(0, 0).is_err() && high(33, 0).is_err());
}

/// Between 2 (an even code of E5M2) and 2.5, and between 2.5 and 3, at every eighth, exactly and a
/// little above.
#[test]
fn rounding_modes_at_every_eighth() {
    let bits = |count, word| RandomBits::new(count, word).expect("legal");
    let modes = Rounding::DETERMINISTIC.iter().copied().chain((0..4).flat_map(|word| {
        [
            Rounding::StochasticA(bits(2, word)),
            Rounding::StochasticB(bits(2, word)),
            Rounding::StochasticC(bits(2, word)),
        ]
    }));
    for mode in modes {
        for (lower_code, lower_is_even) in [(0x40_u64, true), (0x41, false)] {
            for negative in [false, true] {
                for eighths in 0..8_u128 {
                    for above in [false, true] {
                        // 2 is 2^-1 · 4 · 8 eighths of a half.
                        let whole = (4 + u128::from(lower_code - 0x40)) * 8 + eighths;
                        let x = Exact::Finite { negative, significand: whole, exponent: -4, sticky: above };
                        let projection = E5M2.default_projection().with_rounding(mode);
                        let inexact = eighths > 0 || above;
                        // In sixteenths, the mark as one more: what is above a tie is above it.
                        let part = 2 * eighths + u128::from(above);
                        let word = mode.random_bits().map_or(0, |r| u128::from(r.word()));
                        let up = inexact
                            && match mode {
                                Rounding::NearestEven => part > 8 || (part == 8 && !lower_is_even),
                                Rounding::NearestAway => part >= 8,
                                Rounding::TowardPositive => !negative,
                                Rounding::TowardNegative => negative,
                                Rounding::TowardZero => false,
                                Rounding::ToOdd => lower_is_even,
                                // ν in quarters: cut, half up, half to even; with the word's
                                // quarters 1 or more.
                                Rounding::StochasticA(_) => part / 4 + word >= 4,
                                Rounding::StochasticB(_) => (part + 2) / 4 + word >= 4,
                                Rounding::StochasticC(_) => {
                                    let (quarters, rest) = (part / 4, part % 4);
                                    quarters + u128::from(rest > 2 || (rest == 2 && quarters % 2 == 1)) + word
                                        >= 4
                                }
                                _ => unreachable!(),
                            };
                        let code = lower_code + u64::from(up) + if negative { 0x80 } else { 0 };
                        let flags = if inexact { Flags::INEXACT } else { Flags::NONE };
                        let expected = Rounded { value: code, flags };
                        assert_eq!(
                            project(x, &E5M2, &projection),
                            expected,
                            "{mode:?} {lower_code:#x} {eighths} {above} {negative}"
                        );
                    }
                }
            }
        }
    }
    let names: Vec<_> = Rounding::DETERMINISTIC.iter().copied().map(Rounding::name).collect();
    assert_eq!(
        names,
        ["nearest-even", "nearest-away", "toward-positive", "toward-negative", "toward-zero", "to-odd"]
    );
    let stochastic =
        [Rounding::StochasticA, Rounding::StochasticB, Rounding::StochasticC].map(|mode| mode(bits(3, 1)));
    assert_eq!(stochastic.map(Rounding::name), ["stochastic-a", "stochastic-b", "stochastic-c"]);
    for mode in stochastic {
        let other = mode.with_random_bits(bits(4, 9));
        assert_eq!((other.name(), other.random_bits()), (mode.name(), Some(bits(4, 9))));
        assert!(mode.is_stochastic());
    }
    assert_eq!(Rounding::ToOdd.with_random_bits(bits(4, 9)), Rounding::ToOdd);
    assert!(!Rounding::ToOdd.is_stochastic());
}

/// Beyond the range: the largest code, what the modes that don't stop there give under SatNone, and
/// under the older SatNone.
#[test]
fn overflow_by_mode_and_saturation() {
    for (name, largest, none, v40, v40_to_odd) in [
        ("e5m2", 0x7b, 0x7c, 0x7c, 0x7c),
        ("e4m3fn", 0x7e, 0x7f, 0x7e, 0x7e),
        ("e2m1fn", 7, 7, 7, 7),
        ("cfloat8_1_4_3:bias=7", 0x7f, 0x7f, 0x7f, 0x7f),
        ("binary8p3ue", 0xfd, 0xfe, 0xfe, 0xfd),
    ] {
        let format = format(name);
        for &mode in Rounding::DETERMINISTIC {
            for negative in [false, true] {
                if negative && !format.is_signed() {
                    continue;
                }
                let stops = match mode {
                    Rounding::TowardZero => true,
                    Rounding::TowardNegative => !negative,
                    Rounding::TowardPositive => negative,
                    _ => false,
                };
                let sign = if negative { 1 << (format.width() - 1) } else { 0 };
                for saturation in [
                    Saturation::SatFinite,
                    Saturation::SatPropagate,
                    Saturation::SatNone,
                    Saturation::SatNoneV40,
                ] {
                    let projection =
                        format.default_projection().with_rounding(mode).with_saturation(saturation);
                    let expected = match saturation {
                        Saturation::SatNone if !stops => none,
                        Saturation::SatNoneV40 if !stops && mode == Rounding::ToOdd => v40_to_odd,
                        Saturation::SatNoneV40 if !stops => v40,
                        _ => largest,
                    };
                    let rounded = project(Exact::finite(negative, 1, 200), &format, &projection);
                    let flags = Flags::OVERFLOW | Flags::INEXACT;
                    assert_eq!(
                        rounded,
                        Rounded { value: expected | sign, flags },
                        "{name} {mode:?} {saturation:?}"
                    );
                }
            }
        }
    }
}

/// What lies below an unsigned format, by the rule for it, the saturation and the rounding mode.
#[test]
fn negative_values_in_unsigned_formats() {
    // (name, its NaN, whether it has zero, the code of 1).
    for (name, nan, has_zero, one) in [
        ("binary8p3ue", Some(0xff), true, 0x80),
        ("e8m0fnu", Some(0xff), false, 0x7f),
        ("minifloat:k=6,p=3,bias=3,signed=false,specials=finite", None, true, 0x0c),
    ] {
        let f = format(name);
        assert_eq!(f.decode(one).to_f64(), Some(1.0), "{name}");
        for rule in
            [NegativeRule::Nan, NegativeRule::BySaturation, NegativeRule::Zero, NegativeRule::Magnitude]
        {
            for &saturation in Saturation::ALL {
                for &rounding in Rounding::DETERMINISTIC {
                    let base = f.default_projection().with_rounding(rounding).with_saturation(saturation);
                    let projection = base.with_negative(rule).with_missing_zero(MissingZero::Min);
                    let none = matches!(saturation, Saturation::SatNone | Saturation::SatNoneV40);
                    // Toward zero and upward a value below the range stays at its end.
                    let stops = matches!(rounding, Rounding::TowardZero | Rounding::TowardPositive);
                    let below = |stops: bool| match (rule, nan) {
                        (NegativeRule::Nan, Some(nan)) => nan,
                        (NegativeRule::BySaturation, Some(nan)) if none && !stops => nan,
                        _ => 0,
                    };
                    let what = format!("{name} {rule:?} {saturation:?} {rounding:?}");
                    let of = |x| project(x, &f, &projection);
                    let found = of(Exact::finite(true, 1, 0));
                    if rule == NegativeRule::Magnitude {
                        assert_eq!((found.value, found.flags), (one, Flags::INEXACT), "{what}");
                        let tiny = of(Exact::finite(true, 1, -40));
                        let flags = if has_zero { Flags::INEXACT | Flags::UNDERFLOW } else { Flags::INEXACT };
                        assert_eq!(tiny.flags, flags, "{what}");
                        // Exact but for its sign, and so small that this counts.
                        let least = f.min_positive();
                        let Datum::Finite { significand, exponent, .. } = least else {
                            unreachable!("finite")
                        };
                        let found = of(Exact::finite(true, significand.into(), exponent));
                        assert_eq!((Some(found.value), found.flags), (f.encode(least), flags), "{what}");
                        let away = rounding == Rounding::TowardPositive || rounding == Rounding::ToOdd;
                        if has_zero {
                            assert_eq!(tiny.value, u64::from(away), "{what}");
                        }
                    } else {
                        assert_eq!((found.value, found.flags), (below(stops), Flags::INVALID), "{what}");
                        let infinite = of(Exact::Infinite { negative: true });
                        assert_eq!(
                            (infinite.value, infinite.flags),
                            (below(false), Flags::INVALID),
                            "{what}"
                        );
                    }
                    // A zero's sign is no value; what rounds to zero is zero.
                    let zero = of(Exact::finite(true, 0, 0));
                    let flags = if has_zero { Flags::NONE } else { Flags::INEXACT };
                    assert_eq!((zero.value, zero.flags), (0, flags), "{what}");
                    let nan_found = of(Exact::Nan { negative: true });
                    assert_eq!(
                        (nan_found.value, nan_found.flags),
                        (nan.unwrap_or(f.max_code()), Flags::INVALID),
                        "{what}"
                    );
                    if has_zero
                        && rule != NegativeRule::Magnitude
                        && matches!(rounding, Rounding::NearestEven | Rounding::TowardZero)
                    {
                        let tiny = of(Exact::finite(true, 1, -40));
                        assert_eq!(
                            (tiny.value, tiny.flags),
                            (0, Flags::INEXACT | Flags::UNDERFLOW),
                            "{what}"
                        );
                    }
                }
            }
        }
    }
}

/// A rule for negative values that means zero, where there is no zero: the rule for that.
#[test]
fn rules_meet() {
    let f = format("e8m0fnu");
    for (missing_zero, code) in [(MissingZero::Nan, 0xff), (MissingZero::Min, 0)] {
        let projection = f.default_projection().with_negative(NegativeRule::Zero);
        let found = project(Exact::finite(true, 1, 0), &f, &projection.with_missing_zero(missing_zero));
        assert_eq!((found.value, found.flags), (code, Flags::INVALID), "{missing_zero:?}");
    }
    let projection = E5M2.default_projection();
    let other = projection.with_negative_zero(NegativeZero::Positive);
    assert_eq!(other.unrepresentable.negative_zero, NegativeZero::Positive);
    assert_eq!(
        (other.rounding, other.with_negative_zero(NegativeZero::Keep)),
        (projection.rounding, projection)
    );
    assert_eq!(
        [projection, other].map(|projection| project(Exact::finite(true, 0, 0), &E5M2, &projection).value),
        [0x80, 0]
    );
}

/// NaN and infinities in a format of nothing but numbers.
#[test]
fn formats_without_nan_and_infinity() {
    for (rule, positive, negative) in [
        (MissingNan::Max, 7, 7),
        (MissingNan::SignMax, 7, 15),
        (MissingNan::Zero, 0, 0),
        (MissingNan::OppositeZero, 8, 0),
    ] {
        let base = E2M1FN.default_projection().with_saturation(Saturation::SatNone);
        let projection = base.with_missing_nan(rule);
        let codes =
            [false, true].map(|negative| project(Exact::Nan { negative }, &E2M1FN, &projection).value);
        assert_eq!(codes, [positive, negative], "{rule:?}");
        let overflow = Flags::OVERFLOW | Flags::INEXACT;
        for (negative, code) in [(false, 7), (true, 15)] {
            let found = project(Exact::Infinite { negative }, &E2M1FN, &projection);
            assert_eq!((found.value, found.flags), (code, overflow), "{rule:?}");
        }
    }
}

/// Tesla's hole: from 7/8 of the smallest normal value's half to the smallest normal value, nine
/// steps, for eighths of the way.
#[test]
fn rounding_in_tesla_s_hole() {
    let f = format("cfloat8_1_4_3:bias=7");
    // 7 and 16 units of 2^-10, in 72nds of the nine steps between.
    for part in 0..=72_u128 {
        let rounded = |mode| {
            let x = Exact::finite(false, 7 * 8 + part, -13);
            let found = project(x, &f, &f.default_projection().with_rounding(mode));
            assert_eq!(found.flags.contains(Flags::INEXACT), part % 72 != 0, "{part}/72");
            found.value - 7
        };
        for word in 0..8_u64 {
            let bits = RandomBits::new(3, word).expect("legal");
            // Eighths of the way, cut or to the nearest (none is a tie), and the word.
            for (mode, eighths) in [
                (Rounding::StochasticA(bits), part / 9),
                (Rounding::StochasticB(bits), (2 * part + 9) / 18),
                (Rounding::StochasticC(bits), (2 * part + 9) / 18),
            ] {
                let away = part == 72 || (part > 0 && eighths + u128::from(word) >= 8);
                assert_eq!(rounded(mode), u64::from(away), "{mode:?} {part}/72");
            }
        }
        // The code above the hole is even.
        for mode in [Rounding::NearestEven, Rounding::NearestAway] {
            assert_eq!(rounded(mode), u64::from(part >= 36), "{mode:?} {part}/72");
        }
        assert_eq!(rounded(Rounding::TowardPositive), u64::from(part > 0));
    }
}

#[test]
fn presets_by_name_and_format() {
    let names: Vec<_> = Preset::ALL.iter().copied().map(Preset::name).collect();
    assert_eq!(names[..5], ["tesla", "ieee", "ocp-saturate", "ocp-nosaturate", "ml-dtypes"]);
    assert_eq!(names[5..], ["p3109-satfinite", "p3109-satpropagate", "p3109-satnone", "p3109-satnone-v40"]);
    for (name, preset, saturation) in [
        ("cfloat8_1_4_3:bias=7", Preset::Tesla, Saturation::SatFinite),
        ("uhp", Preset::Tesla, Saturation::SatNone),
        ("binary16", Preset::Ieee, Saturation::SatNone),
        ("e4m3fn", Preset::MlDtypes, Saturation::SatNone),
        ("binary8p3se", Preset::P3109SatNone, Saturation::SatNone),
        ("minifloat:k=6,p=3,bias=3,specials=finite", Preset::OcpSaturate, Saturation::SatFinite),
        ("minifloat:k=6,p=3,bias=3,specials=ieee", Preset::Ieee, Saturation::SatNone),
        ("minifloat:k=6,p=3,bias=3,specials=p3109-finite", Preset::P3109SatNone, Saturation::SatNone),
        ("minifloat:k=6,p=3,bias=3,specials=nan-allones", Preset::MlDtypes, Saturation::SatNone),
    ] {
        let format = format(name);
        assert_eq!(
            (Preset::default_for(&format), format.default_projection().saturation),
            (preset, saturation),
            "{name}"
        );
    }
    let e8m0 = format("e8m0fnu");
    assert_eq!(Preset::MlDtypes.projection(&e8m0).rounding, Rounding::NearestAway);
    assert_eq!(Preset::Ieee.projection(&e8m0).rounding, Rounding::NearestEven);
    assert_eq!(Preset::MlDtypes.projection(&E2M1FN).unrepresentable.missing_nan, MissingNan::OppositeZero);
    // The presets of OCP write the NaN with all bits set, that of IEEE 754 the one with the first
    // bit.
    for (preset, code) in [(Preset::OcpSaturate, 0x7f), (Preset::OcpNoSaturate, 0x7f), (Preset::Ieee, 0x7e)] {
        assert_eq!(E5M2.encode_f32(f32::NAN, &preset.projection(&E5M2)).value, code, "{preset:?}");
    }
    assert_eq!(Preset::P3109SatPropagate.projection(&E5M2).saturation, Saturation::SatPropagate);
    assert_eq!(Preset::P3109SatNoneV40.projection(&E5M2).saturation, Saturation::SatNoneV40);
}

/// From the definitions of the formats (`docs/formats.md`): name, K, P, bias, largest, smallest
/// positive, smallest normal, the exponents of normal values, NaN codes, whether there is an
/// infinity, a −0.
const ROWS: &str = "
    e4m3fn                 8   4   7   448.0     0.001953125           0.015625           -6   8   2     false  true
    e4m3fnuz               8   4   8   240.0     0.0009765625          0.0078125          -7   7   1     false  false
    e4m3b11fnuz            8   4   11  30.0      0.0001220703125       0.0009765625       -10  4   1     false  false
    e4m3                   8   4   7   240.0     0.001953125           0.015625           -6   7   14    true   true
    e5m2                   8   3   15  57344.0   0.0000152587890625    0.00006103515625   -14  15  6     true   true
    e5m2fnuz               8   3   16  57344.0   0.00000762939453125   0.000030517578125  -15  15  1     false  false
    e3m4                   8   5   3   15.5      0.015625              0.25               -2   3   30    true   true
    e3m2fn                 6   3   3   28.0      0.0625                0.25               -2   4   0     false  true
    e2m3fn                 6   4   1   7.5       0.125                 1.0                0    2   0     false  true
    e2m1fn                 4   2   1   6.0       0.5                   1.0                0    2   0     false  true
    cfloat8_1_4_3:bias=7   8   4   7   480.0     0.0009765625          0.015625           -6   8   0     false  true
    cfloat8_1_5_2:bias=15  8   3   15  114688.0  0.00000762939453125   0.00006103515625   -14  16  0     false  true
    binary16               16  11  15  65504.0   5.960464477539063e-8  0.00006103515625   -14  15  2046  true   true
    binary8p3se            8   3   16  49152.0   0.00000762939453125   0.000030517578125  -15  15  1     true   false
    binary8p4ue            8   4   16  53248.0   0.000003814697265625  0.000030517578125  -15  15  1     true   false";

#[test]
fn formats_have_their_parameters() {
    let rows: Vec<&str> = ROWS.trim().lines().collect();
    assert_eq!(rows.len(), 15);
    for row in rows {
        let cells: Vec<&str> = row.split_whitespace().collect();
        let name = cells[0];
        let f = format(name);
        let (k, p, bias, (lowest, highest)) = (f.width(), f.precision(), f.bias(), f.exponent_range());
        let integers = [k.to_string(), p.to_string(), bias.to_string()];
        assert_eq!(integers, cells[1..4], "{name}");
        let found = [f.max_finite(), f.min_positive(), f.min_normal()].map(|x| x.to_f64());
        let values: Vec<_> = cells[4..7].iter().map(|x| x.parse::<f64>().ok()).collect();
        assert_eq!(found, values[..], "{name}");
        let rest =
            format!("{lowest} {highest} {} {} {}", f.nan_codes(), f.has_infinity(), f.has_negative_zero());
        assert_eq!(rest, cells[7..].join(" "), "{name}");
        assert_eq!(f.has_nan(), f.nan_codes() > 0, "{name}");
        assert_eq!(
            (f.max_code(), f.hex_digits()),
            ((1 << k) - 1, if k == 16 { 4 } else { k.div_ceil(4) as usize })
        );
        assert!(f.check_code(f.max_code()).is_ok() && f.check_code(f.max_code() + 1).is_err(), "{name}");
        assert_eq!(f.exponent_bits() + f.trailing_bits() + u32::from(f.is_signed()), k, "{name}");
        // The same again by its own name, and from the name without what may be left out.
        assert_eq!(format(&f.to_string()), f);
        assert_eq!(format(&name.to_uppercase()), f);
    }
}

/// What formats say of all their codes, counted.
#[test]
fn formats_count_their_codes() {
    let mut list: Vec<Format> = CATALOGUE.iter().map(|row| row.format).filter(|f| f.width() <= 16).collect();
    for (k, ps) in [(3, 1..=3), (5, 1..=5), (8, 1..=8)] {
        for p in ps {
            for kind in ["se", "sf", "ue", "uf"] {
                list.extend(format!("binary{k}p{p}{kind}").parse::<Format>());
            }
        }
    }
    for keys in ["bias=0", "bias=63", "bias=7,subnormals=gradual"] {
        list.push(format(&format!("cfloat8_1_4_3:{keys}")));
    }
    list.extend(["none", "flush"].map(|s| format(&format!("minifloat:k=8,p=4,bias=7,subnormals={s}"))));
    for f in &list {
        let mut classes: BTreeMap<String, u64> = BTreeMap::new();
        let mut values = Vec::new();
        for code in f.codes() {
            let datum = f.decode(code);
            *classes.entry(f.classify(code).to_string()).or_default() += 1;
            if datum.is_finite() {
                values.push(datum);
            }
            assert_eq!(f.sign_bit(code), f.is_signed() && code > f.max_code() / 2, "{f} {code:#x}");
        }
        let codes = values.len() as u64;
        values.sort_by(|x, y| x.compare(y).expect("numbers"));
        values.dedup_by(|x, y| x.compare(y) == Some(Ordering::Equal));
        let count = |class: &str| classes.get(class).copied().unwrap_or(0);
        assert_eq!((f.finite_codes(), f.finite_values()), (codes, values.len() as u64), "{f}");
        assert_eq!((f.nan_codes(), f.has_nan()), (count("nan"), count("nan") > 0), "{f}");
        assert_eq!(f.has_infinity(), count("infinite") > 0, "{f}");
        assert_eq!((f.has_zero(), f.has_subnormals()), (count("zero") > 0, count("subnormal") > 0), "{f}");
        assert_eq!((f.min_finite(), f.max_finite()), (values[0], values[values.len() - 1]), "{f}");
        let positive = values.iter().find(|x| !x.is_negative() && !x.is_zero());
        assert_eq!(Some(&f.min_positive()), positive, "{f}");
        let subnormal = (0..=f.max_code() >> u32::from(f.is_signed()))
            .filter(|&code| f.classify(code) == Class::Subnormal && !f.decode(code).is_zero())
            .max();
        assert_eq!(f.max_subnormal(), subnormal.map(|code| f.decode(code)), "{f}");
    }
}

#[test]
fn formats_in_formats() {
    for (narrow, wide, fits) in [
        ("e4m3fn", "binary16", true),
        ("e5m2", "binary16", true),
        ("bfloat16", "binary32", true),
        ("bfloat16", "binary16", false),
        ("binary16", "bfloat16", false),
        ("e4m3fn", "e5m2", false),
        ("e2m1fn", "e4m3fn", true),
        ("e3m2fn", "e4m3fn", true),
        ("e2m3fn", "e4m3fn", true),
        ("e4m3fn", "e4m3fn", true),
        ("e4m3fnuz", "e4m3fn", false),
        ("e4m3fn", "e4m3fnuz", false),
        ("e4m3", "e4m3fn", true),
        ("e8m0fnu", "binary32", true),
        ("e8m0fnu", "binary16", false),
        ("binary32", "e8m0fnu", false),
        ("cfloat8_1_4_3:bias=7", "binary16", true),
        ("cfloat8_1_4_3:bias=7", "e4m3fn", false),
        ("cfloat8_1_4_3:bias=7,subnormals=gradual", "e4m3fn", false),
        ("e4m3fn", "cfloat8_1_4_3:bias=7,subnormals=gradual", true),
        ("binary8p4uf", "binary8p4sf", false),
        ("cfloat8_1_4_3:bias=63", "cfloat8_1_4_3:bias=63", true),
        ("e2m1fn", "cfloat8_1_4_3:bias=7", true),
    ] {
        assert_eq!(format(narrow).fits_in(&format(wide)), fits, "{narrow} in {wide}");
    }
}

#[test]
fn names_say_what_is_missing() {
    let spec: FormatSpec = "cfloat8_1_4_3".parse().expect("a name");
    assert_eq!((spec.bias(), spec.has_free_bias()), (None, true));
    assert_eq!(spec.with_bias(11).expect("legal"), format("cfloat8_1_4_3:bias=11"));
    assert!(spec.format().is_err() && spec.with_bias(64).is_err() && spec.with_bias(-1).is_err());
    let spec = FormatSpec::from(E4M3FN);
    assert_eq!((spec.bias(), spec.has_free_bias(), spec.format()), (Some(7), false, Ok(E4M3FN)));
    for (name, same) in [
        ("Binary8p3se", Some("binary8p3se")),
        (" e4m3fn ", Some("e4m3fn")),
        ("fp17", None),
        ("ieee:k=16,p=11", Some("ieee:k=16,p=11")),
        ("cfloat8_1_4_3:bias=64", None),
        ("e4m3fn:bias=8", None),
        ("cfloat8_1_4_3:bias=7,bias=8", None),
        ("binary8p9se", None),
        ("binary17p3se", None),
        ("binary2p1se", None),
        ("minifloat:k=8", None),
        ("minifloat:k=8,p=4,what=3", None),
        ("", None),
    ] {
        let parsed = name.parse::<Format>().ok();
        assert_eq!(parsed, same.map(format), "{name}");
    }
}

#[test]
fn errors_say_what_would_be_right() {
    for (name, says) in [
        ("binary8p8se", "P = 8 is out of range, P must be 1..=7"),
        ("binary8p9ue", "P = 9 is out of range, P must be 1..=8"),
        ("binary33p23se", "K = 33 is out of range, K must be 3..=32"),
        ("cfloat8_1_4_3:bias=64", "bias = 64 is out of range, bias must be 0..=63"),
        ("minifloat:k=8,p=8,bias=7", "p = 8 is out of range, p must be 1..=7"),
        ("minifloat:k=8,p=4,bias=32769", "bias = 32769 is out of range, bias must be -32768..=32768"),
        ("minifloat:k=8,p=4,bias=-32769", "bias = -32769 is out of range, bias must be -32768..=32768"),
    ] {
        assert_eq!(name.parse::<Format>().expect_err(name).to_string(), says);
    }
    // What room the special codes need.
    for (keys, legal) in [
        ("k=8,p=1,bias=127,signed=false,specials=e8m0", true),
        ("k=8,p=2,bias=127,signed=false,specials=e8m0", false),
        ("k=8,p=1,bias=127,signed=true,specials=e8m0", false),
        ("k=8,p=1,bias=7,specials=ieee", false),
        ("k=8,p=2,bias=7,specials=ieee", true),
        ("k=4,p=3,bias=1,specials=ieee", false),
        ("k=5,p=3,bias=1,specials=ieee", true),
        ("k=4,p=3,bias=1,signed=false,specials=ieee", true),
        ("k=6,p=3,bias=3,signed=false,specials=nan-negzero", false),
        ("k=6,p=3,bias=3,signed=true,specials=nan-negzero", true),
    ] {
        assert_eq!(format!("minifloat:{keys}").parse::<Format>().is_ok(), legal, "{keys}");
    }
}

/// Values of texts in three notations, and texts that are none.
#[test]
fn texts_are_numbers() {
    for (written, significand, exponent) in [
        ("1.5", 3, -1),
        ("+12e2", 75, 4),
        ("0.125E0", 1, -3),
        ("0x1.8p-3", 3, -4),
        ("0XAP+4", 5, 5),
        ("0x.1p0", 1, -4),
        ("3p-4", 3, -4),
        ("12P3", 3, 5),
    ] {
        let negative = format!("-{}", written.trim_start_matches('+'));
        for (written, sign) in [(written, false), (negative.as_str(), true)] {
            let x = text::parse(written).unwrap_or_else(|error| panic!("{written}: {error}"));
            assert_eq!(x.is_negative(), sign, "{written}");
            let expected = BINARY64.encode(Datum::finite(sign, significand, exponent));
            let rounded = project(x, &BINARY64, &BINARY64.default_projection());
            assert_eq!((Some(rounded.value), rounded.flags), (expected, Flags::NONE), "{written}");
        }
    }
    for written in
        ["", "-", ".", "e5", "0x", "1.5.2", "1e", "p3", "1p", "nano", "infinite", "1_0", "0xg", "1 2", "--1"]
    {
        assert!(text::parse(written).is_err(), "{written}");
    }
    for (written, code) in
        [("inf", 0x7c00), ("-Infinity", 0xfc00), ("65519.99", 0x7bff), ("65520", 0x7c00), ("1e-1", 0x2e66)]
    {
        assert_eq!(
            BINARY16.encode_text(written, &BINARY16.default_projection()).expect("a number").value,
            code,
            "{written}"
        );
    }
    assert!(text::parse("NaN").expect("a NaN").is_nan() && text::parse("-nan").expect("a NaN").is_negative());
    for (x, text) in [
        (1e16_f64, "10000000000000000"),
        (1e17, "1e17"),
        (1.5, "1.5"),
        (120.0, "120"),
        (-0.000_015, "-0.000015"),
        (-0.000_001_5, "-1.5e-6"),
        (1.5e-7, "1.5e-7"),
        (2.5e20, "2.5e20"),
        (-0.0, "-0"),
        (f64::INFINITY, "Inf"),
    ] {
        assert_eq!(BINARY64.decode_text(x.to_bits()), text);
    }
    for x in [0.1_f32, 1.0, 16_777_216.0, 1e-45, f32::MAX, 123_456.79, -2.5e-3, 1e10, 7e-44] {
        let text = BINARY32.shortest(u64::from(x.to_bits())).to_string();
        // The shortest digits of the standard library, whatever their notation.
        let digits = |text: &str| {
            let mantissa = text.split(['e', 'E']).next().expect("one part").replace(['.', '-'], "");
            mantissa.trim_matches('0').to_string()
        };
        assert_eq!(text.parse::<f32>().map(f32::to_bits), Ok(x.to_bits()), "{text}");
        assert_eq!(digits(&text), digits(&format!("{x:e}")), "{text}");
    }
}
