//! f32 → 8-bit and 16-bit codes and back, one thread, 1 MiB of f32 (L2), beside a limit kernel that
//! only moves the bytes and beside a peer crate. Every data class is timed: speed must not depend
//! on the data.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use smallfloat::Format;
use smallfloat_kernels::{ClassSums, Decoder, Encoder, ErrorSums};

const LENGTH: usize = 1 << 18;

/// A linear congruential generator is random enough for branch predictors.
fn scramble(state: &mut u64) -> u32 {
    *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    (*state >> 32) as u32
}

/// Sums of uniforms: normal enough, scaled so that an 8-bit format at bias 7 sees most of its
/// binades.
fn normal(state: &mut u64) -> f32 {
    (0..12).map(|_| scramble(state) as f32 / u32::MAX as f32 - 0.5).sum::<f32>() * 0.1
}

fn data(class: &str) -> Vec<f32> {
    let mut state = 1;
    (0..LENGTH)
        .map(|i| match class {
            "normal" => normal(&mut state),
            "subnormal" => f32::from_bits(scramble(&mut state) >> 9 | 1),
            "nan" if i % 2 == 0 => f32::NAN,
            "ties" => f32::from_bits(0x3f80_0000 | (scramble(&mut state) & 0x0078_0000) | 0x0008_0000),
            "zeros" => 0.0,
            _ => normal(&mut state),
        })
        .collect()
}

fn encode(c: &mut Criterion) {
    let mut group = c.benchmark_group("f32_to_codes");
    group.throughput(Throughput::Elements(LENGTH as u64));
    let normal = data("normal");
    let mut bytes = vec![0_u8; LENGTH];
    group.bench_function("limit: read f32, write u8", |b| {
        b.iter(|| {
            for (byte, x) in bytes.iter_mut().zip(black_box(&normal)) {
                *byte = (x.to_bits() >> 24) as u8;
            }
            black_box(&bytes);
        });
    });
    for name in ["cfloat8_1_4_3:bias=7", "cfloat8_1_5_2:bias=15", "e4m3fn", "e5m2", "e8m0fnu", "binary8p7se"]
    {
        let format: Format = name.parse().unwrap();
        let encoder = Encoder::<f32>::new(&format, &format.default_projection()).unwrap();
        for class in ["normal", "subnormal", "nan", "ties", "zeros"] {
            let x = data(class);
            group.bench_function(BenchmarkId::new(name, class), |b| {
                b.iter(|| encoder.encode(black_box(&x), black_box(&mut bytes)));
            });
        }
    }
    let mut halves = vec![0_u16; LENGTH];
    for name in ["shp:bias=15", "uhp", "binary16", "bfloat16"] {
        let format: Format = name.parse().unwrap();
        let encoder = Encoder::<f32>::new(&format, &format.default_projection()).unwrap();
        group.bench_function(BenchmarkId::new(name, "normal"), |b| {
            b.iter(|| encoder.encode(black_box(&normal), black_box(&mut halves)));
        });
    }
    group.bench_function("peer: float8 e4m3", |b| {
        b.iter(|| {
            for (byte, x) in bytes.iter_mut().zip(black_box(&normal)) {
                *byte = float8::F8E4M3::from_f32(*x).to_bits();
            }
            black_box(&bytes);
        });
    });
    group.finish();
}

fn decode(c: &mut Criterion) {
    let mut group = c.benchmark_group("codes_to_f32");
    group.throughput(Throughput::Elements(LENGTH as u64));
    let mut state = 1;
    let codes: Vec<u8> = (0..LENGTH).map(|_| (scramble(&mut state) >> 24) as u8).collect();
    let mut values = vec![0_f32; LENGTH];
    for name in ["cfloat8_1_4_3:bias=7", "e4m3fn"] {
        let decoder = Decoder::<f32>::new(&name.parse().unwrap(), None).unwrap();
        group.bench_function(name, |b| b.iter(|| decoder.decode(black_box(&codes), black_box(&mut values))));
    }
    group.bench_function("peer: float8 e4m3", |b| {
        b.iter(|| {
            for (value, byte) in values.iter_mut().zip(black_box(&codes)) {
                *value = float8::F8E4M3::from_bits(*byte).to_f32();
            }
            black_box(&values);
        });
    });
    group.finish();
}

fn statistics(c: &mut Criterion) {
    let mut group = c.benchmark_group("statistics");
    group.throughput(Throughput::Elements(LENGTH as u64));
    let x = data("normal");
    group.bench_function("cells, 4 bits of precision", |b| {
        b.iter(|| {
            let mut cells = ClassSums::<f32>::new(4);
            cells.add(black_box(&x));
            cells
        });
    });
    group.bench_function("error sums", |b| b.iter(|| ErrorSums::of(black_box(&x), black_box(&x))));
    group.finish();
}

criterion_group!(benches, encode, decode, statistics);
criterion_main!(benches);
