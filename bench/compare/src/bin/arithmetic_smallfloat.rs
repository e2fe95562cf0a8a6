use smallfloat::E4M3Fn;
use smallfloat_compare::{data, show};

fn main() {
    let x: Vec<E4M3Fn> = data().into_iter().map(E4M3Fn::from_f32).collect();
    let y = x.windows(2).map(|w| (w[0] + w[1]) / w[1] * w[0] - w[1]);
    show("results", y.map(E4M3Fn::to_bits));
}
