use minifloat::BF16;
use safetensors::SafeTensors;
use smallfloat_compare::show;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).expect("a file");
    let file = std::fs::read(path)?;
    let tensor = SafeTensors::deserialize(&file)?.tensor("layer.weight")?;
    let codes = tensor.data().chunks_exact(2).map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
    let x: Vec<f64> = codes.map(|code| BF16::from_bits(code).to_f64()).collect();
    show("values", x.iter().map(|x| x.to_bits()));
    Ok(())
}
