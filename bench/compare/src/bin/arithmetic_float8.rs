use float8::F8E4M3;
use smallfloat_compare::{data, show};

fn main() {
    let x: Vec<F8E4M3> = data().into_iter().map(F8E4M3::from_f32).collect();
    let y = x.windows(2).map(|w| (w[0] + w[1]) / w[1] * w[0] - w[1]);
    show("results", y.map(|y| y.to_bits()));
}
