use smallfloat::{Format, Parameters, Specials};
use smallfloat_compare::{data, show};

smallfloat::define_format! {
    type E2M5(u8) = Format::minifloat(Parameters::signed(8, 6, Specials::Finite));
}

fn main() {
    let x = data().into_iter().map(E2M5::from_f32);
    show("squares", x.map(|x| (x * x).to_bits()));
}
