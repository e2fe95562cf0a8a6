use minifloat::F8E4M3FN;
use smallfloat_compare::{data, show};

fn main() {
    let x: Vec<F8E4M3FN> = data().iter().map(|&x| F8E4M3FN::from_f32(x)).collect();
    let back: Vec<f32> = x.iter().map(|x| x.to_f32()).collect();
    show("codes", x.iter().map(|x| x.to_bits()));
    show("values", back.iter().map(|x| x.to_bits()));
}
