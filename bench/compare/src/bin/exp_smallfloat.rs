use smallfloat::Binary8p3se;
use smallfloat_compare::{data, show};

fn main() {
    let x = data().into_iter().map(Binary8p3se::from_f32);
    show("results", x.map(|x| x.exp().to_bits()));
}
