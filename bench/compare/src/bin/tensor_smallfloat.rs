use smallfloat_compare::show;
use smallfloat_tensor::View;

fn main() -> Result<(), smallfloat_tensor::Error> {
    let path = std::env::args().nth(1).expect("a file");
    let x = View::open(path)?.values("layer.weight")?;
    show("values", x.iter().map(|x| x.to_bits()));
    Ok(())
}
