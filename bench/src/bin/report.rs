//! Times all kernels in one run and writes its section of `docs/evidence/performance.md` with its
//! picture. `report FOOTPRINTS [GROUP]` prints a part instead: footprints of `l1,l2,l3,memory`,
//! groups `encode`, `decode`, `stochastic`, `operations`, `statistics`, `products`, and those of
//! `breadth.rs`: `modes`, `half-words`, `packing`. `report --from-page` only draws the picture
//! again, from the figures on the page.

use std::hint::black_box;

use smallfloat::random::Philox;
use smallfloat::{Format, RandomBits, Rounding};
use smallfloat_bench::page::Figure;
use smallfloat_bench::peers::add_peers;
use smallfloat_bench::{Case, breadth, chart, data, limits, lines, page, peers, time};
use smallfloat_kernels::{
    Accumulate, Ars5, ClassSums, Decoder, Dot, Elementwise, Encoder, Generator, Level, RandomWords, Scales,
    amax,
};

/// Rows of a table for so many elements and rounds.
type Group = fn(usize, usize) -> Vec<(String, f64, f64)>;

/// Name, elements, rounds.
const FOOTPRINTS: [(&str, usize, usize); 4] =
    [("l1", 4 << 10, 40), ("l2", 64 << 10, 40), ("l3", 2 << 20, 20), ("memory", 24 << 20, 5)];

/// The parts of the page.
const GROUPS: [(&str, Group); 9] = [
    ("encode", encode),
    ("decode", decode),
    ("stochastic", stochastic),
    ("operations", operations),
    ("products", products),
    ("statistics", statistics),
    ("modes", breadth::modes),
    ("half-words", breadth::half_words),
    ("packing", breadth::packing),
];

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
        for (class, x) in inputs.iter().filter(|(class, _)| *class == "normal" || name.starts_with("cfloat"))
        {
            let (encoder, buffer) = (encoder.clone(), &buffer);
            cases.push(Case::new(format!("{name}, {class}"), LIMIT, move || {
                black_box(encoder.encode(black_box(x), &mut buffer.borrow_mut()));
            }));
        }
        let buffer = &buffer;
        cases.push(Case::new(format!("{name}, uncounted"), LIMIT, {
            let encoder = encoder.clone();
            move || encoder.encode_uncounted(black_box(normal), &mut buffer.borrow_mut())
        }));
        let portable = encoder.with_level(Level::Portable);
        cases.push(Case::new(format!("{name}, portable"), LIMIT, move || {
            black_box(portable.encode(black_box(normal), &mut buffer.borrow_mut()));
        }));
    }
    add_peers(&mut cases, LIMIT, peers::encoders(normal));
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
        cases.push(Case::new(format!("{name}"), LIMIT, move || {
            decoder.decode(black_box(codes), &mut buffer.borrow_mut());
        }));
    }
    add_peers(&mut cases, LIMIT, peers::decoders(codes));
    time(&mut cases, rounds, 1e-3);
    lines(&cases, length)
}

fn stochastic(length: usize, rounds: usize) -> Vec<(String, f64, f64)> {
    const LIMIT: &str = "limit: read f32, write u8, again";
    let x = data::class("normal", length);
    let (x, buffer) = (&x, &std::cell::RefCell::new(vec![0_u8; length]));
    let mut cases =
        vec![Case::new(LIMIT, LIMIT, || limits::f32_to_u8(black_box(x), &mut buffer.borrow_mut()))];
    let bits = RandomBits::new(32, 0).unwrap();
    for name in ["e4m3fn", "cfloat8_1_4_3:bias=7"] {
        let format: Format = name.parse().unwrap();
        let projection = format.default_projection().with_rounding(Rounding::StochasticA(bits));
        let encoder = Encoder::<f32>::for_length(&format, &projection, usize::MAX).unwrap();
        let generators: [Generator; 2] =
            [Ars5 { seed: 1, stream: 2 }.into(), Philox { seed: 1, stream: 2 }.into()];
        for generator in generators {
            let encoder = encoder.clone();
            cases.push(Case::new(format!("{name}, {}", generator.name()), LIMIT, move || {
                let words = RandomWords { generator, first_element: 0 };
                black_box(encoder.encode_random(black_box(x), &mut buffer.borrow_mut(), words));
            }));
        }
        if length <= 1 << 16 {
            let portable = encoder.with_level(Level::Portable);
            cases.push(Case::new(format!("{name}, philox4x32-10, portable"), LIMIT, move || {
                let words = RandomWords { generator: Philox { seed: 1, stream: 2 }.into(), first_element: 0 };
                black_box(portable.encode_random(black_box(x), &mut buffer.borrow_mut(), words));
            }));
        }
    }
    time(&mut cases, rounds, 1e-3);
    lines(&cases, length)
}

fn operations(length: usize, rounds: usize) -> Vec<(String, f64, f64)> {
    const LIMIT: &str = "limit: read two u8, write u8";
    const READ: &str = "limit: read two u8";
    let (x, buffer) = (data::codes(length), std::cell::RefCell::new(vec![0_u8; length]));
    let y: Vec<u8> = x.iter().rev().map(|code| code ^ 0x2b).collect();
    let (x, y, buffer) = (&x, &y, &buffer);
    let mut cases = vec![
        Case::new(LIMIT, LIMIT, || {
            limits::two_u8_to_u8(black_box(x), black_box(y), &mut buffer.borrow_mut())
        }),
        Case::new(READ, READ, || {
            black_box(limits::read_two_u8(black_box(x), black_box(y)));
        }),
    ];
    let format: Format = "cfloat8_1_4_3:bias=7".parse().unwrap();
    let call = |name: &str, format: &str, operands: usize| {
        format!("{name}<{}>", vec![format; operands + 1].join(", ")).parse().unwrap()
    };
    for format in ["cfloat8_1_4_3:bias=7", "e4m3fn", "e5m2", "binary8p3se"] {
        for name in ["Add", "Multiply", "Minimum"] {
            let kernel = Elementwise::new(&call(name, format, 2)).unwrap();
            cases.push(Case::new(format!("{name} of {format}"), LIMIT, move || {
                black_box(kernel.binary(black_box(x), black_box(y), &mut buffer.borrow_mut(), None));
            }));
        }
        let kernel = Elementwise::without_flags(&call("Add", format, 2)).unwrap();
        cases.push(Case::new(format!("Add of {format}, without flags"), LIMIT, move || {
            black_box(kernel.binary(black_box(x), black_box(y), &mut buffer.borrow_mut(), None));
        }));
        let fma = Elementwise::new(&call("FMA", format, 3)).unwrap();
        cases.push(Case::new(format!("FMA of {format}"), LIMIT, move || {
            black_box(fma.ternary(black_box(x), black_box(y), black_box(x), &mut buffer.borrow_mut(), None));
        }));
    }
    let portable = Elementwise::new(&call("Add", "e4m3fn", 2)).unwrap().with_level(Level::Portable);
    cases.push(Case::new("Add of e4m3fn, portable", LIMIT, move || {
        black_box(portable.binary(black_box(x), black_box(y), &mut buffer.borrow_mut(), None));
    }));
    for accumulate in [Accumulate::F32, Accumulate::Exact] {
        let dot = Dot::new(&format, &format, accumulate).unwrap();
        cases.push(Case::new(format!("dot, {accumulate:?}"), READ, move || {
            black_box(dot.sum(black_box(x), black_box(y)));
        }));
    }
    add_peers(&mut cases, LIMIT, peers::adders(x, y));
    add_peers(&mut cases, READ, peers::dots(x, y));
    time(&mut cases, rounds, 1e-3);
    lines(&cases, length)
}

fn statistics(length: usize, rounds: usize) -> Vec<(String, f64, f64)> {
    const LIMIT: &str = "limit: read f32";
    let x = data::class("normal", length);
    let x = &x;
    let encoder = {
        let format: Format = "cfloat8_1_4_3:bias=7".parse().unwrap();
        Encoder::<f32>::new(&format, &format.default_projection()).unwrap()
    };
    let alike = vec![1.1_f32; length];
    let (alike, mut codes) = (&alike, vec![0_u8; length]);
    let mut cases = vec![
        Case::new(LIMIT, LIMIT, || {
            black_box(limits::read_f32(black_box(x)));
        }),
        Case::new("encode cfloat8_1_4_3:bias=7, for comparison", LIMIT, move || {
            black_box(encoder.encode(black_box(x), &mut codes));
        }),
        Case::new("largest magnitude", LIMIT, || {
            black_box(amax(black_box(x), Level::detected()));
        }),
    ];
    for (name, level, x) in [
        ("cells of 4 bits: every bias's exact squared error", Level::detected(), x),
        ("cells of 4 bits, all elements alike", Level::detected(), alike),
        ("cells of 4 bits, portable", Level::Portable, x),
    ] {
        // As for a tensor in chunks: the sums go on.
        let mut cells = ClassSums::<f32>::new(4).with_level(level);
        cases.push(Case::new(name, LIMIT, move || {
            cells.add(black_box(x));
            black_box(&cells);
        }));
    }
    time(&mut cases, rounds, 1e-3);
    lines(&cases, length)
}

/// Matrix products: multiplications a second, and ratios to what reads the same weights or
/// multiplies the same numbers.
fn products(length: usize, rounds: usize) -> Vec<(String, f64, f64)> {
    let format: Format = "e4m3fn".parse().unwrap();
    let dot = Dot::new(&format, &format, Accumulate::F32).unwrap();
    let (dot, one) = (&dot, [Scales::Tensor(1.0); 2]);
    // A vector with so many weights.
    const READ: &str = "limit: read u8 weights";
    let columns = 1 << (length.ilog2() / 2);
    let width = length / columns;
    let codes: Vec<u8> = data::codes(length).into_iter().map(|code| code & 0xbf).collect();
    let (weights, vector) = (&codes[..columns * width], &codes[..width]);
    let [mut products, mut of_32, mut of_16] = std::array::from_fn(|_| vec![0.0; columns]);
    let scales = vec![0.75; columns * width / 16];
    let blocks = |size: usize| {
        let (x, y) = (&scales[..width / size], &scales[..columns * width / size]);
        [Scales::Blocks(size, black_box(x)), Scales::Blocks(size, black_box(y))]
    };
    let mut cases = vec![
        Case::new(READ, READ, || {
            black_box(limits::read_two_u8(
                black_box(&weights[..length / 2]),
                black_box(&weights[length / 2..]),
            ));
        }),
        Case::new("a vector by a matrix of weights", READ, || {
            dot.matmul_f32([black_box(vector), black_box(weights)], width, one, black_box(&mut products));
        }),
        Case::new("a vector by a matrix, a scale for each block of 32", READ, || {
            dot.matmul_f32([black_box(vector), black_box(weights)], width, blocks(32), black_box(&mut of_32));
        }),
        Case::new("a vector by a matrix, a scale for each block of 16", READ, || {
            dot.matmul_f32([black_box(vector), black_box(weights)], width, blocks(16), black_box(&mut of_16));
        }),
    ];
    time(&mut cases, rounds, 1e-3);
    let mut table = lines(&cases, columns * width);
    // Square matrices, beside their decoded values multiplied by a library.
    const PEER: &str = "limit: matrixmultiply's sgemm of decoded matrices";
    let side = match length {
        ..=0x1000 => 128,
        ..=0x10000 => 256,
        ..=0x200000 => 512,
        _ => 1024,
    };
    let codes: Vec<u8> = data::codes(2 * side * side).into_iter().map(|code| code & 0xbf).collect();
    let (a, b) = codes.split_at(side * side);
    let decoder = Decoder::<f32>::new(&format, None).unwrap();
    let [mut x, mut y] = [vec![0.0; side * side], vec![0.0; side * side]];
    decoder.decode(a, &mut x);
    decoder.decode(b, &mut y);
    let [mut c, mut d, mut e, mut z] = std::array::from_fn(|_| vec![0.0; side * side]);
    let scales = vec![0.75; side * side / 16];
    let mut cases = vec![
        Case::new(PEER, PEER, || {
            let (step, n) = (side as isize, side);
            let (x, y, z) = (black_box(x.as_ptr()), black_box(y.as_ptr()), z.as_mut_ptr());
            // SAFETY: each matrix has side × side elements, B's rows being the columns of the
            // factor.
            unsafe { matrixmultiply::sgemm(n, n, n, 1.0, x, step, 1, y, 1, step, 0.0, z, step, 1) }
        }),
        Case::new("square matrices", PEER, || {
            dot.matmul_f32([black_box(a), black_box(b)], side, one, black_box(&mut c));
        }),
        Case::new("square matrices, a scale for each block of 32", PEER, || {
            let scales = [Scales::Blocks(32, black_box(&scales[..side * side / 32])); 2];
            dot.matmul_f32([black_box(a), black_box(b)], side, scales, black_box(&mut d));
        }),
        Case::new("square matrices, a scale for each block of 16", PEER, || {
            let scales = [Scales::Blocks(16, black_box(&scales)); 2];
            dot.matmul_f32([black_box(a), black_box(b)], side, scales, black_box(&mut e));
        }),
    ];
    time(&mut cases, rounds, 1e-3);
    table.extend(lines(&cases, side * side * side));
    table
}

/// The processor's name, where the system tells it.
fn cpu() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = info.lines().find(|line| line.starts_with("model name"));
    line.and_then(|line| line.split(": ").nth(1)).unwrap_or("unknown").to_owned()
}

/// What the page says before its tables.
fn introduction() -> String {
    format!(
        "\
         Written by `just bench-report` (`cargo run --release --manifest-path bench/Cargo.toml --features peers --bin report`).\n\
         Level: {}. CPU: {}.\n\n\
         ![Shares of the limit, peers beside us](performance.svg)\n\n\
         Figures are shares of a limit kernel that reads and writes the same bytes and computes nothing; the limits' own rows, in\n\
         italics, are 10^9 elements a second. All kernels of a group, peers too, run one after the other in every round on one\n\
         thread, and the best of all rounds counts. Footprints are elements: {}.\n\
         Names of data classes (normal, subnormal, …) tell what is encoded; speed should not depend on it.\n",
        Level::detected().name(),
        cpu(),
        FOOTPRINTS.map(|(name, elements, _)| format!("{name} {elements}")).join(", "),
    )
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/evidence");
    let names = FOOTPRINTS.map(|footprint| footprint.0);
    let wanted = std::env::args().nth(1);
    if wanted.as_deref() == Some("--from-page") {
        let figures = page::read(
            &std::fs::read_to_string(format!("{folder}/performance.md"))?,
            &GROUPS.map(|group| group.0),
        );
        std::fs::write(format!("{folder}/performance.svg"), chart::draw(&page::marks(&figures), &names)?)?;
        return Ok(());
    }
    if !Level::Avx2.is_available() {
        return Err("the limit kernels need AVX2".into());
    }
    let only = std::env::args().nth(2).unwrap_or_default();
    let mut figures = Vec::new();
    for (group, measure) in GROUPS.into_iter().filter(|group| group.0.contains(&only)) {
        for (footprint, (name, length, rounds)) in FOOTPRINTS.into_iter().enumerate() {
            if wanted.as_ref().is_none_or(|wanted| wanted.split(',').any(|w| w == name)) {
                eprintln!("{group}, {name} …");
                figures.extend(measure(length, rounds).into_iter().map(|(kernel, rate, ratio)| Figure {
                    group,
                    footprint,
                    kernel,
                    rate,
                    ratio,
                }));
            }
        }
    }
    let page = introduction() + &page::tables(&figures, &names);
    if wanted.is_some() {
        print!("{page}");
        return Ok(());
    }
    std::fs::write(format!("{folder}/performance.svg"), chart::draw(&page::marks(&figures), &names)?)?;
    let path = format!("{folder}/performance.md");
    let old = std::fs::read_to_string(&path)?;
    let (begin, end) = ("<!-- begin: bench -->", "<!-- end: bench -->");
    let (before, rest) = old.split_once(begin).ok_or("performance.md has no section `bench`")?;
    let (_, after) = rest.split_once(end).ok_or("performance.md has no end of the section `bench`")?;
    std::fs::write(
        path,
        format!("{before}{begin}\n\n{}\n\n{end}{after}", page.trim().replace("\n## ", "\n### ")),
    )?;
    Ok(())
}
