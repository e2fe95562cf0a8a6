use minifloat::F8E4M3FN;
use smallfloat_compare::{data, show};

fn main() {
    let x: Vec<F8E4M3FN> = data().into_iter().map(F8E4M3FN::from_f32).collect();
    let y = x.windows(2).map(|w| (w[0] + w[1]) / w[1] * w[0] - w[1]);
    show("results", y.map(F8E4M3FN::to_bits));
}
