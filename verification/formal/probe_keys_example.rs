// The numbers of the classes of every proved pair of formats, as lines: source, format, reading,
// bias, low, high, shift, and the source's infinity, smallest normal number and place of the sign.
use smallfloat::{Format, Subnormals, formats};

fn main() {
    let constructors =
        [("cfloat8_1_4_3", Format::cfloat8_1_4_3 as fn(u32) -> _), ("cfloat8_1_5_2", Format::cfloat8_1_5_2), ("shp", Format::shp)];
    for (source, from) in [("f32", formats::BINARY32), ("f64", formats::BINARY64)] {
        let print = |name: &str, reading: &str, bias: u32, to: &Format| {
            let numbers = smallfloat_kernels::element::classes::numbers(&from, to).map(|n| n.to_string()).join(" ");
            println!("{source} {name} {reading} {bias} {numbers}");
        };
        for (name, constructor) in constructors {
            for bias in 0..64 {
                let format: Format = constructor(bias).expect("a legal bias");
                print(name, "tesla", bias, &format);
                print(name, "gradual", bias, &format.with_subnormals(Subnormals::Gradual).expect("legal"));
            }
        }
        print("uhp", "flush", 0, &formats::UHP);
    }
}
