use smallfloat::{Format, Parameters, Signedness, Specials, Subnormals};
use smallfloat_compare::{data, show};

smallfloat::define_format! {
    type E2M5(u8) = Format::minifloat(Parameters {
        width: 8,
        precision: 6,
        bias: 1,
        signedness: Signedness::Signed,
        specials: Specials::Finite,
        subnormals: Subnormals::Gradual,
    });
}

fn main() {
    let x = data().into_iter().map(E2M5::from_f32);
    show("squares", x.map(|x| (x * x).to_bits()));
}
