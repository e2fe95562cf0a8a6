//! What kernels refuse before they write anything: slices of different lengths, codes that are too
//! narrow, scales of another shape.
#![allow(clippy::float_cmp, reason = "values are exact")]
#![allow(clippy::semicolon_if_nothing_returned, reason = "a call that must panic, whatever it would give")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use smallfloat::formats::{BINARY16, BINARY32, E2M1FN, E4M3FN, E5M2};
use smallfloat::p3109::Specialization;
use smallfloat::random::Philox;
use smallfloat::{RandomBits, Rounding};
use smallfloat_kernels::{
    Accumulate, Decoder, Dot, Elementwise, Encoder, Generator, Level, Nibbles, RandomWords, Recode, Scales,
    Target, pack4, pack6, unpack4, unpack6,
};

/// The words of the panic that work ends in.
fn refused<T>(what: &str, words: &str, work: impl FnOnce() -> T) {
    let Err(panic) = catch_unwind(AssertUnwindSafe(work)) else { panic!("{what} is not refused") };
    let message = panic.downcast_ref::<String>().cloned();
    let message =
        message.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default();
    assert!(message.contains(words), "{what}: `{message}` does not say `{words}`");
}

fn words() -> RandomWords {
    RandomWords { generator: Generator::Philox(Philox { seed: 1, stream: 2 }), first_element: 0 }
}

#[test]
fn conversions_refuse_what_does_not_fit() {
    let projection = E4M3FN.default_projection();
    let encoder = Encoder::<f32>::new(&E4M3FN, &projection).unwrap();
    let mut codes = [0_u8; 3];
    refused("encode", "the same length", || encoder.encode(&[1.0; 4], &mut codes));
    refused("encode_uncounted", "the same length", || encoder.encode_uncounted(&[1.0; 2], &mut codes));
    let half = Encoder::<f32>::new(&BINARY16, &BINARY16.default_projection()).unwrap();
    refused("encode to bytes", "needs codes wider than 8 bits", || half.encode(&[1.0; 3], &mut codes));
    let bits = RandomBits::new(5, 0).unwrap();
    let random = Encoder::<f32>::for_length(
        &E4M3FN,
        &projection.with_rounding(Rounding::StochasticA(bits)),
        usize::MAX,
    )
    .unwrap();
    refused("encode without words", "random words", || random.encode(&[1.0; 3], &mut codes));
    refused("encode_uncounted without words", "random words", || {
        random.encode_uncounted(&[1.0; 3], &mut codes)
    });
    refused("encode_random", "the same length", || random.encode_random(&[1.0; 4], &mut codes, words()));
    assert_eq!(codes, [0; 3]);
    let decoder = Decoder::<f32>::new(&E4M3FN, None).unwrap();
    let mut values = [7.0; 3];
    refused("decode", "the same length", || decoder.decode(&[1_u8; 2], &mut values));
    assert_eq!(values, [7.0; 3]);
    let recoder = Recode::new(&E2M1FN, &BINARY16, &BINARY16.default_projection()).unwrap();
    refused("recode", "the same length", || recoder.recode(&[1_u8; 2], &mut [0_u16; 3]));
    refused("recode to bytes", "needs codes wider than 8 bits", || {
        recoder.recode(&[1_u8; 3], &mut [0_u8; 3])
    });
}

#[test]
fn packing_refuses_other_lengths() {
    let level = Level::Portable;
    for bytes in [1, 3] {
        refused("pack4", "take another number of bytes", || {
            pack4(level, &[1; 4], &mut vec![0; bytes], Nibbles::LowFirst)
        });
        refused("unpack4", "take another number of bytes", || {
            unpack4(level, &vec![0; bytes], &mut [1; 4], Nibbles::HighFirst)
        });
    }
    for bytes in [2, 4] {
        refused("pack6", "take another number of bytes", || pack6(level, &[1; 4], &mut vec![0; bytes]));
        refused("unpack6", "take another number of bytes", || unpack6(level, &vec![0; bytes], &mut [1; 4]));
    }
}

#[test]
fn operations_refuse_what_does_not_fit() {
    let of =
        |text: &str| Elementwise::for_length(&text.parse::<Specialization>().unwrap(), usize::MAX).unwrap();
    let add = of("Add<e5m2, e4m3fn, e5m2>");
    let mut results = [0_u8; 3];
    refused("binary", "the same length", || add.binary(&[1_u8; 3], &[1_u8; 2], &mut results, None));
    refused("binary results", "the same length", || add.binary(&[1_u8; 2], &[1_u8; 2], &mut results, None));
    refused("unary Add", "another number of operands", || add.unary(&[1_u8; 3], &mut results, None));
    refused("ternary Add", "another number of operands", || {
        add.ternary(&[1_u8; 3], &[1_u8; 3], &[1_u8; 3], &mut results, None);
    });
    let wide = of("Add<binary16, e4m3fn, e5m2>");
    refused("halves as bytes", "needs codes wider than 8 bits", || {
        wide.binary(&[1_u8; 3], &[1_u8; 3], &mut results, None)
    });
    let half = of("Add<e5m2, e4m3fn, binary16>");
    refused("half results as bytes", "needs codes wider than 8 bits", || {
        half.binary(&[1_u8; 3], &[1_u8; 3], &mut results, None)
    });
    let random = of("Sqrt<e5m2, e5m2, (StochasticA<4>, SatNone)>");
    refused("Sqrt without words", "needs random words", || random.unary(&[1_u8; 3], &mut results, None));
    random.unary(&[0x3c_u8; 3], &mut results, Some(words()));
    assert_eq!(results, [0x3c; 3]);
}

#[test]
fn products_refuse_other_shapes() {
    let dot = Dot::new(&E5M2, &E5M2, Accumulate::F32).unwrap();
    let (a, b) = ([0x3c_u8; 6], [0x3c_u8; 4]);
    refused("sum", "the same length", || dot.sum(&a, &b));
    let matmul = |length: usize, results: usize| {
        let projection = BINARY32.default_projection();
        dot.matmul(
            [&a, &b],
            length,
            Target { format: &BINARY16, projection: &projection },
            &mut vec![0; results],
        );
    };
    refused("rows of nothing", "rows must have elements", || matmul(0, 6));
    refused("rows of four", "whole rows", || matmul(4, 1));
    refused("five results", "one result for each pair of rows", || matmul(2, 5));
    refused("results of 32 bits", "needs codes wider than 16 bits", || {
        let target = Target { format: &BINARY32, projection: &BINARY32.default_projection() };
        dot.matmul([&a, &b], 2, target, &mut [0; 6])
    });
    let scaled = |scales: [Scales<'_>; 2]| {
        let mut products = [0.0; 6];
        dot.matmul_f32([&a, &b], 2, scales, &mut products);
        products
    };
    let one = Scales::Tensor(1.0);
    for scales in [&[1.0; 2][..], &[1.0; 4]] {
        refused("scales of rows", "one scale for each row", || scaled([Scales::Rows(scales), one]));
    }
    refused("scales of columns", "one scale for each row", || scaled([one, Scales::Rows(&[1.0; 3])]));
    refused("scales of blocks", "each block of each row", || scaled([Scales::Blocks(1, &[1.0; 5]), one]));
    refused("blocks of nothing", "blocks of scales must have elements", || {
        scaled([Scales::Blocks(0, &[]), one])
    });
    refused("two sizes of blocks", "of one size", || {
        scaled([Scales::Blocks(1, &[1.0; 6]), Scales::Blocks(2, &[1.0; 2])]);
    });
    assert_eq!(
        scaled([Scales::Blocks(1, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), Scales::Tensor(0.5)]),
        [1.5, 1.5, 3.5, 3.5, 5.5, 5.5]
    );
}
