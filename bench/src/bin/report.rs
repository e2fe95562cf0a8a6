//! Times all kernels in one run and prints a table: `report [footprints]`, of `l1,l2,l3,memory`.

use std::hint::black_box;

use smallfloat::Format;
use smallfloat_bench::{Case, data, limits, lines, time};
use smallfloat_kernels::{Cells, Decoder, Encoder, Level};

/// Name, elements, rounds.
const FOOTPRINTS: [(&str, usize, usize); 4] =
    [("l1", 4 << 10, 40), ("l2", 64 << 10, 40), ("l3", 2 << 20, 20), ("memory", 64 << 20, 5)];

fn encode(length: usize, rounds: usize) -> Vec<(String, f64, f64)> {
    const LIMIT: &str = "limit: read f32, write u8";
    let inputs = data::CLASSES.map(|class| (class, data::class(class, length)));
    let normal = &inputs[0].1;
    let buffer = std::cell::RefCell::new(vec![0_u8; length]);
    let mut cases = vec![Case::new(LIMIT, LIMIT, || {
        limits::f32_to_u8(black_box(normal), &mut buffer.borrow_mut());
    })];
    for name in ["cfloat8_1_4_3:bias=7", "e4m3fn", "e5m2", "binary8p3se", "binary8p3ue"] {
        let format: Format = name.parse().unwrap();
        let encoder = Encoder::<f32>::new(&format, &format.default_projection()).unwrap();
        for (class, x) in inputs.iter().filter(|(class, _)| *class == "normal" || name.starts_with("cfloat")) {
            let (encoder, buffer) = (encoder.clone(), &buffer);
            cases.push(Case::new(format!("encode {name}, {class}"), LIMIT, move || {
                black_box(encoder.encode(black_box(x), &mut buffer.borrow_mut()));
            }));
        }
        let buffer = &buffer;
        cases.push(Case::new(format!("encode {name}, uncounted"), LIMIT, {
            let encoder = encoder.clone();
            move || encoder.encode_uncounted(black_box(normal), &mut buffer.borrow_mut())
        }));
        let portable = encoder.with_level(Level::Portable);
        cases.push(Case::new(format!("encode {name}, portable"), LIMIT, move || {
            black_box(portable.encode(black_box(normal), &mut buffer.borrow_mut()));
        }));
    }
    cases.push(Case::new("encode peer: float8 e4m3", LIMIT, || {
        for (byte, x) in buffer.borrow_mut().iter_mut().zip(black_box(normal)) {
            *byte = float8::F8E4M3::from_f32(*x).to_bits();
        }
    }));
    time(&mut cases, rounds, 1e-3);
    lines(&cases, length)
}

fn decode(length: usize, rounds: usize) -> Vec<(String, f64, f64)> {
    const LIMIT: &str = "limit: read u8, write f32";
    let codes = data::codes(length);
    let buffer = std::cell::RefCell::new(vec![0_f32; length]);
    let (codes, buffer) = (&codes, &buffer);
    let mut cases = vec![
        Case::new(LIMIT, LIMIT, || limits::u8_to_f32::<false>(black_box(codes), &mut buffer.borrow_mut())),
        Case::new("limit: the same past the caches", LIMIT, || {
            limits::u8_to_f32::<true>(black_box(codes), &mut buffer.borrow_mut());
        }),
    ];
    for name in ["cfloat8_1_4_3:bias=7", "e4m3fn", "e5m2fnuz", "e2m3fn", "binary8p3ue"] {
        let decoder = Decoder::<f32>::new(&name.parse().unwrap(), None).unwrap();
        cases.push(Case::new(format!("decode {name}"), LIMIT, move || {
            decoder.decode(black_box(codes), &mut buffer.borrow_mut());
        }));
    }
    time(&mut cases, rounds, 1e-3);
    lines(&cases, length)
}

fn statistics(length: usize, rounds: usize) -> Vec<(String, f64, f64)> {
    const LIMIT: &str = "limit: read f32";
    let x = data::class("normal", length);
    let x = &x;
    let mut cases = vec![
        Case::new(LIMIT, LIMIT, || {
            black_box(limits::read_f32(black_box(x)));
        }),
        Case::new("cells of 4 bits", LIMIT, || {
            let mut cells = Cells::<f32>::new(4);
            cells.add(black_box(x));
            black_box(cells);
        }),
    ];
    time(&mut cases, rounds, 1e-3);
    lines(&cases, length)
}

fn main() {
    if !Level::Avx2.is_available() {
        eprintln!("the limit kernels need AVX2");
        return;
    }
    let wanted = std::env::args().nth(1).unwrap_or_else(|| "l1,l2,l3,memory".to_owned());
    let only = std::env::args().nth(2).unwrap_or_default();
    for (name, length, rounds) in FOOTPRINTS.into_iter().filter(|f| wanted.split(',').any(|w| w == f.0)) {
        println!("\n{name}: {length} elements\n\n| kernel | Gelem/s | of the limit |\n| --- | ---: | ---: |");
        let groups: [(&str, fn(usize, usize) -> Vec<(String, f64, f64)>); 3] =
            [("encode", encode), ("decode", decode), ("statistics", statistics)];
        for (_, group) in groups.into_iter().filter(|g| g.0.contains(&only)) {
            for (kernel, rate, ratio) in group(length, rounds) {
                println!("| {kernel} | {rate:.3} | {ratio:.3} |");
            }
        }
    }
}
