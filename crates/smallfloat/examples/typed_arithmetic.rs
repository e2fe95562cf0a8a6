//! Arithmetic with typed scalars: each result is exact, then rounded once.
#![expect(clippy::float_cmp, reason = "results are exact")]

use smallfloat::{Bf16, E4M3Fn, Flags, Preset};

fn main() -> Result<(), smallfloat::Error> {
    let x = E4M3Fn::from_f32(1.1);
    let y: E4M3Fn = "3".parse()?;
    assert_eq!(x.to_f32(), 1.125);
    assert_eq!((x * y).to_f32(), 3.5); // 3.375 is a tie
    assert_eq!((x / y).to_f32(), 0.375);
    assert_eq!(x.mul_add(y, E4M3Fn::from_f32(-3.5)).to_f32(), -0.125);
    assert_eq!((y - E4M3Fn::ONE).sqrt().to_f32(), 1.375);

    // A sum of an iterator is rounded once; a running total stops where one more is half a step.
    let ones = [E4M3Fn::ONE; 100];
    let total = ones.iter().fold(E4M3Fn::ZERO, |total, &one| total + one);
    assert_eq!((ones.iter().sum::<E4M3Fn>().to_f32(), total.to_f32()), (96.0, 16.0));

    // Another policy, with the flags; another type.
    let clamp = Preset::OcpSaturate.projection(&E4M3Fn::FORMAT);
    let r = E4M3Fn::MAX.mul_with(y, &clamp);
    assert_eq!((r.value, r.flags), (E4M3Fn::MAX, Flags::OVERFLOW | Flags::INEXACT));
    assert_eq!(x.convert::<Bf16>(), Bf16::from_f32(1.125));

    println!("{x} * {y} = {}, largest {}", x * y, E4M3Fn::MAX);
    Ok(())
}
