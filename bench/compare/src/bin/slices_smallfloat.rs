use smallfloat::E4M3Fn;
use smallfloat_compare::{data, show};
use smallfloat_kernels::{self as kernels, AsCodes};

fn main() {
    let x: Vec<E4M3Fn> = kernels::encode_as(&data());
    let back: Vec<f32> = kernels::decode_scalars(&x).expect("f32 holds all of E4M3FN");
    show("codes", x.as_codes().iter().copied());
    show("values", back.iter().map(|x| x.to_bits()));
}
