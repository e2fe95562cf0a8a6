use float8::F8E4M3;
use smallfloat_compare::{data, show};

fn main() {
    let x: Vec<F8E4M3> = data().iter().map(|&x| F8E4M3::from_f32(x)).collect();
    let back: Vec<f32> = x.iter().map(|x| x.to_f32()).collect();
    show("codes", x.iter().map(|x| x.to_bits()));
    show("values", back.iter().map(|x| x.to_bits()));
}
