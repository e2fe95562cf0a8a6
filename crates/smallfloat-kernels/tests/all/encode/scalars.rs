//! Typed scalars as sources and targets of everything, flags per element, and the functions that
//! give a `Vec`: against the core's functions, bit for bit.

use smallfloat::ops::{Operand, Operation, OperationOptions};
use smallfloat::random::Philox;
use smallfloat::{
    Binary8p3se, CFloat8_1_4_3, E2M1Fn, E4M3Fn, E5M2, E8M0Fnu, FlagPolicy, Flags, Format, Projection,
    RandomBits, Rounding, ScalarSlice, SmallFloat, Uhp, convert_with, formats,
};
use smallfloat_kernels::{
    Accumulate, AsCodes, AsScalars, Bf16, Code, Decoder, Dot, Element, Elementwise, Encoder, Error,
    EventCounts, F16, Generator, RandomWords, Recode, Scalar, decode, decode_scalars, dot, encode, encode_as,
    encode_as_with, encode_seeded, encode_u16, encode_with_flags,
};

smallfloat::define_format! {
    /// Seven bits, three of them exponent.
    type Seven(u8) = Format::ieee(7, 4);
    type Twelve(u16) = Format::ieee(12, 6);
}

/// All codes of a source of 16 bits.
fn all<T: Element>() -> Vec<T> {
    (0..1 << 16).map(T::from_bits).collect()
}

fn deterministic(format: &Format) -> Vec<Projection> {
    let modes = [
        Rounding::NearestEven,
        Rounding::NearestAway,
        Rounding::TowardPositive,
        Rounding::TowardNegative,
        Rounding::TowardZero,
        Rounding::ToOdd,
    ];
    modes.map(|mode| format.default_projection().with_rounding(mode)).to_vec()
}

/// Encodes all values of a source into scalars, with flags, and compares with the core.
fn encodes<T: Element, S: Scalar + PartialEq>() {
    let (x, format) = (all::<T>(), <S as SmallFloat>::FORMAT);
    for projection in deterministic(&format) {
        // A table over classes, and none.
        for length in [usize::MAX, 0] {
            let encoder = Encoder::<T>::for_length(&format, &projection, length).unwrap();
            let (mut y, mut flags) = (vec![S::from_bits(zero::<S>()); x.len()], vec![Flags::NONE; x.len()]);
            let counts = encoder.encode_with_flags(&x, &mut y, &mut flags);
            let mut joined = Flags::NONE;
            for ((x, y), flags) in x.iter().zip(&y).zip(&flags) {
                let expected = convert_with(x.bits(), &T::FORMAT, &format, &projection, FlagPolicy::TESLA);
                assert_eq!(
                    (Code::widen(*y), *flags),
                    (expected.value, expected.flags),
                    "{:#x} to {format} {:?}",
                    x.bits(),
                    projection.rounding
                );
                joined |= *flags;
            }
            assert_eq!((counts.flags, counts.elements), (joined, 1 << 16));
            let mut again = vec![S::from_bits(zero::<S>()); x.len()];
            assert_eq!(encoder.encode(&x, &mut again), counts);
            assert!(again.iter().zip(&y).all(|(a, b)| Code::widen(*a) == Code::widen(*b)));
        }
    }
}

fn zero<S: SmallFloat>() -> S::Bits {
    <S as SmallFloat>::from_code(0).to_bits()
}

#[test]
fn flags_of_every_half() {
    encodes::<F16, E4M3Fn>();
    encodes::<F16, E2M1Fn>();
    encodes::<Bf16, CFloat8_1_4_3<7>>();
    encodes::<F16, Binary8p3se>();
    encodes::<Bf16, E8M0Fnu>();
    encodes::<F16, Seven>();
    encodes::<Bf16, Twelve>();
    encodes::<Bf16, Uhp>();
}

/// Each element's word, and the flags that the core raises with it.
#[test]
fn flags_of_stochastic_roundings() {
    let philox = Philox { seed: 3, stream: 9 };
    let x = all::<F16>();
    for mode in [Rounding::stochastic_a(5), Rounding::stochastic_b(16), Rounding::stochastic_c(3)] {
        let format = E4M3Fn::FORMAT;
        let mode = mode.unwrap();
        let projection = format.default_projection().with_rounding(mode);
        let encoder = Encoder::<F16>::seeded(&format, &projection, philox).unwrap();
        let (mut y, mut flags) = (vec![E4M3Fn::ZERO; x.len()], vec![Flags::NONE; x.len()]);
        encoder.encode_with_flags(&x, &mut y, &mut flags);
        let count = mode.random_bits().unwrap().count();
        for (i, ((x, y), flags)) in x.iter().zip(&y).zip(&flags).enumerate() {
            let bits = RandomBits::from_word32(count, philox.word(i as u64)).unwrap();
            let drawn = projection.with_rounding(mode.with_random_bits(bits));
            let expected = convert_with(x.to_bits().into(), &F16::FORMAT, &format, &drawn, FlagPolicy::TESLA);
            assert_eq!((u64::from(y.to_bits()), *flags), (expected.value, expected.flags), "{x} {mode:?}");
        }
        let mut again = vec![0_u8; x.len()];
        encoder.encode(&x, &mut again);
        assert_eq!(again, y.as_codes());
        let mut uncounted = vec![0_u8; x.len()];
        encoder.encode_uncounted(&x, &mut uncounted);
        assert_eq!(uncounted, again);
        // Words of a call come before those of the encoder.
        let words =
            RandomWords { generator: Generator::Philox(Philox { seed: 4, ..philox }), first_element: 0 };
        let (mut drawn, mut kept) = (vec![0_u8; x.len()], vec![0_u8; x.len()]);
        encoder.encode_random(&x, &mut drawn, words);
        encoder.clone().with_words(words).encode(&x, &mut kept);
        assert!(drawn == kept && drawn != again);
        assert_eq!(encode_seeded(&x, &format, &projection, philox).unwrap().0, again);
    }
}

#[test]
fn operations_give_flags_of_each_element() {
    let codes: Vec<u8> = (0..=u8::MAX).collect();
    let x: Vec<u8> = codes.iter().flat_map(|&x| [x; 256]).collect();
    let y = codes.repeat(256);
    for (text, operation, to) in [
        ("Add<e4m3fn, e5m2, e4m3fn>", Operation::Add, formats::E4M3FN),
        ("Divide<e4m3fn, e5m2, binary16>", Operation::Divide, formats::BINARY16),
    ] {
        let kernel = Elementwise::new(&text.parse().unwrap()).unwrap();
        let by_core = Elementwise::for_length(&text.parse().unwrap(), 1).unwrap();
        let (left, right): (&[E4M3Fn], &[E5M2]) = (x.as_scalars().unwrap(), y.as_scalars().unwrap());
        let (mut results, mut flags) = (vec![0_u16; x.len()], vec![Flags::NONE; x.len()]);
        let joined = kernel.binary_with_flags(left, right, &mut results, &mut flags, None);
        let (mut others, mut other_flags) = (vec![0_u16; x.len()], vec![Flags::NONE; x.len()]);
        assert_eq!(by_core.binary_with_flags(&x, &y, &mut others, &mut other_flags, None), joined);
        assert!(others == results && other_flags == flags);
        assert_eq!(kernel.binary(&x, &y, &mut others, None), joined);
        assert_eq!(others, results);
        let options = OperationOptions::default_for([&formats::E4M3FN, &formats::E5M2, &to])
            .with_flags(FlagPolicy::TESLA);
        let mut expected_flags = Flags::NONE;
        for (i, (&x, &y)) in x.iter().zip(&y).enumerate() {
            let operands = [Operand::new(x.into(), &formats::E4M3FN), Operand::new(y.into(), &formats::E5M2)];
            let expected = operation.evaluate(&operands, &to, &to.default_projection(), options);
            assert_eq!(
                (u64::from(results[i]), flags[i]),
                (expected.value, expected.flags),
                "{text} {x:#x} {y:#x}"
            );
            expected_flags |= expected.flags;
        }
        assert_eq!(joined, expected_flags);
    }
}

/// One and three operands: exhaustive over small formats.
#[test]
fn flags_of_other_arities() {
    let root = Elementwise::new(&"Sqrt<e4m3fn, e5m2>".parse().unwrap()).unwrap();
    let x: Vec<E4M3Fn> = (0..=u8::MAX).map(E4M3Fn::from_bits).collect();
    let (mut results, mut flags) = (vec![E5M2::ZERO; 256], vec![Flags::NONE; 256]);
    root.unary_with_flags(&x, &mut results, &mut flags, None);
    let fma = Elementwise::new(&"FMA<e2m1fn, e2m1fn, e2m1fn, e2m1fn>".parse().unwrap()).unwrap();
    let triples: Vec<[u8; 3]> =
        (0..1_u16 << 12).map(|i| [i, i >> 4, i >> 8].map(|code| code.to_le_bytes()[0] & 15)).collect();
    let operand = |which: usize| -> Vec<u8> { triples.iter().map(|codes| codes[which]).collect() };
    let (mut sums, mut fma_flags) = (vec![E2M1Fn::ZERO; 1 << 12], vec![Flags::NONE; 1 << 12]);
    fma.ternary_with_flags(&operand(0), &operand(1), &operand(2), &mut sums, &mut fma_flags, None);
    let options =
        OperationOptions::default_for([&formats::E4M3FN, &formats::E5M2]).with_flags(FlagPolicy::TESLA);
    for ((x, result), flags) in x.iter().zip(&results).zip(&flags) {
        let (e4m3fn, to) = (formats::E4M3FN, formats::E5M2);
        let operand = [Operand::new(x.to_bits().into(), &e4m3fn)];
        let expected = Operation::Sqrt.evaluate(&operand, &to, &to.default_projection(), options);
        assert_eq!((u64::from(result.to_bits()), *flags), (expected.value, expected.flags), "{x}");
    }
    for ((codes, sum), flags) in triples.iter().zip(&sums).zip(&fma_flags) {
        let format = formats::E2M1FN;
        let operands = codes.map(|code| Operand::new(code.into(), &format));
        let expected = Operation::Fma.evaluate(&operands, &format, &format.default_projection(), options);
        assert_eq!((u64::from(sum.to_bits()), *flags), (expected.value, expected.flags), "{codes:x?}");
    }
}

#[test]
fn scalars_decode_and_recode() {
    let x: Vec<Binary8p3se> = (0..=u8::MAX).map(Binary8p3se::from_bits).collect();
    let mut values = vec![0_f32; 256];
    Decoder::new(&Binary8p3se::FORMAT, None).unwrap().decode(&x, &mut values);
    assert!(
        values
            .iter()
            .zip(x.to_f32_vec())
            .all(|(a, b)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan())
    );
    assert_eq!(decode_scalars::<f64>(&x[..100]).unwrap(), x[..100].to_f64_vec());

    let recode = Recode::new(&Binary8p3se::FORMAT, &Twelve::FORMAT, &Twelve::FORMAT.default_projection());
    let mut wider = vec![Twelve::ZERO; 256];
    recode.unwrap().recode(&x, &mut wider);
    assert!(x.iter().zip(&wider).all(|(x, y)| x.convert::<Twelve>().to_bits() == y.to_bits()));
}

/// Longer than a block of threads, so that vectors, tables and threads have their part.
#[test]
fn long_slices_in_one_call() {
    let x: Vec<f32> = (0..200_001_u32).map(|i| f32::from_bits(i.wrapping_mul(0x9e37_79b9))).collect();
    let scalars = encode_as::<E2M1Fn>(&x);
    let codes = encode(&x, &E2M1Fn::FORMAT, &E2M1Fn::FORMAT.default_projection()).unwrap().0;
    assert_eq!(scalars.as_codes(), codes);
    assert!(x.iter().zip(&scalars).all(|(&x, y)| E2M1Fn::from_f32(x).to_bits() == y.to_bits()));
    let (wide, counts) = encode_u16(&x, &Twelve::FORMAT, &Twelve::FORMAT.default_projection()).unwrap();
    assert!(x.iter().zip(&wide).all(|(&x, &y)| Twelve::from_f32(x).to_bits() == y));
    let (same, same_counts) = encode_as_with::<Twelve>(&x, &Twelve::FORMAT.default_projection()).unwrap();
    assert_eq!((same.as_codes(), same_counts), (&wide[..], counts));
    let values = decode::<f64>(&scalars, &E2M1Fn::FORMAT).unwrap();
    assert!(values.iter().zip(&scalars).all(|(value, x)| value.to_bits() == x.to_f64().to_bits()));
    let projection = E5M2::FORMAT.default_projection();
    let (codes, flags, counts) = encode_with_flags(&x, &E5M2::FORMAT, &projection).unwrap();
    for (i, &x) in x.iter().enumerate() {
        let expected = convert_with(
            x.to_bits().into(),
            &formats::BINARY32,
            &E5M2::FORMAT,
            &projection,
            FlagPolicy::TESLA,
        );
        assert_eq!((u64::from(codes[i]), flags[i]), (expected.value, expected.flags), "{x:e}");
    }
    assert_eq!(encode(&x, &E5M2::FORMAT, &projection).unwrap(), (codes, counts));
}

#[test]
fn dot_products_of_scalars() {
    let x: Vec<E4M3Fn> = (0..=0x7e).map(E4M3Fn::from_bits).collect();
    let y: Vec<E5M2> = (0..=0x7e).map(|code| E5M2::from_bits(code % 0x7c)).collect();
    let expected: f64 = x.iter().zip(&y).map(|(x, y)| x.to_f64() * y.to_f64()).sum();
    assert_eq!(
        dot::<f64>(&x, &y).to_bits(),
        expected.to_bits(),
        "all terms are multiples of 2^-25 below 2^33"
    );
    assert_eq!(dot::<Bf16>(&x, &y), Bf16::from_f64(expected));
    let kept = Dot::between::<E4M3Fn, E5M2>(Accumulate::Exact).unwrap();
    assert_eq!(kept.sum(&x, &y), kept.sum(x.as_codes(), y.as_codes()));
    let wide: Vec<F16> = x.iter().map(|x| x.convert()).collect();
    assert_eq!(dot::<f64>(&wide, &y).to_bits(), expected.to_bits());
    assert_eq!(dot::<f32>(&x[..0], &y[..0]).to_bits(), 0);
}

#[test]
fn codes_become_scalars_only_if_they_are() {
    let codes = [0x00_u8, 0x0f, 0x10];
    assert_eq!(
        codes.as_scalars::<E2M1Fn>().unwrap_err(),
        Error::NoCode { format: E2M1Fn::FORMAT, code: 0x10, index: 2 }
    );
    assert_eq!(codes[..2].as_scalars::<E2M1Fn>().unwrap(), [0.0, -6.0].map(E2M1Fn::from_f32));
    let mut halves = [0x3c00_u16, 0xffff];
    halves.as_scalars_mut::<F16>().unwrap()[1] = F16::ONE;
    assert_eq!(halves, [0x3c00; 2]);
    assert!(codes.as_scalars::<Seven>().is_ok() && [0x80_u8].as_scalars::<Seven>().is_err());
    let empty: [u8; 0] = [];
    assert!(empty.as_scalars::<E2M1Fn>().unwrap().is_empty());
}

#[test]
fn constructors_refuse() {
    let format = E5M2::FORMAT;
    let stochastic = format.default_projection().with_rounding(Rounding::stochastic_a(16).unwrap());
    let refused = Error::NoRandomWords { mode: "stochastic-a" };
    assert_eq!(Encoder::<f32>::new(&format, &stochastic).unwrap_err(), refused);
    assert_eq!(encode(&[1.0_f32], &format, &stochastic).unwrap_err(), refused);
    assert_eq!(encode_with_flags(&[1.0_f32], &format, &stochastic).unwrap_err(), refused);
    assert_eq!(encode_as_with::<E5M2>(&[1.0_f32], &stochastic).unwrap_err(), refused);
    let sum = "Add<e5m2, e5m2, e5m2, (StochasticA<8>, SatNone)>".parse().unwrap();
    assert_eq!(Elementwise::new(&sum).unwrap_err(), refused);
    let philox = Philox { seed: 1, stream: 1 };
    let many = format.default_projection().with_rounding(Rounding::stochastic_a(33).unwrap());
    assert!(matches!(Encoder::<f32>::seeded(&format, &many, philox), Err(Error::Core(_))));
    let wide = formats::BINARY16;
    let error = encode(&[1.0_f32], &wide, &wide.default_projection()).unwrap_err();
    assert_eq!(error, Error::NotBytes { format: wide });
    assert!(error.to_string().ends_with("take `encode_u16`, or an `Encoder` and codes of u16"), "{error}");
    assert_eq!(EventCounts::default().elements, 0);
}

#[test]
#[should_panic(expected = "codes of e5m2 are no scalars of e4m3fn")]
fn scalars_of_another_format() {
    let encoder = Encoder::<f32>::new(&E5M2::FORMAT, &E5M2::FORMAT.default_projection()).unwrap();
    encoder.encode(&[1.0], &mut [E4M3Fn::ZERO]);
}

#[test]
#[should_panic(expected = "3 elements and 2 codes")]
fn both_lengths_are_said() {
    let encoder = Encoder::<f32>::new(&E5M2::FORMAT, &E5M2::FORMAT.default_projection()).unwrap();
    encoder.encode(&[1.0; 3], &mut [0_u8; 2]);
}
