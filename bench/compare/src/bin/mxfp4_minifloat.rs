use minifloat::F4E2M1FN;
use smallfloat_compare::{show, wide_data};

fn main() {
    let (mut codes, mut scales, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for block in wide_data().chunks(32) {
        let amax = block.iter().fold(0_f32, |amax, x| amax.max(x.abs()));
        // The exponent of a normal number, less that of 6, the largest value.
        let exponent = ((amax.to_bits() >> 23) as i32 - 127 - 2).clamp(-127, 127);
        let scale = 2_f64.powi(exponent);
        scales.push((exponent + 127) as u8);
        for &x in block {
            let element = F4E2M1FN::from_f64(f64::from(x) / scale);
            codes.push(element.to_bits());
            values.push((element.to_f64() * scale) as f32);
        }
    }
    show("codes", codes);
    show("scales", scales);
    show("values", values.iter().map(|x| x.to_bits()));
}
