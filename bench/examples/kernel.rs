//! The kernels that the Python package calls, timed for `scripts/python-bench`: a line
//! `encode FORMAT LENGTH`, `decode …` or `stochastic …` on standard input, the seconds that one
//! call on binary32 took on standard output. One thread.

use std::collections::HashMap;
use std::hint::black_box;
use std::io::{self, BufRead, Write};
use std::time::Instant;

use smallfloat::random::Philox;
use smallfloat::{Format, RandomBits, Rounding};
use smallfloat_kernels::{Decoder, Encoder, RandomWords};

/// Numbers and their codes, which stay from line to line, as arrays do in Python.
struct Arrays {
    numbers: Vec<f32>,
    codes: Vec<u8>,
}

impl Arrays {
    fn new(length: usize) -> Self {
        let mut state = 1_u64;
        let mut number = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 40) as f32 / (1 << 23) as f32 - 1.0) * 4.0
        };
        Self { numbers: (0..length).map(|_| number()).collect(), codes: vec![0; length] }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arrays: HashMap<usize, Arrays> = HashMap::new();
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let line = line?;
        let [what, format, length] = line.split(' ').collect::<Vec<_>>()[..] else {
            return Err("expected: encode|decode|stochastic FORMAT LENGTH".into());
        };
        let (format, length): (Format, usize) = (format.parse()?, length.parse()?);
        let Arrays { numbers, codes } = arrays.entry(length).or_insert_with(|| Arrays::new(length));
        let projection = format.default_projection();
        let seconds = match what {
            "encode" => {
                let encoder = Encoder::<f32>::new(&format, &projection)?;
                let start = Instant::now();
                encoder.encode_uncounted(numbers, codes);
                start.elapsed()
            }
            "stochastic" => {
                let projection =
                    projection.with_rounding(Rounding::StochasticA(RandomBits::from_word32(32, 0)?));
                let encoder = Encoder::<f32>::for_length(&format, &projection, usize::MAX)?;
                let words = RandomWords { generator: Philox { seed: 1, stream: 0 }.into(), first_element: 0 };
                let start = Instant::now();
                black_box(encoder.encode_random(numbers, codes, words));
                start.elapsed()
            }
            _ => {
                let decoder = Decoder::<f32>::new(&format, None)?;
                let start = Instant::now();
                decoder.decode(codes, numbers);
                start.elapsed()
            }
        };
        black_box((&numbers, &codes));
        writeln!(out, "{}", seconds.as_secs_f64())?;
        out.flush()?;
    }
    Ok(())
}
