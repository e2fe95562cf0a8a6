//! One value at a time: conversions and arithmetic of typed scalars beside the crates people use
//! today.
//!
//! Every peer does the same job on the same 4,096 values of E4M3FN, and the fast ways agree bit for
//! bit before they are timed. `float8` saturates and the others give NaN on overflow; the data
//! stays below.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use float8::F8E4M3 as Float8;
use microfloat::f8e4m3fn as Micro;
use minifloat::F8E4M3FN as Mini;
use smallfloat::E4M3Fn as Ours;

const LENGTH: usize = 4096;

fn values() -> Vec<f32> {
    let mut state = 1_u64;
    (0..LENGTH)
        .map(|_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 40) as f32 / 16777216.0 - 0.5) * 8.0
        })
        .collect()
}

/// Printing and parsing of three formats; minifloat does neither. Each type parses what it prints.
fn text(c: &mut Criterion) {
    macro_rules! group {
        ($format:literal: $($label:literal $type:ty;)*) => {
            $({
                let x: Vec<$type> = values().iter().map(|x| <$type>::from_f32(*x)).collect();
                let mut print = c.benchmark_group(concat!("print ", $format));
                print.throughput(Throughput::Elements(LENGTH as u64));
                print.bench_function(BenchmarkId::from_parameter($label), |b| {
                    b.iter(|| {
                        for x in black_box(&x) {
                            black_box(x.to_string());
                        }
                    });
                });
                print.finish();
                let texts: Vec<String> = x.iter().map(|x| x.to_string()).collect();
                let mut parse = c.benchmark_group(concat!("parse ", $format));
                parse.throughput(Throughput::Elements(LENGTH as u64));
                parse.bench_function(BenchmarkId::from_parameter($label), |b| {
                    b.iter(|| {
                        for text in black_box(&texts) {
                            black_box(text.parse::<$type>().ok());
                        }
                    });
                });
                parse.finish();
            })*
        };
    }
    group!("e4m3fn": "smallfloat" Ours; "float8" Float8; "microfloat" Micro;);
    group!("binary16": "smallfloat" smallfloat::F16; "half" half::f16;);
    group!("bfloat16": "smallfloat" smallfloat::Bf16; "half" half::bf16;);
}

/// Times a function of one, two or three values for each crate.
macro_rules! compare {
    ($c:expr, $name:literal, $x:ident, |$a:ident| $unary:expr) => {{
        let mut group = $c.benchmark_group($name);
        group.throughput(Throughput::Elements(LENGTH as u64));
        macro_rules! one {
            ($label:literal, $type:ty, $from:expr) => {{
                let $x: Vec<$type> = values().iter().map($from).collect();
                group.bench_function(BenchmarkId::from_parameter($label), |b| {
                    b.iter(|| {
                        for $a in black_box(&$x) {
                            black_box($unary);
                        }
                    });
                });
            }};
        }
        one!("smallfloat", Ours, |x| Ours::from_f32(*x));
        one!("float8", Float8, |x| Float8::from_f32(*x));
        one!("microfloat", Micro, |x| Micro::from_f32(*x));
        one!("minifloat", Mini, |x| Mini::from_f32(*x));
        group.finish();
    }};
}

fn from_f32(c: &mut Criterion) {
    let x = values();
    let mut group = c.benchmark_group("from_f32");
    group.throughput(Throughput::Elements(LENGTH as u64));
    macro_rules! one {
        ($label:literal, $type:ty) => {
            group.bench_function(BenchmarkId::from_parameter($label), |b| {
                b.iter(|| {
                    for x in black_box(&x) {
                        black_box(<$type>::from_f32(*x));
                    }
                });
            });
        };
    }
    one!("smallfloat", Ours);
    one!("float8", Float8);
    one!("microfloat", Micro);
    one!("minifloat", Mini);
    group.finish();
}

fn agreement() {
    for x in values() {
        let ours = Ours::from_f32(x).to_bits();
        assert_eq!(ours, Float8::from_f32(x).to_bits(), "{x}");
        assert_eq!(ours, Micro::from_f32(x).to_bits(), "{x}");
        assert_eq!(ours, Mini::from_f32(x).to_bits(), "{x}");
    }
}

fn scalar(c: &mut Criterion) {
    agreement();
    from_f32(c);
    compare!(c, "to_f32", x, |a| a.to_f32());
    compare!(c, "add", x, |a| *a + x[(a.to_bits() as usize * 16) % LENGTH]);
    compare!(c, "mul", x, |a| *a * x[(a.to_bits() as usize * 16) % LENGTH]);
    compare!(c, "div", x, |a| *a / x[(a.to_bits() as usize * 16) % LENGTH]);
}

/// x·y + x; of the peers only float8 has it, through f32 with two roundings.
fn mul_add(c: &mut Criterion) {
    let mut group = c.benchmark_group("mul_add");
    group.throughput(Throughput::Elements(LENGTH as u64));
    let x: Vec<Ours> = values().iter().map(|x| Ours::from_f32(*x)).collect();
    group.bench_function(BenchmarkId::from_parameter("smallfloat"), |b| {
        b.iter(|| {
            for pair in black_box(&x).windows(2) {
                black_box(pair[0].mul_add(pair[1], pair[0]));
            }
        });
    });
    let x: Vec<Float8> = values().iter().map(|x| Float8::from_f32(*x)).collect();
    group.bench_function(BenchmarkId::from_parameter("float8"), |b| {
        b.iter(|| {
            for pair in black_box(&x).windows(2) {
                black_box(Float8::from_f32(pair[0].to_f32().mul_add(pair[1].to_f32(), pair[0].to_f32())));
            }
        });
    });
    group.finish();
}

criterion_group!(benches, scalar, mul_add, text);
criterion_main!(benches);
