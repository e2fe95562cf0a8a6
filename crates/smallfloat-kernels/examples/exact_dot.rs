//! An exact dot product of two slices, rounded once into another type.
#![expect(clippy::float_cmp, reason = "results are exact")]

use smallfloat::{Bf16, E4M3Fn, E5M2};
use smallfloat_kernels as kernels;

fn main() {
    let x = [1.5, 448.0, -448.0].map(E4M3Fn::from_f32);
    let y = [2.0, 57344.0, 57344.0].map(E5M2::from_f32);
    assert_eq!(kernels::dot::<f32>(&x, &y), 3.0);
    assert_eq!(kernels::dot::<Bf16>(&x, &y), Bf16::from_f32(3.0));

    // 1 + 57344² − 57344²: an `f32` sum from left to right loses the 1.
    let z = [1.0, 57344.0, 57344.0].map(E5M2::from_f32);
    let w = [1.0, 57344.0, -57344.0].map(E5M2::from_f32);
    let in_f32: f32 = z.iter().zip(&w).map(|(z, w)| z.to_f32() * w.to_f32()).sum();
    assert_eq!((kernels::dot::<f32>(&z, &w), in_f32), (1.0, 0.0));

    println!("exact: {}, added in f32: {in_f32}", kernels::dot::<E5M2>(&z, &w));
}
