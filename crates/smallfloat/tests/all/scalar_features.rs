//! The optional dependencies, each where its feature is on.
#![allow(clippy::float_cmp, reason = "values are exact")]

#[cfg(feature = "num-traits")]
#[test]
fn num_traits_casts_round_once_or_refuse() {
    use num_traits::{Bounded, FromPrimitive, NumCast, ToPrimitive, Zero};
    use smallfloat::{Bf16, E2M1Fn, E4M3Fn, E5M2, E8M0Fnu, F16};

    // Rounded to `f64` first, this integer would fall on a tie of bfloat16 and go down to the even
    // side.
    let above_tie = (1_u64 << 63) + (1 << 55) + 1;
    assert_eq!(<Bf16 as NumCast>::from(above_tie), Some(Bf16::from_f64(2_f64.powi(63)).next_up()));
    assert_eq!(<Bf16 as NumCast>::from(u128::MAX), Some(Bf16::INFINITY));
    assert_eq!(<E2M1Fn as FromPrimitive>::from_f64(f64::NAN), None);
    assert_eq!(<E8M0Fnu as FromPrimitive>::from_i64(-4), None);
    assert!(<E5M2 as FromPrimitive>::from_f64(f64::NAN).is_some_and(E5M2::is_nan));
    assert_eq!(ToPrimitive::to_i64(&E4M3Fn::from_f32(-3.5)), Some(-3));
    assert_eq!((E5M2::max_value(), E5M2::zero()), (E5M2::MAX, E5M2::ZERO));
    assert_eq!(<F16 as NumCast>::from(E5M2::ONE), Some(F16::ONE));
}

#[cfg(all(feature = "num-traits", feature = "alloc"))]
#[test]
fn num_traits_text_and_floats() {
    use num_traits::{Num, Signed, float::FloatCore};
    use smallfloat::{E5M2, F16};

    assert_eq!(F16::from_str_radix("-1.5e1", 10), Ok(F16::from_f32(-15.0)));
    assert_eq!(F16::from_str_radix("-1.8p1", 16), Ok(F16::from_f32(-3.0)));
    assert!(F16::from_str_radix("--1", 16).is_err());
    let error = F16::from_str_radix("1", 12).unwrap_err().to_string();
    assert_eq!(error, "`radix=12` is not understood, expected 10 or 16");
    assert_eq!(Signed::abs(&E5M2::NEG_ONE), E5M2::ONE);
    assert_eq!(FloatCore::floor(F16::from_f32(-2.5)).to_f32(), -3.0);
    assert_eq!(FloatCore::integer_decode(F16::from_f32(1.5)).2, 1);
}

#[cfg(feature = "serde")]
mod serde {
    use core::fmt;

    use ::serde::de::value::{Error, F64Deserializer, StrDeserializer, U8Deserializer, U64Deserializer};
    use ::serde::de::{Deserialize, IntoDeserializer};
    use ::serde::ser::Serialize;
    use smallfloat::scalar::as_value;
    use smallfloat::{E2M1Fn, E4M3Fn};

    /// What a closure writes to a formatter, which is a serializer of primitive values.
    struct Written<F>(F);

    impl<F: Fn(&mut fmt::Formatter<'_>) -> fmt::Result> fmt::Display for Written<F> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            (self.0)(f)
        }
    }

    #[test]
    fn codes() {
        let x = E4M3Fn::from_f32(1.5);
        assert_eq!(Written(|f: &mut fmt::Formatter<'_>| x.serialize(f)).to_string(), "60");
        let read = |code: u8| -> Result<E4M3Fn, Error> {
            let code: U8Deserializer<Error> = code.into_deserializer();
            E4M3Fn::deserialize(code)
        };
        assert_eq!(read(60), Ok(x));
        // A 4-bit type has sixteen codes.
        let wide: U8Deserializer<Error> = 16_u8.into_deserializer();
        assert!(E2M1Fn::deserialize(wide).is_err());
    }

    /// Formats, projections, modes and flags are their text.
    #[test]
    fn text() {
        use smallfloat::{Flags, Format, Preset, Projection, RandomBits, Rounding, formats};

        fn round_trip<T>(x: T, text: &str)
        where
            T: Serialize + for<'de> Deserialize<'de> + PartialEq + fmt::Debug,
        {
            assert_eq!(Written(|f: &mut fmt::Formatter<'_>| x.serialize(f)).to_string(), text);
            let text: StrDeserializer<'_, Error> = text.into_deserializer();
            assert_eq!(T::deserialize(text), Ok(x));
        }
        fn is_refused<T: for<'de> Deserialize<'de>>(text: &str) -> bool {
            let text: StrDeserializer<'_, Error> = text.into_deserializer();
            T::deserialize(text).is_err()
        }
        for row in formats::CATALOGUE {
            round_trip(row.format, &row.format.to_string());
        }
        round_trip(Format::cfloat8_1_5_2(63).unwrap(), "cfloat8_1_5_2:bias=63");
        let projection = Preset::Tesla.projection(&formats::UHP);
        round_trip(projection, &projection.to_string());
        round_trip(Rounding::ToOdd, "to-odd");
        round_trip(Rounding::stochastic_a(16).unwrap(), "stochastic-a:16");
        round_trip(Rounding::StochasticC(RandomBits::new(8, 37).unwrap()), "stochastic-c:8:37");
        round_trip(Preset::OcpSaturate, "ocp-saturate");
        round_trip(Flags::OVERFLOW | Flags::INEXACT, "OX");
        round_trip(Flags::NONE, "-");
        assert!(is_refused::<Format>("e9m9") && is_refused::<Format>("cfloat8_1_4_3"));
        assert!(is_refused::<Rounding>("upward") && is_refused::<Preset>("ieee754"));
        assert!(is_refused::<Projection>("nearest-even,satmost") && is_refused::<Flags>("Q"));
        let number: U8Deserializer<Error> = 3_u8.into_deserializer();
        assert!(Flags::deserialize(number).is_err());
    }

    #[test]
    fn values() {
        let x = E4M3Fn::from_f32(1.5);
        assert_eq!(Written(|f: &mut fmt::Formatter<'_>| as_value::serialize(&x, f)).to_string(), "1.5");
        let float: F64Deserializer<Error> = 1.55.into_deserializer();
        assert_eq!(as_value::deserialize(float), Ok(x));
        // An integer is a value too, not a code.
        let integer: U64Deserializer<Error> = 3_u64.into_deserializer();
        assert_eq!(as_value::deserialize(integer), Ok(E4M3Fn::from_f32(3.0)));
        let text: StrDeserializer<'_, Error> = "3".into_deserializer();
        assert!(as_value::deserialize::<E4M3Fn, _>(text).is_err());
    }

    #[cfg(feature = "alloc")]
    #[test]
    fn strings() {
        use smallfloat::{E5M2, scalar::as_string};
        for (x, text) in [(E5M2::INFINITY, "inf"), (E5M2::NAN, "NaN"), (E5M2::from_f32(0.3), "0.3125")] {
            assert_eq!(Written(|f: &mut fmt::Formatter<'_>| as_string::serialize(&x, f)).to_string(), text);
            let read: StrDeserializer<'_, Error> = text.into_deserializer();
            let back: E5M2 = as_string::deserialize(read).expect("written text reads");
            assert_eq!(back.to_bits(), x.to_bits());
        }
        let bad: StrDeserializer<'_, Error> = "one".into_deserializer();
        assert!(as_string::deserialize::<E5M2, _>(bad).is_err());
    }
}

#[cfg(feature = "bytemuck")]
#[test]
fn bytemuck_casts_slices() {
    use smallfloat::{CFloat8_1_4_3, E2M1Fn, E4M3Fn, F16};

    let bytes = [0x38_u8, 0x7e];
    let scalars: &[E4M3Fn] = bytemuck::cast_slice(&bytes);
    assert_eq!([scalars[0].to_f32(), scalars[1].to_f32()], [1.0, 448.0]);
    let tesla: &[CFloat8_1_4_3<7>] = bytemuck::cast_slice(&bytes);
    assert_eq!(bytemuck::cast_slice::<_, u8>(tesla), bytes);
    assert_eq!(bytemuck::cast_slice::<F16, u16>(&[F16::ONE]), [0x3c00]);
    // Types in a part of a byte can be read as bytes, not made from any.
    assert_eq!(bytemuck::bytes_of(&E2M1Fn::MAX), [0x07]);
}

#[cfg(feature = "zerocopy")]
#[test]
fn zerocopy_reads_and_writes() {
    use smallfloat::{E2M1Fn, E5M2};
    use zerocopy::{FromBytes, IntoBytes};

    assert_eq!(E5M2::ref_from_bytes(&[0x3c]).ok(), Some(&E5M2::ONE));
    let scalars = <[E5M2]>::ref_from_bytes(&[0x3c, 0x40]).expect("any bytes are codes");
    assert_eq!(scalars.iter().sum::<E5M2>().to_f32(), 3.0);
    assert_eq!(E2M1Fn::MAX.as_bytes(), [0x07]);
}

#[cfg(feature = "half")]
#[test]
fn half_has_the_same_bits() {
    use half::{bf16, f16};
    use smallfloat::{Bf16, E4M3Fn, F16};

    for bits in 0..=u16::MAX {
        assert_eq!(F16::from(f16::from_bits(bits)).to_bits(), bits);
        assert_eq!(bf16::from(Bf16::from_bits(bits)).to_bits(), bits);
        let (ours, theirs) = (F16::from_bits(bits), f16::from_bits(bits));
        assert!(ours.to_f32().to_bits() == theirs.to_f32().to_bits() || theirs.is_nan());
        assert_eq!(ours.classify(), theirs.classify());
        assert_eq!(Bf16::from_bits(bits).classify(), bf16::from_bits(bits).classify());
    }
    assert_eq!(f16::from(E4M3Fn::MAX).to_f32(), 448.0);
    assert_eq!((F16::MAX.to_bits(), Bf16::EPSILON.to_bits()), (f16::MAX.to_bits(), bf16::EPSILON.to_bits()));
    assert_eq!((F16::DIGITS, F16::MIN_10_EXP, F16::MAX_EXP), (f16::DIGITS, f16::MIN_10_EXP, f16::MAX_EXP));
    assert_eq!(
        (Bf16::DIGITS, Bf16::MIN_10_EXP, Bf16::MIN_EXP),
        (bf16::DIGITS, bf16::MIN_10_EXP, bf16::MIN_EXP)
    );
}

#[cfg(feature = "arbitrary")]
#[test]
fn arbitrary_gives_every_code() {
    use arbitrary::{Arbitrary, Unstructured};
    use smallfloat::{E2M1Fn, Shp};

    assert_eq!(E2M1Fn::arbitrary(&mut Unstructured::new(&[0xf7])).map(E2M1Fn::to_bits), Ok(0x07));
    assert_eq!(Shp::<15>::arbitrary(&mut Unstructured::new(&[0x34, 0x12])).map(Shp::to_bits), Ok(0x1234));
}

#[cfg(feature = "rand")]
#[test]
fn rand_is_uniform_and_below_one() {
    use rand::distr::{Distribution, StandardUniform};
    use smallfloat::E4M3Fn;

    /// Words in even steps, so that counts are exact up to the ends of the intervals.
    struct Steps(u64);

    impl rand::TryRng for Steps {
        type Error = core::convert::Infallible;

        fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
            unreachable!("a sample takes 64 bits")
        }
        fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
            self.0 = self.0.wrapping_add(1 << 48);
            Ok(self.0)
        }
        fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Self::Error> {
            unreachable!("a sample takes 64 bits")
        }
    }

    let mut counts = [0_u32; 256];
    for x in StandardUniform.sample_iter(Steps(0)).take(1 << 16) {
        let x: E4M3Fn = x;
        counts[usize::from(x.to_bits())] += 1;
    }
    // 2^16 steps: the top binade has eight values of 2^−4 each, and nothing reaches 1.
    assert_eq!(counts[0x30..0x38], [4096; 8]);
    assert_eq!(counts[0x38..].iter().sum::<u32>(), 0);
    assert_eq!(counts[0..8], [128; 8]);
}

/// `Float` of every value of the 8-bit types and many of binary16, against binary64 where that
/// decides: its results are far nearer than the places where a rounding changes.
#[cfg(all(feature = "num-traits", feature = "math", feature = "std"))]
mod float {
    use num_traits::Float;
    use smallfloat::{Bf16, E3M4, E4M3, E5M2, F16, SmallFloat};

    fn same<T: SmallFloat>(x: T, y: T) -> bool {
        x.code() == y.code() || x.is_nan() && y.is_nan()
    }

    fn all<T: SmallFloat>() -> impl Iterator<Item = T> {
        T::FORMAT.codes().map(T::from_code)
    }

    fn unary<T: SmallFloat + Float>() {
        let step = if T::FORMAT.width() > 8 { 11 } else { 1 };
        for x in all::<T>().step_by(step) {
            let wide = SmallFloat::to_f64(x);
            let (sine, cosine) = Float::sin_cos(x);
            for (what, found, expected) in [
                ("log10", Float::log10(x), wide.log10()),
                ("cbrt", Float::cbrt(x), wide.cbrt()),
                ("degrees", Float::to_degrees(x), wide.to_degrees()),
                ("radians", Float::to_radians(x), wide.to_radians()),
                ("square", Float::powi(x, 2), wide * wide),
                ("inverse cube", Float::powi(x, -3), wide.powi(-3)),
                ("ln", Float::ln(x), wide.ln()),
                ("sine", sine, wide.sin()),
                ("cosine", cosine, wide.cos()),
                ("floor", Float::floor(x), wide.floor()),
                ("round", Float::round(x), wide.round()),
                ("ceil", Float::ceil(x), wide.ceil()),
                ("trunc", Float::trunc(x), wide.trunc()),
                ("fract", Float::fract(x), wide.fract()),
            ] {
                let expected = T::from_f64(expected);
                assert!(same(found, expected), "{what} of {x:?}: {found:?}, not {expected:?}");
            }
        }
    }

    #[test]
    fn functions_of_one_operand() {
        unary::<E5M2>();
        unary::<E4M3>();
        unary::<E3M4>();
        unary::<F16>();
    }

    /// All pairs: exact results are where binary64's are, and special cases are IEEE 754's.
    #[test]
    fn powers_and_logarithms() {
        fn pairs<T: SmallFloat + Float>() {
            for x in all::<T>() {
                for y in all::<T>() {
                    let (a, b) = (SmallFloat::to_f64(x), SmallFloat::to_f64(y));
                    let (power, expected) = (Float::powf(x, y), T::from_f64(a.powf(b)));
                    assert!(same(power, expected), "{x:?}^{y:?}: {power:?}, not {expected:?}");
                    let (found, expected) = (Float::log(x, y), T::from_f64(a.ln() / b.ln()));
                    // A quotient of rounded logarithms is not the exact ½ that a tie is.
                    let exact = found.code().abs_diff(expected.code()) <= 1;
                    assert!(
                        same(found, expected) || exact,
                        "log {x:?} to {y:?}: {found:?}, not {expected:?}"
                    );
                }
            }
        }
        pairs::<E5M2>();
        pairs::<E4M3>();
    }

    #[test]
    fn hard_and_exact_cases() {
        let h = F16::from_f64;
        // (1 + 2^−10)^2 = 1 + 2^−9 + 2^−20, just above a value.
        assert_eq!(Float::powi(h(1.0009765625), 2).to_f64(), 1.001953125);
        assert_eq!(Float::powf(h(6.25), h(1.5)).to_f64(), 15.625);
        assert_eq!(Float::powf(h(0.0625), h(-0.75)).to_f64(), 8.0);
        assert_eq!(Float::powi(h(1.0009765625), i32::MAX), F16::INFINITY);
        assert_eq!(Float::powi(h(-1.0009765625), -i32::MAX).to_bits(), 0x8000);
        assert_eq!(Float::powi(F16::NAN, 0), F16::ONE);
        assert_eq!(Float::log(h(8.0), h(4.0)).to_f64(), 1.5);
        assert_eq!(Float::log(h(27.0), h(9.0)).to_f64(), 1.5);
        assert_eq!(Float::log(h(0.125), h(1024.0)).to_f64(), SmallFloat::to_f64(h(-0.3)));
        assert_eq!([Float::log10(h(10_000.0)), Float::cbrt(h(-27.0))].map(F16::to_f64), [4.0, -3.0]);
        let tiny = Bf16::from_bits(1);
        assert_eq!(Float::powf(Bf16::from_f32(3.0), tiny), Bf16::ONE);
        assert_eq!(Float::powf(Bf16::MAX, Bf16::MAX), Bf16::INFINITY);
        assert_eq!(Float::cbrt(tiny).to_f64(), SmallFloat::to_f64(Bf16::from_f64(2_f64.powf(-133.0 / 3.0))));
    }
}
