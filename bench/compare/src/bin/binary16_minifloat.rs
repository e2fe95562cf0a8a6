use minifloat::F16;
use smallfloat_compare::{data, show};

fn main() {
    let x: Vec<F16> = data().into_iter().map(F16::from_f32).collect();
    let y = x.windows(2).map(|w| (w[0] + w[1]) / w[1] * w[0] - w[1]);
    show("results", y.map(F16::to_bits));
}
