use smallfloat::{Format, Rounding, random::Philox};
use smallfloat_compare::{data, show};
use smallfloat_kernels as kernels;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let format = Format::cfloat8_1_4_3(13)?;
    let projection = format.default_projection().with_rounding(Rounding::stochastic_a(16)?);
    let (codes, counts) =
        kernels::encode_seeded(&data(), &format, &projection, Philox::new(42))?;
    show("codes", codes);
    show("counts", [counts.overflowed, counts.underflowed]);
    Ok(())
}
