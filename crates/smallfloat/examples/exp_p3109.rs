//! `Exp` into a format of IEEE P3109, as a method and as the draft spells it.

use smallfloat::math::Elementary;
use smallfloat::ops::Operation;
use smallfloat::p3109::{Answer, Specialization};
use smallfloat::{Bf16, Binary8p3se, SmallFloat};

fn main() -> Result<(), smallfloat::Error> {
    // e^1.25 = 3.4903…, between 3 and 3.5.
    let x = Binary8p3se::from_f32(1.25);
    assert_eq!((x.exp().to_f32(), x.exp().to_bits()), (3.5, 0x47));

    // From another type, rounded once; `x.exp().convert()` rounds twice.
    let (x, exp) = (Bf16::from_f32(1.25), Operation::Elementary(Elementary::Exp));
    let y: Binary8p3se = Bf16::evaluate_to(exp, &[x], &Binary8p3se::FORMAT.default_projection()).value;
    assert_eq!(y.to_bits(), 0x47);

    // Toward zero, as the draft spells it; operands and results are codes.
    let exp: Specialization = "Exp<Binary8p4se, Binary8p3se, (TowardZero, SatFinite)>".parse()?;
    let Answer::Code(r) = exp.call(&[0x42])? else { unreachable!("`Exp` gives a code") };
    assert_eq!((r.value, r.flags.to_string().as_str()), (0x46, "X"));

    println!("exp({x}) = {y}, {exp} of 0x42 = {:#x}", r.value);
    Ok(())
}
