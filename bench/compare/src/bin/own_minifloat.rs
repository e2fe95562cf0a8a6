use smallfloat_compare::{data, show};

minifloat::minifloat!(struct E2M5(u8): 2, 5, Finite);

fn main() {
    let x = data().into_iter().map(E2M5::from_f32);
    show("squares", x.map(|x| (x * x).to_bits()));
}
