//! `Exp` into a format of IEEE P3109, as a method and as the draft spells it.

use smallfloat::Binary8p3se;
use smallfloat::p3109::{Answer, Specialization};

fn main() -> Result<(), smallfloat::Error> {
    // e^1.25 = 3.4903…, between 3 and 3.5.
    let x = Binary8p3se::from_f32(1.25);
    assert_eq!((x.exp().to_f32(), x.exp().to_bits()), (3.5, 0x47));

    // From another format, toward zero; operands and results are codes.
    let exp: Specialization = "Exp<Binary8p4se, Binary8p3se, (TowardZero, SatFinite)>".parse()?;
    let Answer::Code(r) = exp.call(&[0x42])? else { unreachable!("`Exp` gives a code") };
    assert_eq!((r.value, r.flags.to_string().as_str()), (0x46, "X"));

    println!("exp({x}) = {}, {exp} of 0x42 = {:#x}", x.exp(), r.value);
    Ok(())
}
