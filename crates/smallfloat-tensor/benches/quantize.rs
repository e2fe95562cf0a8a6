//! Speed of quantizing and dequantizing in memory, beside encoding and decoding the same elements
//! without scales: `RAYON_NUM_THREADS=1 cargo bench -p smallfloat-tensor --bench quantize`.
//!
//! Prints a table in Markdown. Every round measures all sides; a ratio is the median of the rounds'
//! ratios, so that what else the machine does weighs on both sides alike. Output memory is the
//! caller's and has been touched before.

use std::hint::black_box;
use std::time::Instant;

use smallfloat::Saturation;
use smallfloat_kernels::{Decoder, Encoder};
use smallfloat_tensor::{Options, Quantizer, Scheme};

const COLUMNS: usize = 4096;
const ROUNDS: usize = 15;

/// What is measured: a scheme, or a format with a granularity.
const CASES: &[&str] =
    &["mxfp8-e4m3", "mxfp8-e5m2", "mxfp6-e2m3", "mxfp6-e3m2", "mxfp4", "nvfp4", "deepseek"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("| scheme | elements | quantize / encode | dequantize / decode |");
    println!("| --- | --- | --- | --- |");
    for name in CASES {
        for rows in [4, 256, 4096] {
            let (quantize, dequantize) = measured(name.parse::<Scheme>()?.options(), rows)?;
            println!("| {name} | {} | {quantize:.2} | {dequantize:.2} |", rows * COLUMNS);
        }
    }
    Ok(())
}

/// The speeds of quantizing and dequantizing as shares of those of encoding and decoding.
fn measured(options: Options, rows: usize) -> Result<(f64, f64), Box<dyn std::error::Error>> {
    let values: Vec<f32> = normal(rows * COLUMNS);
    let quantizer = Quantizer::new(options)?;
    let shape = [rows as u64, COLUMNS as u64];
    let format = *quantizer.quantize("w", &shape, &values[..])?.format().expect("codes of a format");
    let projection = format.default_projection().with_saturation(Saturation::SatFinite);
    let (codes, scales) = quantizer.lengths(&shape)?;
    let (mut codes, mut scales) = (vec![1; codes], vec![1; scales]);
    let (mut plain, mut decoded) = (vec![1_u8; values.len()], vec![1.0_f32; values.len()]);
    let encoder = Encoder::<f32>::for_length(&format, &projection, values.len())?;
    let decoder = Decoder::<f32>::new(&format, None)?;
    let repeats = (1 << 22) / values.len().min(1 << 22);
    let time = |work: &mut dyn FnMut()| {
        let start = Instant::now();
        (0..repeats).for_each(|_| work());
        start.elapsed().as_secs_f64()
    };
    let (mut quantizing, mut dequantizing) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let encode = time(&mut || encoder.encode_uncounted(black_box(&values), &mut plain));
        let quantize = time(&mut || {
            let q = quantizer.quantize_into("w", &shape, black_box(&values[..]), &mut codes, &mut scales);
            drop(black_box(q));
        });
        let q = quantizer.restore(&shape, &codes[..], &scales[..], 1.0)?;
        let decode = time(&mut || decoder.decode(black_box(&plain), &mut decoded));
        let dequantize = time(&mut || q.decode_into(black_box(&mut decoded)).expect("the right length"));
        quantizing.push(encode / quantize);
        dequantizing.push(decode / dequantize);
    }
    Ok((median(quantizing), median(dequantizing)))
}

fn median(mut ratios: Vec<f64>) -> f64 {
    ratios.sort_by(f64::total_cmp);
    ratios[ratios.len() / 2]
}

/// About normal numbers: sums of uniform ones, by a generator with a fixed seed.
#[expect(clippy::cast_precision_loss, reason = "24 bits")]
fn normal(count: usize) -> Vec<f32> {
    let mut state = 1_u64;
    let mut uniform = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as f32 / (1 << 24) as f32 - 0.5
    };
    (0..count).map(|_| (0..6).map(|_| uniform()).sum::<f32>() * 0.03).collect()
}
