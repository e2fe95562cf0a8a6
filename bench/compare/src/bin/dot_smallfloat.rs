use smallfloat::E5M2;
use smallfloat_compare::{data, show, wide_data};
use smallfloat_kernels as kernels;

fn main() {
    let (x, y) = (kernels::encode_as::<E5M2>(&wide_data()), kernels::encode_as::<E5M2>(&data()));
    let sum: f32 = kernels::dot(&x, &y);
    show("sum", [sum.to_bits()]);
}
