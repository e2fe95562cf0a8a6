//! Tesla's CFloat8 with a bias that is known at run time, rounded stochastically with a seed.
#![expect(clippy::float_cmp, reason = "results are exact")]

use smallfloat::{Format, Rounding, random::Philox};
use smallfloat_kernels::{self as kernels, Encoder, RandomWords};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let bias = 11; // Data: any number from 0 to 63.
    let format = Format::cfloat8_1_4_3(bias)?;
    let projection = format.default_projection().with_rounding(Rounding::stochastic_a(16)?);
    let seed = Philox::new(42);

    // Three quarters of the way from 1 to 1.125; then too large, and too small.
    let mut x = vec![1.09375_f32; 10_000];
    x.extend([1e9, 1e-12]);
    let (codes, counts) = kernels::encode_seeded(&x, &format, &projection, seed)?;
    let values: Vec<f64> = kernels::decode(&codes, &format)?;

    let up = values.iter().filter(|&&x| x == 1.125).count();
    println!("bias {bias}: {up} of 10,000 rounded up; {counts}");
    assert!((7_300..7_700).contains(&up));
    assert_eq!((counts.overflowed, counts.underflowed), (1, 1));
    assert_eq!(kernels::encode_seeded(&x, &format, &projection, seed)?.0, codes);

    // A piece of the slice, from its element 4,000 on: the codes that it has in the whole.
    let words = RandomWords { generator: seed.into(), first_element: 4_000 };
    let mut piece = vec![0_u8; 1_000];
    Encoder::seeded(&format, &projection, seed)?.encode_random(&x[4_000..5_000], &mut piece, words);
    assert_eq!(piece, codes[4_000..5_000]);
    Ok(())
}
