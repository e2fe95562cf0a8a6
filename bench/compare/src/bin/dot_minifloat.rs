use minifloat::F8E5M2;
use smallfloat_compare::{data, show, wide_data};

fn main() {
    // Every value is a multiple of 2^-16, so sums of products are integers in units of 2^-32.
    let fixed = |x: &f32| (F8E5M2::from_f32(*x).to_f64() * 65_536.0) as i128;
    let (x, y) = (wide_data(), data());
    let sum: i128 = x.iter().zip(&y).map(|(x, y)| fixed(x) * fixed(y)).sum();
    let sum = sum as f32 / 4_294_967_296.0;
    show("sum", [sum.to_bits()]);
}
