use smallfloat_compare::{show, wide_data};
use smallfloat_tensor::{Quantizer, Scheme};

fn main() -> Result<(), smallfloat_tensor::Error> {
    let q = Quantizer::new("mxfp4".parse::<Scheme>()?.options())?.quantize("x", &[64, 64], &wide_data())?;
    show("codes", q.codes().iter().copied());
    show("scales", q.scales().iter().copied());
    show("values", q.to_vec::<f32>().iter().map(|x| x.to_bits()));
    Ok(())
}
