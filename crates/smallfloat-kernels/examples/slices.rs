//! A slice of `f32` into E4M3FN and back, typed and as bytes.

use smallfloat::{E4M3Fn, Preset, formats::E4M3FN};
use smallfloat_kernels::{self as kernels, AsCodes};

fn main() -> Result<(), kernels::Error> {
    let x = [1.0_f32, 1.1, -0.3, 448.0];

    let typed: Vec<E4M3Fn> = kernels::encode_as(&x);
    let back: Vec<f32> = kernels::decode_scalars(&typed)?;
    assert_eq!(back, [1.0, 1.125, -0.3125, 448.0]);
    assert_eq!(typed.as_codes(), [0x38, 0x39, 0xaa, 0x7e]);

    // The format as data, with a policy: what is too large becomes 448 instead of NaN.
    let policy = Preset::OcpSaturate.projection(&E4M3FN);
    let (codes, counts) = kernels::encode(&[0.5_f64, 1e9], &E4M3FN, &policy)?;
    assert_eq!((&codes[..], counts.overflowed), (&[0x30, 0x7e][..], 1));
    assert_eq!(kernels::decode::<f32>(&codes, &E4M3FN)?, [0.5, 448.0]);

    println!("{x:?} -> {typed:?}, {codes:02x?}");
    Ok(())
}
