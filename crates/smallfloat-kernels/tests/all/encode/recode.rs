//! Codes → codes against the core, at every level and length, with the events of the elements.

use crate::common::{narrow_formats, projections, wide_formats};
use smallfloat::{Class, FlagPolicy, Flags, Format, Projection, Rounding, convert_with};
use smallfloat_kernels::{Code, Error, EventCounts, Level, Recode};

/// Codes and events by the core.
fn expected<X: Code, R: Code>(
    from: &Format,
    to: &Format,
    projection: &Projection,
    codes: &[X],
) -> (Vec<R>, EventCounts) {
    let mut events = EventCounts::new(codes.len() as u64);
    let mut results = Vec::new();
    for code in codes {
        let code = code.widen() & from.max_code();
        let (answer, class) =
            (convert_with(code, from, to, projection, FlagPolicy::TESLA), from.classify(code));
        let zero = to.classify(answer.value) == Class::Zero;
        let denormal = if class == Class::Subnormal { Flags::DENORMAL } else { Flags::NONE };
        let infinite = !from.decode(code).is_finite() && !from.decode(code).is_nan();
        events.flags |= answer.flags | denormal;
        events.overflowed += u64::from(answer.flags.contains(Flags::OVERFLOW));
        events.underflowed +=
            u64::from(zero && from.decode(code).is_finite() && !from.decode(code).is_zero());
        events.zeros += u64::from(zero);
        events.nans += u64::from(from.decode(code).is_nan());
        events.infinities += u64::from(infinite);
        results.push(R::truncate(answer.value));
    }
    (results, events)
}

fn agree<X: Code, R: Code + PartialEq>(from: &Format, to: &Format, projection: &Projection, codes: &[X]) {
    let recode = Recode::new(from, to, projection).unwrap();
    let (codes_expected, events_expected) = expected::<X, R>(from, to, projection, codes);
    for level in Level::available() {
        let mut results = vec![R::from_code(0x5a5a); codes.len()];
        let events = recode.clone().with_level(level).recode(codes, &mut results);
        assert!(results == codes_expected, "{from} to {to}, {projection:?}, {level:?}");
        assert_eq!(events, events_expected, "{from} to {to}, {projection:?}, {level:?}, {}", codes.len());
    }
}

#[test]
fn bytes_to_bytes() {
    let formats = narrow_formats();
    let codes: Vec<u8> = (0..=255).collect();
    for (i, from) in formats.iter().enumerate() {
        for to in [&formats[(i * 7 + 3) % formats.len()], &formats[(i * 31 + 1) % formats.len()]] {
            for (j, projection) in projections(to).iter().enumerate() {
                let rounding = Rounding::DETERMINISTIC[(i + j) % Rounding::DETERMINISTIC.len()];
                agree::<u8, u8>(from, to, &projection.with_rounding(rounding), &codes);
                // One code alone shows its own events.
                let one = i * 5 % 256;
                agree::<u8, u8>(from, to, projection, &codes[one..=one]);
            }
        }
    }
}

#[test]
fn half_words_in_and_out() {
    let (narrow, wide) = (narrow_formats(), wide_formats());
    let codes: Vec<u16> = (0..=u16::MAX).step_by(29).collect();
    for (i, from) in wide.iter().enumerate() {
        let to = &narrow[i * 11 % narrow.len()];
        agree::<u16, u8>(from, to, &to.default_projection(), &codes);
        let to = &wide[i * 11 % wide.len()];
        agree::<u16, u16>(from, to, &to.default_projection(), &codes);
        let from = &narrow[i * 13 % narrow.len()];
        agree::<u8, u16>(from, to, &to.default_projection(), &(0..=255).collect::<Vec<u8>>());
    }
}

#[test]
fn every_length() {
    let (from, to): (Format, Format) = ("e5m2".parse().unwrap(), "cfloat8_1_4_3:bias=9".parse().unwrap());
    let codes: Vec<u8> = (0..=255_u8).cycle().map(|code| code.wrapping_mul(91)).take(600).collect();
    for length in 0..=257 {
        let start = length % 64;
        agree::<u8, u8>(&from, &to, &to.default_projection(), &codes[start..start + length]);
    }
}

#[test]
fn what_it_refuses() {
    let format: Format = "e4m3fn".parse().unwrap();
    let wide: Format = "binary32".parse().unwrap();
    let projection = format.default_projection();
    assert!(matches!(Recode::new(&wide, &format, &projection), Err(Error::TooWide { .. })));
    let random = projection.with_rounding(Rounding::stochastic_a(8).unwrap());
    assert!(matches!(Recode::new(&format, &format, &random), Err(Error::NoRandomWords { .. })));
}

#[test]
fn results_of_one_code() {
    let (narrow, wide): (Format, Format) = ("e2m1fn".parse().unwrap(), "e4m3fn".parse().unwrap());
    let up = Recode::new(&narrow, &wide, &wide.default_projection()).unwrap();
    // 6, and −1; a code's upper bits are dropped.
    for (code, expected) in [(7, 0x4c), (7 + 16, 0x4c), (10, 0xb8)] {
        assert_eq!((up.value(code).value, up.value(code).flags), (expected, Flags::NONE), "{code}");
    }
    let down = Recode::new(&wide, &narrow, &narrow.default_projection()).unwrap();
    for (code, expected, flags) in
        [(0x7e, 7, Flags::OVERFLOW | Flags::INEXACT), (0x4c, 7, Flags::NONE), (0x39, 2, Flags::INEXACT)]
    {
        assert_eq!((down.value(code).value, down.value(code).flags), (expected, flags), "{code:#x}");
    }
}
