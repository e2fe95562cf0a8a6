//! One kernel, so many times, for a tool that counts instructions: `instructions list`,
//! `instructions KERNEL TIMES`.
//!
//! `scripts/ci/instructions` runs it under callgrind with two counts of calls; the difference is
//! free of everything around.

use std::hint::black_box;

use smallfloat::random::Philox;
use smallfloat::{Format, RandomBits, Rounding};
use smallfloat_bench::data;
use smallfloat_kernels::{
    Accumulate, Ars5, ClassSums, Decoder, Dot, Elementwise, Encoder, Generator, Level, MatrixUnit,
    PowerScales, RandomWords, Scales, StepTable, largest_of_groups,
};

/// Elements per call.
const LENGTH: usize = 4096;

type Kernel = Box<dyn FnMut()>;
type Named = (&'static str, fn() -> Kernel);

fn format(name: &str) -> Format {
    name.parse().unwrap()
}

fn encode(name: &str, counted: bool) -> Kernel {
    let format = format(name);
    // The loop over the table, not the core's way to it.
    let encoder = Encoder::<f32>::for_length(&format, &format.default_projection(), usize::MAX).unwrap();
    let x = data::class("normal", LENGTH);
    if format.width() > 8 {
        let mut codes = vec![0_u16; LENGTH];
        return Box::new(move || _ = black_box(encoder.encode(black_box(&x), &mut codes)));
    }
    let mut codes = vec![0_u8; LENGTH];
    if counted {
        Box::new(move || _ = black_box(encoder.encode(black_box(&x), &mut codes)))
    } else {
        Box::new(move || encoder.encode_uncounted(black_box(&x), black_box(&mut codes)))
    }
}

fn stochastic(generator: Generator) -> Kernel {
    let format = format("e4m3fn");
    let bits = RandomBits::new(32, 0).unwrap();
    let projection = format.default_projection().with_rounding(Rounding::StochasticA(bits));
    let encoder = Encoder::<f32>::for_length(&format, &projection, usize::MAX).unwrap();
    let (x, mut codes) = (data::class("normal", LENGTH), vec![0_u8; LENGTH]);
    Box::new(move || {
        let words = RandomWords { generator, first_element: 0 };
        black_box(encoder.encode_random(black_box(&x), &mut codes, words));
    })
}

fn decode(name: &str) -> Kernel {
    let decoder = Decoder::<f32>::new(&format(name), None).unwrap();
    let (codes, mut values) = (data::codes(LENGTH), vec![0_f32; LENGTH]);
    Box::new(move || decoder.decode(black_box(&codes), black_box(&mut values)))
}

fn operation(name: &str) -> Kernel {
    let operands = if name == "FMA" { 3 } else { 2 };
    let formats = vec!["cfloat8_1_4_3:bias=7"; operands + 1].join(", ");
    let kernel = Elementwise::new(&format!("{name}<{formats}>").parse().unwrap()).unwrap();
    let (x, mut results) = (data::codes(LENGTH), vec![0_u8; LENGTH]);
    Box::new(move || {
        let x = black_box(&x[..]);
        black_box(match operands {
            3 => kernel.ternary(x, x, x, &mut results, None),
            _ => kernel.binary(x, x, &mut results, None),
        });
    })
}

fn dot(accumulate: Accumulate) -> Kernel {
    let format = format("e4m3fn");
    let dot = Dot::new(&format, &format, accumulate).unwrap();
    let x = data::codes(LENGTH);
    Box::new(move || _ = black_box(dot.sum(black_box(&x), black_box(&x))))
}

/// The products of 16 rows with 8 of as many places as Hopper's unit adds at once.
fn matmul() -> Kernel {
    let format = format("e4m3fn");
    let unit: MatrixUnit = "hopper".parse().unwrap();
    let dot = unit.dot(&format, &format).unwrap();
    let decoder = Decoder::<f32>::new(&format, None).unwrap();
    let mut values = [0.0; 24 * 32];
    // NaNs, which have seven ones, take a way of their own.
    let codes: Vec<u8> = data::codes(values.len()).iter().map(|code| code & 0xf7).collect();
    decoder.decode(&codes, &mut values);
    let mut sums = [0.0; 16 * 8];
    Box::new(move || {
        let (x, y) = black_box(&values).split_at(16 * 32);
        dot.add_matmul([x, y], 32, black_box(&mut sums));
    })
}

/// The products of 16 rows with 16 of 64 places, a scale for each block of 32.
fn matmul_blocks() -> Kernel {
    let format = format("e4m3fn");
    let dot = Dot::new(&format, &format, Accumulate::F32).unwrap();
    let (codes, scales) = (data::codes(16 * 64), [0.75; 16 * 2]);
    let mut products = [0.0; 16 * 16];
    Box::new(move || {
        let scales = [Scales::Blocks(32, black_box(&scales)); 2];
        dot.matmul_f32([black_box(&codes), &codes], 64, scales, black_box(&mut products));
    })
}

/// The products of one row with 64 of 64 places, a scale for each block of 32.
fn matvec_blocks() -> Kernel {
    let format = format("e4m3fn");
    let dot = Dot::new(&format, &format, Accumulate::F32).unwrap();
    let (x, codes, scales) = (data::codes(64), data::codes(64 * 64), [0.75; 64 * 2]);
    let mut products = [0.0; 64];
    Box::new(move || {
        let scales = [Scales::Blocks(32, black_box(&scales[..2])), Scales::Blocks(32, black_box(&scales))];
        dot.matmul_f32([black_box(&x), &codes], 64, scales, black_box(&mut products));
    })
}

/// Groups of 32 with scales of powers of two, as MXFP8 has them.
fn blocks(name: &str) -> Kernel {
    let format = format(name);
    let encoder = Encoder::<f32>::new(&format, &format.default_projection()).unwrap();
    let rule = PowerScales::new(format.exponent_range().1, 1 << 23).unwrap();
    let (x, mut codes) = (data::class("normal", LENGTH), vec![0_u8; LENGTH]);
    let mut scales = vec![0_u8; LENGTH / 32];
    Box::new(move || {
        black_box(encoder.encode_blocks(rule, 32, black_box(&x), &mut scales, &mut codes));
    })
}

/// The largest magnitudes of groups of 16.
fn largest() -> Kernel {
    let x = data::class("normal", LENGTH);
    let mut largest = vec![0.0; LENGTH / 16];
    Box::new(move || _ = largest_of_groups(Level::detected(), 16, black_box(&x), black_box(&mut largest)))
}

/// Groups of 16 by comparison with the places of their scales, as NVFP4 has them.
fn steps() -> Kernel {
    let row =
        |scale: u8| [0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0].map(|place| place * f32::from(scale) / 64.0);
    let table = StepTable::new((0..=126).map(row), 3);
    let (x, mut codes) = (data::class("normal", LENGTH), vec![0_u8; LENGTH]);
    let scales: Vec<u8> = (0..LENGTH / 16).map(|i| (i % 127).to_le_bytes()[0]).collect();
    Box::new(move || table.encode(Level::detected(), 16, &scales, black_box(&x), black_box(&mut codes)))
}

fn cells() -> Kernel {
    let x = data::class("normal", LENGTH);
    let mut cells = ClassSums::<f32>::new(4);
    Box::new(move || cells.add(black_box(&x)))
}

/// Every kernel by its name.
const KERNELS: &[Named] = &[
    ("encode-cfloat8_1_4_3", || encode("cfloat8_1_4_3:bias=7", true)),
    ("encode-cfloat8_1_4_3-uncounted", || encode("cfloat8_1_4_3:bias=7", false)),
    ("encode-e4m3fn", || encode("e4m3fn", true)),
    ("encode-e5m2", || encode("e5m2", true)),
    ("encode-shp", || encode("shp:bias=31", true)),
    ("stochastic-ars5", || stochastic(Ars5 { seed: 1, stream: 2 }.into())),
    ("stochastic-philox", || stochastic(Philox { seed: 1, stream: 2 }.into())),
    ("blocks-e4m3fn", || blocks("e4m3fn")),
    ("blocks-e2m1fn-by-steps", steps),
    ("largest-of-groups", largest),
    ("decode-cfloat8_1_4_3", || decode("cfloat8_1_4_3:bias=7")),
    ("decode-e4m3fn", || decode("e4m3fn")),
    ("add", || operation("Add")),
    ("multiply", || operation("Multiply")),
    ("fma", || operation("FMA")),
    ("dot-f32", || dot(Accumulate::F32)),
    ("dot-exact", || dot(Accumulate::Exact)),
    ("matmul-hopper", matmul),
    ("matmul-blocks", matmul_blocks),
    ("matvec-blocks", matvec_blocks),
    ("cells", cells),
];

fn main() {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_default();
    if name == "list" {
        KERNELS.iter().for_each(|(name, _)| println!("{name}"));
        return;
    }
    let kernel = KERNELS.iter().find(|kernel| kernel.0 == name);
    let times: Option<u32> = arguments.next().and_then(|times| times.parse().ok());
    let (Some((_, build)), Some(times)) = (kernel, times) else {
        eprintln!("usage: instructions list | instructions KERNEL TIMES");
        std::process::exit(2);
    };
    let mut kernel = build();
    // Tables that the first call fills are no part of the count.
    kernel();
    for _ in 0..times {
        kernel();
    }
}
