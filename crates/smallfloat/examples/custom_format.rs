//! A format of one's own as a type.
#![expect(clippy::float_cmp, reason = "results are exact")]

use smallfloat::{Format, Parameters, SmallFloat, Specials};

smallfloat::define_format! {
    /// Eight bits with six of precision, every code a number.
    pub type E2M5(u8) = Format::minifloat(Parameters::signed(8, 6, Specials::Finite));
}

fn main() -> Result<(), smallfloat::Error> {
    assert_eq!((E2M5::MAX.to_f32(), E2M5::from_bits(1).to_f32()), (7.875, 0.03125));
    assert_eq!(E2M5::values().count(), 255);

    let x = E2M5::from_f32(1.1);
    assert_eq!((x.to_f32(), x.to_bits()), (1.09375, 0x23));
    assert_eq!((x * x).to_f32(), 1.1875);

    // It can be made at run time too, from parameters that are data.
    let format = Format::minifloat(Parameters::signed(8, 6, Specials::Finite))?;
    assert_eq!(format, E2M5::FORMAT);

    println!("{x} * {x} = {}, largest {}", x * x, E2M5::MAX);
    Ok(())
}
