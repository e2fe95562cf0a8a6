//! A `Vec<f32>` into MXFP4 and back, in memory.

use smallfloat_tensor::{Packing, Quantizer, Scheme};

fn main() -> Result<(), smallfloat_tensor::Error> {
    let x: Vec<f32> = (0..4096_i16).map(|i| (f32::from(i) * 0.37).sin()).collect();

    let quantizer = Quantizer::new("mxfp4".parse::<Scheme>()?.options())?;
    let q = quantizer.quantize("x", &[64, 64], &x)?;
    let back: Vec<f32> = q.to_vec();

    let worst = x.iter().zip(&back).map(|(x, y)| (x - y).abs()).fold(0.0, f32::max);
    // Blocks of 32 share a scale; the largest elements, just below 1, become 0.75.
    assert_eq!((q.codes().len(), q.scales().len()), (4096, 128));
    assert!(worst <= 0.25);
    println!("{} codes, {} scales, the largest error is {worst}", q.codes().len(), q.scales().len());
    println!("{} bytes with two codes a byte", q.packed(Packing::NibblesLow)?.len() + q.scales().len());
    Ok(())
}
